#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"

static void flush(struct ggs_json * json) {
    if (!json->failed && json->used > 0 && json->sink(json->context, json->buffer, json->used) != 0)
        json->failed = true;
    json->used = 0;
}

static void put(struct ggs_json * json, const char * data, size_t length) {
    while (length > 0) {
        size_t room = sizeof(json->buffer) - json->used;
        size_t part = length < room ? length : room;
        memcpy(json->buffer + json->used, data, part);
        json->used += part;
        data += part;
        length -= part;
        if (json->used == sizeof(json->buffer)) flush(json);
    }
}

static void put_char(struct ggs_json * json, char c) {
    json->buffer[json->used++] = c;
    if (json->used == sizeof(json->buffer)) flush(json);
}

static void new_line(struct ggs_json * json) {
    static const char blanks[2 * GGS_JSON_DEPTH + 1] =
        "                                                                ";
    put_char(json, '\n');
    put(json, blanks, 2 * (size_t) json->depth);
}

static void put_string(struct ggs_json * json, const char * s, size_t length) {
    static const char hex[] = "0123456789abcdef";
    put_char(json, '"');
    size_t i = 0;
    while (i < length) {
        // Bytes that need no escape go out in one piece.
        size_t plain = i;
        while (plain < length) {
            unsigned char c = (unsigned char) s[plain];
            if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\') break;
            plain++;
        }
        put(json, s + i, plain - i);
        i = plain;
        if (i == length) break;

        unsigned char c = (unsigned char) s[i];
        if (c == '"' || c == '\\') {
            char pair[2] = {'\\', (char) c};
            put(json, pair, 2);
            i++;
        } else if (c < 0x20 || c == 0x7f) {
            const char * shorts = "b\bf\fn\nr\rt\t";
            const char * found  = NULL;
            for (const char * p = shorts; *p != '\0'; p += 2) {
                if ((unsigned char) p[1] == c) found = p;
            }
            if (found != NULL) {
                char pair[2] = {'\\', found[0]};
                put(json, pair, 2);
            } else {
                char code[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
                put(json, code, 6);
            }
            i++;
        } else {
            uint32_t point;
            size_t   size = ggs_utf8_decode(s + i, length - i, &point);
            if (size == 0) {
                put(json, "\xef\xbf\xbd", 3);
                i++;
            } else {
                put(json, s + i, size);
                i += size;
            }
        }
    }
    put_char(json, '"');
}

// Writes what precedes a value: comma, line break, key.
static void begin_value(struct ggs_json * json, const char * key) {
    if (json->depth > 0) {
        unsigned level    = json->depth - 1;
        bool     one_line = !json->pretty || json->inlined[level];
        if (json->filled[level]) put_char(json, ',');
        if (!one_line) {
            new_line(json);
        } else if (json->pretty && json->filled[level]) {
            put_char(json, ' ');
        }
        json->filled[level] = true;
    }
    if (key != NULL) {
        put_string(json, key, strlen(key));
        put_char(json, ':');
        if (json->pretty) put_char(json, ' ');
    }
}

static void open_level(struct ggs_json * json, const char * key, char opener, char closer, bool inlined) {
    begin_value(json, key);
    put_char(json, opener);
    if (json->depth == GGS_JSON_DEPTH) {
        json->failed = true;
        return;
    }
    bool outer                 = json->depth > 0 && json->inlined[json->depth - 1];
    json->closer[json->depth]  = closer;
    json->filled[json->depth]  = false;
    json->inlined[json->depth] = inlined || outer;
    json->depth++;
}

void ggs_json_init(struct ggs_json * json, ggs_json_sink sink, void * context, bool pretty) {
    json->sink      = sink;
    json->context   = context;
    json->pretty    = pretty;
    json->failed    = false;
    json->depth     = 0;
    json->used      = 0;
    json->closer[0] = '\0';
}

void ggs_json_object(struct ggs_json * json, const char * key) {
    open_level(json, key, '{', '}', false);
}

void ggs_json_array(struct ggs_json * json, const char * key) {
    open_level(json, key, '[', ']', false);
}

void ggs_json_array_inline(struct ggs_json * json, const char * key) {
    open_level(json, key, '[', ']', true);
}

void ggs_json_object_inline(struct ggs_json * json, const char * key) {
    open_level(json, key, '{', '}', true);
}

void ggs_json_end(struct ggs_json * json) {
    if (json->depth == 0) {
        json->failed = true;
        return;
    }
    json->depth--;
    if (json->pretty && json->filled[json->depth] && !json->inlined[json->depth]) new_line(json);
    put_char(json, json->closer[json->depth]);
}

void ggs_json_string_n(struct ggs_json * json, const char * key, const char * value, size_t length) {
    begin_value(json, key);
    put_string(json, value, length);
}

void ggs_json_string(struct ggs_json * json, const char * key, const char * value) {
    if (value == NULL) {
        ggs_json_null(json, key);
    } else {
        ggs_json_string_n(json, key, value, strlen(value));
    }
}

static void put_u64(struct ggs_json * json, uint64_t value) {
    char   digits[20];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char) ('0' + value % 10);
        value /= 10;
    } while (value > 0);
    put(json, digits + at, sizeof(digits) - at);
}

void ggs_json_u64(struct ggs_json * json, const char * key, uint64_t value) {
    begin_value(json, key);
    put_u64(json, value);
}

void ggs_json_i64(struct ggs_json * json, const char * key, int64_t value) {
    begin_value(json, key);
    if (value < 0) put_char(json, '-');
    put_u64(json, value < 0 ? 0 - (uint64_t) value : (uint64_t) value);
}

void ggs_json_natural(struct ggs_json * json, const char * key, int64_t value) {
    if (value < 0) {
        ggs_json_null(json, key);
    } else {
        ggs_json_i64(json, key, value);
    }
}

void ggs_json_double(struct ggs_json * json, const char * key, double value) {
    if (!isfinite(value)) {
        ggs_json_null(json, key);
        return;
    }
    begin_value(json, key);
    // The fewest digits that read back as the same number; 15 suffice for most, 17 for all.
    char text[32];
    for (int digits = 6; digits <= 17; digits = digits < 15 ? 15 : digits + 1) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    put(json, text, strlen(text));
}

void ggs_json_bool(struct ggs_json * json, const char * key, bool value) {
    begin_value(json, key);
    put(json, value ? "true" : "false", value ? 4 : 5);
}

void ggs_json_null(struct ggs_json * json, const char * key) {
    begin_value(json, key);
    put(json, "null", 4);
}

bool ggs_json_begun(const struct ggs_json * json) {
    return json->closer[0] != '\0';
}

int ggs_json_finish(struct ggs_json * json) {
    if (json->depth != 0) json->failed = true;
    if (json->pretty) put_char(json, '\n');
    flush(json);
    return json->failed ? -1 : 0;
}

int ggs_json_to_file(void * file, const char * data, size_t length) {
    return fwrite(data, 1, length, file) == length ? 0 : -1;
}

int ggs_json_to_text(void * text, const char * data, size_t length) {
    struct ggs_text * target = text;
    ggs_text_append(target, data, length);
    return target->failed ? -1 : 0;
}
