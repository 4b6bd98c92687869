#include "engine/run/run-stream.h"

#include <stdint.h>
#include <unistd.h>

#include "base/utf8.h"

void ggs_stream_init(struct ggs_stream * stream, FILE * file) {
    *stream = (struct ggs_stream){.file = file, .terminal = isatty(fileno(file)) == 1, .last = '\n'};
}

static void put(struct ggs_stream * stream, const char * data, size_t length) {
    uint32_t point = 0;
    bool     valid = ggs_utf8_decode(data, length, &point) == length;
    bool     shown = valid && !(stream->terminal &&
                            ((point < 0x20 && point != '\n' && point != '\t') || (point >= 0x7f && point < 0xa0)));
    if (!shown) {
        fputs("\xef\xbf\xbd", stream->file);
        stream->last = '\xbd';
        return;
    }
    fwrite(data, 1, length, stream->file);
    stream->last = data[length - 1];
}

// Could these bytes be the beginning of a character that needs more?
static bool is_beginning(const char * data, size_t length) {
    uint8_t first  = (uint8_t) data[0];
    size_t  wanted = first >= 0xf0 && first < 0xf5 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first >= 0xf5 || length >= wanted) return false;
    for (size_t i = 1; i < length; i++) {
        if (((uint8_t) data[i] & 0xc0) != 0x80) return false;
    }
    return true;
}

// Takes one byte. `held` is at any time the beginning of one character.
static void take(struct ggs_stream * stream, char byte) {
    stream->held[stream->held_length++] = byte;
    while (stream->held_length > 0) {
        uint32_t point;
        size_t   size = ggs_utf8_decode(stream->held, stream->held_length, &point);
        if (size == 0 && is_beginning(stream->held, stream->held_length)) return;
        if (size == 0) size = 1;
        put(stream, stream->held, size);
        stream->held_length -= size;
        for (size_t i = 0; i < stream->held_length; i++) stream->held[i] = stream->held[i + size];
    }
}

void ggs_stream_write(struct ggs_stream * stream, const char * piece, size_t length) {
    for (size_t i = 0; i < length; i++) take(stream, piece[i]);
    fflush(stream->file);
}

int ggs_stream_finish(struct ggs_stream * stream) {
    for (size_t i = 0; i < stream->held_length; i++) put(stream, &stream->held[i], 1);
    stream->held_length = 0;
    if (stream->last != '\n') fputc('\n', stream->file);
    return fflush(stream->file) == 0 && !ferror(stream->file) ? 0 : -1;
}
