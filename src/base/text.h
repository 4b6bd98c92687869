// A growing string. Failure sticks: after an allocation failed every further append does nothing
// and `failed` stays set, so that callers append freely and check once at the end.
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct ggs_text {
    char * data;   // NUL-terminated; NULL until the first append
    size_t length; // without the NUL
    size_t capacity;
    bool   failed;
};

// A zeroed struct is an empty text: `struct ggs_text text = {0};`
void ggs_text_release(struct ggs_text * text); // frees the memory, leaves an empty text
void ggs_text_clear(struct ggs_text * text);   // empties the text, keeps the memory

void                                       ggs_text_append(struct ggs_text * text, const char * data, size_t length);
void                                       ggs_text_puts(struct ggs_text * text, const char * string);
void                                       ggs_text_putc(struct ggs_text * text, char c);
void                                       ggs_text_repeat(struct ggs_text * text, const char * string, size_t times);
__attribute__((format(printf, 2, 3))) void ggs_text_printf(struct ggs_text * text, const char * format, ...);
void ggs_text_vprintf(struct ggs_text * text, const char * format, va_list arguments);
// Appends a paragraph in lines of at most 100 columns (a longer word stays whole) and a line break.
// Lines after the first are indented by `indent` blanks.
void ggs_text_paragraph(struct ggs_text * text, const char * words, unsigned indent);

// Returns the string, "" if it is empty. Valid until the next append.
const char * ggs_text_string(const struct ggs_text * text);
