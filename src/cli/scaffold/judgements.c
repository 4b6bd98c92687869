#include "cli/scaffold/judgements.h"

#include <argp.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/system/file.h"
#include "base/text.h"

bool ggs_set_fail_if(void * member, const char * text) {
    return ggs_fail_if_add(member, text);
}

char * ggs_figures_help(int key, const char * text, void * input) {
    (void) input;
    if (key != ARGP_KEY_HELP_POST_DOC) return (char *) text;
    struct ggs_text list = {0};
    ggs_text_puts(
        &list, "A CONDITION is FIGURE OP CHANGE: OP is <, >, <=, >= or !=, CHANGE is from A to B, in % of A or in the "
               "figure's own unit. Figures:");
    for (size_t i = 0; i < ggs_n_figures; i++) ggs_text_printf(&list, " %s", ggs_figures[i].name);
    ggs_text_puts(&list, ".");
    return list.data; // argp frees it
}

char * ggs_figure_format(char text[GGS_NUMBER_LENGTH], const struct ggs_figure * figure, double value) {
    if (isnan(value)) {
        snprintf(text, GGS_NUMBER_LENGTH, "not seen");
    } else if (strcmp(figure->unit, "ns") == 0) {
        ggs_format_nanoseconds(text, (uint64_t) value);
    } else if (strcmp(figure->unit, "bytes") == 0) {
        ggs_format_bytes(text, (uint64_t) value);
    } else if (strcmp(figure->unit, "/s") == 0) {
        snprintf(text, GGS_NUMBER_LENGTH, "%.1f/s", value);
    } else {
        ggs_format_count(text, (uint64_t) value);
    }
    return text;
}

static char * format_change(char text[GGS_NUMBER_LENGTH], const struct ggs_judgement * j) {
    if (isnan(j->change)) {
        snprintf(text, GGS_NUMBER_LENGTH, "not seen");
    } else if (j->condition->percent) {
        snprintf(text, GGS_NUMBER_LENGTH, "%+.2f %%", j->change);
    } else {
        snprintf(text, GGS_NUMBER_LENGTH, "%+.10g", j->change);
    }
    return text;
}

bool ggs_judgements_failed(const struct ggs_judgement * list, unsigned n) {
    bool failed = false;
    for (unsigned i = 0; i < n; i++) failed = failed || list[i].failed;
    return failed;
}

void ggs_judgements_text(FILE * out, const struct ggs_judgement * list, unsigned n) {
    char a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH], change[GGS_NUMBER_LENGTH];
    if (n > 0) fputc('\n', out);
    for (unsigned i = 0; i < n; i++) {
        const struct ggs_figure * figure = list[i].condition->figure;
        fprintf(out, "%s  %s  %s (%s -> %s): fails if %s%s%s\n", list[i].failed ? "FAIL" : "ok  ", figure->name,
                format_change(change, &list[i]), ggs_figure_format(a, figure, list[i].a),
                ggs_figure_format(b, figure, list[i].b), list[i].condition->text, list[i].note[0] == '\0' ? "" : "; ",
                list[i].note);
    }
}

void ggs_judgements_markdown(FILE * out, const struct ggs_judgement * list, unsigned n) {
    char a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH], change[GGS_NUMBER_LENGTH];
    if (n > 0) fputs("\n| | condition | A | B | change |\n|---|---|---:|---:|---:|\n", out);
    for (unsigned i = 0; i < n; i++) {
        const struct ggs_figure * figure = list[i].condition->figure;
        fprintf(out, "| %s | fails if `%s`%s%s | %s | %s | %s |\n", list[i].failed ? "**FAIL**" : "ok",
                list[i].condition->text, list[i].note[0] == '\0' ? "" : ", ", list[i].note,
                ggs_figure_format(a, figure, list[i].a), ggs_figure_format(b, figure, list[i].b),
                format_change(change, &list[i]));
    }
}

static void escape(FILE * out, const char * text) {
    for (; *text != '\0'; text++) {
        const char * entity = *text == '<'   ? "&lt;"
                              : *text == '>' ? "&gt;"
                              : *text == '&' ? "&amp;"
                              : *text == '"' ? "&quot;"
                                             : NULL;
        if (entity != NULL) {
            fputs(entity, out);
        } else if ((unsigned char) *text >= 0x20) {
            fputc(*text, out);
        }
    }
}

int ggs_judgements_junit(const char * path, const char * name, const struct ggs_judgement * list, unsigned n,
                         struct ggs_error * error) {
    char              a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH], change[GGS_NUMBER_LENGTH];
    unsigned          failures = 0;
    struct ggs_output output;
    int               status = ggs_output_open(&output, path, error);
    if (status < 0) return status;
    FILE * out = output.file;
    for (unsigned i = 0; i < n; i++) failures += list[i].failed;
    fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"ggscope ");
    escape(out, name);
    fprintf(out, "\" tests=\"%u\" failures=\"%u\" errors=\"0\" skipped=\"0\">\n", n, failures);
    for (unsigned i = 0; i < n; i++) {
        const struct ggs_figure * figure = list[i].condition->figure;
        fputs("  <testcase classname=\"ggscope\" name=\"", out);
        escape(out, list[i].condition->text);
        fputs(list[i].failed ? "\">\n    <failure message=\"" : "\">\n    <system-out>", out);
        fprintf(out, "%s changed by %s (%s to %s)%s%s", figure->name, format_change(change, &list[i]),
                ggs_figure_format(a, figure, list[i].a), ggs_figure_format(b, figure, list[i].b),
                list[i].note[0] == '\0' ? "" : "; ", list[i].note);
        fputs(list[i].failed ? "\"/>\n  </testcase>\n" : "</system-out>\n  </testcase>\n", out);
    }
    fputs("</testsuite>\n</testsuites>\n", out);
    return ggs_output_commit(&output, error);
}
