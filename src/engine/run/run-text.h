// Assembles token pieces into whole UTF-8 characters. A character may span several tokens, so the
// bytes of an incomplete one are held back; invalid bytes are written as U+FFFD.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct ggs_run_text {
    FILE * file;
    bool   terminal; // write control characters as U+FFFD: a model must not control the terminal
    char   held[4];  // the beginning of a character
    size_t held_length;
    char   last; // last byte written, a newline at first
};

void ggs_run_text_init(struct ggs_run_text * text, FILE * file);
// Writes complete characters and flushes.
void ggs_run_text_write(struct ggs_run_text * text, const char * piece, size_t length);
// Writes what is held back and ends an open line. Returns 0, or -1 if output was lost.
int ggs_run_text_finish(struct ggs_run_text * text);
