// Helvetica, one of the fonts that every PDF reader has.
#pragma once

#include <stddef.h>
#include <stdint.h>

// How wide a text is in this size. Bold letters are taken for a tenth wider.
double ggs_font_width(const char * text, double size, int bold);
// One character as PDF's WinAnsiEncoding has it, '?' if it has none; moves on to the next.
uint8_t ggs_font_next(const char ** text);
