// Tables that line up on a terminal.
#pragma once

#include <stdio.h>

// A table: columns first, then cells row by row, then print. Text is copied.
// Control characters in cells are shown as "?" so that names from files cannot drive the terminal.
struct ggs_table;
enum ggs_align { GGS_LEFT, GGS_RIGHT };
struct ggs_table * ggs_table_new(void); // NULL when out of memory; all other functions take NULL and do nothing
void               ggs_table_free(struct ggs_table * table);
void               ggs_table_column(struct ggs_table * table, const char * title, enum ggs_align align);
// Several: titles with "|" between; ">" before one aligns it right. "class|>buffers|>peak|": the
// last has no title. "~" before all that: the column is left out where the table does not fit, the
// last of these first.
void                                       ggs_table_columns(struct ggs_table * table, const char * titles);
__attribute__((format(printf, 2, 3))) void ggs_table_cell(struct ggs_table * table, const char * format, ...);
void                                       ggs_table_rule(struct ggs_table * table); // a thin line before the next row
// Prints to `file`. Columns are separated by two blanks, the header is bold if there is colour, and
// left-aligned columns are shortened in the middle ("blk.0.ffn…eight") until the table fits `width`
// (0: never shorten). Returns 0, or -1 if a cell could not be kept or written.
int ggs_table_print(const struct ggs_table * table, FILE * file, unsigned width);
// Prints and frees.
int ggs_table_end(struct ggs_table * table, FILE * file, unsigned width);
