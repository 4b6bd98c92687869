// Capabilities of the terminal, widths of text, bars.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

// Environment variable with the terminal's width, set while stdout goes to a pager on the terminal.
#define GGS_PAGER_IN_USE "GGSCOPE_PAGER_IN_USE"

// True if `file` is a terminal or goes to one through a pager.
bool ggs_terminal_is(FILE * file);
// True if `file` is a terminal, TERM is not "dumb" and NO_COLOR is unset or empty.
bool ggs_terminal_colour(FILE * file);
// $COLUMNS, else the columns of the terminal behind `file`, else 80: for plots.
unsigned ggs_terminal_width(FILE * file);
// Width at which lines are cut: the terminal's; 0 (never) without a terminal, because programs read
// the output.
unsigned ggs_terminal_limit(FILE * file);
// True if the user's locale (LC_ALL, LC_CTYPE, LANG) is C or POSIX: a terminal then shows only
// ASCII.
bool ggs_terminal_ascii(void);
// Columns of a UTF-8 string. Wide and combining characters count properly, escape sequences do not
// count.
size_t ggs_terminal_columns(const char * string);

// Replaces control characters, including those of two bytes in UTF-8, by "?": text from files must
// not control the terminal.
void ggs_terminal_disarm(char * text);

// Writes lines of at most `width` columns (0: no limit). Longer lines are broken at blanks and
// continue below the text behind their label ("faults    8,187 minor ..."), or indented by two more
// columns. Words stay whole. "\v" is a line break if there are at least 80 columns, else a blank.
// The text is modified.
void ggs_terminal_wrap(char * text, unsigned width, FILE * file);

// A bar of `width` columns filled to part / whole in eighths of a cell, padded with blanks:
// "█████▌   ". Writes at most 3 * width + 1 bytes.
void ggs_terminal_bar(char * buffer, size_t size, unsigned width, double fraction);

// Returns the bytes of the first character of s[0..length), length > 0, and its columns. An escape
// sequence is one character of no columns.
size_t ggs_terminal_next(const char * s, size_t length, unsigned * columns);
