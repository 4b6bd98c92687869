#include "figure/figure.h"

#include <string.h>

#include "analyze/experts/domains.h"
#include "analyze/explain/invocation.h"
#include "base/error.h"
#include "base/json-read.h"
#include "figure/kinds.h"

static const struct ggs_figure_kind kinds[] = {
    {.name        = "access-order",
     .title       = "Access order",
     .text        = "where in the model's files ops read, over time",
     .takes_marks = true,
     .make        = ggs_figure_access_order},
    {.name  = "memory-map",
     .title = "Memory map",
     .text  = "how often each part of the model's files and of buffers was touched",
     .make  = ggs_figure_memory_map},
    {.name  = "order-map",
     .title = "Order of last accesses",
     .text  = "which part of the model's files was read last",
     .make  = ggs_figure_order_map},
    {.name  = "page-map",
     .title = "Pages touched",
     .text  = "which part of each page range of the model's files was touched",
     .make  = ggs_figure_page_map},
    {.name  = "fault-map",
     .title = "Page faults",
     .text  = "how often each page of the model's files faulted",
     .make  = ggs_figure_fault_map},
    {.name  = "heat-over-offset",
     .title = "Accesses over file offset",
     .text  = "accumulated accesses over file offset",
     .make  = ggs_figure_heat_over_offset},
    {.name  = "heat-rows",
     .title = "Reads of each token",
     .text  = "bytes read over file offset, one row per token",
     .make  = ggs_figure_heat_rows},
    {.name  = "reuse",
     .title = "Reuse distance",
     .text  = "bytes by how much is read until they are read again",
     .make  = ggs_figure_reuse},
    {.name        = "experts",
     .title       = "Use of experts",
     .text        = "how few experts make up how much of all choices",
     .takes_layer = true,
     .make        = ggs_figure_experts},
    {.name  = "expert-matrix",
     .title = "Experts by layer",
     .text  = "how often each expert of each layer was chosen",
     .make  = ggs_figure_expert_matrix},
    {.name        = "expert-domains",
     .title       = "Experts by recording",
     .text        = "part of the choices of each expert, of several recordings",
     .takes_layer = true,
     .most        = GGS_DOMAINS_MOST,
     .make        = ggs_figure_expert_domains},
    {.name  = "roofline",
     .title = "Roofline",
     .text  = "what ops reach of what the machine can do",
     .make  = ggs_figure_roofline},
    {.name            = "paging",
     .title           = "What less memory costs",
     .text            = "bytes from the disk per token over memory",
     .takes_readahead = true,
     .make            = ggs_figure_paging},
    {.name  = "tokens",
     .title = "Time of each token",
     .text  = "how long each token step took",
     .make  = ggs_figure_tokens},
    {.name  = "token-ops",
     .title = "Where a token spends its time",
     .text  = "ops of one token by layer and purpose, as wide as they took",
     .make  = ggs_figure_token_ops},
    {.name  = "token-bytes",
     .title = "Where a token reads and writes",
     .text  = "ops of one token by layer and purpose, as wide as they have bytes",
     .make  = ggs_figure_token_bytes},
    {.name        = "graph",
     .title       = "Graph of a token",
     .text        = "nodes of a graph by layer, each below what it reads, by time",
     .takes_layer = true,
     .make        = ggs_figure_graph},
    {.name       = "timeline",
     .title      = "Timeline",
     .text       = "what each thread or device computed, over time",
     .takes_time = true,
     .most       = 2,
     .make       = ggs_figure_timeline},
    {.name       = "requests",
     .title      = "Requests over time",
     .text       = "what each slot of a server computed, over time",
     .takes_time = true,
     .make       = ggs_figure_requests},
    {.name  = "cells",
     .title = "Cells of the KV cache in use",
     .text  = "cells of the KV cache by sequence, over time",
     .make  = ggs_figure_cells},
    {.name        = "choices",
     .title       = "Experts that each token chose",
     .text        = "experts of each token in one layer, by routing weight",
     .takes_layer = true,
     .make        = ggs_figure_choices},
    {.name  = "working-sets",
     .title = "Working set of experts",
     .text  = "bytes of the experts that tokens in a row choose",
     .make  = ggs_figure_working_sets},
    {.name  = "lead-times",
     .title = "How early experts are known",
     .text  = "time from the choice of experts to their first use",
     .make  = ggs_figure_lead_times},
    {.name  = "durations",
     .title = "Durations of ops",
     .text  = "how many ops lasted how long",
     .make  = ggs_figure_durations},
    {.name  = "storage",
     .title = "Bytes and stalls of each token",
     .text  = "bytes addressed and read, and stalls, by token",
     .make  = ggs_figure_storage},
    {.name  = "residency",
     .title = "In memory after each token",
     .text  = "bytes of the model in memory, by token",
     .make  = ggs_figure_residency},
    {.name  = "values",
     .title = "Values of ops",
     .text  = "size of what each op computed, by token; of two recordings the error",
     .most  = 2,
     .make  = ggs_figure_values},
    {.name  = "value-ranges",
     .title = "Ranges of values",
     .text  = "size of what ops computed, by layer",
     .make  = ggs_figure_value_ranges},
};

const struct ggs_figure_kind * ggs_figure_kind_at(unsigned i) {
    return i < sizeof(kinds) / sizeof(kinds[0]) ? &kinds[i] : NULL;
}

const struct ggs_figure_kind * ggs_figure_kind_named(const char * name) {
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].name, name) == 0) return &kinds[i];
    return NULL;
}

uint64_t ggs_figure_base(const struct ggs_trace * trace, uint64_t file) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i + 1 < file && i < trace->n_files; i++)
        if (trace->files[i].gguf != 0 && trace->files[i].size < 1ull << 52) sum += trace->files[i].size;
    return sum;
}

// Finds begin and end of the steps.
static int find_times(struct ggs_trace * trace, int64_t first, int64_t last, int64_t * begin_ns, int64_t * end_ns,
                      struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_step     step;
    int                 more, status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_STEPS, error);
    if (status < 0) return status;
    *begin_ns = INT64_MAX, *end_ns = INT64_MIN;
    while ((more = ggs_cursor_next(cursor, &step, error)) > 0) {
        if (step.step < first || step.step > last) continue;
        if (step.begin_ns < *begin_ns) *begin_ns = step.begin_ns;
        if (step.end_ns > *end_ns) *end_ns = step.end_ns;
    }
    ggs_cursor_close(cursor);
    return more;
}

int ggs_figure_window(struct ggs_trace * trace, const struct ggs_figure_options * options, int64_t * begin_ns,
                      int64_t * end_ns, struct ggs_error * error) {
    int status = find_times(trace, options->first_step, options->last_step, begin_ns, end_ns, error);
    if (status == 0 && *begin_ns >= *end_ns) status = ggs_trace_span(trace, begin_ns, end_ns, error); // no steps
    if (options->kind->takes_time && options->since_ns > *begin_ns) *begin_ns = options->since_ns;
    if (options->kind->takes_time && options->until_ns < *end_ns) *end_ns = options->until_ns;
    return status;
}

void ggs_figure_field(struct ggs_text * data, const char * text) {
    if (!GGS_FIGURE_HAS_DATA) return;
    if (strpbrk(text, "\",\r\n") == NULL) {
        ggs_text_puts(data, text);
        return;
    }
    ggs_text_putc(data, '"');
    for (; *text != '\0'; text++) {
        if (*text == '"') ggs_text_putc(data, '"');
        ggs_text_putc(data, *text);
    }
    ggs_text_putc(data, '"');
}

// Appends the last component of a path, ignoring a trailing slash.
static void add_last_part(struct ggs_text * text, const char * path) {
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/') end--;
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/') begin--;
    ggs_text_append(text, path + begin, end - begin);
}

// Adds model, recording, command and date.
static void add_words(struct ggs_drawing * figure, const struct ggs_trace * trace,
                      const struct ggs_figure_options * options) {
    const char *          experiment = ggs_reader_experiment(trace->reader);
    struct ggs_json_value root = ggs_json_read(experiment, strlen(experiment)), word = {0};
    char                  start[40];
    uint64_t              file = 0;
    while (file < trace->n_files && !trace->models[file]) file++;
    ggs_text_puts(&figure->title, options->kind->title);
    if (options->layer >= 0) ggs_text_printf(&figure->title, ", layer %d", options->layer);
    if (file < trace->n_files) {
        ggs_text_puts(&figure->title, ": ");
        add_last_part(&figure->title, ggs_reader_string(trace->reader, trace->files[file].path));
    }
    if (options->directory != NULL) {
        add_last_part(&figure->caption, options->directory);
        ggs_text_puts(&figure->caption, " \xc2\xb7 ");
    }
    for (size_t begin = figure->caption.length; ggs_json_next(ggs_json_member(root, "command"), &word);) {
        if (figure->caption.length > begin + 300) {
            ggs_text_puts(&figure->caption, "... ");
            break;
        }
        struct ggs_text plain = {0};
        ggs_json_append_to(word, &plain);
        ggs_invocation_quote(&figure->caption, ggs_text_string(&plain));
        ggs_text_putc(&figure->caption, ' ');
        figure->caption.failed |= plain.failed;
        ggs_text_release(&plain);
    }
    ggs_json_to_buffer(ggs_json_member(root, "start_utc"), start, sizeof(start));
    start[strcspn(start, ".")] = '\0';
    if (start[strcspn(start, "T")] != '\0') start[strcspn(start, "T")] = ' ';
    ggs_text_printf(&figure->caption, "\xc2\xb7 %s%s\xc2\xb7 ggscope", start, *start != '\0' ? " UTC " : "");
    figure->chart.title = ggs_text_string(&figure->title), figure->chart.caption = ggs_text_string(&figure->caption);
}

int ggs_figure_make(struct ggs_drawing * figure, struct ggs_trace * trace, const struct ggs_figure_options * options,
                    struct ggs_error * error) {
    int status = 0;
    for (unsigned i = 0; status == 0 && i < (options->n_traces == 0 ? 1 : options->n_traces); i++)
        status = ggs_trace_check_steps(&trace[i], options->first_step, options->last_step, error);
    if (status == 0) status = options->kind->make(figure, trace, options, error);
    if (status < 0) return status;
    if (options->caption) add_words(figure, trace, options);
    if (figure->data.failed || figure->title.failed || figure->caption.failed || figure->chart.out_of_memory)
        return ggs_fail_memory(error);
    return 0;
}

int ggs_figure_draw(struct ggs_drawing * figure, const struct ggs_figure_options * options,
                    const struct ggs_canvas_output * output, struct ggs_text * out, struct ggs_error * error) {
    const double point = 25.4 / 72; // in millimetres
    return ggs_chart_draw(&figure->chart,
                          &(struct ggs_chart_size){options->width / point, options->height / point, options->font},
                          output, out, error);
}

void ggs_figure_release(struct ggs_drawing * figure) {
    ggs_chart_release(&figure->chart);
    ggs_text_release(&figure->data);
    ggs_text_release(&figure->title);
    ggs_text_release(&figure->caption);
}
