// ggscope diff A B: what changed between two recordings.
#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/diff/diff.h"
#include "base/error.h"
#include "base/json.h"
#include "base/number.h"
#include "base/table.h"
#include "base/terminal.h"
#include "cli/commands.h"
#include "cli/verb.h"

// Files of the same name and size may still be other models: experiment.json has a digest of their metadata.
static void digests(char * text, size_t size, struct ggs_trace * trace) {
    struct json_object *json = json_tokener_parse(ggs_reader_experiment(trace->reader)), *files, *digest;
    size_t              used = 0;
    text[0]                  = '\0';
    if (json_object_object_get_ex(json, "model_files", &files) && json_object_is_type(files, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(files) && used < size; i++) {
            if (!json_object_object_get_ex(json_object_array_get_idx(files, i), "metadata_xxh3", &digest)) continue;
            int written = snprintf(text + used, size - used, "%s ", json_object_get_string(digest));
            used += written > 0 ? (size_t) written : 0;
        }
    }
    json_object_put(json);
}

static bool other_metadata(struct ggs_trace * a, struct ggs_trace * b) {
    char x[1024], y[1024];
    digests(x, sizeof(x), a);
    digests(y, sizeof(y), b);
    return x[0] != '\0' && y[0] != '\0' && strcmp(x, y) != 0;
}

// ---- text ----

static const char * verdict_word(enum ggs_verdict verdict) {
    static const char * const words[] = {[GGS_SAME]         = "same",
                                         [GGS_WITHIN_NOISE] = "within the noise",
                                         [GGS_UNCERTAIN]    = "too few values to tell",
                                         [GGS_SLOWER]       = "slower",
                                         [GGS_FASTER]       = "faster"};
    return words[verdict];
}

static void change_text(char buffer[GGS_NUMBER_LENGTH], double a, double b) {
    if (a == b) {
        snprintf(buffer, GGS_NUMBER_LENGTH, "-");
    } else if (a == 0) {
        snprintf(buffer, GGS_NUMBER_LENGTH, "new");
    } else if (b > 10 * a) {
        snprintf(buffer, GGS_NUMBER_LENGTH, "x %.1f", b / a);
    } else {
        snprintf(buffer, GGS_NUMBER_LENGTH, "%+.1f %%", 100 * (b - a) / a);
    }
}

static void add_time(struct ggs_table * table, const char * title, const struct ggs_diff_times * times) {
    char number[GGS_NUMBER_LENGTH];
    if (times->verdict == GGS_SAME) return;
    ggs_table_cell(table, "%s", title);
    ggs_table_cell(table, "%s", ggs_format_nanoseconds(number, (uint64_t) times->a.median));
    ggs_table_cell(table, "%s", ggs_format_nanoseconds(number, (uint64_t) times->b.median));
    change_text(number, times->a.median, times->b.median);
    ggs_table_cell(table, "%s", number);
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

static void print_totals(const struct ggs_diff * d) {
    const struct ggs_totals *a = &d->a, *b = &d->b;
    struct ggs_table *       table = ggs_table_new();
    ggs_table_column(table, "", GGS_LEFT);
    ggs_table_column(table, "A", GGS_RIGHT);
    ggs_table_column(table, "B", GGS_RIGHT);
    ggs_table_column(table, "change", GGS_RIGHT);
    ggs_table_column(table, "", GGS_LEFT);
    add_time(table, "a prompt step", &d->prompt);
    add_time(table, "a generated token", &d->generate);
    add_value(table, "token steps", a->steps, b->steps, false);
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
    ggs_table_print(table, stdout, ggs_terminal_width(stdout));
    ggs_table_free(table);
}

static void print_alignment(const struct ggs_diff * d) {
    char a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH];
    printf("\naligned   %s ops of %s token steps", ggs_format_count(a, d->ops), ggs_format_count(b, d->tokens));
    if (d->only_a + d->only_b > 0)
        printf("; only in A %s, only in B %s", ggs_format_count(a, d->only_a), ggs_format_count(b, d->only_b));
    putchar('\n');
    if (d->tokens_only_a + d->tokens_only_b > 0)
        printf("tokens    only in A %s, only in B %s\n", ggs_format_count(a, d->tokens_only_a),
               ggs_format_count(b, d->tokens_only_b));
    if (d->bytes_differ > 0) printf("bytes     %s ops touch other amounts\n", ggs_format_count(a, d->bytes_differ));
    if (fabs(d->shift - 1) > 0.03)
        printf("shift     the typical op is %.0f %% %s in B; the machine may be why\n", 100 * fabs(d->shift - 1),
               d->shift > 1 ? "slower" : "faster");
    if (d->choices_differ > 0)
        printf("experts   %s of %s expert ops took other experts\n", ggs_format_count(a, d->choices_differ),
               ggs_format_count(b, d->choices));
}

static void item_cells(struct ggs_table * table, const struct ggs_diff_item * item) {
    char number[GGS_NUMBER_LENGTH];
    ggs_table_cell(table, "%s", item->prompt ? "prompt" : "token");
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
        ggs_table_cell(table, "%s", ggs_format_nanoseconds(number, (uint64_t) item->a.time.median));
        ggs_table_cell(table, "%s", ggs_format_nanoseconds(number, (uint64_t) item->b.time.median));
        change_text(number, item->a.time.median, item->b.time.median);
        ggs_table_cell(table, "%s", number);
    }
    if (item->a.only > 0 || item->b.only > 0) {
        ggs_table_cell(table, "%s in %s", item->a.ops == 0 ? "only" : "more",
                       item->b.only == 0   ? "A"
                       : item->a.only == 0 ? "B"
                                           : "each");
    } else {
        bool timed = item->verdict == GGS_SLOWER || item->verdict == GGS_FASTER;
        ggs_table_cell(table, "%s%s%s", timed ? verdict_word(item->verdict) : "",
                       timed && item->bytes_differ > 0 ? ", " : "", item->bytes_differ > 0 ? "bytes" : "");
    }
}

// Items of all layers together, or those of single layers.
static void print_items(const struct ggs_diff * d, bool together) {
    enum { SHOWN = 15 };
    uint64_t           n     = 0;
    struct ggs_table * table = ggs_table_new();
    ggs_table_column(table, "per", GGS_LEFT);
    ggs_table_column(table, "layer", GGS_RIGHT);
    ggs_table_column(table, "op", GGS_LEFT);
    ggs_table_column(table, "tensor", GGS_LEFT);
    ggs_table_column(table, "A", GGS_RIGHT);
    ggs_table_column(table, "B", GGS_RIGHT);
    ggs_table_column(table, "change", GGS_RIGHT);
    ggs_table_column(table, "", GGS_LEFT);
    for (uint64_t i = 0; i < d->n_items; i++) {
        if ((d->items[i].layer == GGS_DIFF_LAYERS) != together) continue;
        if (n++ < SHOWN) item_cells(table, &d->items[i]);
    }
    if (n > 0) {
        printf("\n%s\n", together ? "ops of all layers, median of one" : "ops of single layers");
        ggs_table_print(table, stdout, ggs_terminal_width(stdout));
        if (n > SHOWN) printf("and %" PRIu64 " more: see --json\n", n - SHOWN);
    }
    ggs_table_free(table);
}

// Breaks a sentence at blanks where the terminal ends.
static void print_warning(const char * sentence) {
    size_t width = ggs_terminal_width(stdout), column = 8;
    fputs("warning:", stdout);
    while (*sentence != '\0') {
        size_t length = strcspn(sentence, " ");
        if (column + 1 + length > width && column > 9) {
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

static void print_text(const struct ggs_diff * d, char ** paths) {
    if (d->identical) return;
    printf("A  %s\nB  %s\n", paths[0], paths[1]);
    for (unsigned i = 0; i < d->n_warnings; i++) print_warning(d->warnings[i]);
    putchar('\n');
    print_totals(d);
    print_alignment(d);
    if (d->n_items == 0) puts("\nno op changed beyond the noise");
    print_items(d, true);
    print_items(d, false);
}

// ---- JSON ----

static void write_pair(struct ggs_json * json, const char * key, uint64_t a, uint64_t b) {
    if (a == b) return;
    ggs_json_object_inline(json, key);
    ggs_json_u64(json, "a", a);
    ggs_json_u64(json, "b", b);
    ggs_json_end(json);
}

static void write_totals(struct ggs_json * json, const struct ggs_diff * d) {
    const struct ggs_totals *a = &d->a, *b = &d->b;
    ggs_json_object(json, "totals");
    write_pair(json, "tokens", a->steps, b->steps);
    write_pair(json, "threads", a->threads, b->threads);
    write_pair(json, "ops", a->ops, b->ops);
    write_pair(json, "op_runs", a->op_runs, b->op_runs);
    write_pair(json, "wall_ns", a->wall_ns, b->wall_ns);
    write_pair(json, "bytes_read", a->read, b->read);
    write_pair(json, "bytes_written", a->written, b->written);
    write_pair(json, "bytes_disk", a->disk, b->disk);
    write_pair(json, "model_touched", a->touched_bytes, b->touched_bytes);
    write_pair(json, "nodes", a->nodes, b->nodes);
    write_pair(json, "executed", a->executed, b->executed);
    write_pair(json, "absorbed", a->absorbed, b->absorbed);
    write_pair(json, "opaque", a->opaque, b->opaque);
    write_pair(json, "unseen", a->unseen, b->unseen);
    write_pair(json, "cut", a->cut, b->cut);
    write_pair(json, "dropped", a->dropped, b->dropped);
    write_pair(json, "buffers", a->buffers, b->buffers);
    write_pair(json, "peak_bytes", a->peak_bytes, b->peak_bytes);
    ggs_json_end(json);
}

static void write_quartiles(struct ggs_json * json, const char * key, const struct ggs_quartiles * q) {
    ggs_json_object_inline(json, key);
    ggs_json_u64(json, "count", q->n);
    ggs_json_double(json, "low_ns", q->low);
    ggs_json_double(json, "median_ns", q->median);
    ggs_json_double(json, "high_ns", q->high);
    ggs_json_end(json);
}

static void write_times(struct ggs_json * json, const char * key, const struct ggs_diff_times * times) {
    ggs_json_object(json, key);
    write_quartiles(json, "a", &times->a);
    write_quartiles(json, "b", &times->b);
    ggs_json_string(json, "verdict", verdict_word(times->verdict));
    ggs_json_end(json);
}

static void write_side(struct ggs_json * json, const char * key, const struct ggs_diff_side * side) {
    ggs_json_object_inline(json, key);
    ggs_json_u64(json, "ops", side->ops);
    ggs_json_u64(json, "only_here", side->only);
    ggs_json_u64(json, "wall_ns", side->wall_ns);
    ggs_json_u64(json, "bytes_read", side->read);
    ggs_json_u64(json, "bytes_written", side->written);
    write_quartiles(json, "time", &side->time);
    ggs_json_end(json);
}

static void write_item(struct ggs_json * json, const struct ggs_diff_item * item) {
    ggs_json_object_inline(json, NULL);
    ggs_json_string(json, "phase", item->prompt ? "PROMPT" : "GENERATE");
    if (item->layer == GGS_DIFF_LAYERS) {
        ggs_json_string(json, "layer", "all");
    } else if (item->layer < 0) {
        ggs_json_null(json, "layer");
    } else {
        ggs_json_i64(json, "layer", item->layer);
    }
    ggs_json_string(json, "op", item->op);
    ggs_json_string(json, "tensor", item->tensor);
    ggs_json_string(json, "verdict", verdict_word(item->verdict));
    ggs_json_u64(json, "bytes_differ", item->bytes_differ);
    write_side(json, "a", &item->a);
    write_side(json, "b", &item->b);
    ggs_json_end(json);
}

static int print_json(const struct ggs_diff * d, const struct ggs_trace * traces) {
    struct ggs_json json;
    char            id[GGS_UUID_LENGTH];
    ggs_json_init(&json, ggs_json_to_file, stdout, true);
    ggs_json_object(&json, NULL);
    ggs_json_string(&json, "a", ggs_verb_uuid(id, &traces[0]));
    ggs_json_string(&json, "b", ggs_verb_uuid(id, &traces[1]));
    ggs_json_bool(&json, "identical", d->identical);
    ggs_json_array(&json, "warnings");
    for (unsigned i = 0; i < d->n_warnings; i++) ggs_json_string(&json, NULL, d->warnings[i]);
    ggs_json_end(&json);
    write_totals(&json, d);
    ggs_json_u64(&json, "tokens_compared", d->tokens);
    ggs_json_u64(&json, "tokens_only_in_a", d->tokens_only_a);
    ggs_json_u64(&json, "tokens_only_in_b", d->tokens_only_b);
    ggs_json_u64(&json, "ops_compared", d->ops);
    ggs_json_u64(&json, "ops_only_in_a", d->only_a);
    ggs_json_u64(&json, "ops_only_in_b", d->only_b);
    ggs_json_u64(&json, "ops_with_other_bytes", d->bytes_differ);
    ggs_json_u64(&json, "expert_ops_compared", d->choices);
    ggs_json_u64(&json, "expert_ops_that_differ", d->choices_differ);
    ggs_json_double(&json, "shift", d->shift);
    write_times(&json, "prompt", &d->prompt);
    write_times(&json, "generate", &d->generate);
    ggs_json_array(&json, "changes");
    for (uint64_t i = 0; i < d->n_items; i++) write_item(&json, &d->items[i]);
    ggs_json_end(&json);
    ggs_json_end(&json);
    return ggs_json_finish(&json);
}

static int compare(void * arguments, struct ggs_trace * traces, struct ggs_error * error) {
    const struct ggs_input * input = arguments;
    struct ggs_diff          diff;
    int                      status = ggs_diff_compute(&diff, &traces[0], &traces[1], error);
    if (status < 0) return status;
    if (diff.n_warnings < GGS_DIFF_WARNINGS && other_metadata(&traces[0], &traces[1])) {
        snprintf(diff.warnings[diff.n_warnings++], GGS_DIFF_WARNING, "the models' metadata differ");
        diff.identical = false;
    }
    if (input->json) {
        status = print_json(&diff, traces);
    } else {
        print_text(&diff, input->paths);
    }
    ggs_diff_release(&diff);
    return status;
}

int cmd_diff(int argc, char ** argv) {
    static const struct ggs_option options[] = {GGS_OPTION_JSON(1), {0}};
    static const struct ggs_verb   verb      = {
               .operands = "A B",
               .least    = 2,
               .most     = 2,
               .opens    = true,
               .options  = options,
               .run      = compare,
               .text =
                   "Show what changed from experiment A to experiment B: times beyond the noise, bytes, coverage, buffers, experts, and ops that only one of them has. Nothing changed: nothing is printed."};
    struct ggs_input input = {0};
    return ggs_verb_run(&verb, argc, argv, &input);
}
