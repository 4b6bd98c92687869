// ggscope requests DIR: the requests of a server, one per line like an access log.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "answer/requests.h"
#include "base/number.h"
#include "base/system/terminal.h"
#include "base/table.h"
#include "cli/commands.h"
#include "cli/scaffold/recording-summary.h"
#include "cli/scaffold/verb.h"

enum { TEXT_MOMENTS = 24 };

struct arguments {
    struct ggs_input input;
    bool             csv, costs, cells, batches;
    uint64_t         limit;
};

static bool shown(const struct ggs_asked * choice, const struct ggs_request * request) {
    return (choice->request == 0 || choice->request - 1 == request->request) &&
           (choice->context == 0 || choice->context - 1 == request->context) &&
           (choice->sequence == 0 || (int64_t) choice->sequence - 1 == request->sequence);
}

// Keeps the requests to show.
static void filter(const struct arguments * arguments, struct ggs_requests * requests) {
    uint64_t kept = 0;
    for (uint64_t i = 0; i < requests->n && kept < arguments->limit; i++)
        if (shown(&arguments->input.choice, &requests->request[i])) requests->request[kept++] = requests->request[i];
    requests->n = kept;
}

// ---- text ----

static void time_cell(struct ggs_table * table, int64_t ns) {
    char number[GGS_NUMBER_LENGTH];
    ggs_table_cell(table, "%s", ns < 0 ? "-" : ggs_format_nanoseconds(number, (uint64_t) ns));
}

// Columns that only some recordings need.
struct columns {
    bool context, drafts, decoded, unused, costs;
};

// Usually all generated tokens except the last are fed back, and all their outputs are read.
static struct columns find_columns(const struct ggs_requests * requests, bool several) {
    struct columns columns = {.context = several, .costs = requests->has_costs};
    for (uint64_t i = 0; i < requests->n; i++) {
        const struct ggs_request * r = &requests->request[i];
        columns.drafts |= r->accepted_tokens + r->rejected_tokens + r->unsettled_tokens > 0;
        columns.unused |= r->unused_tokens > 0;
        columns.decoded |= r->generated_tokens > 0 && r->decoded_tokens >= 0 &&
                           (uint64_t) r->decoded_tokens + 1 != r->generated_tokens;
    }
    return columns;
}

static struct ggs_table * make_table(struct columns columns) {
    const struct {
        const char * name;
        bool         left_out;
    } all[] = {
        {"context", !columns.context},
        {"request", false},
        {"seq", false},
        {"kind", false},
        {"begin", false},
        {"time", false},
        {"prompt", false},
        {"cached", false},
        {"tokens", false},
        {"decoded", !columns.decoded},
        {"unused", !columns.unused},
        {"first", false},
        {"each", false},
        {"between", false},
        {"steps", false},
        {"drafts", !columns.drafts},
        {"~op time", !columns.costs},
        {"~read", !columns.costs},
    };
    struct ggs_table * table = ggs_table_new();
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (!all[i].left_out)
            ggs_table_column(table, all[i].name, strcmp(all[i].name, "kind") == 0 ? GGS_LEFT : GGS_RIGHT);
    return table;
}

static void number_or_dash(struct ggs_table * table, int64_t number) {
    if (number >= 0)
        ggs_table_cell(table, "%" PRId64, number);
    else
        ggs_table_cell(table, "-");
}

static void print_requests(const struct ggs_requests * requests, bool several) {
    struct columns     columns = find_columns(requests, several);
    struct ggs_table * table   = make_table(columns);
    for (uint64_t i = 0; i < requests->n; i++) {
        const struct ggs_request * r = &requests->request[i];
        char                       number[GGS_NUMBER_LENGTH];
        if (columns.context) ggs_table_cell(table, "%" PRIu64, r->context);
        ggs_table_cell(table, "%" PRIu64, r->request);
        ggs_table_cell(table, "%" PRId64, r->sequence);
        ggs_table_cell(table, "%s", ggs_request_kind_name(r->kind));
        ggs_table_cell(table, "%.3f s", (double) r->begin_ns / 1e9);
        time_cell(table, r->duration_ns);
        number_or_dash(table, r->prompt_tokens);
        number_or_dash(table, r->cached_tokens);
        ggs_table_cell(table, "%" PRIu64, r->generated_tokens);
        if (columns.decoded) number_or_dash(table, r->decoded_tokens);
        if (columns.unused) number_or_dash(table, r->unused_tokens);
        time_cell(table, r->time_to_first_ns);
        time_cell(table, r->ns_per_token);
        time_cell(table, (int64_t) r->wait_ns);
        ggs_table_cell(table, "%" PRIu64, r->steps);
        if (columns.drafts) {
            uint64_t all = r->accepted_tokens + r->rejected_tokens;
            if (all > 0)
                ggs_table_cell(table, "%" PRIu64 " of %" PRIu64, r->accepted_tokens, all);
            else
                ggs_table_cell(table, "-");
        }
        if (columns.costs) {
            time_cell(table, (int64_t) r->op_ns);
            ggs_table_cell(table, "%s", ggs_format_bytes(number, r->bytes_read));
        }
    }
    ggs_table_print(table, stdout, ggs_terminal_limit(stdout));
    ggs_table_free(table);
}

static void print_context(const struct ggs_request_context * c) {
    char number[GGS_NUMBER_LENGTH], prompts[64] = "prompt not seen";
    if (c->requests == 0 || c->begun_before < c->requests)
        snprintf(prompts, sizeof(prompts), "prompt %" PRIu64 ", cached %" PRIu64, c->prompt_tokens, c->cached_tokens);
    printf("context %-3" PRIu64 " %" PRIu64 " request%s, %s, %s %" PRIu64 ", %" PRIu64 " step%s in %s\n", c->context,
           c->requests, c->requests == 1 ? "" : "s", prompts, c->target >= 0 ? "drafted" : "generated",
           c->generated_tokens, c->steps, c->steps == 1 ? "" : "s", ggs_format_nanoseconds(number, c->compute_ns));
    ggs_summary_drafts(c, "            ", stdout);
    if (c->begun_before > 0)
        printf("            %" PRIu64 " of them began before the recording: prompt, cached tokens, time to the first\n"
               "            output and cells are not seen\n",
               c->begun_before);
    if (c->paused > 0)
        printf("            %" PRIu64
               " of them went on while recording was paused: tokens and times are those that were\n"
               "            recorded\n",
               c->paused);
    if (c->begun_before == 0 && c->cells_peak < 0)
        puts("            cells of its memory are not seen: parts of the program's run were not recorded");
    else if (c->begun_before == 0)
        printf("            at most %" PRId64 " cells of its memory at once, of %" PRId64 " sequence%s\n",
               c->cells_peak, c->sequences_peak, c->sequences_peak == 1 ? "" : "s");
    if (c->cells_peak < 0)
        printf("            changes: %" PRIu64 " remove, %" PRIu64 " copy, %" PRIu64 " move, %" PRIu64 " clear\n",
               c->removed, c->copied, c->moved, c->cleared);
    else
        printf("            changes: %" PRIu64 " remove (%" PRId64 " cells), %" PRIu64 " copy (%" PRId64 "), %" PRIu64
               " move (%" PRId64 "), %" PRIu64 " clear (%" PRId64 ")\n",
               c->removed, c->removed_cells, c->copied, c->copied_cells, c->moved, c->moved_cells, c->cleared,
               c->cleared_cells);
    if (!c->changes_seen)
        puts("            some changes of its sequences were not seen; they are derived from positions");
}

static void print_memory(const struct ggs_cell_peak * peak) {
    printf("\nmemory of context %" PRIu64 ": ", peak->context);
    if (peak->capacity > 0) printf("%" PRIu64 " cells", peak->capacity);
    if (peak->streams > 1) printf(", each of %" PRIu64 " sequences with its own", peak->streams);
    printf("%sat most %" PRIu64 " in use at once, ", peak->capacity > 0 ? ", " : "", peak->cells);
    if (peak->up_to >= 0)
        printf("at most %" PRId64 " up to the last one and %" PRId64 " holes among these\n", peak->up_to, peak->holes);
    else
        puts("which ones was not seen");
}

static void print_cells(const struct ggs_cell_uses * uses, const struct ggs_asked * asked) {
    static const char * const names[] = {"context", "at",    "token",    "cells", "sequences",
                                         "up to",   "holes", "attended", "in use"};
    char                      number[GGS_NUMBER_LENGTH];
    struct ggs_table *        table = ggs_table_new();
    bool                      strip = false;
    for (uint64_t i = 0; i < uses->n_peaks; i++)
        if (asked->context == 0 || asked->context - 1 == uses->peak[i].context) print_memory(&uses->peak[i]);
    for (uint64_t i = 0; i < uses->n; i++) strip |= uses->use[i].strip[0] != '\0';
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) ggs_table_column(table, names[i], GGS_RIGHT);
    if (strip) ggs_table_column(table, "sequence in each cell", GGS_LEFT);
    for (uint64_t i = 0; i < uses->n; i++) {
        const struct ggs_cell_use * use = &uses->use[i];
        if (asked->context > 0 && asked->context - 1 != use->context) continue;
        ggs_table_cell(table, "%" PRIu64, use->context);
        ggs_table_cell(table, "%.3f s", (double) use->time_ns / 1e9);
        number_or_dash(table, use->token);
        ggs_table_cell(table, "%" PRIu64, use->cells);
        ggs_table_cell(table, "%" PRIu64, use->sequences);
        number_or_dash(table, use->up_to);
        number_or_dash(table, use->holes);
        number_or_dash(table, use->attended > 0 ? (int64_t) use->attended : -1);
        ggs_table_cell(table, "%s",
                       use->attended_in_use >= 0
                           ? ggs_format_percent(number, (uint64_t) use->attended_in_use, use->attended)
                           : "-");
        if (strip) ggs_table_cell(table, "%s", use->strip);
    }
    putchar('\n');
    ggs_table_print(table, stdout, ggs_terminal_limit(stdout));
    ggs_table_free(table);
}

static void print_batches(const struct ggs_compositions * all) {
    static const char * const names[] = {"context", "from",     "to",     "decodes",
                                         "prompt",  "generate", "verify", "requests"};
    struct ggs_table *        table   = ggs_table_new();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) ggs_table_column(table, names[i], GGS_RIGHT);
    for (uint64_t i = 0; i < all->n; i++) {
        const struct ggs_composition * batch = &all->batch[i];
        ggs_table_cell(table, "%" PRIu64, batch->context);
        ggs_table_cell(table, "%.3f s", (double) batch->begin_ns / 1e9);
        ggs_table_cell(table, "%.3f s", (double) batch->end_ns / 1e9);
        ggs_table_cell(table, "%" PRIu64, batch->decodes);
        ggs_table_cell(table, "%" PRIu64, batch->prompt_tokens);
        ggs_table_cell(table, "%" PRIu64, batch->generate_tokens);
        ggs_table_cell(table, "%" PRIu64, batch->verify_tokens);
        ggs_table_cell(table, "%" PRIu64, batch->requests);
    }
    putchar('\n');
    ggs_table_print(table, stdout, ggs_terminal_limit(stdout));
    ggs_table_free(table);
}

static void print_text(const struct ggs_requests * requests, const struct arguments * arguments) {
    if (requests->n == 0) {
        puts("no requests were recorded");
        return;
    }
    print_requests(requests, requests->n_contexts > 1);
    putchar('\n');
    for (uint64_t i = 0; i < requests->n_contexts; i++)
        if (arguments->input.choice.context == 0 || arguments->input.choice.context - 1 == requests->context[i].context)
            print_context(&requests->context[i]);
}

// ---- csv: the columns of the table requests (docs/tables.md) ----

// Empty for an unknown value.
static void csv_number(int64_t number) {
    if (number >= 0) printf("%" PRId64, number);
    putchar(',');
}

static void print_csv(const struct ggs_requests * requests) {
    puts("request,context,sequence,kind,begin_ns,end_ns,first_output_ns,duration_ns,time_to_first_ns,ns_per_token,"
         "compute_ns,wait_ns,prompt_tokens,cached_tokens,generated_tokens,decoded_tokens,unused_tokens,"
         "accepted_tokens,rejected_tokens,unsettled_tokens,steps,decodes,cells_peak,changes_seen");
    for (uint64_t i = 0; i < requests->n; i++) {
        const struct ggs_request * r = &requests->request[i];
        printf("%" PRIu64 ",%" PRIu64 ",%" PRId64 ",%s,%" PRId64 ",%" PRId64 ",", r->request, r->context, r->sequence,
               ggs_request_kind_name(r->kind), r->begin_ns, r->end_ns);
        csv_number(r->first_output_ns);
        csv_number(r->duration_ns);
        csv_number(r->time_to_first_ns);
        csv_number(r->ns_per_token);
        printf("%" PRIu64 ",%" PRIu64 ",", r->compute_ns, r->wait_ns);
        csv_number(r->prompt_tokens);
        csv_number(r->cached_tokens);
        printf("%" PRIu64 ",", r->generated_tokens);
        csv_number(r->decoded_tokens);
        csv_number(r->unused_tokens);
        printf("%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", r->accepted_tokens, r->rejected_tokens,
               r->unsettled_tokens, r->steps, r->decodes);
        csv_number(r->cells_peak);
        printf("%d\n", r->changes_seen);
    }
}

// ---- the verb ----

static int show(void * data, struct ggs_trace * traces, struct ggs_error * error) {
    const struct arguments *    arguments = data;
    struct ggs_requests_options options   = {.costs   = arguments->costs,
                                             .cells   = arguments->cells,
                                             .batches = arguments->batches,
                                             .most    = arguments->input.json ? GGS_MOMENTS_MOST : TEXT_MOMENTS};
    struct ggs_requests_answer  answer;
    int                         status = ggs_requests_answer_compute(&answer, traces, &options, error);
    if (status < 0) return status;
    filter(arguments, &answer.list);
    if (arguments->input.json) {
        ggs_requests_answer_write(arguments->input.out, &answer);
    } else if (arguments->csv) {
        print_csv(&answer.list);
    } else {
        print_text(&answer.list, arguments);
        if (arguments->cells) print_cells(&answer.cells, &arguments->input.choice);
        if (arguments->batches) print_batches(&answer.batches);
    }
    ggs_requests_answer_release(&answer);
    return status;
}

#define AT(member) offsetof(struct arguments, member)

int cmd_requests(int argc, char ** argv) {
    static const struct ggs_option options[] = {
        GGS_OPTIONS_SELECTION(1),
        GGS_OPTION("limit", 'n', "N", "At most N requests", 1, AT(limit), ggs_set_count, "a number of requests"),
        GGS_SWITCH("costs", 'c', "Show each request's share of op time and bytes, by its tokens in each batch", 1,
                   AT(costs)),
        GGS_SWITCH("cells", 0,
                   "Show the cells of the KV cache over time: sequences, holes, cells that attention covers", 1,
                   AT(cells)),
        GGS_SWITCH("batches", 0, "Show the contents of batches over time: prompt, generated and drafted tokens", 1,
                   AT(batches)),
        GGS_SWITCH("csv", 0, "As CSV", 2, AT(csv)),
        GGS_OPTION_JSON(2),
        GGS_OPTION_DAMAGED(2),
        {0}};
    static const struct ggs_verb verb = {
        GGS_OPENS_ONE, .options = options, .run = show,
        .text = "List every request of a server or another program: sequence, prompt, cached and generated "
                "tokens, times and drafts."};
    struct arguments arguments = {.limit = UINT64_MAX};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
