#include "record/spool/follow.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/search.h"
#include "record/spool/live.h"
#include "record/spool/place.h"
#include "trace/seal/part.h"
#include "trace/spool-reader.h"

enum { MOST_TALKS = 4096, IDLE_NS = 250000000 };
enum { RUNS = 1 << 16 }; // of which the graph is remembered: ops of older ones are told late by nobody

struct place { // in a stream
    uint32_t lane, sequence;
    uint64_t position;
};

struct ops_of_graph {
    uint64_t   graph;
    uint32_t   n;
    uint16_t * op;
    bool       own; // else it is another graph's
};

// A sequence of a context.
struct talk {
    uint64_t context;
    int32_t  sequence;
    int32_t  first; // position in the newest batch
    uint64_t mark;  // of that batch
    uint64_t batches;
    bool     open, output; // a request is under way; it had an output
};

struct requests_of { // a context
    uint64_t context, ended;
};

struct ggs_follow_private {
    struct talk *         talks;
    size_t                n_talks, talks_capacity;
    struct requests_of *  contexts;
    size_t                n_contexts, contexts_capacity;
    uint64_t              begun;      // decodes
    uint64_t              changed_ns; // when the journal last told of one
    char                  directory[PATH_MAX], folder[PATH_MAX];
    struct place          journal;
    struct place *        lanes;
    size_t                n_lanes, lanes_capacity;
    struct ops_of_graph * graphs; // by number
    size_t                n_graphs, graphs_capacity;
    struct {
        uint64_t run, graph;
    } runs[RUNS];
    // the clock
    bool     tick_is_ns;
    uint64_t first_ticks, first_ns;
    double   ns_per_tick;
};

static uint64_t monotonic_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t) time.tv_sec * 1000000000u + (uint64_t) time.tv_nsec;
}

// ---- the journal ----

static void take_ops(struct ggs_follow * follow, const struct ggs_record * record) {
    const char * at = record->text;
    for (unsigned i = 0; i < GGS_FOLLOW_OPS && at < record->text + record->text_length; i++) {
        size_t       left = (size_t) (record->text + record->text_length - at);
        const char * end  = memchr(at, '\n', left);
        size_t       n    = end == NULL ? left : (size_t) (end - at);
        if (follow->ops[i] == NULL) follow->ops[i] = strndup(at, n);
        at += n + 1;
    }
}

static const struct ops_of_graph * find_graph(const struct ggs_follow_private * own, uint64_t graph) {
    size_t i = ggs_search(own->n_graphs, at, own->graphs[at].graph < graph);
    return i < own->n_graphs && own->graphs[i].graph == graph ? &own->graphs[i] : NULL;
}

static void add_graph(struct ggs_follow_private * own, struct ops_of_graph graph) {
    bool ascends = own->n_graphs == 0 || own->graphs[own->n_graphs - 1].graph < graph.graph;
    if (ascends && ggs_array_push(own->graphs, own->n_graphs, own->graphs_capacity, graph)) return;
    if (graph.own) free(graph.op);
}

static void take_graph(struct ggs_follow_private * own, const struct ggs_record * record) {
    const struct ggs_journal_graph *  header  = record->body;
    const struct ggs_journal_tensor * tensors = (const void *) (header + 1);
    if (header->nodes > (record->length - sizeof(*header)) / sizeof(*tensors)) return;
    struct ops_of_graph graph = {header->id, header->nodes, calloc(header->nodes + 1ull, sizeof(uint16_t)), true};
    if (graph.op == NULL) return;
    for (uint32_t i = 0; i < graph.n; i++) {
        int32_t op;
        memcpy(&op, &tensors[i].op, sizeof(op));
        graph.op[i] = op >= 0 && op < GGS_FOLLOW_OPS ? (uint16_t) op : 0;
    }
    add_graph(own, graph);
}

static void take_delta(struct ggs_follow_private * own, const struct ggs_record * record) {
    const struct ggs_journal_delta * delta = record->body;
    const struct ops_of_graph *      base  = find_graph(own, delta->base);
    if (base != NULL) add_graph(own, (struct ops_of_graph){delta->id, base->n, base->op, false});
}

static void take_anchor(struct ggs_follow_private * own, uint64_t ticks, uint64_t ns) {
    if (own->first_ns == 0) {
        own->first_ticks = ticks, own->first_ns = ns;
    } else if (ticks > own->first_ticks && ns > own->first_ns) {
        own->ns_per_tick = (double) (ns - own->first_ns) / (double) (ticks - own->first_ticks);
    }
}

// ---- requests ----

static void end_request(struct ggs_follow * follow, struct talk * talk) {
    struct ggs_follow_private * own  = follow->own;
    bool                        told = talk->open && talk->output;
    size_t                      i    = 0;
    talk->open                       = false;
    if (!told) return;
    while (i < own->n_contexts && own->contexts[i].context != talk->context) i++;
    struct requests_of first = {talk->context, 0};
    if (i == own->n_contexts && !ggs_array_push(own->contexts, own->n_contexts, own->contexts_capacity, first)) return;
    // A context that drafts has as many as the one that it drafts for.
    if (++own->contexts[i].ended > follow->now.requests) follow->now.requests = own->contexts[i].ended;
}

static struct talk * talk_of(struct ggs_follow_private * own, uint64_t context, int32_t sequence) {
    for (size_t i = 0; i < own->n_talks; i++)
        if (own->talks[i].context == context && own->talks[i].sequence == sequence) return &own->talks[i];
    struct talk talk = {.context = context, .sequence = sequence};
    bool        room = own->n_talks < MOST_TALKS && ggs_array_push(own->talks, own->n_talks, own->talks_capacity, talk);
    return room ? &own->talks[own->n_talks - 1] : NULL;
}

static void take_requests(struct ggs_follow * follow, const struct ggs_journal_decode * decode) {
    struct ggs_follow_private * own       = follow->own;
    const int32_t *             positions = (const int32_t *) (decode + 1) + decode->tokens;
    const int32_t *             sequences = positions + decode->tokens;
    const uint8_t *             outputs   = (const uint8_t *) (sequences + decode->tokens);
    uint64_t                    mark = ++own->begun, n = decode->encode != 0 ? 0 : decode->tokens;
    own->changed_ns = follow->now.ns;
    for (uint64_t i = 0; i < n; i++) {
        struct talk * talk = talk_of(own, decode->context, (decode->has & 4) != 0 ? sequences[i] : 0);
        if (talk == NULL) continue;
        if (talk->mark != mark) {
            // Rejected drafts go back too, but not as far.
            bool known = (decode->has & 2) != 0;
            if (talk->open && known && positions[i] <= talk->first) end_request(follow, talk);
            if (!talk->open) talk->batches = 0, talk->output = false;
            talk->open = true, talk->mark = mark, talk->batches++;
            talk->first = known ? positions[i] : 0;
        }
        talk->output |= (decode->has & 8) != 0 ? outputs[i] != 0 : i + 1 == n;
    }
    for (size_t i = 0; n > 0 && i < own->n_talks; i++)
        if (own->talks[i].context == decode->context && own->talks[i].mark != mark && own->talks[i].output)
            end_request(follow, &own->talks[i]);
}

// What is cleared after a single batch was a warm-up.
static void take_memory(struct ggs_follow_private * own, const struct ggs_journal_memory * change) {
    for (size_t i = 0; change->kind == GGS_MEMORY_CLEAR && i < own->n_talks; i++)
        if (own->talks[i].batches == 1) own->talks[i].open = false;
}

static void end_idle_requests(struct ggs_follow * follow) {
    struct ggs_follow_private * own = follow->own;
    if (own->begun > follow->now.decodes || follow->now.ns - own->changed_ns < IDLE_NS) return;
    for (size_t i = 0; i < own->n_talks; i++) end_request(follow, &own->talks[i]);
}

static void take_decode(struct ggs_follow * follow, const struct ggs_record * record) {
    struct ggs_follow_sums *          sums   = &follow->now;
    const struct ggs_journal_decode * decode = record->body;
    uint64_t                          n      = decode->tokens;
    if (13 * n > record->length - sizeof(*decode)) return;
    const uint8_t * outputs = (const uint8_t *) (decode + 1) + 12 * n;
    take_requests(follow, decode);
    sums->tokens += n;
    for (uint64_t i = 0; (decode->has & 8) != 0 && i < n; i++) sums->outputs += outputs[i] != 0;
    if ((decode->has & 8) == 0 && n > 0) sums->outputs++;
}

static void take(struct ggs_follow * follow, const struct ggs_record * record) {
    struct ggs_follow_private *        own     = follow->own;
    const struct ggs_journal_process * process = record->body;
    const struct ggs_journal_run *     run     = record->body;
    switch (record->type) {
        case GGS_JOURNAL_PROCESS:
            follow->pid      = process->pid;
            own->tick_is_ns  = process->tick_is_ns != 0;
            own->ns_per_tick = own->tick_is_ns ? 1 : 0;
            if (!own->tick_is_ns) take_anchor(own, process->ticks, process->monotonic_ns);
            break;
        case GGS_JOURNAL_OPS:
            take_ops(follow, record);
            break;
        case GGS_JOURNAL_GRAPH:
            take_graph(own, record);
            break;
        case GGS_JOURNAL_GRAPH_DELTA:
            take_delta(own, record);
            break;
        case GGS_JOURNAL_RUN:
            if (!own->tick_is_ns) take_anchor(own, run->ticks, run->monotonic_ns);
            own->runs[run->run % RUNS].run   = run->run;
            own->runs[run->run % RUNS].graph = run->graph;
            break;
        case GGS_JOURNAL_RUN_END:
            follow->now.graph_runs++;
            break;
        case GGS_JOURNAL_DECODE:
            take_decode(follow, record);
            break;
        case GGS_JOURNAL_DECODE_END:
            follow->now.decodes++;
            own->changed_ns = follow->now.ns;
            break;
        case GGS_JOURNAL_MEMORY:
            take_memory(own, record->body);
            break;
        default:
            break;
    }
}

static void read_journal(struct ggs_follow * follow, struct ggs_spool * spool) {
    struct place *    place = &follow->own->journal;
    struct ggs_record record;
    if (place->position > 0) ggs_spool_stream_seek(&spool->journal, place->sequence, place->position);
    while (ggs_spool_stream_record(&spool->journal, &record)) {
        take(follow, &record);
        place->position = ggs_spool_stream_tell(&spool->journal, &place->sequence);
    }
}

// ---- lanes ----

static struct place * place_of(struct ggs_follow_private * own, uint32_t lane) {
    for (size_t i = 0; i < own->n_lanes; i++)
        if (own->lanes[i].lane == lane) return &own->lanes[i];
    struct place place = {.lane = lane};
    return ggs_array_push(own->lanes, own->n_lanes, own->lanes_capacity, place) ? &own->lanes[own->n_lanes - 1] : NULL;
}

static void add_op(struct ggs_follow * follow, const struct ggs_unit * unit) {
    const struct ggs_follow_private * own  = follow->own;
    struct ggs_follow_sums *          sums = &follow->now;
    if ((unit->flags & GGS_OP_RUN_ENDED) == 0 || own->ns_per_tick <= 0) return;
    uint64_t wait = unit->wait + unit->inner_wait;
    uint64_t busy = unit->duration > unit->inner_wait ? unit->duration - unit->inner_wait : 0;
    unsigned op   = 0;
    if (own->runs[unit->run % RUNS].run == unit->run) {
        const struct ops_of_graph * graph = find_graph(own, own->runs[unit->run % RUNS].graph);
        if (graph != NULL && unit->node < graph->n) op = graph->op[unit->node];
    }
    busy = (uint64_t) ((double) busy * own->ns_per_tick);
    wait = (uint64_t) ((double) wait * own->ns_per_tick);
    sums->busy_ns += busy, sums->wait_ns += wait;
    sums->op[op].op_runs++, sums->op[op].busy_ns += busy, sums->op[op].wait_ns += wait;
}

static void read_lane(struct ggs_follow * follow, struct ggs_spool_stream * lane) {
    const struct ggs_unit * unit;
    struct place *          place = place_of(follow->own, lane->lane);
    if (place == NULL) return;
    if (place->position > 0) ggs_spool_stream_seek(lane, place->sequence, place->position);
    while ((unit = ggs_spool_stream_unit(lane)) != NULL) {
        struct ggs_unit copy = *unit;
        ggs_spool_stream_skip(lane);
        // The last one may be under way still: then it is read again next time.
        bool     open = copy.type == GGS_UNIT_OP && (copy.flags & GGS_OP_RUN_ENDED) == 0;
        uint32_t sequence;
        uint64_t position = ggs_spool_stream_tell(lane, &sequence);
        if (open && ggs_spool_stream_unit(lane) == NULL) return;
        if (copy.type == GGS_UNIT_OP) add_op(follow, &copy);
        place->sequence = sequence, place->position = position;
    }
}

// ---- the process ----

static uint64_t number_after(const char * text, const char * key) {
    const char * at = strstr(text, key);
    return at == NULL ? 0 : strtoull(at + strlen(key), NULL, 10);
}

static bool read_text(const char * format, uint32_t pid, char * text, size_t size) {
    char path[64];
    snprintf(path, sizeof(path), format, pid);
    FILE * file = fopen(path, "re");
    if (file == NULL) return false;
    size_t n = fread(text, 1, size - 1, file);
    fclose(file);
    text[n] = '\0';
    return n > 0;
}

static void read_process(struct ggs_follow * follow) {
    struct ggs_follow_sums * sums = &follow->now;
    char                     text[4096];
    sums->alive = follow->pid != 0 && read_text("/proc/%u/stat", follow->pid, text, sizeof(text));
    if (!sums->alive) return;
    const char * at    = strrchr(text, ')'); // the name before it may hold anything
    char         state = 0;
    uint64_t     minor = 0, major = 0;
    if (at != NULL &&
        sscanf(at + 1, " %c %*d %*d %*d %*d %*d %*u %" SCNu64 " %*u %" SCNu64, &state, &minor, &major) == 3) {
        sums->minor_faults = minor, sums->major_faults = major;
        sums->alive = state != 'Z' && state != 'X';
    }
    uint64_t pages = 0;
    if (read_text("/proc/%u/statm", follow->pid, text, sizeof(text)) && sscanf(text, "%*u %" SCNu64, &pages) == 1)
        sums->resident_bytes = pages * (uint64_t) sysconf(_SC_PAGESIZE);
    sums->has_io = read_text("/proc/%u/io", follow->pid, text, sizeof(text));
    if (!sums->has_io) return;
    sums->read_bytes    = number_after(text, "\nread_bytes: ");
    sums->written_bytes = number_after(text, "\nwrite_bytes: ");
}

// ---- all of it ----

static struct ggs_follow * make(struct ggs_error * error) {
    struct ggs_follow * follow = calloc(1, sizeof(*follow));
    if (follow != NULL) follow->own = calloc(1, sizeof(*follow->own));
    if (follow != NULL && follow->own != NULL) return follow;
    ggs_follow_close(follow);
    ggs_fail_memory(error);
    return NULL;
}

// Of segments that are gone: what they took more than what they have become, and that.
static uint64_t sealed_bytes(const char * directory, const struct ggs_spool_control * control) {
    char        path[PATH_MAX];
    struct stat info;
    bool        part =
        snprintf(path, sizeof(path), "%s/%s", directory, GGS_PART_NAME) < (int) sizeof(path) && stat(path, &info) == 0;
    return (control == NULL ? 0 : __atomic_load_n(&control->freed, __ATOMIC_RELAXED)) +
           (part ? (uint64_t) info.st_size : 0);
}

int ggs_follow_open(struct ggs_follow ** out, const char * directory, struct ggs_error * error) {
    struct ggs_follow * follow = make(error);
    *out                       = follow;
    if (follow == NULL) return GGS_MEMORY;
    snprintf(follow->own->directory, sizeof(follow->own->directory), "%s", directory);
    int status = ggs_follow_read(follow, error);
    if (status == 0) return 0;
    ggs_follow_close(follow);
    *out = NULL;
    return status;
}

int ggs_follow_read(struct ggs_follow * follow, struct ggs_error * error) {
    struct ggs_follow_private * own = follow->own;
    struct ggs_spool            spool;
    char                        link[PATH_MAX];
    bool                        live = ggs_spool_place_is_live(own->directory);
    if (!live && !ggs_live_is_starting(own->directory))
        return ggs_fail(error, GGS_ABSENT, "nothing is being recorded into %s", own->directory);
    follow->before = follow->now;
    follow->now.ns = monotonic_ns();
    if (own->folder[0] == '\0' && (snprintf(link, sizeof(link), "%s/spool", own->directory) >= (int) sizeof(link) ||
                                   realpath(link, own->folder) == NULL))
        own->folder[0] = '\0';
    if (own->folder[0] == '\0' || ggs_spool_open(&spool, own->folder, NULL) != 0) return 0; // nothing yet
    const struct ggs_spool_control * control = (const void *) spool.control.data;
    follow->paused                           = control != NULL && control->recording == 0;
    follow->now.spool_bytes                  = spool.bytes + sealed_bytes(own->directory, control);
    read_journal(follow, &spool);
    for (size_t i = 0; i < spool.n_lanes; i++) read_lane(follow, &spool.lanes[i]);
    ggs_spool_release(&spool);
    end_idle_requests(follow);
    read_process(follow);
    return 0;
}

int ggs_follow_requests_open(struct ggs_follow ** out, const char * folder, struct ggs_error * error) {
    *out = make(error);
    if (*out == NULL) return GGS_MEMORY;
    snprintf((*out)->own->folder, sizeof((*out)->own->folder), "%s", folder);
    return 0;
}

void ggs_follow_requests(struct ggs_follow * follow) {
    struct ggs_spool spool;
    follow->now.ns = monotonic_ns();
    if (ggs_spool_open(&spool, follow->own->folder, NULL) != 0) return; // nothing yet
    read_journal(follow, &spool);
    ggs_spool_release(&spool);
    end_idle_requests(follow);
}

void ggs_follow_close(struct ggs_follow * follow) {
    if (follow == NULL) return;
    for (unsigned i = 0; i < GGS_FOLLOW_OPS; i++) free(follow->ops[i]);
    if (follow->own != NULL) {
        for (size_t i = 0; i < follow->own->n_graphs; i++)
            if (follow->own->graphs[i].own) free(follow->own->graphs[i].op);
        free(follow->own->graphs);
        free(follow->own->talks);
        free(follow->own->contexts);
        free(follow->own->lanes);
        free(follow->own);
    }
    free(follow);
}
