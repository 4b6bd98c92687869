#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Makes room for `extra` bytes and a NUL. On failure it sets `failed` and returns false.
static bool reserve(struct ggs_text * text, size_t extra) {
    if (text->failed) return false;
    size_t needed;
    if (__builtin_add_overflow(text->length, extra, &needed) || __builtin_add_overflow(needed, 1, &needed)) {
        text->failed = true;
        return false;
    }
    if (needed <= text->capacity) return true;
    size_t capacity = text->capacity < 64 ? 64 : text->capacity;
    while (capacity < needed) {
        if (__builtin_mul_overflow(capacity, 2, &capacity)) capacity = needed;
    }
    char * data = realloc(text->data, capacity);
    if (data == NULL) {
        text->failed = true;
        return false;
    }
    text->data     = data;
    text->capacity = capacity;
    return true;
}

void ggs_text_release(struct ggs_text * text) {
    free(text->data);
    *text = (struct ggs_text){0};
}

void ggs_text_clear(struct ggs_text * text) {
    text->length = 0;
    text->failed = false;
    if (text->data != NULL) text->data[0] = '\0';
}

void ggs_text_append(struct ggs_text * text, const char * data, size_t length) {
    if (!reserve(text, length)) return;
    if (length > 0) memcpy(text->data + text->length, data, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void ggs_text_puts(struct ggs_text * text, const char * string) {
    ggs_text_append(text, string, strlen(string));
}

void ggs_text_putc(struct ggs_text * text, char c) {
    ggs_text_append(text, &c, 1);
}

void ggs_text_repeat(struct ggs_text * text, const char * string, size_t times) {
    size_t length = strlen(string);
    for (size_t i = 0; i < times && !text->failed; i++) ggs_text_append(text, string, length);
}

void ggs_text_vprintf(struct ggs_text * text, const char * format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0) {
        text->failed = true;
        return;
    }
    if (!reserve(text, (size_t) length)) return;
    vsnprintf(text->data + text->length, (size_t) length + 1, format, arguments);
    text->length += (size_t) length;
}

void ggs_text_printf(struct ggs_text * text, const char * format, ...) {
    va_list arguments;
    va_start(arguments, format);
    ggs_text_vprintf(text, format, arguments);
    va_end(arguments);
}

void ggs_text_paragraph(struct ggs_text * text, const char * words, unsigned indent) {
    enum { WIDTH = 100 };
    size_t column = 0;
    while (column < text->length && text->data[text->length - 1 - column] != '\n') column++;
    for (size_t length; *words != '\0'; words += length + (words[length] == ' ')) {
        length = strcspn(words, " ");
        if (column > indent && column + (text->data[text->length - 1] != ' ') + length > WIDTH) {
            ggs_text_printf(text, "\n%*s", (int) indent, "");
            column = indent;
        } else if (column > indent && text->data[text->length - 1] != ' ') {
            ggs_text_putc(text, ' ');
            column++;
        }
        ggs_text_append(text, words, length);
        column += length;
        if (text->failed) return;
    }
    ggs_text_putc(text, '\n');
}

const char * ggs_text_string(const struct ggs_text * text) {
    return text->data == NULL ? "" : text->data;
}
