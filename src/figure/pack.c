#include "figure/pack.h"

#include <stdint.h>
#include <stdlib.h>

enum { HASH_BITS = 13, FAR = 32768, LONGEST = 258, SHORTEST = 3 };

struct packer {
    struct ggs_text * out;
    uint32_t          bits;
    unsigned          n_bits;
};

static void put_bits(struct packer * p, uint32_t value, unsigned n) {
    p->bits |= value << p->n_bits;
    for (p->n_bits += n; p->n_bits >= 8; p->n_bits -= 8, p->bits >>= 8) ggs_text_putc(p->out, (char) p->bits);
}

// Huffman codes are written most significant bit first.
static void put_code(struct packer * p, uint32_t code, unsigned n) {
    uint32_t turned = 0;
    for (unsigned i = 0; i < n; i++) turned |= (code >> i & 1) << (n - 1 - i);
    put_bits(p, turned, n);
}

// The fixed code of RFC 1951, 3.2.6.
static void put_symbol(struct packer * p, unsigned symbol) {
    if (symbol < 144)
        put_code(p, 0x30 + symbol, 8);
    else if (symbol < 256)
        put_code(p, 0x190 + symbol - 144, 9);
    else if (symbol < 280)
        put_code(p, symbol - 256, 7);
    else
        put_code(p, 0xc0 + symbol - 280, 8);
}

// Lengths and distances are a code and extra bits. Groups of codes (4 for lengths, 2 for distances)
// have the same number of extra bits, which grows by one per group.
static unsigned group_code(unsigned value, unsigned group_bits, unsigned * extra) {
    unsigned high = 0;
    while (value >> (high + 1) != 0) high++;
    if (high < group_bits + 1) {
        *extra = 0;
        return value;
    }
    *extra = high - group_bits;
    return ((high - group_bits) << group_bits) + (value >> *extra);
}

static void put_match(struct packer * p, unsigned length, unsigned distance) {
    unsigned extra, code = length == LONGEST ? 28 : group_code(length - SHORTEST, 2, &extra);
    if (length == LONGEST) extra = 0;
    put_symbol(p, 257 + code);
    put_bits(p, (length - SHORTEST) & ((1u << extra) - 1), extra);
    code = group_code(distance - 1, 1, &extra);
    put_code(p, code, 5);
    put_bits(p, (distance - 1) & ((1u << extra) - 1), extra);
}

static uint32_t hash(const uint8_t * at) {
    return ((uint32_t) at[0] << 16 | (uint32_t) at[1] << 8 | at[2]) * 2654435761u >> (32 - HASH_BITS);
}

static size_t match_at(const uint8_t * data, size_t length, size_t at, size_t earlier) {
    size_t n = 0;
    while (n < LONGEST && at + n < length && data[earlier + n] == data[at + n]) n++;
    return n;
}

// Uses the longest match with the last occurrence of the same three bytes, or with the previous
// byte.
static void pack_block(struct packer * p, const uint8_t * data, size_t length, uint32_t * last) {
    for (size_t at = 0; at < length;) {
        size_t best = 0, distance = 0;
        if (at + SHORTEST <= length) {
            uint32_t * seen = &last[hash(data + at)];
            if (*seen > 0 && at - (*seen - 1) <= FAR)
                best = match_at(data, length, at, *seen - 1), distance = at - (*seen - 1);
            *seen      = (uint32_t) at + 1;
            size_t run = at > 0 ? match_at(data, length, at, at - 1) : 0;
            if (run > best) best = run, distance = 1;
        }
        if (best < SHORTEST)
            put_symbol(p, data[at]);
        else
            put_match(p, (unsigned) best, (unsigned) distance);
        at += best < SHORTEST ? 1 : best;
    }
}

static uint32_t adler32(const uint8_t * data, size_t length) {
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < length; i++) {
        a = (a + data[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

void ggs_pack(struct ggs_text * out, const void * data, size_t length) {
    struct packer p    = {.out = out};
    uint32_t *    last = calloc(1u << HASH_BITS, sizeof(*last));
    if (last == NULL) {
        out->failed = true;
        return;
    }
    ggs_text_append(out, "\x78\x01", 2);
    put_bits(&p, 3, 3); // final block, fixed code
    pack_block(&p, data, length, last);
    put_symbol(&p, 256);
    if (p.n_bits > 0) put_bits(&p, 0, 8 - p.n_bits);
    uint32_t sum = adler32(data, length);
    for (unsigned i = 0; i < 4; i++) ggs_text_putc(out, (char) (sum >> (24 - 8 * i)));
    free(last);
}
