#include "wasm/zstd-decode.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_MOST       = 128 << 10, // decompressed bytes of a block
    CODES_MOST       = 256,
    HUFFMAN_BITS     = 11,
    WEIGHT_TABLE_LOG = 6,
    STATES_MOST      = 1 << 9, // in the tables for sequences
};

// ---- bits ----

static uint64_t load(const uint8_t * data, size_t size, size_t at) {
    uint64_t value = 0;
    if (at < size) memcpy(&value, data + at, size - at < 8 ? size - at : 8);
    return value;
}

static unsigned highest_bit(uint32_t value) {
    return 31u - (unsigned) __builtin_clz(value);
}

// A bit stream that is read backwards. Beyond its beginning it yields zeros, and `left` is
// negative.
struct backward {
    const uint8_t * data;
    size_t          size;
    int64_t         left; // bits
};

static bool open_backward(struct backward * bits, const uint8_t * data, size_t size) {
    if (size == 0 || data[size - 1] == 0) return false; // the highest set bit marks the end
    *bits = (struct backward){data, size, (int64_t) (size - 1) * 8 + highest_bit(data[size - 1])};
    return true;
}

// Returns the next `n` bits, at most 32, without consuming them.
static uint32_t peek(const struct backward * bits, unsigned n) {
    int64_t  first = bits->left - n;
    uint64_t mask  = (1ull << n) - 1;
    if (first >= 0) return (uint32_t) (load(bits->data, bits->size, (size_t) first >> 3) >> (first & 7) & mask);
    return bits->left <= 0 ? 0 : (uint32_t) (load(bits->data, bits->size, 0) << -first & mask);
}

static uint32_t read_bits(struct backward * bits, unsigned n) {
    uint32_t value = peek(bits, n);
    bits->left -= n;
    return value;
}

// ---- finite state entropy tables ----

struct state {
    uint8_t  symbol;
    uint8_t  bits; // bits to read for the next state
    uint16_t base; // base of the next state
};

struct table {
    unsigned     log;
    bool         known;
    struct state states[STATES_MOST];
};

// Builds the table of a distribution; -1 means "less than one". False if the counts do not fill it.
static bool make_table(struct table * table, const int16_t * counts, unsigned n, unsigned log) {
    uint16_t next[CODES_MOST];
    unsigned size = 1u << log, high = size, at = 0, step = (size >> 1) + (size >> 3) + 3;
    table->known = false;
    for (unsigned s = 0; s < n; s++) {
        next[s] = counts[s] < 0 ? 1 : (uint16_t) counts[s];
        if (counts[s] < 0) table->states[--high].symbol = (uint8_t) s;
    }
    for (unsigned s = 0; s < n; s++) {
        for (int i = 0; i < counts[s]; i++) {
            table->states[at].symbol = (uint8_t) s;
            do at = (at + step) & (size - 1);
            while (at >= high);
        }
    }
    if (at != 0) return false;
    for (unsigned i = 0; i < size; i++) {
        struct state * state = &table->states[i];
        unsigned       count = next[state->symbol]++;
        state->bits          = (uint8_t) (log - highest_bit(count));
        state->base          = (uint16_t) ((count << state->bits) - size);
    }
    table->log          = log;
    return table->known = true;
}

// Reads a distribution of at most `most` symbols and builds its table. Returns the number of bytes,
// 0 on invalid input.
static size_t read_table(struct table * table, const uint8_t * data, size_t size, unsigned most, unsigned log_most) {
    int16_t  counts[CODES_MOST];
    unsigned n = 0, log = (unsigned) (load(data, size, 0) & 15) + 5, width = log + 1;
    size_t   at        = 4; // bits
    int      remaining = (1 << log) + 1, threshold = 1 << log;
    table->known = false;
    if (size == 0 || log > log_most) return 0;
    while (remaining > 1 && n < most) {
        uint32_t bits  = (uint32_t) (load(data, size, at >> 3) >> (at & 7));
        int      spare = 2 * threshold - 1 - remaining, count = (int) (bits & (uint32_t) (threshold - 1));
        if (count < spare) {
            at += width - 1;
        } else {
            count = (int) (bits & (uint32_t) (2 * threshold - 1));
            if (count >= threshold) count -= spare;
            at += width;
        }
        count--;
        remaining -= count < 0 ? 1 : count;
        if (remaining < 1) return 0;
        counts[n++] = (int16_t) count;
        for (unsigned zeros = count == 0 ? 3 : 0; zeros == 3;) { // number of further zeros
            zeros = (unsigned) (load(data, size, at >> 3) >> (at & 7) & 3);
            at += 2;
            if (n + zeros > most || at > 8 * size) return 0;
            for (unsigned i = 0; i < zeros; i++) counts[n++] = 0;
        }
        while (remaining < threshold) width--, threshold >>= 1;
    }
    size_t bytes = (at + 7) / 8;
    return remaining == 1 && bytes <= size && make_table(table, counts, n, log) ? bytes : 0;
}

static void make_constant(struct table * table, uint8_t symbol) {
    table->log       = 0;
    table->known     = true;
    table->states[0] = (struct state){.symbol = symbol};
}

// ---- literals ----

struct huffman {
    unsigned bits; // of the longest code; 0: no table yet
    struct {
        uint8_t symbol, bits;
    } codes[1 << HUFFMAN_BITS];
};

struct decoder {
    uint8_t *      to;
    size_t         capacity, written;
    uint32_t       offsets[3]; // recent offsets, which sequences may refer to
    struct huffman huffman;
    struct table   lengths, distances, matches, weights;
    size_t         n_literals;
    uint8_t        literals[BLOCK_MOST];
};

// Two states alternate until the bits are used up. Returns the number of symbols, 0 on invalid
// input.
static unsigned read_weights(struct decoder * d, const uint8_t * data, size_t size, uint8_t weights[CODES_MOST]) {
    struct backward      bits;
    const struct state * states = d->weights.states;
    size_t               head   = read_table(&d->weights, data, size, CODES_MOST, WEIGHT_TABLE_LOG);
    unsigned             n      = 0;
    if (head == 0 || !open_backward(&bits, data + head, size - head)) return 0;
    uint32_t now[2] = {0};
    for (int i = 0; i < 2; i++) now[i] = read_bits(&bits, d->weights.log);
    if (bits.left < 0) return 0;
    for (unsigned turn = 0; n < CODES_MOST - 2; turn ^= 1) {
        const struct state * state = &states[now[turn]];
        weights[n++]               = state->symbol;
        now[turn]                  = state->base + read_bits(&bits, state->bits);
        if (bits.left >= 0) continue;
        weights[n++] = states[now[turn ^ 1]].symbol;
        return n;
    }
    return 0;
}

// The last weight is implied: it fills the table.
static bool make_huffman(struct huffman * huffman, uint8_t weights[CODES_MOST], unsigned n) {
    uint32_t sum = 0, at = 0;
    huffman->bits = 0;
    for (unsigned i = 0; i < n; i++) {
        if (weights[i] > HUFFMAN_BITS) return false;
        sum += weights[i] == 0 ? 0 : 1u << (weights[i] - 1);
    }
    if (sum == 0 || n >= CODES_MOST) return false;
    unsigned bits = highest_bit(sum) + 1;
    uint32_t rest = (1u << bits) - sum;
    if (bits > HUFFMAN_BITS || (rest & (rest - 1)) != 0) return false;
    weights[n++] = (uint8_t) (highest_bit(rest) + 1);
    for (unsigned weight = 1; weight <= bits; weight++) {
        for (unsigned s = 0; s < n; s++) {
            if (weights[s] != weight) continue;
            for (uint32_t end = at + (1u << (weight - 1)); at < end; at++) {
                huffman->codes[at].symbol = (uint8_t) s;
                huffman->codes[at].bits   = (uint8_t) (bits + 1 - weight);
            }
        }
    }
    huffman->bits = bits;
    return true;
}

// Returns the number of bytes read, 0 on invalid input.
static size_t read_huffman(struct decoder * d, const uint8_t * data, size_t size) {
    uint8_t weights[CODES_MOST];
    if (size == 0) return 0;
    unsigned n = data[0], bytes = n;
    if (n < 128) {
        if (size < 1 + (size_t) bytes) return 0;
        n = read_weights(d, data + 1, bytes, weights);
    } else {
        n -= 127;
        bytes = (n + 1) / 2;
        if (size < 1 + (size_t) bytes) return 0;
        for (unsigned i = 0; i < n; i++) weights[i] = i % 2 == 0 ? data[1 + i / 2] >> 4 : data[1 + i / 2] & 15;
    }
    return n > 0 && make_huffman(&d->huffman, weights, n) ? 1 + (size_t) bytes : 0;
}

static bool read_stream(const struct huffman * huffman, const uint8_t * data, size_t size, uint8_t * to, size_t n) {
    struct backward bits;
    if (!open_backward(&bits, data, size)) return false;
    for (size_t i = 0; i < n; i++) {
        uint32_t code = peek(&bits, huffman->bits);
        to[i]         = huffman->codes[code].symbol;
        bits.left -= huffman->codes[code].bits;
    }
    return bits.left == 0;
}

static bool read_streams(struct decoder * d, const uint8_t * data, size_t size, bool four) {
    size_t each = (d->n_literals + 3) / 4, at = 6;
    if (!four) return read_stream(&d->huffman, data, size, d->literals, d->n_literals);
    if (size < at || d->n_literals < 3 * each) return false;
    for (unsigned i = 0; i < 4; i++) {
        size_t length = i < 3 ? data[2 * i] | (size_t) data[2 * i + 1] << 8 : size - at;
        size_t n      = i < 3 ? each : d->n_literals - 3 * each;
        if (length > size - at || !read_stream(&d->huffman, data + at, length, d->literals + i * each, n)) return false;
        at += length;
    }
    return true;
}

// Fills d->literals. Returns the number of bytes read, 0 on invalid input.
static size_t read_literals(struct decoder * d, const uint8_t * data, size_t size) {
    if (size == 0) return 0;
    unsigned kind = data[0] & 3, form = data[0] >> 2 & 3;
    uint64_t head = load(data, size, 0);
    if (kind < 2) { // raw, or one repeated byte
        unsigned header = form == 1 ? 2 : form == 3 ? 3 : 1;
        d->n_literals   = (size_t) (form == 1 ? head >> 4 & 0xfff : form == 3 ? head >> 4 & 0xfffff : head >> 3 & 0x1f);
        size_t stored   = kind == 0 ? d->n_literals : 1;
        if (d->n_literals > BLOCK_MOST || size < header + stored) return 0;
        if (kind == 0)
            memcpy(d->literals, data + header, stored);
        else
            memset(d->literals, data[header], d->n_literals);
        return header + stored;
    }
    unsigned width = form < 2 ? 10 : form == 2 ? 14 : 18, header = form < 2 ? 3 : form == 2 ? 4 : 5;
    size_t   stored = (size_t) (head >> (4 + width) & ((1u << width) - 1)), tree = 0;
    d->n_literals = (size_t) (head >> 4 & ((1u << width) - 1));
    if (d->n_literals > BLOCK_MOST || size < header + stored) return 0;
    if (kind == 2 && (tree = read_huffman(d, data + header, stored)) == 0) return 0;
    if (d->huffman.bits == 0 || !read_streams(d, data + header + tree, stored - tree, form != 0)) return 0;
    return header + stored;
}

// ---- sequences ----

struct codes { // a code means base + that many extra bits
    unsigned        n, log, log_most;
    const uint8_t * bits;
    const int16_t * usual; // default distribution
};

static const uint8_t length_bits[36]     = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0,  0,  0,  0,  1,  1,
                                            1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
static const uint8_t match_bits[53]      = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0,  0,  0,  0,  0,  0, 0,
                                            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0,  0,  0,  1,  1,  1, 1,
                                            2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
static const int16_t usual_lengths[36]   = {4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1,  1,  2,  2,
                                            2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1};
static const int16_t usual_matches[53]   = {1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1,  1,  1,  1,  1,  1,  1, 1,
                                            1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  1,  1,  1,  1,  1,  1, 1,
                                            1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1};
static const int16_t usual_distances[29] = {1, 1, 1, 1, 1, 1, 2, 2, 2, 1,  1,  1,  1,  1, 1,
                                            1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1};

static const struct codes length_codes   = {36, 6, 9, length_bits, usual_lengths};
static const struct codes match_codes    = {53, 6, 9, match_bits, usual_matches};
static const struct codes distance_codes = {32, 5, 8, NULL, usual_distances};

// Moves `at` behind the table's description.
static bool choose_table(struct table * table, unsigned mode, const struct codes * codes, const uint8_t * data,
                         size_t size, size_t * at) {
    size_t bytes;
    switch (mode) {
        case 0:
            return make_table(table, codes->usual, codes == &distance_codes ? 29 : codes->n, codes->log);
        case 1:
            if (*at >= size || data[*at] >= codes->n) return false;
            make_constant(table, data[(*at)++]);
            return true;
        case 2:
            bytes = read_table(table, data + *at, size - *at, codes->n, codes->log_most);
            *at += bytes;
            return bytes > 0;
        default:
            return table->known;
    }
}

// Each code's range begins where the previous one ends.
static void fill_bases(uint32_t bases[53], const struct codes * codes, uint32_t first) {
    bases[0] = first;
    for (unsigned i = 1; i < codes->n; i++) bases[i] = bases[i - 1] + (1u << codes->bits[i - 1]);
}

// Returns the distance for an offset value; 0 on invalid input.
static uint32_t distance_of(uint32_t offsets[3], uint32_t value, bool after_literals) {
    uint32_t distance;
    if (value > 3) {
        distance          = value - 3;
        offsets[2]        = offsets[1];
        offsets[1]        = offsets[0];
        return offsets[0] = distance;
    }
    unsigned which = value - (after_literals ? 1 : 0);
    distance       = which < 3 ? offsets[which] : offsets[0] - 1;
    if (which > 1) offsets[2] = offsets[1];
    if (which > 0) offsets[1] = offsets[0];
    return offsets[0] = distance;
}

static bool put(struct decoder * d, const uint8_t * from, size_t n) {
    if (n > d->capacity - d->written) return false;
    memcpy(d->to + d->written, from, n);
    d->written += n;
    return true;
}

static bool put_match(struct decoder * d, uint32_t distance, size_t n) {
    if (distance == 0 || distance > d->written || n > d->capacity - d->written) return false;
    uint8_t *       to   = d->to + d->written;
    const uint8_t * from = to - distance;
    d->written += n;
    if (distance >= n) {
        memcpy(to, from, n);
        return true;
    }
    while (n-- > 0) *to++ = *from++; // source and target may overlap
    return true;
}

static bool run_sequences(struct decoder * d, struct backward * bits, unsigned n) {
    uint32_t length_base[53], match_base[53];
    size_t   literal = 0;
    fill_bases(length_base, &length_codes, 0);
    fill_bases(match_base, &match_codes, 3);
    uint32_t l = read_bits(bits, d->lengths.log), o = read_bits(bits, d->distances.log),
             m = read_bits(bits, d->matches.log);
    for (unsigned i = 0; i < n; i++) {
        const struct state *ls = &d->lengths.states[l], *os = &d->distances.states[o], *ms = &d->matches.states[m];
        uint32_t            value    = (1u << os->symbol) + read_bits(bits, os->symbol);
        size_t              match    = match_base[ms->symbol] + read_bits(bits, match_bits[ms->symbol]);
        size_t              length   = length_base[ls->symbol] + read_bits(bits, length_bits[ls->symbol]);
        uint32_t            distance = distance_of(d->offsets, value, length > 0);
        if (bits->left < 0 || length > d->n_literals - literal || !put(d, d->literals + literal, length) ||
            !put_match(d, distance, match))
            return false;
        literal += length;
        if (i + 1 == n) break;
        l = ls->base + read_bits(bits, ls->bits);
        m = ms->base + read_bits(bits, ms->bits);
        o = os->base + read_bits(bits, os->bits);
    }
    return bits->left == 0 && put(d, d->literals + literal, d->n_literals - literal);
}

static bool read_block(struct decoder * d, const uint8_t * data, size_t size) {
    struct backward bits;
    size_t          at = read_literals(d, data, size);
    if (at == 0 || at >= size) return false;
    unsigned n = data[at++];
    if (n == 0) return at == size && put(d, d->literals, d->n_literals);
    if (n >= 128 && n < 255 && at < size) {
        n = ((n - 128) << 8) + data[at++];
    } else if (n == 255 && size - at >= 2) {
        n = data[at] + ((unsigned) data[at + 1] << 8) + 0x7f00;
        at += 2;
    } else if (n >= 128) {
        return false;
    }
    if (at >= size) return false;
    unsigned modes = data[at++];
    if ((modes & 3) != 0) return false;
    if (!choose_table(&d->lengths, modes >> 6, &length_codes, data, size, &at) ||
        !choose_table(&d->distances, modes >> 4 & 3, &distance_codes, data, size, &at) ||
        !choose_table(&d->matches, modes >> 2 & 3, &match_codes, data, size, &at))
        return false;
    return open_backward(&bits, data + at, size - at) && run_sequences(d, &bits, n);
}

// ---- frames ----

// Returns the offset of the first block; 0 if the frame is not readable.
static size_t read_header(const uint8_t * data, size_t size, uint64_t * content) {
    static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd}, dictionary[] = {0, 1, 2, 4};
    if (size < 6 || memcmp(data, magic, sizeof(magic)) != 0 || (data[4] & 8) != 0) return 0;
    bool     single = (data[4] & 0x20) != 0;
    unsigned form = data[4] >> 6, bytes = form == 0 ? single : 1u << form;
    size_t   at = 5 + !single + (size_t) dictionary[data[4] & 3];
    *content    = UINT64_MAX;
    if (size < at + bytes) return 0;
    if (bytes > 0) {
        *content = bytes == 8 ? load(data, size, at) : load(data, size, at) & ((1ull << 8 * bytes) - 1);
        if (bytes == 2) *content += 256;
    }
    return at + bytes;
}

uint64_t ggs_zstd_content_size(const void * frame, size_t size) {
    uint64_t content;
    return read_header(frame, size, &content) == 0 ? UINT64_MAX - 1 : content;
}

static bool read_blocks(struct decoder * d, const uint8_t * data, size_t size, size_t at) {
    for (bool last = false; !last;) {
        if (size - at < 3) return false;
        uint32_t head = (uint32_t) (load(data, size, at) & 0xffffff), length = head >> 3, kind = head >> 1 & 3;
        size_t   stored = kind == 1 ? 1 : length;
        last            = (head & 1) != 0;
        at += 3;
        if (kind == 3 || length > BLOCK_MOST || stored > size - at) return false;
        if (kind == 0 && !put(d, data + at, length)) return false;
        if (kind == 1) {
            if (length > d->capacity - d->written) return false;
            memset(d->to + d->written, data[at], length);
            d->written += length;
        }
        if (kind == 2 && !read_block(d, data + at, length)) return false;
        at += stored;
    }
    return true;
}

size_t ggs_zstd_decompress(void * to, size_t capacity, const void * frame, size_t size) {
    uint64_t         content;
    size_t           at = read_header(frame, size, &content), written = GGS_ZSTD_FAILED;
    struct decoder * d = at == 0 ? NULL : malloc(sizeof(*d));
    if (d == NULL) return GGS_ZSTD_FAILED;
    d->to = to, d->capacity = capacity, d->written = 0, d->n_literals = 0;
    d->offsets[0] = 1, d->offsets[1] = 4, d->offsets[2] = 8;
    d->huffman.bits  = 0;
    d->lengths.known = d->distances.known = d->matches.known = false;
    if (read_blocks(d, frame, size, at) && (content == UINT64_MAX || d->written == content)) written = d->written;
    free(d);
    return written;
}
