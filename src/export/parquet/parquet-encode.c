#include "export/parquet/parquet-encode.h"

#include <string.h>

static void put_varint(struct ggs_text * out, uint64_t value) {
    char   bytes[10];
    size_t n = 0;
    while (value >= 0x80) {
        bytes[n++] = (char) (value | 0x80);
        value >>= 7;
    }
    bytes[n++] = (char) value;
    ggs_text_append(out, bytes, n);
}

static uint64_t zigzag(int64_t value) {
    return (uint64_t) value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

unsigned ggs_bits_of(uint64_t value) {
    return value == 0 ? 0 : 64 - (unsigned) __builtin_clzll(value);
}

// Packs n values (a multiple of 8) of `width` bits, lowest bits first.
static void put_packed(struct ggs_text * out, const uint64_t * values, unsigned n, unsigned width) {
    uint8_t           bytes[32 * 8 + 8];
    size_t            used = 0;
    unsigned __int128 held = 0;
    unsigned          bits = 0;
    for (unsigned i = 0; i < n; i++) {
        held |= (unsigned __int128) values[i] << bits;
        bits += width;
        while (bits >= 8) {
            bytes[used++] = (uint8_t) held;
            held >>= 8;
            bits -= 8;
        }
    }
    ggs_text_append(out, (const char *) bytes, used);
}

enum { BLOCK = 128, MINIBLOCKS = 4, MINIBLOCK = BLOCK / MINIBLOCKS };

static void put_block(struct ggs_text * out, const int64_t * values, uint64_t n, int64_t before) {
    uint64_t delta[BLOCK];
    int64_t  least = INT64_MAX;
    uint8_t  widths[MINIBLOCKS];
    for (uint64_t i = 0; i < n; i++) { // differences wrap around; so do the readers' sums
        delta[i] = (uint64_t) values[i] - (uint64_t) before;
        before   = values[i];
        if ((int64_t) delta[i] < least) least = (int64_t) delta[i];
    }
    for (uint64_t i = 0; i < n; i++) delta[i] -= (uint64_t) least;
    for (uint64_t i = n; i < BLOCK; i++) delta[i] = 0;
    put_varint(out, zigzag(least));
    for (unsigned m = 0; m < MINIBLOCKS; m++) {
        uint64_t all = 0;
        for (unsigned i = 0; i < MINIBLOCK; i++) all |= delta[m * MINIBLOCK + i];
        widths[m] = (uint8_t) ggs_bits_of(all);
    }
    ggs_text_append(out, (const char *) widths, sizeof(widths));
    for (unsigned m = 0; m < MINIBLOCKS && m * MINIBLOCK < n; m++) // miniblocks without values are omitted
        put_packed(out, delta + m * MINIBLOCK, MINIBLOCK, widths[m]);
}

void ggs_put_delta(struct ggs_text * out, const int64_t * values, uint64_t n) {
    put_varint(out, BLOCK);
    put_varint(out, MINIBLOCKS);
    put_varint(out, n);
    put_varint(out, zigzag(n == 0 ? 0 : values[0]));
    for (uint64_t at = 1; at < n; at += BLOCK)
        put_block(out, values + at, n - at < BLOCK ? n - at : BLOCK, values[at - 1]);
}

static void put_repeated(struct ggs_text * out, uint32_t value, uint64_t n, unsigned width) {
    put_varint(out, n << 1);
    for (unsigned shift = 0; shift < width; shift += 8) ggs_text_putc(out, (char) (value >> shift));
}

void ggs_put_hybrid(struct ggs_text * out, const uint32_t * values, uint64_t n, unsigned width) {
    bool equal = true;
    for (uint64_t i = 1; i < n && equal; i++) equal = values[i] == values[0];
    if (equal) {
        put_repeated(out, n == 0 ? 0 : values[0], n, width);
        return;
    }
    put_varint(out, (n + 7) / 8 << 1 | 1);
    for (uint64_t at = 0; at < n; at += 8) {
        uint64_t eight[8] = {0};
        for (uint64_t i = 0; i < 8 && at + i < n; i++) eight[i] = values[at + i];
        put_packed(out, eight, 8, width);
    }
}

void ggs_put_bits(struct ggs_text * out, const int64_t * values, uint64_t n) {
    for (uint64_t at = 0; at < n; at += 8) {
        unsigned bits = 0;
        for (uint64_t i = 0; i < 8 && at + i < n; i++) bits |= (unsigned) (values[at + i] != 0) << i;
        ggs_text_putc(out, (char) bits);
    }
}

// ---- Thrift ----

static void put_field(struct ggs_thrift * t, int id, enum ggs_thrift_type type) {
    if (id == 0) return; // elements of a list have no header
    int * last = &t->last[t->depth - 1];
    if (id > *last && id - *last <= 15) {
        ggs_text_putc(t->out, (char) ((id - *last) << 4 | (int) type));
    } else {
        ggs_text_putc(t->out, (char) type);
        put_varint(t->out, zigzag(id));
    }
    *last = id;
}

void ggs_thrift_begin(struct ggs_thrift * t, int id) {
    put_field(t, id, GGS_THRIFT_STRUCT);
    t->last[t->depth++] = 0;
}

void ggs_thrift_end(struct ggs_thrift * t) {
    ggs_text_putc(t->out, 0);
    t->depth--;
}

void ggs_thrift_true(struct ggs_thrift * t, int id) {
    put_field(t, id, GGS_THRIFT_TRUE);
}

void ggs_thrift_i32(struct ggs_thrift * t, int id, int32_t value) {
    put_field(t, id, GGS_THRIFT_I32);
    put_varint(t->out, zigzag(value));
}

void ggs_thrift_i64(struct ggs_thrift * t, int id, int64_t value) {
    put_field(t, id, GGS_THRIFT_I64);
    put_varint(t->out, zigzag(value));
}

void ggs_thrift_binary(struct ggs_thrift * t, int id, const void * data, uint64_t length) {
    put_field(t, id, GGS_THRIFT_BINARY);
    put_varint(t->out, length);
    ggs_text_append(t->out, data, length);
}

void ggs_thrift_list(struct ggs_thrift * t, int id, enum ggs_thrift_type of, uint64_t n) {
    put_field(t, id, GGS_THRIFT_LIST);
    if (n < 15) {
        ggs_text_putc(t->out, (char) (n << 4 | (unsigned) of));
    } else {
        ggs_text_putc(t->out, (char) (0xf0 | of));
        put_varint(t->out, n);
    }
}
