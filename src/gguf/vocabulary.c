#include "gguf/vocabulary.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "gguf/gguf.h"

enum notation { NOTATION_PLAIN, NOTATION_SENTENCEPIECE, NOTATION_BYTES };

struct piece {
    const char * data;
    size_t       length;
};

struct ggs_vocabulary {
    enum notation notation;
    uint64_t      n;
    struct piece  pieces[];
};

static enum notation notation_of(const struct ggs_gguf * gguf) {
    const char * name;
    size_t       length;
    if (!ggs_gguf_get_string(gguf, "tokenizer.ggml.model", &name, &length)) return NOTATION_PLAIN;
    if (length == 5 && memcmp(name, "llama", 5) == 0) return NOTATION_SENTENCEPIECE;
    if (length == 2 && memcmp(name, "t5", 2) == 0) return NOTATION_SENTENCEPIECE;
    if (length == 4 && memcmp(name, "gpt2", 4) == 0) return NOTATION_BYTES;
    return NOTATION_PLAIN;
}

int ggs_vocabulary_open(struct ggs_vocabulary ** out, const struct ggs_gguf * gguf, struct ggs_error * error) {
    *out                          = NULL;
    const struct ggs_gguf_kv * kv = ggs_gguf_find(gguf, "tokenizer.ggml.tokens");
    if (kv == NULL || !kv->array || kv->type != GGS_GGUF_STRING) {
        return ggs_fail(error, GGS_ABSENT, "%s has no vocabulary", gguf->path);
    }
    struct ggs_vocabulary * vocabulary = malloc(sizeof(*vocabulary) + kv->count * sizeof(struct piece));
    if (vocabulary == NULL) return ggs_fail_memory(error);
    struct ggs_gguf_values values = ggs_gguf_values(kv);
    struct ggs_gguf_value  value;
    vocabulary->notation = notation_of(gguf);
    vocabulary->n        = 0;
    while (vocabulary->n < kv->count && ggs_gguf_next(&values, &value)) {
        vocabulary->pieces[vocabulary->n++] = (struct piece){value.string, value.length};
    }
    *out = vocabulary;
    return 0;
}

void ggs_vocabulary_free(struct ggs_vocabulary * vocabulary) {
    free(vocabulary);
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

static void append_sentencepiece(const struct piece * piece, struct ggs_text * text) {
    static const char blank[] = "\xe2\x96\x81"; // LOWER ONE EIGHTH BLOCK
    const char *      s       = piece->data;
    if (piece->length == 6 && memcmp(s, "<0x", 3) == 0 && s[5] == '>' && hex_digit(s[3]) >= 0 && hex_digit(s[4]) >= 0) {
        ggs_text_putc(text, (char) (hex_digit(s[3]) * 16 + hex_digit(s[4])));
        return;
    }
    for (size_t i = 0; i < piece->length;) {
        if (piece->length - i >= 3 && memcmp(s + i, blank, 3) == 0) {
            ggs_text_putc(text, ' ');
            i += 3;
        } else {
            ggs_text_putc(text, s[i++]);
        }
    }
}

// GPT-2's notation: printable bytes of Latin-1 stand for themselves, the others for U+0100 and up,
// in order.
static int byte_of(uint32_t point) {
    bool itself =
        (point >= 0x21 && point <= 0x7e) || (point >= 0xa1 && point <= 0xac) || (point >= 0xae && point <= 0xff);
    if (itself) return (int) point;
    if (point < 0x100 || point > 0x143) return -1;
    uint32_t rank = point - 0x100;
    if (rank <= 0x20) return (int) rank;               // 0x00..0x20
    if (rank <= 0x42) return (int) (0x7f + rank - 33); // 0x7f..0xa0
    return 0xad;
}

static void append_bytes(const struct piece * piece, struct ggs_text * text) {
    for (size_t i = 0; i < piece->length;) {
        uint32_t point;
        size_t   size = ggs_utf8_decode(piece->data + i, piece->length - i, &point);
        int      byte = size == 0 ? -1 : byte_of(point);
        if (size == 0) size = 1;
        if (byte >= 0) {
            ggs_text_putc(text, (char) byte);
        } else { // outside of the notation: copied as it is
            ggs_text_append(text, piece->data + i, size);
        }
        i += size;
    }
}

void ggs_vocabulary_append(const struct ggs_vocabulary * vocabulary, int64_t token, struct ggs_text * text) {
    if (token < 0 || (uint64_t) token >= vocabulary->n) return;
    const struct piece * piece = &vocabulary->pieces[token];
    switch (vocabulary->notation) {
        case NOTATION_SENTENCEPIECE:
            append_sentencepiece(piece, text);
            break;
        case NOTATION_BYTES:
            append_bytes(piece, text);
            break;
        default:
            ggs_text_append(text, piece->data, piece->length);
            break;
    }
}
