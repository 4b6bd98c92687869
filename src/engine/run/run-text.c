#include "engine/run/run-text.h"

#include <stdint.h>
#include <unistd.h>

#include "base/utf8.h"

void ggs_run_text_init(struct ggs_run_text * text, FILE * file) {
    *text = (struct ggs_run_text){.file = file, .terminal = isatty(fileno(file)) == 1, .last = '\n'};
}

static void put(struct ggs_run_text * text, const char * data, size_t length) {
    uint32_t point = 0;
    bool     valid = ggs_utf8_decode(data, length, &point) == length;
    bool     shown = valid && !(text->terminal &&
                            ((point < 0x20 && point != '\n' && point != '\t') || (point >= 0x7f && point < 0xa0)));
    if (!shown) {
        fputs("\xef\xbf\xbd", text->file);
        text->last = '\xbd';
        return;
    }
    fwrite(data, 1, length, text->file);
    text->last = data[length - 1];
}

// True if these bytes can begin a longer character.
static bool is_beginning(const char * data, size_t length) {
    uint8_t first  = (uint8_t) data[0];
    size_t  wanted = first >= 0xf0 && first < 0xf5 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first >= 0xf5 || length >= wanted) return false;
    for (size_t i = 1; i < length; i++) {
        if (((uint8_t) data[i] & 0xc0) != 0x80) return false;
    }
    return true;
}

// Adds one byte. `held` is always the beginning of one character.
static void add_byte(struct ggs_run_text * text, char byte) {
    text->held[text->held_length++] = byte;
    while (text->held_length > 0) {
        uint32_t point;
        size_t   size = ggs_utf8_decode(text->held, text->held_length, &point);
        if (size == 0 && is_beginning(text->held, text->held_length)) return;
        if (size == 0) size = 1;
        put(text, text->held, size);
        text->held_length -= size;
        for (size_t i = 0; i < text->held_length; i++) text->held[i] = text->held[i + size];
    }
}

void ggs_run_text_write(struct ggs_run_text * text, const char * piece, size_t length) {
    for (size_t i = 0; i < length; i++) add_byte(text, piece[i]);
    fflush(text->file);
}

int ggs_run_text_finish(struct ggs_run_text * text) {
    for (size_t i = 0; i < text->held_length; i++) put(text, &text->held[i], 1);
    text->held_length = 0;
    if (text->last != '\n') fputc('\n', text->file);
    return fflush(text->file) == 0 && !ferror(text->file) ? 0 : -1;
}
