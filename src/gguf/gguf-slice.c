#include "gguf/gguf-slice.h"

#include "base/utf8.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void * left, const void * right) {
    const struct ggs_slice * a      = left;
    const struct ggs_slice * b      = right;
    size_t                   common = a->length < b->length ? a->length : b->length;
    int                      order  = common == 0 ? 0 : memcmp(a->data, b->data, common);
    if (order != 0) return order;
    if (a->length != b->length) return a->length < b->length ? -1 : 1;
    return (a->tag > b->tag) - (a->tag < b->tag);
}

const struct ggs_slice * ggs_find_duplicate(struct ggs_slice * slices, size_t count) {
    if (count < 2) return NULL;
    qsort(slices, count, sizeof *slices, compare);
    for (size_t i = 0; i + 1 < count; i++) {
        if (slices[i].length == slices[i + 1].length &&
            memcmp(slices[i].data, slices[i + 1].data, slices[i].length) == 0) {
            return &slices[i];
        }
    }
    return NULL;
}

char * ggs_printable(char * buffer, size_t size, const char * data, size_t length) {
    static const char dots[] = "...";
    size_t            room   = size - sizeof dots; // leaves room for the dots and a NUL
    size_t            used   = 0;
    size_t            i      = 0;
    while (i < length) {
        uint32_t point = 0;
        size_t   step  = ggs_utf8_decode(data + i, length - i, &point);
        bool     plain = step > 0 && point >= 0x20 && point != 0x7f && !(point >= 0x80 && point < 0xa0);
        size_t   bytes = plain ? step : 1;
        // The rest may use the space of the dots if the text ends there.
        if (used + bytes > room && used + (length - i) > size - 1) {
            memcpy(buffer + used, dots, sizeof dots);
            return buffer;
        }
        if (plain) {
            memcpy(buffer + used, data + i, step);
        } else {
            buffer[used] = '?';
        }
        used += bytes;
        i += step > 0 ? step : 1;
    }
    buffer[used] = '\0';
    return buffer;
}
