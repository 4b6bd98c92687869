// Token pieces in, whole UTF-8 characters out. A character may be spread over several tokens, so
// the bytes of one that is not complete yet are held back; bytes that can never become one go out
// as U+FFFD.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct ggs_run_text {
    FILE * file;
    bool   terminal; // show control characters as U+FFFD: a model must not drive the terminal
    char   held[4];  // the beginning of a character
    size_t held_length;
    char   last; // the last byte written, '\n' before any
};

void ggs_run_text_init(struct ggs_run_text * text, FILE * file);
// Writes what is complete and flushes.
void ggs_run_text_write(struct ggs_run_text * text, const char * piece, size_t length);
// Writes what is held back, ends the line if it is open. Returns 0, or -1 if anything was lost.
int ggs_run_text_finish(struct ggs_run_text * text);
