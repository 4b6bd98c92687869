// SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104). The server derives its links with them.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { GGS_SHA256_LENGTH = 32 };

void ggs_sha256(uint8_t digest[GGS_SHA256_LENGTH], const void * data, size_t size);
void ggs_hmac_sha256(uint8_t digest[GGS_SHA256_LENGTH], const void * key, size_t key_size, const void * data,
                     size_t size);
