// What a terminal can do, how wide text is on it, and bars.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

// Set to the terminal's width while what we write to stdout goes to a pager, which shows it on the
// terminal.
#define GGS_PAGER_IN_USE "GGSCOPE_PAGER_IN_USE"

// Is `file` a terminal, or on its way to one through a pager?
bool ggs_terminal_is(FILE * file);
// Colour if `file` is a terminal, TERM is not "dumb" and NO_COLOR is unset or empty.
bool ggs_terminal_colour(FILE * file);
// $COLUMNS, else the columns of the terminal behind `file`, else 80: for plots.
unsigned ggs_terminal_width(FILE * file);
// How wide a line may be before it is cut: the terminal's width; 0, never, if it is none, because
// programs read it.
unsigned ggs_terminal_limit(FILE * file);
// Does the user's locale (LC_ALL, LC_CTYPE, LANG) say C or POSIX? Then a terminal shows ASCII only.
bool ggs_terminal_ascii(void);
// Columns that a UTF-8 string takes (wide and combining characters counted properly, escape
// sequences not counted).
size_t ggs_terminal_columns(const char * string);

// Replaces control characters, those of two bytes in UTF-8 included, by "?": text from files must
// not drive the terminal.
void ggs_terminal_disarm(char * text);

// Writes lines of at most `width` columns (0: as wide as they are). Longer ones are broken at
// blanks, and go on where the text behind their label
// begins ("faults    8,187 minor ..."), or two columns further in than they began. What has no blank stays whole. "\v" is where a sentence goes on
// below if there are 80 columns, and a blank if there are less. The text is changed.
void ggs_terminal_wrap(char * text, unsigned width, FILE * file);

// A bar of `width` columns filled to part / whole in eighths of a cell, padded with blanks:
// "█████▌   ". Writes at most 3 * width + 1 bytes.
void ggs_terminal_bar(char * buffer, size_t size, unsigned width, double fraction);

// Bytes of the first character of s[0..length), length > 0, and the columns it takes; an escape
// sequence is one character of no columns.
size_t ggs_terminal_next(const char * s, size_t length, unsigned * columns);
