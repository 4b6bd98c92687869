#include "base/table.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/system/terminal.h"
#include "base/text.h"

enum { MOST_COLUMNS = 24, LEAST_WIDTH = 8 };

struct ggs_table {
    size_t         n_columns;
    char *         titles[MOST_COLUMNS];
    enum ggs_align align[MOST_COLUMNS];
    bool           spare[MOST_COLUMNS];
    size_t         n_cells, capacity;
    char **        cells; // row by row; a NULL cell stands for a rule at the start of a row
    bool           failed;
};

struct ggs_table * ggs_table_new(void) {
    return calloc(1, sizeof(struct ggs_table));
}

void ggs_table_free(struct ggs_table * table) {
    if (table == NULL) return;
    for (size_t i = 0; i < table->n_columns; i++) free(table->titles[i]);
    for (size_t i = 0; i < table->n_cells; i++) free(table->cells[i]);
    free(table->cells);
    free(table);
}

// Returns a copy without control characters.
static char * harmless_copy(const char * string) {
    char * copy = strdup(string);
    if (copy != NULL) ggs_terminal_disarm(copy);
    return copy;
}

void ggs_table_column(struct ggs_table * table, const char * title, enum ggs_align align) {
    if (table == NULL) return;
    if (table->n_columns == MOST_COLUMNS || table->n_cells > 0) {
        table->failed = true;
        return;
    }
    table->titles[table->n_columns] = harmless_copy(title);
    if (table->titles[table->n_columns] == NULL) table->failed = true;
    table->align[table->n_columns++] = align;
}

void ggs_table_columns(struct ggs_table * table, const char * titles) {
    for (;;) {
        bool spare = titles[0] == '~';
        if (spare) titles++;
        enum ggs_align align = titles[0] == '>' ? GGS_RIGHT : GGS_LEFT;
        if (align == GGS_RIGHT) titles++;
        size_t length = strcspn(titles, "|");
        char   title[64];
        snprintf(title, sizeof(title), "%.*s", (int) length, titles);
        ggs_table_column(table, title, align);
        if (table != NULL && !table->failed) table->spare[table->n_columns - 1] = spare;
        if (titles[length] == '\0') return;
        titles += length + 1;
    }
}

static void add_cell(struct ggs_table * table, char * cell) {
    if (ggs_array_push(table->cells, table->n_cells, table->capacity, cell)) return;
    table->failed = true;
    free(cell);
}

void ggs_table_cell(struct ggs_table * table, const char * format, ...) {
    if (table == NULL || table->failed) return;
    struct ggs_text text = {0};
    va_list         arguments;
    va_start(arguments, format);
    ggs_text_vprintf(&text, format, arguments);
    va_end(arguments);
    char * cell = text.failed ? NULL : harmless_copy(ggs_text_string(&text));
    ggs_text_release(&text);
    if (cell == NULL) {
        table->failed = true;
        return;
    }
    add_cell(table, cell);
}

void ggs_table_rule(struct ggs_table * table) {
    if (table == NULL || table->failed) return;
    for (size_t i = 0; i < table->n_columns; i++) add_cell(table, NULL);
}

static void measure(const struct ggs_table * table, size_t * widths) {
    for (size_t c = 0; c < table->n_columns; c++) widths[c] = ggs_terminal_columns(table->titles[c]);
    for (size_t i = 0; i < table->n_cells; i++) {
        if (table->cells[i] == NULL) continue;
        size_t columns = ggs_terminal_columns(table->cells[i]);
        if (columns > widths[i % table->n_columns]) widths[i % table->n_columns] = columns;
    }
}

#define LEFT_OUT SIZE_MAX // as a width

static size_t total_of(const struct ggs_table * table, const size_t * widths) {
    size_t total = 0;
    for (size_t c = 0; c < table->n_columns; c++) total += widths[c] == LEFT_OUT ? 0 : widths[c] + 2;
    return total - 2;
}

// Omits spare columns, then narrows the widest left-aligned column until the table fits.
static void shrink(const struct ggs_table * table, size_t * widths, unsigned limit) {
    for (size_t c = table->n_columns; c-- > 1 && total_of(table, widths) > limit;)
        if (table->spare[c]) widths[c] = LEFT_OUT;
    size_t total = total_of(table, widths);
    while (total > limit) {
        size_t widest = table->n_columns;
        for (size_t c = 0; c < table->n_columns; c++) {
            bool candidate = table->align[c] == GGS_LEFT && widths[c] != LEFT_OUT && widths[c] > LEAST_WIDTH;
            if (candidate && (widest == table->n_columns || widths[c] > widths[widest])) widest = c;
        }
        if (widest == table->n_columns) return;
        widths[widest]--;
        total--;
    }
}

static size_t bytes_for_columns(const char * s, size_t columns) {
    size_t length = strlen(s), used = 0, i = 0;
    while (i < length) {
        unsigned width;
        size_t   size = ggs_terminal_next(s + i, length - i, &width);
        if (used + width > columns) break;
        used += width;
        i += size;
    }
    return i;
}

// Returns the longest tail of `s` that fits into `columns` columns.
static const char * tail_of_columns(const char * s, size_t columns) {
    size_t skip = ggs_terminal_columns(s) - columns;
    size_t at   = bytes_for_columns(s, skip);
    if (ggs_terminal_columns(s + at) > columns) { // a wide character straddles the cut
        unsigned width;
        at += ggs_terminal_next(s + at, strlen(s + at), &width);
    }
    return s + at;
}

static void print_cell(struct ggs_text * line, const char * cell, size_t width, enum ggs_align align, bool last) {
    if (width == LEFT_OUT) return;
    size_t          columns = ggs_terminal_columns(cell);
    struct ggs_text shorter = {0};
    if (columns > width) {
        size_t keep = width - 1;
        ggs_text_append(&shorter, cell, bytes_for_columns(cell, keep - keep / 2));
        ggs_text_puts(&shorter, "…");
        ggs_text_puts(&shorter, tail_of_columns(cell, keep / 2));
        cell    = ggs_text_string(&shorter);
        columns = ggs_terminal_columns(cell);
    }
    size_t blanks = columns < width ? width - columns : 0;
    if (align == GGS_RIGHT) ggs_text_repeat(line, " ", blanks);
    ggs_text_puts(line, cell);
    if (align == GGS_LEFT && !last) ggs_text_repeat(line, " ", blanks);
    if (!last) ggs_text_puts(line, "  ");
    ggs_text_release(&shorter);
}

int ggs_table_print(const struct ggs_table * table, FILE * file, unsigned width) {
    if (table == NULL || table->failed || table->n_columns == 0) return -1;
    size_t widths[MOST_COLUMNS];
    measure(table, widths);
    if (width > 0) shrink(table, widths, width);

    bool            colour = ggs_terminal_colour(file);
    size_t          n      = table->n_columns;
    size_t          last   = n - 1;
    struct ggs_text line   = {0};
    while (widths[last] == LEFT_OUT) last--;
    if (colour) ggs_text_puts(&line, "\x1b[1m");
    for (size_t c = 0; c < n; c++) print_cell(&line, table->titles[c], widths[c], table->align[c], c == last);
    ggs_text_puts(&line, colour ? "\x1b[0m\n" : "\n");
    for (size_t i = 0; i < table->n_cells; i += n) {
        for (size_t c = 0; c < n && i + c < table->n_cells; c++) {
            const char * cell = table->cells[i + c];
            if (cell == NULL) {
                ggs_text_repeat(&line, "─", widths[c] == LEFT_OUT ? 0 : widths[c] + (c == last ? 0 : 2));
            } else {
                print_cell(&line, cell, widths[c], table->align[c], c == last);
            }
        }
        ggs_text_putc(&line, '\n');
        if (line.length > 32768) {
            fwrite(line.data, 1, line.length, file);
            line.length = 0;
        }
    }
    fwrite(ggs_text_string(&line), 1, line.length, file);
    bool failed = line.failed;
    ggs_text_release(&line);
    return failed || ferror(file) ? -1 : 0;
}

int ggs_table_end(struct ggs_table * table, FILE * file, unsigned width) {
    int status = ggs_table_print(table, file, width);
    ggs_table_free(table);
    return status;
}
