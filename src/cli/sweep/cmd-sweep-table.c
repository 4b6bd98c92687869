// The table of a study. Text, Markdown and LaTeX show some figures; CSV and Parquet have a column
// for each median and each end of its interval.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/system/file.h"
#include "base/system/terminal.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/scaffold/judgements.h"
#include "cli/sweep/cmd-sweep.h"
#include "export/tables/tables.h"

// ---- for people ----

typedef void (*put_cell)(FILE * file, const char * text);

static void put_plain(FILE * file, const char * text) {
    fputs(text, file);
}

static void put_markdown(FILE * file, const char * text) {
    for (; *text != '\0'; text++) {
        if (*text == '|' || *text == '\\') fputc('\\', file);
        fputc(*text == '\n' ? ' ' : *text, file);
    }
}

static void put_latex(FILE * file, const char * text) {
    for (; *text != '\0'; text++) {
        if (*text == '\\')
            fputs("\\textbackslash{}", file);
        else if (*text == '~' || *text == '^')
            fprintf(file, "\\%c{}", *text);
        else
            fprintf(file, strchr("&%$#_{}", *text) != NULL ? "\\%c" : "%c", *text);
    }
}

// "12.3 [11.9, 13.0] ms": the unit appears once if it is the same.
static void format_interval(char * text, size_t size, const struct ggs_sweep_cell * cell) {
    char a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH], c[GGS_NUMBER_LENGTH];
    ggs_figure_format(a, cell->figure, cell->value.median);
    ggs_figure_format(b, cell->figure, cell->value.low);
    ggs_figure_format(c, cell->figure, cell->value.high);
    size_t x = strspn(a, "0123456789.,"), y = strspn(b, "0123456789.,"), z = strspn(c, "0123456789.,");
    if (strcmp(a, b) == 0 && strcmp(a, c) == 0)
        snprintf(text, size, "%s", a);
    else if (strcmp(a + x, b + y) == 0 && strcmp(a + x, c + z) == 0)
        snprintf(text, size, "%.*s [%.*s, %.*s]%s", (int) x, a, (int) y, b, (int) z, c, a + x);
    else
        snprintf(text, size, "%s [%s, %s]", a, b, c);
}

static void format_cell(char * text, size_t size, const struct ggs_sweep_row * row,
                        const struct ggs_sweep_cell * cell) {
    if (row->runs == 0)
        snprintf(text, size, "-");
    else if (row->n == 0)
        snprintf(text, size, row->limited > 0 ? "out of memory" : "failed");
    else if (isnan(cell->value.median))
        snprintf(text, size, "not seen");
    else
        format_interval(text, size, cell);
}

static void format_n(char * text, size_t size, const struct ggs_sweep_row * row) {
    snprintf(text, size, row->n == row->runs ? "%u" : "%u of %u", row->n, row->runs);
}

static void format_ratio(char * text, size_t size, const struct ggs_ratio * ratio) {
    if (!isfinite(ratio->value) || !isfinite(ratio->high)) // invalid
        snprintf(text, size, "-");
    else
        snprintf(text, size, "%.3f [%.3f, %.3f]", ratio->value, ratio->low, ratio->high);
}

// Row n_rows is the control as a ratio.
static void cell_of(const struct ggs_sweep_answer * answer, const struct ggs_sweep_shown * shown, unsigned row,
                    unsigned column, char text[256]) {
    bool                         ratio = row == answer->n_rows;
    const struct ggs_sweep_row * r     = &answer->rows[ratio ? row - 1 : row];
    unsigned                     f     = answer->n_factors;
    if (column == 0)
        snprintf(text, 256, "%s", ratio ? "A/A" : r->variant);
    else if (column <= f)
        snprintf(text, 256, "%s", ratio ? "" : r->values[column - 1]);
    else if (column == f + 1)
        format_n(text, 256, r);
    else if (ratio)
        format_ratio(text, 256, &r->cells[shown->list[column - f - 2]].control);
    else
        format_cell(text, 256, r, &r->cells[shown->list[column - f - 2]]);
}

static const char * title_of(const struct ggs_sweep_answer * answer, const struct ggs_sweep_shown * shown,
                             unsigned column) {
    unsigned f = answer->n_factors;
    if (column == 0) return "";
    if (column <= f) return answer->factors[column - 1];
    return column == f + 1 ? "n" : ggs_trial_figure(shown->list[column - f - 2])->name;
}

static void write_heading(const struct ggs_sweep_answer * answer, FILE * file, const char * before, put_cell put) {
    unsigned failed = 0, limited = 0, fewest = 0, busy = 0;
    char     text[400];
    for (unsigned i = 0; i < answer->n_rows; i++) {
        failed += answer->rows[i].failed;
        limited += answer->rows[i].limited;
        busy += answer->rows[i].busy;
        if (answer->rows[i].n > 0 && (fewest == 0 || answer->rows[i].n < fewest)) fewest = answer->rows[i].n;
    }
    int n = snprintf(text, sizeof(text), "%u of %u runs", answer->runs, answer->planned);
    if (limited > 0) n += snprintf(text + n, sizeof(text) - (size_t) n, ", %u out of memory", limited);
    if (failed > 0) n += snprintf(text + n, sizeof(text) - (size_t) n, ", %u failed", failed);
    if (busy > 0) n += snprintf(text + n, sizeof(text) - (size_t) n, ", %u on a busy machine", busy);
    n += snprintf(text + n, sizeof(text) - (size_t) n, "; medians [95 %% interval]");
    if (fewest > 0 && fewest < 6)
        snprintf(text + n, sizeof(text) - (size_t) n, "; of %u values the range covers %.1f %%", fewest,
                 100 * (1 - 2 * pow(0.5, fewest)));
    fputs(before, file);
    put(file, text);
    fputs("\n", file);
    if (put == put_plain || put == put_markdown) fputs("\n", file);
}

static void write_text(const struct ggs_sweep_answer * answer, const struct ggs_sweep_shown * shown, FILE * file) {
    struct ggs_table * table   = ggs_table_new();
    unsigned           columns = answer->n_factors + 2 + shown->n;
    char               text[256];
    write_heading(answer, file, "", put_plain);
    for (unsigned i = 0; i < columns; i++)
        ggs_table_column(table, title_of(answer, shown, i), i == answer->n_factors + 1 ? GGS_RIGHT : GGS_LEFT);
    for (unsigned row = 0; row <= answer->n_rows; row++) {
        if (row == answer->n_rows - 1) ggs_table_rule(table);
        for (unsigned i = 0; i < columns; i++) {
            cell_of(answer, shown, row, i, text);
            ggs_table_cell(table, "%s", text);
        }
    }
    ggs_table_end(table, file, 0);
}

static void write_markdown(const struct ggs_sweep_answer * answer, const struct ggs_sweep_shown * shown, FILE * file) {
    unsigned columns = answer->n_factors + 2 + shown->n;
    char     text[256];
    write_heading(answer, file, "", put_markdown);
    for (unsigned i = 0; i < columns; i++) {
        fputs("| ", file);
        put_markdown(file, title_of(answer, shown, i));
        fputs(i + 1 == columns ? " |\n" : " ", file);
    }
    for (unsigned i = 0; i < columns; i++) fputs(i == answer->n_factors + 1 ? "|---:" : "|---", file);
    fputs("|\n", file);
    for (unsigned row = 0; row <= answer->n_rows; row++) {
        for (unsigned i = 0; i < columns; i++) {
            cell_of(answer, shown, row, i, text);
            fputs("| ", file);
            put_markdown(file, text);
            fputs(i + 1 == columns ? " |\n" : " ", file);
        }
    }
}

static void write_latex(const struct ggs_sweep_answer * answer, const struct ggs_sweep_shown * shown, FILE * file) {
    unsigned columns = answer->n_factors + 2 + shown->n;
    char     text[256];
    write_heading(answer, file, "% ", put_plain);
    fputs("\\begin{tabular}{", file);
    for (unsigned i = 0; i < columns; i++) fputc(i == answer->n_factors + 1 ? 'r' : 'l', file);
    fputs("}\n\\hline\n", file);
    for (unsigned i = 0; i < columns; i++) {
        put_latex(file, title_of(answer, shown, i));
        fputs(i + 1 == columns ? " \\\\\n\\hline\n" : " & ", file);
    }
    for (unsigned row = 0; row <= answer->n_rows; row++) {
        if (row == answer->n_rows - 1) fputs("\\hline\n", file);
        for (unsigned i = 0; i < columns; i++) {
            cell_of(answer, shown, row, i, text);
            put_latex(file, text);
            fputs(i + 1 == columns ? " \\\\\n" : " & ", file);
        }
    }
    fputs("\\hline\n\\end{tabular}\n", file);
}

// ---- for programs ----

enum { COUNTS = 6 };
static const char * const count_names[COUNTS] = {"control", "runs", "n", "failed", "out_of_memory", "busy"};

static unsigned count_of(const struct ggs_sweep_answer * answer, unsigned row, unsigned i) {
    const struct ggs_sweep_row * r = &answer->rows[row];
    const unsigned counts[COUNTS]  = {row + 1 == answer->n_rows, r->runs, r->n, r->failed, r->limited, r->busy};
    return counts[i];
}

static double end_of(const struct ggs_sweep_cell * cell, unsigned i) {
    return i == 0 ? cell->value.median : i == 1 ? cell->value.low : cell->value.high;
}

static void put_csv(FILE * file, const char * text) {
    bool quoted = strpbrk(text, ",\"\r\n") != NULL;
    if (quoted) fputc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '"') fputc('"', file);
        fputc(*text, file);
    }
    if (quoted) fputc('"', file);
}

static void write_csv(const struct ggs_sweep_answer * answer, FILE * file) {
    static const char * const ends[3] = {"", "_low", "_high"};
    fputs("variant", file);
    for (unsigned i = 0; i < answer->n_factors; i++) fputc(',', file), put_csv(file, answer->factors[i]);
    for (unsigned i = 0; i < COUNTS; i++) fprintf(file, ",%s", count_names[i]);
    for (unsigned i = 0; i < ggs_trial_figure_count(); i++) {
        for (unsigned k = 0; k < 3; k++) fprintf(file, ",%s%s", ggs_trial_figure(i)->name, ends[k]);
    }
    fputc('\n', file);
    for (unsigned row = 0; row < answer->n_rows; row++) {
        const struct ggs_sweep_row * r = &answer->rows[row];
        fputs(r->variant, file);
        for (unsigned i = 0; i < r->n_values; i++) fputc(',', file), put_csv(file, r->values[i]);
        for (unsigned i = 0; i < COUNTS; i++) fprintf(file, ",%u", count_of(answer, row, i));
        for (unsigned i = 0; i < 3 * r->n_cells; i++) {
            double value = end_of(&r->cells[i / 3], i % 3);
            fputc(',', file);
            if (!isnan(value)) fprintf(file, "%.17g", value);
        }
        fputc('\n', file);
    }
}

static void fill_cells(const void * context, uint64_t row, struct ggs_cell * cells) {
    const struct ggs_sweep_answer * answer = context;
    const struct ggs_sweep_row *    r      = &answer->rows[row];
    unsigned                        at     = 0;
    cells[at++]                            = (struct ggs_cell){.text = r->variant, .length = strlen(r->variant)};
    for (unsigned i = 0; i < r->n_values; i++)
        cells[at++] = (struct ggs_cell){.text = r->values[i], .length = strlen(r->values[i])};
    for (unsigned i = 0; i < COUNTS; i++)
        cells[at++] = (struct ggs_cell){.integer = count_of(answer, (unsigned) row, i)};
    for (unsigned i = 0; i < 3 * r->n_cells; i++) {
        double value = end_of(&r->cells[i / 3], i % 3);
        cells[at++]  = (struct ggs_cell){.null = isnan(value), .real = value};
    }
}

static int write_parquet(const struct ggs_sweep_answer * answer, const char * path, struct ggs_error * error) {
    static const char * const ends[3] = {"", "_low", "_high"};
    struct ggs_table_field    fields[GGS_FIELDS_MOST];
    char                      names[3 * GGS_TRIAL_FIGURES][64];
    unsigned                  n = 0;
    if (strcmp(path, "-") == 0 && isatty(STDOUT_FILENO) == 1)
        return ggs_fail(error, GGS_USAGE, "Parquet is not for a terminal: name a file with --to FILE");
    fields[n++] = (struct ggs_table_field){.name = "variant", .type = GGS_CELL_TEXT};
    for (unsigned i = 0; i < answer->n_factors; i++)
        fields[n++] = (struct ggs_table_field){.name = answer->factors[i], .type = GGS_CELL_TEXT};
    for (unsigned i = 0; i < COUNTS; i++)
        fields[n++] =
            (struct ggs_table_field){.name = count_names[i], .type = i == 0 ? GGS_CELL_BOOLEAN : GGS_CELL_INTEGER};
    for (unsigned i = 0; i < 3 * ggs_trial_figure_count(); i++) {
        snprintf(names[i], sizeof(names[i]), "%s%s", ggs_trial_figure(i / 3)->name, ends[i % 3]);
        fields[n++] = (struct ggs_table_field){
            .name = names[i], .type = GGS_CELL_REAL, .value = {.null = GGS_NULL_TEXT, .from = GGS_FROM_CALL}};
    }
    struct ggs_flat_table table = {.name = "sweep", .fields = fields, .n_fields = n};
    return ggs_parquet_write(&table, path, answer->n_rows, fill_cells, answer, error);
}

int ggs_sweep_table_write(const struct ggs_sweep_answer * answer, enum ggs_sweep_format format,
                          const struct ggs_sweep_shown * shown, const char * path, struct ggs_error * error) {
    struct ggs_output output;
    bool              standard = strcmp(path, "-") == 0;
    if (format == GGS_SWEEP_PARQUET) return write_parquet(answer, path, error);
    int status = standard ? 0 : ggs_output_open(&output, path, error);
    if (status != 0) return status;
    FILE * file = standard ? stdout : output.file;
    if (format == GGS_SWEEP_CSV)
        write_csv(answer, file);
    else if (format == GGS_SWEEP_MARKDOWN)
        write_markdown(answer, shown, file);
    else if (format == GGS_SWEEP_LATEX)
        write_latex(answer, shown, file);
    else
        write_text(answer, shown, file);
    return standard ? 0 : ggs_output_commit(&output, error);
}
