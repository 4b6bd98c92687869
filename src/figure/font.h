// Metrics of Helvetica, a standard font of every PDF reader.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Width of a text at this size. Bold letters count as a tenth wider.
double ggs_font_width(const char * text, double size, int bold);
// Returns one character in PDF's WinAnsiEncoding, '?' if it has none, and moves to the next.
uint8_t ggs_font_next(const char ** text);
