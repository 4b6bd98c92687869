// ggscope diff of more than two recordings.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "answer/several.h"
#include "base/number.h"
#include "base/system/terminal.h"
#include "base/table.h"
#include "cli/diff/cmd-diff.h"

// Equal counts and bytes are not shown.
static bool is_dull(const struct ggs_several_figure * figure) {
    bool seen = false;
    for (unsigned i = 0; i < figure->n; i++) seen |= !isnan(figure->values[i]);
    return !seen || (!figure->figure->noisy && !figure->differs);
}

static void format_noise(char text[GGS_NUMBER_LENGTH], const struct ggs_several_figure * figure) {
    if (isnan(figure->noise))
        snprintf(text, GGS_NUMBER_LENGTH, "no repeats");
    else
        snprintf(text, GGS_NUMBER_LENGTH, "%.1f %%", 100 * figure->noise);
}

static const char * verdict(const struct ggs_several * several, const struct ggs_several_figure * figure) {
    if (figure->differs) return "differs";
    return several->n_groups == 1 || isnan(figure->noise) ? "" : "noise";
}

static struct ggs_table * begin_table(const struct ggs_several * several, bool figures) {
    struct ggs_table * table = ggs_table_new();
    ggs_table_column(table, figures ? "" : "differs in", GGS_LEFT);
    for (unsigned i = 0; i < several->n; i++) {
        const char title[2] = {(char) ('A' + i), '\0'};
        ggs_table_column(table, title, figures ? GGS_RIGHT : GGS_LEFT);
    }
    if (figures) ggs_table_columns(table, ">noise|");
    return table;
}

static void print_text(const struct ggs_several * several, char * const * paths) {
    char text[GGS_NUMBER_LENGTH];
    for (unsigned i = 0; i < several->n; i++) {
        printf("%c  %s", (char) ('A' + i), paths[i]);
        if (several->group[i] != i) printf("  (repeats %c)", (char) ('A' + several->group[i]));
        putchar('\n');
    }
    putchar('\n');
    if (several->n_conditions == 0) puts("the conditions are the same\n");
    struct ggs_table * table = begin_table(several, false);
    for (unsigned c = 0; c < several->n_conditions; c++) {
        ggs_table_cell(table, "%s", several->conditions[c].name);
        for (unsigned i = 0; i < several->n; i++) ggs_table_cell(table, "%s", several->conditions[c].values[i]);
    }
    if (several->n_conditions > 0) {
        ggs_table_print(table, stdout, ggs_terminal_limit(stdout));
        putchar('\n');
    }
    ggs_table_free(table);
    table = begin_table(several, true);
    for (unsigned k = 0; k < several->n_figures; k++) {
        const struct ggs_several_figure * figure = &several->figures[k];
        if (is_dull(figure)) continue;
        ggs_table_cell(table, "%s", figure->figure->name);
        for (unsigned i = 0; i < several->n; i++)
            ggs_table_cell(table, "%s", ggs_figure_format(text, figure->figure, figure->values[i]));
        format_noise(text, figure);
        ggs_table_cell(table, "%s", text);
        ggs_table_cell(table, "%s", verdict(several, figure));
    }
    ggs_table_end(table, stdout, ggs_terminal_limit(stdout));
}

static void put_cell(const char * text) {
    fputs(" | ", stdout);
    for (; *text != '\0'; text++) {
        if (*text == '|' || *text == '\\') putchar('\\');
        putchar(*text == '\n' ? ' ' : *text);
    }
}

static void put_header(const struct ggs_several * several, const char * last) {
    fputs("|", stdout);
    for (unsigned i = 0; i < several->n; i++) printf(" | %c", (char) ('A' + i));
    printf("%s |\n|---", last);
    for (unsigned i = 0; i < several->n; i++) fputs("|---:", stdout);
    puts(*last == '\0' ? "|" : "|---:|---|");
}

static void print_markdown(const struct ggs_several * several, char * const * paths) {
    char text[GGS_NUMBER_LENGTH];
    puts("### ggscope diff\n");
    for (unsigned i = 0; i < several->n; i++) printf("- %c is `%s`\n", (char) ('A' + i), paths[i]);
    putchar('\n');
    if (several->n_conditions > 0) put_header(several, "");
    for (unsigned c = 0; c < several->n_conditions; c++) {
        printf("| %s", several->conditions[c].name);
        for (unsigned i = 0; i < several->n; i++) put_cell(several->conditions[c].values[i]);
        puts(" |");
    }
    putchar('\n');
    put_header(several, " | noise |");
    for (unsigned k = 0; k < several->n_figures; k++) {
        const struct ggs_several_figure * figure = &several->figures[k];
        if (is_dull(figure)) continue;
        printf("| %s", figure->figure->name);
        for (unsigned i = 0; i < several->n; i++) put_cell(ggs_figure_format(text, figure->figure, figure->values[i]));
        format_noise(text, figure);
        printf(" | %s | %s |\n", text, verdict(several, figure));
    }
}

int diff_several(const struct diff_arguments * arguments, struct ggs_trace * traces, struct ggs_error * error) {
    const struct ggs_input * input = &arguments->input;
    struct ggs_several       several;
    int                      status = ggs_several_compute(&several, traces, input->n, error);
    if (status < 0) return status;
    if (input->json) {
        struct ggs_several_answer answer = {&several, input->paths, traces, input->n};
        ggs_object_write(input->out, NULL, &ggs_several_object, &answer, NULL);
    } else if (arguments->markdown) {
        print_markdown(&several, input->paths);
    } else {
        print_text(&several, input->paths);
    }
    ggs_several_release(&several);
    return 0;
}
