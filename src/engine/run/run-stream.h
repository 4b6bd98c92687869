// Token pieces in, whole UTF-8 characters out. A character may be spread over several tokens, so the
// bytes of one that is not complete yet are held back; bytes that can never become one go out as U+FFFD.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct ggs_stream {
    FILE * file;
    bool   terminal; // show control characters as U+FFFD: a model must not drive the terminal
    char   held[4];  // the beginning of a character
    size_t held_length;
    char   last; // the last byte written, '\n' before any
};

void ggs_stream_init(struct ggs_stream * stream, FILE * file);
// Writes what is complete and flushes.
void ggs_stream_write(struct ggs_stream * stream, const char * piece, size_t length);
// Writes what is held back, ends the line if it is open. Returns 0, or -1 if anything was lost.
int ggs_stream_finish(struct ggs_stream * stream);
