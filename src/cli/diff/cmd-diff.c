// ggscope diff A B...: what changed between two recordings, or several side by side.
#include <argp.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/diff/several.h"
#include "answer/diff.h"
#include "base/error.h"
#include "base/number.h"
#include "base/system/terminal.h"
#include "base/table.h"
#include "cli/commands.h"
#include "cli/diff/cmd-diff.h"

static void change_text(char buffer[GGS_NUMBER_LENGTH], double a, double b) {
    if (a == b) {
        snprintf(buffer, GGS_NUMBER_LENGTH, "-");
    } else if (a == 0) {
        snprintf(buffer, GGS_NUMBER_LENGTH, "new");
    } else if (b >= 2 * a) {
        uint64_t tenths = (uint64_t) (10 * b / a + 0.5);
        char *   whole  = ggs_format_count(buffer, tenths / 10);
        size_t   length = strlen(whole);
        snprintf(buffer + length, GGS_NUMBER_LENGTH - length, ".%u ×", (unsigned) (tenths % 10));
    } else {
        snprintf(buffer, GGS_NUMBER_LENGTH, "%+.1f %%", 100 * (b - a) / a);
    }
}

static const char * verdict_word(enum ggs_verdict verdict) {
    static const char * const words[GGS_VERDICTS] = {[GGS_SAME]         = "same",
                                                     [GGS_WITHIN_NOISE] = "within the noise",
                                                     [GGS_UNCERTAIN]    = "too few values to tell",
                                                     [GGS_SLOWER]       = "slower",
                                                     [GGS_FASTER]       = "faster",
                                                     [GGS_STALLS]       = "stalls, by mean",
                                                     [GGS_FEWER_STALLS] = "fewer stalls, by mean"};
    return words[verdict];
}

// The time of one op or token step: the median, or the mean if a few delayed values make the
// difference.
static double shown_ns(enum ggs_verdict verdict, const struct ggs_quartiles * time, uint64_t sum_ns) {
    return verdict < GGS_STALLS || time->n == 0 ? time->median : (double) sum_ns / (double) time->n;
}

static void time_cells(struct ggs_table * table, double a, double b) {
    char number[GGS_NUMBER_LENGTH];
    ggs_table_cell(table, "%s", ggs_format_nanoseconds(number, (uint64_t) a));
    ggs_table_cell(table, "%s", ggs_format_nanoseconds(number, (uint64_t) b));
    change_text(number, a, b);
    ggs_table_cell(table, "%s", number);
}

static void add_time(struct ggs_table * table, const char * title, const struct ggs_diff_times * times) {
    if (times->verdict == GGS_SAME) return;
    ggs_table_cell(table, "%s", title);
    time_cells(table, shown_ns(times->verdict, &times->a, times->a_ns),
               shown_ns(times->verdict, &times->b, times->b_ns));
    ggs_table_cell(table, "%s", verdict_word(times->verdict));
}

static void add_value(struct ggs_table * table, const char * title, uint64_t a, uint64_t b, bool bytes) {
    char number[GGS_NUMBER_LENGTH];
    if (a == b) return;
    ggs_table_cell(table, "%s", title);
    ggs_table_cell(table, "%s", bytes ? ggs_format_bytes(number, a) : ggs_format_count(number, a));
    ggs_table_cell(table, "%s", bytes ? ggs_format_bytes(number, b) : ggs_format_count(number, b));
    change_text(number, (double) a, (double) b);
    ggs_table_cell(table, "%s", number);
    ggs_table_cell(table, "%s", "");
}

static bool tokenless(const struct ggs_diff * d) {
    return d->a.graph_steps > 0 && d->b.graph_steps > 0;
}

static void print_totals(const struct ggs_diff * d) {
    const struct ggs_totals *a = &d->a, *b = &d->b;
    struct ggs_table *       table = ggs_table_new();
    ggs_table_columns(table, "|>A|>B|>change|");
    add_time(table, "a prompt step", &d->prompt);
    add_time(table, tokenless(d) ? "a graph run" : "a generated token", &d->generate);
    add_value(table, tokenless(d) ? "graph runs" : "token steps", a->steps, b->steps, false);
    add_value(table, "threads", a->threads, b->threads, false);
    add_value(table, "ops", a->ops, b->ops, false);
    add_value(table, "op runs", a->op_runs, b->op_runs, false);
    add_value(table, "bytes read", a->read, b->read, true);
    add_value(table, "bytes written", a->written, b->written, true);
    add_value(table, "in mapped files", a->disk, b->disk, true);
    add_value(table, "model touched", a->touched_bytes, b->touched_bytes, true);
    add_value(table, "nodes", a->nodes, b->nodes, false);
    add_value(table, "executed", a->executed, b->executed, false);
    add_value(table, "absorbed", a->absorbed, b->absorbed, false);
    add_value(table, "opaque", a->opaque, b->opaque, false);
    add_value(table, "unseen", a->unseen, b->unseen, false);
    add_value(table, "cut off", a->cut, b->cut, false);
    add_value(table, "lost", a->dropped, b->dropped, false);
    add_value(table, "buffers", a->buffers, b->buffers, false);
    add_value(table, "peak of buffers", a->peak_bytes, b->peak_bytes, true);
    ggs_table_end(table, stdout, ggs_terminal_limit(stdout));
}

static void print_alignment(const struct ggs_diff * d) {
    char a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH];
    printf("\naligned   %s ops of %s %s", ggs_format_count(a, d->ops), ggs_format_count(b, d->tokens),
           tokenless(d) ? "graph runs" : "token steps");
    if (d->fused > 0) printf("; %s more are fused with them on one side", ggs_format_count(a, d->fused));
    if (d->only_a + d->only_b > 0)
        printf("; only in A %s, only in B %s", ggs_format_count(a, d->only_a), ggs_format_count(b, d->only_b));
    putchar('\n');
    if (d->tokens_only_a + d->tokens_only_b > 0)
        printf("%s only in A %s, only in B %s\n", tokenless(d) ? "runs     " : "tokens   ",
               ggs_format_count(a, d->tokens_only_a), ggs_format_count(b, d->tokens_only_b));
    if (d->bytes_differ > 0) printf("bytes     %s ops touch other amounts\n", ggs_format_count(a, d->bytes_differ));
    const char * why = d->engines_differ ? "the engines differ" : "the machine may be why";
    if (d->shift >= 2)
        printf("shift     the typical op takes %.1f \xc3\x97 as long in B; %s\n", d->shift, why);
    else if (fabs(d->shift - 1) > 0.03)
        printf("shift     the typical op is %.0f %% %s in B; %s\n", 100 * fabs(d->shift - 1),
               d->shift > 1 ? "slower" : "faster", why);
    if (d->choices_differ > 0)
        printf("experts   %s of %s expert ops took other experts\n", ggs_format_count(a, d->choices_differ),
               ggs_format_count(b, d->choices));
}

static void item_cells(struct ggs_table * table, const struct ggs_diff * d, const struct ggs_diff_item * item) {
    ggs_table_cell(table, "%s", item->prompt ? "prompt" : tokenless(d) ? "run" : "token");
    if (item->layer >= 0) {
        ggs_table_cell(table, "%d", item->layer);
    } else {
        ggs_table_cell(table, "%s", item->layer == GGS_DIFF_LAYERS ? "all" : "-");
    }
    ggs_table_cell(table, "%s", item->op);
    ggs_table_cell(table, "%s", item->tensor);
    if (item->a.ops == 0) {
        for (int i = 0; i < 3; i++) ggs_table_cell(table, "-");
    } else {
        time_cells(table, shown_ns(item->verdict, &item->a.time, item->a.wall_ns),
                   shown_ns(item->verdict, &item->b.time, item->b.wall_ns));
    }
    if (item->a.only > 0 || item->b.only > 0) {
        ggs_table_cell(table, "%s in %s", item->a.ops == 0 ? "only" : "more",
                       item->b.only == 0   ? "A"
                       : item->a.only == 0 ? "B"
                                           : "each");
    } else {
        bool timed = item->verdict >= GGS_SLOWER;
        ggs_table_cell(table, "%s%s%s", timed ? verdict_word(item->verdict) : "",
                       timed && item->bytes_differ > 0 ? ", " : "", item->bytes_differ > 0 ? "bytes" : "");
    }
}

// Prints items of all layers together, or of single layers.
static void print_items(const struct ggs_diff * d, bool together) {
    enum { SHOWN = 15 };
    uint64_t           n     = 0;
    struct ggs_table * table = ggs_table_new();
    ggs_table_columns(table, "per|>layer|op|tensor|>A|>B|>change|");
    for (uint64_t i = 0; i < d->n_items; i++) {
        if ((d->items[i].layer == GGS_DIFF_LAYERS) != together) continue;
        if (n++ < SHOWN) item_cells(table, d, &d->items[i]);
    }
    if (n > 0) {
        printf("\n%s\n", together ? "ops of all layers, median of one" : "ops of single layers");
        ggs_table_print(table, stdout, ggs_terminal_limit(stdout));
        if (n > SHOWN) printf("and %" PRIu64 " more: see --json\n", n - SHOWN);
    }
    ggs_table_free(table);
}

// Wraps a sentence at blanks to the terminal's width.
static void print_sentence(const char * label, const char * sentence) {
    size_t width = ggs_terminal_limit(stdout), column = 8;
    fputs(label, stdout);
    while (*sentence != '\0') {
        size_t length = strcspn(sentence, " ");
        if (width > 0 && column + 1 + length > width && column > 9) {
            fputs("\n        ", stdout);
            column = 8;
        }
        printf(" %.*s", (int) length, sentence);
        column += 1 + length;
        sentence += length;
        sentence += *sentence == ' ';
    }
    putchar('\n');
}

static void print_text(const struct ggs_diff * d, char * const * paths) {
    if (d->identical) return;
    printf("A  %s\nB  %s\n", paths[0], paths[1]);
    for (unsigned i = 0; i < d->n_warnings; i++) print_sentence("warning:", d->warnings[i]);
    for (unsigned i = 0; i < d->causes.n; i++) print_sentence("cause:  ", d->causes.text[i]);
    putchar('\n');
    print_totals(d);
    print_alignment(d);
    if (d->n_items == 0) puts("\nno op changed beyond the noise");
    print_items(d, true);
    print_items(d, false);
}

struct result {
    struct ggs_diff      diff;
    struct ggs_judgement judgements[GGS_FAIL_IF_MOST];
    unsigned             n;
};

static void print_markdown(const struct result * r, char * const * paths) {
    const struct ggs_diff * d = &r->diff;
    char                    a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH], change[GGS_NUMBER_LENGTH];
    printf("### ggscope diff\n\nA is `%s`, B is `%s`.\n\n| | A | B | change |\n|---|---:|---:|---:|\n", paths[0],
           paths[1]);
    for (size_t i = 0; i < ggs_n_figures; i++) {
        const struct ggs_figure * figure = &ggs_figures[i];
        double                    x = figure->of(&d->a), y = figure->of(&d->b);
        if (isnan(x) && isnan(y)) continue;
        change_text(change, x, y);
        printf("| %s | %s | %s | %s |\n", figure->name, ggs_figure_format(a, figure, x),
               ggs_figure_format(b, figure, y), isnan(x) || isnan(y) ? "not seen" : change);
    }
    for (unsigned i = 0; i < d->n_warnings; i++) printf("\n> warning: %s\n", d->warnings[i]);
    for (unsigned i = 0; i < d->causes.n; i++) printf("\n> cause: %s\n", d->causes.text[i]);
    ggs_judgements_markdown(stdout, r->judgements, r->n);
}

static void write_json(struct ggs_json * json, const struct result * r, const struct ggs_trace * traces) {
    struct ggs_diff_answer answer = {&traces[0], &traces[1], &r->diff, r->judgements, r->n};
    ggs_answer_write(json, &ggs_diff_object, &answer, traces);
}

static void judge(const struct diff_arguments * arguments, struct result * r) {
    for (unsigned i = 0; i < arguments->fail_if.n; i++) {
        const struct ggs_condition * condition = &arguments->fail_if.conditions[i];
        struct ggs_judgement *       judgement = &r->judgements[r->n++];
        ggs_fail_if_judge(condition, condition->figure->of(&r->diff.a), condition->figure->of(&r->diff.b), judgement);
        if (condition->figure->noisy && !isnan(judgement->change))
            judgement->note = "one run each: ggscope bench separates it from noise";
    }
}

static void check(const void * input, struct argp_state * state) {
    const struct diff_arguments * arguments = input;
    if (arguments->input.n > 2 && (arguments->fail_if.n > 0 || arguments->junit != NULL || arguments->values))
        argp_error(state, "--fail-if, --junit and --values are about a change from A to B: name two recordings");
}

static int compare(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    const struct diff_arguments * arguments = input;
    struct result                 r         = {.n = 0};
    if (arguments->input.n > 2) return diff_several(arguments, traces, error);
    if (arguments->values) return diff_values(arguments, traces, error);
    int status = ggs_diff_compute(&r.diff, &traces[0], &traces[1], error);
    if (status < 0) return status;
    judge(arguments, &r);
    if (arguments->input.json) {
        write_json(arguments->input.out, &r, traces);
    } else if (arguments->markdown) {
        print_markdown(&r, arguments->input.paths);
    } else {
        print_text(&r.diff, arguments->input.paths);
        ggs_judgements_text(stdout, r.judgements, r.n);
    }
    if (status == 0 && arguments->junit != NULL)
        status = ggs_judgements_junit(arguments->junit, "diff", r.judgements, r.n, error);
    ggs_diff_release(&r.diff);
    return status != 0 ? status : ggs_judgements_failed(r.judgements, r.n) ? 1 : 0;
}

int cmd_diff(int argc, char ** argv) {
    static const struct ggs_option options[] = {
        GGS_SWITCH("values", 0, "Find the first op that computes something else, in recordings made with --values", 1,
                   AT(values)),
        GGS_OPTION_FAIL_IF(AT(fail_if), 1),
        GGS_OPTION_JUNIT(AT(junit), 1),
        GGS_OPTION_MARKDOWN(AT(markdown), 2),
        GGS_OPTION_JSON(2),
        GGS_OPTION_DAMAGED(2),
        {0}};
    static const struct ggs_verb verb = {
        .operands = "A B [C...]",
        .least    = 2,
        .most     = GGS_SEVERAL_MOST,
        .opens    = true,
        .options  = options,
        .check    = check,
        .run      = compare,
        .help     = ggs_figures_help,
        .text =
            "Show what changed from experiment A to experiment B: times beyond the noise, bytes, coverage, buffers, experts, and ops that only one of them has. Nothing changed: nothing is printed. With --values: the first op whose inputs agree and whose output does not; exit 1 if there is one. Three to twelve experiments are shown side by side: the conditions that differ, then their figures with the noise among repeats.\v"};
    struct diff_arguments arguments = {0};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
