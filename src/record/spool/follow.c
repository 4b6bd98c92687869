#include "record/spool/follow.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/search.h"
#include "base/system/clock.h"
#include "record/spool/live.h"
#include "record/spool/place.h"
#include "trace/seal/part.h"
#include "trace/spool-reader.h"

enum { RUNS = 1 << 16 }; // with a known graph; older ones need none

struct place { // in a stream
    uint32_t lane, sequence;
    uint64_t position;
};

struct ops_of_graph {
    uint64_t   graph;
    uint32_t   n;
    uint16_t * op;
    bool       own; // false if it is another graph's
};

struct ggs_follow_private {
    char                  directory[PATH_MAX], folder[PATH_MAX];
    struct place          journal;
    struct place *        lanes;
    size_t                n_lanes, lanes_capacity;
    struct ops_of_graph * graphs; // by number
    size_t                n_graphs, graphs_capacity;
    struct {
        uint64_t run, graph;
    } runs[RUNS];
    uint64_t newest_run;
    // Clock:
    bool     tick_is_ns;
    uint64_t first_ticks, first_ns;
    double   ns_per_tick;
};

// ---- the journal ----

static void read_ops(struct ggs_follow * follow, const struct ggs_record * record) {
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

static void read_graph(struct ggs_follow_private * own, const struct ggs_record * record) {
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

static void read_delta(struct ggs_follow_private * own, const struct ggs_record * record) {
    const struct ggs_journal_delta * delta = record->body;
    const struct ops_of_graph *      base  = find_graph(own, delta->base);
    if (base != NULL) add_graph(own, (struct ops_of_graph){delta->id, base->n, base->op, false});
}

static void read_anchor(struct ggs_follow_private * own, uint64_t ticks, uint64_t ns) {
    if (own->first_ns == 0) {
        own->first_ticks = ticks, own->first_ns = ns;
    } else if (ticks > own->first_ticks && ns > own->first_ns) {
        own->ns_per_tick = (double) (ns - own->first_ns) / (double) (ticks - own->first_ticks);
    }
}

static void read_decode(struct ggs_follow * follow, const struct ggs_record * record) {
    struct ggs_follow_sums * sums = &follow->now;
    struct ggs_decode_arrays arrays;
    if (!ggs_decode_arrays(&arrays, record->body, record->length)) return;
    uint64_t n           = arrays.head->tokens;
    bool     has_outputs = (arrays.head->has & GGS_DECODE_HAS_OUTPUTS) != 0;
    sums->tokens += n;
    for (uint64_t i = 0; has_outputs && i < n; i++) sums->outputs += arrays.outputs[i] != 0;
    if (!has_outputs && n > 0) sums->outputs++;
}

static void add_record(struct ggs_follow * follow, const struct ggs_record * record) {
    struct ggs_follow_private *        own     = follow->own;
    const struct ggs_journal_process * process = record->body;
    const struct ggs_journal_run *     run     = record->body;
    switch (record->type) {
        case GGS_JOURNAL_PROCESS:
            follow->pid      = process->pid;
            own->tick_is_ns  = process->tick_is_ns != 0;
            own->ns_per_tick = own->tick_is_ns ? 1 : 0;
            if (!own->tick_is_ns) read_anchor(own, process->ticks, process->monotonic_ns);
            break;
        case GGS_JOURNAL_OPS:
            read_ops(follow, record);
            break;
        case GGS_JOURNAL_GRAPH:
            read_graph(own, record);
            break;
        case GGS_JOURNAL_GRAPH_DELTA:
            read_delta(own, record);
            break;
        case GGS_JOURNAL_RUN:
            if (!own->tick_is_ns) read_anchor(own, run->ticks, run->monotonic_ns);
            own->runs[run->run % RUNS].run   = run->run;
            own->runs[run->run % RUNS].graph = run->graph;
            own->newest_run                  = run->run;
            break;
        case GGS_JOURNAL_RUN_END:
            follow->now.graph_runs++;
            break;
        case GGS_JOURNAL_DECODE:
            read_decode(follow, record);
            break;
        case GGS_JOURNAL_DECODE_END:
            follow->now.decodes++;
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
        add_record(follow, &record);
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
        if (copy.run > follow->own->newest_run) return; // not in the journal yet
        ggs_spool_stream_skip(lane);
        // The last one may be in progress; it is read again next time.
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
    const char * at    = strrchr(text, ')'); // the name before it may contain anything
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

// ---- reading ----

static struct ggs_follow * make(struct ggs_error * error) {
    struct ggs_follow * follow = calloc(1, sizeof(*follow));
    if (follow != NULL) follow->own = calloc(1, sizeof(*follow->own));
    if (follow != NULL && follow->own != NULL) return follow;
    ggs_follow_close(follow);
    ggs_fail_memory(error);
    return NULL;
}

// Estimates bytes of removed segments: what they took beyond their sealed form, and that form.
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
    follow->now.ns = ggs_clock_now();
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
    read_process(follow);
    return 0;
}

void ggs_follow_close(struct ggs_follow * follow) {
    if (follow == NULL) return;
    for (unsigned i = 0; i < GGS_FOLLOW_OPS; i++) free(follow->ops[i]);
    if (follow->own != NULL) {
        for (size_t i = 0; i < follow->own->n_graphs; i++)
            if (follow->own->graphs[i].own) free(follow->own->graphs[i].op);
        free(follow->own->graphs);
        free(follow->own->lanes);
        free(follow->own);
    }
    free(follow);
}
