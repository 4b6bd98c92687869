#include "base/sha256.h"

#include <string.h>

enum { BLOCK = 64 };

struct state {
    uint32_t h[8];
    uint8_t  block[BLOCK];
    size_t   used;
    uint64_t bytes;
};

static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, unsigned n) {
    return x >> n | x << (32 - n);
}

static void mix(struct state * s) {
    uint32_t w[64], v[8];
    for (unsigned i = 0; i < 16; i++)
        w[i] = (uint32_t) s->block[4 * i] << 24 | (uint32_t) s->block[4 * i + 1] << 16 |
               (uint32_t) s->block[4 * i + 2] << 8 | s->block[4 * i + 3];
    for (unsigned i = 16; i < 64; i++) {
        uint32_t a = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t b = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i]       = w[i - 16] + a + w[i - 7] + b;
    }
    memcpy(v, s->h, sizeof(v));
    for (unsigned i = 0; i < 64; i++) {
        uint32_t a = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
        uint32_t b = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
        uint32_t t = v[7] + a + ((v[4] & v[5]) ^ (~v[4] & v[6])) + constants[i] + w[i];
        uint32_t u = b + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof(v[0]));
        v[4] += t;
        v[0] = t + u;
    }
    for (unsigned i = 0; i < 8; i++) s->h[i] += v[i];
    s->used = 0;
}

static void begin(struct state * s) {
    *s = (struct state){.used = 0};
    memcpy(s->h, first, sizeof(first));
}

static void add(struct state * s, const void * data, size_t size) {
    const uint8_t * from = data;
    s->bytes += size;
    while (size > 0) {
        size_t n = size < BLOCK - s->used ? size : BLOCK - s->used;
        memcpy(s->block + s->used, from, n);
        s->used += n, from += n, size -= n;
        if (s->used == BLOCK) mix(s);
    }
}

static void end(struct state * s, uint8_t digest[GGS_SHA256_LENGTH]) {
    static const uint8_t one = 0x80, zero = 0;
    uint64_t             bits = 8 * s->bytes;
    uint8_t              length[8];
    for (unsigned i = 0; i < 8; i++) length[i] = (uint8_t) (bits >> (56 - 8 * i));
    add(s, &one, 1);
    while (s->used != BLOCK - sizeof(length)) add(s, &zero, 1);
    add(s, length, sizeof(length));
    for (unsigned i = 0; i < GGS_SHA256_LENGTH; i++) digest[i] = (uint8_t) (s->h[i / 4] >> (24 - 8 * (i % 4)));
}

void ggs_sha256(uint8_t digest[GGS_SHA256_LENGTH], const void * data, size_t size) {
    struct state s;
    begin(&s);
    add(&s, data, size);
    end(&s, digest);
}

void ggs_hmac_sha256(uint8_t digest[GGS_SHA256_LENGTH], const void * key, size_t key_size, const void * data,
                     size_t size) {
    struct state s;
    uint8_t      pad[BLOCK] = {0};
    if (key_size > BLOCK)
        ggs_sha256(pad, key, key_size);
    else if (key_size > 0)
        memcpy(pad, key, key_size);
    for (unsigned i = 0; i < BLOCK; i++) pad[i] ^= 0x36;
    begin(&s);
    add(&s, pad, BLOCK);
    add(&s, data, size);
    end(&s, digest);
    for (unsigned i = 0; i < BLOCK; i++) pad[i] ^= 0x36 ^ 0x5c;
    begin(&s);
    add(&s, pad, BLOCK);
    add(&s, digest, GGS_SHA256_LENGTH);
    end(&s, digest);
}
