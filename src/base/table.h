// Tables for terminals, with aligned columns.
#pragma once

#include <stdio.h>

// Add columns first, then cells row by row, then print. Text is copied. Control characters in cells
// are printed as "?": names from files must not control the terminal.
struct ggs_table;
enum ggs_align { GGS_LEFT, GGS_RIGHT };
struct ggs_table * ggs_table_new(void); // NULL if out of memory; all other functions accept NULL and do nothing
void               ggs_table_free(struct ggs_table * table);
void               ggs_table_column(struct ggs_table * table, const char * title, enum ggs_align align);
// Adds several columns: titles separated by "|"; ">" before a title aligns it right.
// "class|>buffers|>peak|": the last column has no title. "~" in front marks a column that is
// omitted if the table does not fit, the last of them first.
void                                       ggs_table_columns(struct ggs_table * table, const char * titles);
__attribute__((format(printf, 2, 3))) void ggs_table_cell(struct ggs_table * table, const char * format, ...);
void                                       ggs_table_rule(struct ggs_table * table); // a thin line before the next row
// Prints to `file`. Columns are separated by two blanks, the header is bold if there is colour.
// Left-aligned columns are shortened in the middle ("blk.0.ffn…eight") until the table fits `width`
// (0: never). Returns 0, or -1 if memory or output failed.
int ggs_table_print(const struct ggs_table * table, FILE * file, unsigned width);
// Prints and frees.
int ggs_table_end(struct ggs_table * table, FILE * file, unsigned width);
