// Formats numbers as "1.21 MiB", "34.5 us", "1,234,567", and parses those of the command line.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Each function writes into the caller's buffer and returns it, so that one printf can take
// several.
enum { GGS_NUMBER_LENGTH = 32 };
char * ggs_format_bytes(char buffer[GGS_NUMBER_LENGTH], uint64_t bytes);                  // "670.1 MiB", "512 B"
char * ggs_format_count(char buffer[GGS_NUMBER_LENGTH], uint64_t count);                  // "1,234,567"
char * ggs_format_nanoseconds(char buffer[GGS_NUMBER_LENGTH], uint64_t ns);               // "34.5 us", "1.20 s"
char * ggs_format_percent(char buffer[GGS_NUMBER_LENGTH], uint64_t part, uint64_t whole); // "12.3 %", "-" of 0

// Strict: the whole string must be a number in [minimum, maximum]; decimal, or 0x hexadecimal.
bool ggs_parse_u64(const char * string, uint64_t minimum, uint64_t maximum, uint64_t * result);
bool ggs_parse_i64(const char * string, int64_t minimum, int64_t maximum, int64_t * result);
// "64M", "1.5G", "4096", "16KiB": binary units, an optional "B" or "iB".
bool ggs_parse_bytes(const char * string, uint64_t * result);
// "30s", "1.5m", "500ms", "2h". Must be above zero. A number without a unit is seconds.
bool ggs_parse_time(const char * string, uint64_t * nanoseconds);
