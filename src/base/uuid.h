// The ids of experiments: RFC 9562 UUIDs as 16 bytes and as text.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { GGS_UUID_LENGTH = 37 }; // of the text, with its NUL
#define GGS_UUID_PATTERN "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"

char * ggs_uuid_format(char text[GGS_UUID_LENGTH], const uint8_t uuid[16]); // returns `text`
bool   ggs_uuid_parse(const char * text, uint8_t uuid[16]);                 // false if the text is not a UUID
// Makes a random UUID (version 4). False if the system has no random bytes.
bool ggs_uuid_make(uint8_t uuid[16]);
