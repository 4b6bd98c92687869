// ggscope log DIR: the ops one after the other, as the engine went.
#include "cli/cmd-log.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "cli/commands.h"
#include "cli/verb.h"

// ---- sorting ----

#define ORDER(a, b) ((a) < (b) ? -1 : (a) > (b))

static int by_time(const struct ggs_log_entry * a, const struct ggs_log_entry * b) {
    return ORDER(a->begin_ns, b->begin_ns);
}
static int by_token(const struct ggs_log_entry * a, const struct ggs_log_entry * b) {
    return ORDER(a->token, b->token);
}
static int by_op(const struct ggs_log_entry * a, const struct ggs_log_entry * b) {
    return strcmp(a->op, b->op);
}
static int by_tensor(const struct ggs_log_entry * a, const struct ggs_log_entry * b) {
    return strcmp(a->tensor, b->tensor);
}
static int by_layer(const struct ggs_log_entry * a, const struct ggs_log_entry * b) {
    return ORDER(a->layer, b->layer);
}
static int by_threads(const struct ggs_log_entry * a, const struct ggs_log_entry * b) {
    return ORDER(b->threads, a->threads);
}
static int by_bytes(const struct ggs_log_entry * a, const struct ggs_log_entry * b) {
    return ORDER(b->read + b->written, a->read + a->written);
}
static int by_duration(const struct ggs_log_entry * a, const struct ggs_log_entry * b) {
    return ORDER(b->end_ns - b->begin_ns, a->end_ns - a->begin_ns);
}
static int by_wait(const struct ggs_log_entry * a, const struct ggs_log_entry * b) {
    return ORDER(b->wait_ns, a->wait_ns);
}
// Files before buffers, each by where the data lies.
static int by_source(const struct ggs_log_entry * a, const struct ggs_log_entry * b) {
    const struct ggs_tensor *x = a->main.tensor, *y = b->main.tensor;
    if (x == NULL || y == NULL) return ORDER(x == NULL, y == NULL);
    if (x->source != y->source) return ORDER(x->source, y->source);
    if (x->source == GGS_SOURCE_DISK)
        return x->file != y->file ? ORDER(x->file, y->file)
                                  : ORDER(x->file_offset + a->main.first, y->file_offset + b->main.first);
    return x->buffer != y->buffer ? ORDER(x->buffer, y->buffer) : ORDER(x->buffer_offset, y->buffer_offset);
}

typedef int (*comparison)(const struct ggs_log_entry * a, const struct ggs_log_entry * b);

static const struct {
    const char * name;
    comparison   compare;
} sort_columns[] = {
    {"time", by_time},       {"token", by_token}, {"op", by_op},         {"tensor", by_tensor},     {"layer", by_layer},
    {"threads", by_threads}, {"bytes", by_bytes}, {"source", by_source}, {"duration", by_duration}, {"wait", by_wait},
};
enum { N_SORT_COLUMNS = sizeof(sort_columns) / sizeof(sort_columns[0]) };

// The first `limit` entries in the order asked for. Where there is a limit, never more than twice that many are kept.
struct sorted {
    comparison             compare;
    uint64_t               limit;
    struct ggs_log_entry * entries;
    uint64_t               n, capacity;
};

static int compare_entries(const void * a, const void * b, void * compare) {
    const struct ggs_log_entry *x = a, *y = b;
    int                         order = (*(comparison *) compare)(x, y);
    if (order != 0) return order;
    return x->run != y->run ? ORDER(x->run, y->run) : ORDER(x->node, y->node);
}

static void settle(struct sorted * sorted) {
    if (sorted->n == 0) return;
    qsort_r(sorted->entries, sorted->n, sizeof(*sorted->entries), compare_entries, &sorted->compare);
    for (uint64_t i = sorted->limit; i < sorted->n; i++) free(sorted->entries[i].operands);
    if (sorted->n > sorted->limit) sorted->n = sorted->limit;
}

static int keep(struct sorted * sorted, const struct ggs_log_entry * entry, struct ggs_error * error) {
    enum { FEW = 1024 };
    if (sorted->limit < UINT64_MAX / 4 && sorted->n >= 2 * sorted->limit + FEW) settle(sorted);
    if (sorted->n == sorted->capacity) {
        uint64_t               capacity = sorted->capacity == 0 ? FEW : 2 * sorted->capacity;
        struct ggs_log_entry * entries  = realloc(sorted->entries, capacity * sizeof(*entries));
        if (entries == NULL) return ggs_fail_memory(error);
        sorted->entries  = entries;
        sorted->capacity = capacity;
    }
    struct ggs_log_entry * kept = &sorted->entries[sorted->n];
    *kept                       = *entry;
    kept->operands              = NULL;
    if (entry->n_operands > 0) {
        kept->operands = malloc(entry->n_operands * sizeof(*kept->operands));
        if (kept->operands == NULL) return ggs_fail_memory(error);
        memcpy(kept->operands, entry->operands, entry->n_operands * sizeof(*kept->operands));
    }
    sorted->n++;
    return 0;
}

static void release(struct sorted * sorted) {
    for (uint64_t i = 0; i < sorted->n; i++) free(sorted->entries[i].operands);
    free(sorted->entries);
}

// ---- the verb ----

struct arguments {
    struct ggs_input      input;
    struct ggs_log_filter filter;
    uint64_t              limit;
    comparison            sort; // NULL: as they come
    bool                  faults, csv;
};
#define AT(member) offsetof(struct arguments, member)

static bool take_sort(void * member, const char * text) {
    for (int i = 0; i < N_SORT_COLUMNS; i++) {
        if (strcmp(sort_columns[i].name, text) != 0) continue;
        *(comparison *) member = sort_columns[i].compare;
        return true;
    }
    return false;
}

static bool take_source(void * member, const char * text) {
    enum ggs_memory_source * source = member;
    bool                     disk   = strcasecmp(text, "disk") == 0;
    *source                         = disk ? GGS_SOURCE_DISK : GGS_SOURCE_BUFFER;
    return disk || strcasecmp(text, "buffer") == 0;
}

static bool take_layer(void * member, const char * text) {
    if (strcmp(text, "none") != 0) return ggs_take_layer(member, text);
    *(int *) member = -1;
    return true;
}

static bool take_thread(void * member, const char * text) {
    return ggs_parse_i64(text, 0, INT32_MAX, member);
}

static bool take_buffer(void * member, const char * text) {
    return ggs_parse_u64(text, 1, UINT64_MAX, member);
}

// Page faults belong to threads of the operating system and to addresses: some of what ops are asked about means nothing there.
static void check(const void * input, struct argp_state * state) {
    const struct arguments * arguments = input;
    if (!arguments->faults) return;
    if (arguments->filter.thread >= 0 || arguments->filter.buffer != 0)
        argp_error(state, "--thread and --buffer do not go with --faults");
    if (arguments->sort != NULL && arguments->sort != by_time && arguments->sort != by_duration)
        argp_error(state, "page faults are sorted by time or duration");
}

#define EXPECTS_TIME "a time such as 1.5s, 300ms, 20us or 5000 (nanoseconds)"

static const struct ggs_option options[] = {
    {"token", 0, "A..B", "Token steps A to B; 0 is the prompt", 1, AT(filter.first_token), ggs_take_tokens,
     GGS_EXPECTS_TOKENS},
    {"layer", 0, "N", "Ops of layer N, or of none", 1, AT(filter.layer), take_layer,
     "the number of a layer, or none for ops of no layer"},
    {"op", 0, "NAME", "Ops of this name, such as MUL_MAT", 1, AT(filter.op), ggs_take_text, NULL},
    {"tensor", 0, "GLOB", "Ops whose result or operand has a name like this, such as '*attn_q*'", 1, AT(filter.tensor),
     ggs_take_text, NULL},
    {"thread", 0, "N", "Ops that thread N took part in, with its own times", 1, AT(filter.thread), take_thread,
     "the number of a thread, from 0"},
    {"source", 0, "disk|buffer", "Ops with an operand in a mapped file, or in a buffer", 1, AT(filter.source),
     take_source, "disk or buffer"},
    {"range", 0, "OFF..OFF", "Ops that touch these bytes of a model file", 1, AT(filter.range_begin), ggs_take_offsets,
     "a range of bytes such as 4096..8192, 64K..1.5M or 1G.., or one offset"},
    {"buffer", 0, "ID", "Ops with an operand in this buffer", 1, AT(filter.buffer), take_buffer,
     "the number of a buffer, from 1"},
    {"since", 0, "TIME", "Not before this time, such as 1.5s", 1, AT(filter.since_ns), ggs_take_time, EXPECTS_TIME},
    {"until", 0, "TIME", "Before this time", 1, AT(filter.until_ns), ggs_take_time, EXPECTS_TIME},
    {"faults", 0, NULL, "Page faults instead of ops: when, where, and how long the thread was held up", 1, AT(faults),
     NULL, NULL},
    {"sort", 0, "COLUMN",
     "By time, token, op, tensor, layer, source; or, largest first, threads, bytes, duration, wait", 2, AT(sort),
     take_sort, "time, token, op, tensor, layer, threads, bytes, source, duration or wait"},
    {"limit", 'n', "N", "At most N ops", 2, AT(limit), ggs_take_count, "a number of lines"},
    {"csv", 0, NULL, "As CSV", 3, AT(csv), NULL, NULL},
    {"json", 'j', NULL, "As JSON, with all operands", 3, AT(input.json), NULL, NULL},
    {0}};

static int print_log(struct ggs_log * log, const struct arguments * arguments, struct ggs_log_writer * writer,
                     struct ggs_error * error) {
    struct ggs_log_entry entry;
    struct sorted        sorted = {.compare = arguments->sort, .limit = arguments->limit};
    uint64_t             n      = 0;
    int                  status = 0;
    while ((sorted.compare != NULL || n < arguments->limit) && !ferror(writer->file) &&
           (status = ggs_log_next(log, &entry, error)) > 0) {
        if (sorted.compare == NULL) {
            ggs_log_writer_add(writer, &entry);
            n++;
        } else if ((status = keep(&sorted, &entry, error)) < 0) {
            break;
        }
    }
    settle(&sorted);
    for (uint64_t i = 0; status >= 0 && i < sorted.n; i++) ggs_log_writer_add(writer, &sorted.entries[i]);
    release(&sorted);
    return status < 0 ? status : 0;
}

static int print_faults(const struct arguments * arguments, enum ggs_log_form form, struct ggs_trace * trace,
                        struct ggs_error * error) {
    struct ggs_fault_log log = {.filter  = &arguments->filter,
                                .form    = form,
                                .limit   = arguments->limit,
                                .longest = arguments->sort == by_duration};
    return ggs_fault_log_print(&log, trace, stdout, error);
}

static int show(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    struct arguments *    arguments = input;
    enum ggs_log_form     form = arguments->input.json ? GGS_LOG_JSON : arguments->csv ? GGS_LOG_CSV : GGS_LOG_TEXT;
    struct ggs_log *      log;
    struct ggs_log_writer writer;
    if (arguments->faults) return print_faults(arguments, form, traces, error);
    arguments->filter.operands = form == GGS_LOG_JSON;
    int status                 = ggs_log_open(&log, traces, &arguments->filter, error);
    if (status < 0) return status;
    ggs_log_writer_begin(&writer, traces, stdout, form);
    status = print_log(log, arguments, &writer, error);
    if (ggs_log_writer_end(&writer) != 0 && status == 0) status = -1;
    ggs_log_close(log);
    return status;
}

int cmd_log(int argc, char ** argv) {
    static const struct ggs_verb verb = {
        .operands = "[DIR]",
        .most     = 1,
        .opens    = true,
        .options  = options,
        .check    = check,
        .run      = show,
        .text =
            "Show the ops of an experiment one after the other: when, for which token and layer, on how many threads, which bytes from where, how long."};
    struct arguments arguments = {.filter = GGS_LOG_ALL, .limit = UINT64_MAX};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
