#include "analyze/walk/walk.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/walk/times.h"
#include "base/array.h"
#include "base/error.h"

// The sum of a node's op runs in one run.
struct ggs_node_sum {
    int64_t  begin_ns, end_ns;
    uint64_t busy_ns, wait_ns;
    uint32_t n, absorbed;
    bool     cut, unwaited;
    int64_t  submit_ns;
};

static int open_sieve(struct ggs_walk * walk, struct ggs_error * error) {
    const struct ggs_op_filter * filter = walk->trace->filter;
    if (ggs_op_filter_is_all(filter)) return 0;
    walk->sieve = calloc(1, sizeof(*walk->sieve));
    if (walk->sieve == NULL) return ggs_fail_memory(error);
    if (filter->since_ns != INT64_MIN || filter->until_ns != INT64_MAX)
        ggs_cursor_times(walk->runs, filter->since_ns, filter->until_ns);
    return ggs_sieve_init(walk->sieve, walk->trace, filter, error);
}

int ggs_walk_open(struct ggs_walk ** out, struct ggs_trace * trace, int64_t first_step, int64_t last_step,
                  struct ggs_error * error) {
    struct ggs_walk * walk = calloc(1, sizeof(*walk));
    *out                   = NULL;
    if (walk == NULL) return ggs_fail_memory(error);
    walk->trace = trace;
    int status  = ggs_cursor_open(&walk->runs, trace->reader, GGS_TABLE_RUNS, error);
    if (status == 0) status = ggs_cursor_open(&walk->op_runs, trace->reader, GGS_TABLE_OP_RUNS, error);
    if (status == 0 && (first_step != INT64_MIN || last_step != INT64_MAX)) {
        status = ggs_cursor_steps(walk->runs, first_step, last_step, error);
        if (status == 0) status = ggs_cursor_steps(walk->op_runs, first_step, last_step, error);
    }
    if (status == 0) status = open_sieve(walk, error);
    if (status < 0) {
        ggs_walk_close(walk);
        return status;
    }
    *out = walk;
    return 0;
}

int ggs_walk_open_runs(struct ggs_walk ** out, struct ggs_trace * trace, uint64_t first_run, uint64_t last_run,
                       struct ggs_error * error) {
    int status = ggs_walk_open(out, trace, INT64_MIN, INT64_MAX, error);
    if (status < 0) return status;
    int64_t last = last_run > INT64_MAX ? INT64_MAX : (int64_t) last_run;
    ggs_cursor_keys((*out)->runs, (int64_t) first_run, last);
    ggs_cursor_keys((*out)->op_runs, (int64_t) first_run, last);
    return 0;
}

int ggs_walk_open_window(struct ggs_walk ** out, struct ggs_trace * trace, int64_t begin_ns, int64_t end_ns,
                         struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_run      run;
    uint64_t            first = UINT64_MAX, last = 0;
    int                 status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_RUNS, error);
    if (status < 0) return status;
    ggs_cursor_times(cursor, begin_ns, end_ns);
    while ((status = ggs_cursor_next(cursor, &run, error)) > 0) {
        if (run.run < first) first = run.run;
        if (run.run > last) last = run.run;
    }
    ggs_cursor_close(cursor);
    if (status < 0 || first > last) return status;
    status = ggs_walk_open_runs(out, trace, first, last, error);
    return status < 0 ? status : 1;
}

void ggs_walk_close(struct ggs_walk * walk) {
    if (walk == NULL) return;
    ggs_cursor_close(walk->runs);
    ggs_cursor_close(walk->op_runs);
    ggs_cursor_close(walk->submits);
    if (walk->sieve != NULL) ggs_sieve_release(walk->sieve);
    free(walk->sieve);
    free(walk->verdicts.memory);
    ggs_access_release(&walk->accesses);
    free(walk->rows);
    free(walk->parts);
    free(walk->first);
    free(walk->layers);
    free(walk->sums);
    free(walk);
}

// Makes room for the rows of a run and the data by node.
static int make_room(struct ggs_walk * walk, struct ggs_error * error) {
    uint64_t nodes = walk->graph->n_nodes;
    if (!ggs_array_reserve(walk->rows, walk->capacity, walk->run.op_runs) ||
        !ggs_array_reserve(walk->first, walk->first_capacity, nodes + 2) ||
        !ggs_array_reserve(walk->layers, walk->layers_capacity, nodes + 2) ||
        !ggs_array_reserve(walk->sums, walk->sums_capacity, nodes + 2))
        return ggs_fail_memory(error);
    if (walk->layers_of != walk->graph->row.graph) {
        for (uint64_t i = 0; i < nodes; i++) walk->layers[i] = ggs_trace_node_layer(walk->trace, walk->graph, i);
        walk->layers_of = walk->graph->row.graph;
    }
    return 0;
}

// Clamps impossible times, so that begin + duration and the difference of any two begins fit.
static int64_t sane_begin(uint64_t word) {
    int64_t ns = (int64_t) word;
    return ns < 0 ? 0 : ns > INT64_MAX / 2 ? INT64_MAX / 2 : ns;
}

static uint64_t sane_duration(uint64_t ns) {
    return ns > INT64_MAX / 2 ? INT64_MAX / 2 : ns;
}

// The columns of op runs.
#define COLUMN(member) (offsetof(struct ggs_op_run, member) / sizeof(uint64_t))
enum {
    RUN        = COLUMN(run),
    NODE       = COLUMN(node),
    THREAD     = COLUMN(thread),
    BEGIN      = COLUMN(begin_ns),
    DURATION   = COLUMN(duration_ns),
    WAIT       = COLUMN(wait_ns),
    INNER_WAIT = COLUMN(inner_wait_ns),
    FLAGS      = COLUMN(flags),
    ABSORBED   = COLUMN(absorbed),
    SUBMIT     = COLUMN(submit_ns),
    COLUMNS    = sizeof(struct ggs_op_run) / sizeof(uint64_t),
};

static struct ggs_op_run row_at(const uint64_t * const * words, uint64_t i) {
    union {
        uint64_t          word[COLUMNS];
        struct ggs_op_run row;
    } at;
    for (unsigned w = 0; w < COLUMNS; w++) at.word[w] = words[w][i];
    at.row.begin_ns    = sane_begin(words[BEGIN][i]);
    at.row.duration_ns = sane_duration(words[DURATION][i]);
    return at.row;
}

// Moves to the rows of the run: runs and op runs ascend together. Its rows are [walk->at, *until)
// of the chunk.
static int find_rows(struct ggs_walk * walk, uint64_t * until, struct ggs_error * error) {
    for (;;) {
        while (walk->at < walk->end && walk->words[RUN][walk->at] < walk->run.run) walk->at++;
        if (walk->at < walk->end) break;
        int more = ggs_cursor_next_chunk(walk->op_runs, &walk->words, &walk->end, error);
        walk->at = 0;
        if (more <= 0) {
            walk->end = 0;
            *until    = 0;
            return more;
        }
    }
    *until = walk->at;
    while (*until < walk->end && walk->words[RUN][*until] == walk->run.run) ++*until;
    return 1;
}

// True if the op run's thread is requested.
static bool is_wanted(const struct ggs_walk * walk, uint64_t row) {
    int64_t thread = walk->sieve == NULL ? -1 : walk->sieve->filter.thread;
    return walk->words[NODE][row] < walk->graph->n_nodes &&
           (thread < 0 || walk->words[THREAD][row] == (uint64_t) thread);
}

// Sorts rows by node; those of a node keep their order, by thread.
static void sort_columns(struct ggs_walk * walk, uint64_t begin, uint64_t until) {
    uint64_t         nodes  = walk->graph->n_nodes;
    uint64_t *       first  = walk->first;
    const uint64_t * column = walk->words[NODE];
    memset(first, 0, (nodes + 2) * sizeof(*first));
    for (uint64_t i = begin; i < until; i++) {
        if (is_wanted(walk, i)) first[column[i] + 2]++;
    }
    for (uint64_t i = 2; i < nodes + 2; i++) first[i] += first[i - 1];
    walk->n_rows = first[nodes + 1];
    for (uint64_t i = begin; i < until; i++) {
        if (is_wanted(walk, i)) walk->rows[first[column[i] + 1]++] = row_at(walk->words, i);
    }
}

// The same for a run that continues in further chunks: rows are copied before the chunk is dropped.
static int sort_parts(struct ggs_walk * walk, uint64_t until, struct ggs_error * error) {
    uint64_t nodes = walk->graph->n_nodes, n = walk->run.op_runs, kept = 0;
    if (!ggs_array_reserve(walk->parts, walk->parts_capacity, n)) return ggs_fail_memory(error);
    memset(walk->first, 0, (nodes + 2) * sizeof(*walk->first));
    for (;;) {
        for (; walk->at < until && kept < n; walk->at++) {
            if (!is_wanted(walk, walk->at)) continue;
            struct ggs_op_run row = row_at(walk->words, walk->at);
            walk->first[row.node + 2]++;
            walk->parts[kept++] = row;
        }
        if (kept == n || until < walk->end) break;
        int more = find_rows(walk, &until, error);
        if (more < 0) return more;
        if (more == 0 || until == walk->at) break;
    }
    for (uint64_t i = 2; i < nodes + 2; i++) walk->first[i] += walk->first[i - 1];
    for (uint64_t i = 0; i < kept; i++) walk->rows[walk->first[walk->parts[i].node + 1]++] = walk->parts[i];
    walk->n_rows = kept;
    return 0;
}

static void sum_columns(struct ggs_walk * walk, uint64_t until) {
    const uint64_t * const * words = walk->words;
    for (uint64_t i = walk->at; i < until; i++) {
        if (!is_wanted(walk, i)) continue;
        struct ggs_node_sum * sum      = &walk->sums[words[NODE][i]];
        uint64_t              duration = sane_duration(words[DURATION][i]),
                 inner                 = words[INNER_WAIT][i] < duration ? words[INNER_WAIT][i] : duration;
        int64_t begin = sane_begin(words[BEGIN][i]), end = begin + (int64_t) duration;
        if (sum->n == 0 || begin < sum->begin_ns) sum->begin_ns = begin;
        if (sum->n == 0 || end > sum->end_ns) sum->end_ns = end;
        sum->n++;
        sum->absorbed = (uint32_t) words[ABSORBED][i];
        sum->busy_ns += duration - inner;
        sum->wait_ns += words[WAIT][i] + inner;
        sum->cut |= (words[FLAGS][i] & GGS_OP_RUN_ENDED) == 0;
        sum->submit_ns = (int64_t) words[SUBMIT][i];
        sum->unwaited |= (words[FLAGS][i] & GGS_OP_RUN_WAIT_UNSEEN) != 0;
    }
    walk->at = until;
}

// Sums the run's op runs by node, over all of its chunks.
static int gather_sums(struct ggs_walk * walk, struct ggs_error * error) {
    uint64_t until, nodes = walk->graph->n_nodes;
    int      more;
    memset(walk->sums, 0, (nodes + 1) * sizeof(*walk->sums));
    do {
        more = find_rows(walk, &until, error);
        if (more < 0) return more;
        if (more == 0 || until == walk->at) break;
        sum_columns(walk, until);
    } while (until == walk->end);
    walk->n_rows = nodes; // for ggs_walk_op
    return 0;
}

static int gather(struct ggs_walk * walk, struct ggs_error * error) {
    uint64_t until  = 0;
    int      status = make_room(walk, error);
    if (status == 0 && walk->sums_only) return gather_sums(walk, error);
    if (status == 0) status = find_rows(walk, &until, error);
    if (status <= 0) return status;
    if (until - walk->at < walk->run.op_runs && until == walk->end) return sort_parts(walk, until, error);
    if (until - walk->at > walk->run.op_runs)
        until = walk->at + walk->run.op_runs; // damaged: limited to the available room
    sort_columns(walk, walk->at, until);
    walk->at = until;
    return 0;
}

// Moves to the first submitted node of this run; runs ascend.
static int find_submits(struct ggs_walk * walk, struct ggs_error * error) {
    int more = 1;
    if (ggs_reader_rows(walk->trace->reader, GGS_TABLE_SUBMITS) == 0) return 0;
    if (walk->submits == NULL) {
        more = ggs_cursor_open(&walk->submits, walk->trace->reader, GGS_TABLE_SUBMITS, error);
        if (more < 0) return more;
        ggs_cursor_keys(walk->submits, (int64_t) walk->run.run, INT64_MAX);
        more               = ggs_cursor_next(walk->submits, &walk->submit, error);
        walk->submit_there = more > 0;
    }
    while (walk->submit_there && walk->submit.run < walk->run.run) {
        more               = ggs_cursor_next(walk->submits, &walk->submit, error);
        walk->submit_there = more > 0;
    }
    return more < 0 ? more : 0;
}

// Sets the time of submission if the backend's loop reached the node.
static void read_submit(struct ggs_walk * walk) {
    struct ggs_op_seen * op = &walk->op;
    struct ggs_error     error;
    while (walk->submit_there && walk->submit.run == walk->run.run && walk->submit.node <= op->node) {
        if (walk->submit.node == op->node) {
            op->submit_ns = walk->submit.submit_ns;
            op->host_ns   = (int64_t) sane_duration(walk->submit.host_ns);
        }
        walk->submit_there = ggs_cursor_next(walk->submits, &walk->submit, &error) > 0;
    }
}

// True if the run belongs to the requested steps and lane.
static bool is_run_wanted(const struct ggs_walk * walk) {
    int64_t slot = walk->sieve == NULL ? GGS_ANY_SLOT : walk->sieve->filter.slot;
    return ggs_trace_has_step(walk->trace, walk->run.step) && (slot == GGS_ANY_SLOT || walk->run.slot == slot);
}

int ggs_walk_run(struct ggs_walk * walk, struct ggs_error * error) {
    if (walk->failed < 0) {
        if (error != NULL) *error = walk->failure;
        return walk->failed;
    }
    int more = ggs_cursor_next(walk->runs, &walk->run, error);
    while (more > 0 && !is_run_wanted(walk)) more = ggs_cursor_next(walk->runs, &walk->run, error);
    uint64_t most = ggs_reader_rows(walk->trace->reader, GGS_TABLE_OP_RUNS);
    if (more <= 0) return more;
    if (walk->run.op_runs > most) walk->run.op_runs = most; // damaged: limited to the available rows
    if (ggs_trace_progress(walk->trace, walk->run.op_runs, error) < 0) return GGS_USAGE;
    walk->graph        = NULL;
    walk->n_rows       = 0;
    walk->next         = 0;
    walk->indexed      = false;
    walk->opaque       = walk->with_opaque && walk->run.op_runs == 0 && walk->run.opaque > 0;
    walk->run.begin_ns = sane_begin((uint64_t) walk->run.begin_ns);
    walk->run.end_ns   = sane_begin((uint64_t) walk->run.end_ns);
    if (walk->run.op_runs == 0 && !walk->opaque) return 1;
    int status = ggs_trace_graph(walk->trace, walk->run.graph, &walk->graph, error);
    if (walk->trace->damaged > 0 && (status == GGS_FORMAT || status == GGS_ABSENT)) { // lost with a damaged chunk
        walk->opaque = false;
        return 1;
    }
    if (status == 0) status = walk->opaque ? make_room(walk, error) : gather(walk, error);
    if (status == 0 && walk->opaque && walk->with_submits) status = find_submits(walk, error);
    return status < 0 ? status : 1;
}

static void sum_up(struct ggs_op_seen * op) {
    for (uint64_t i = 0; i < op->n_op_runs; i++) {
        const struct ggs_op_run * row = &op->op_runs[i];
        int64_t                   end = row->begin_ns + (int64_t) row->duration_ns;
        if (i == 0 || row->begin_ns < op->begin_ns) op->begin_ns = row->begin_ns;
        if (i == 0 || end > op->end_ns) op->end_ns = end;
        op->busy_ns += ggs_op_run_busy(row);
        op->wait_ns += ggs_op_run_wait(row);
        op->cut |= (row->flags & GGS_OP_RUN_ENDED) == 0;
        op->unwaited |= (row->flags & GGS_OP_RUN_WAIT_UNSEEN) != 0;
    }
    op->wall_ns = (uint64_t) (op->end_ns - op->begin_ns);
}

// Sets all members except times and op runs; written one by one, because this runs for every op.
static void fill_node(const struct ggs_walk * walk, struct ggs_op_seen * op, uint64_t number, uint64_t absorbed) {
    const struct ggs_node * node = &walk->graph->nodes[number];
    op->node                     = number;
    op->absorbed                 = absorbed;
    op->op                       = node->op;
    op->name                     = ggs_trace_op_name(walk->trace, node->op);
    op->result                   = ggs_trace_tensor(walk->trace, node->tensor);
    op->layer                    = walk->layers[number];
    op->busy_ns = op->wait_ns = 0;
    op->op_runs               = NULL;
    op->submit_ns = op->host_ns = -1;
    op->cut = op->opaque = op->unwaited = false;
}

// Moves to the next node of a run that is seen as a whole. If some nodes were not computed, a flag
// marks those that were.
static bool next_opaque(struct ggs_walk * walk) {
    enum { COMPUTE = 16 };
    const struct ggs_graph * graph = walk->graph;
    for (; walk->next < graph->n_nodes; walk->next++) {
        const struct ggs_node * node = &graph->nodes[walk->next];
        if (ggs_trace_op_kind(walk->trace, node->op) == GGS_KIND_EMPTY) continue;
        if (walk->run.skipped == 0 || (node->flags & COMPUTE) != 0) break;
    }
    if (walk->next == graph->n_nodes) return false;
    fill_node(walk, &walk->op, walk->next++, 0);
    walk->op.begin_ns = walk->op.end_ns = walk->run.begin_ns;
    walk->op.wall_ns = walk->op.n_op_runs = 0;
    walk->op.opaque                       = true;
    if (walk->with_submits) read_submit(walk);
    return true;
}

static bool next_sum(struct ggs_walk * walk) {
    while (walk->next < walk->n_rows && walk->sums[walk->next].n == 0) walk->next++;
    if (walk->next == walk->n_rows) return false;
    const struct ggs_node_sum * sum = &walk->sums[walk->next];
    fill_node(walk, &walk->op, walk->next++, sum->absorbed);
    walk->op.begin_ns  = sum->begin_ns;
    walk->op.end_ns    = sum->end_ns;
    walk->op.wall_ns   = (uint64_t) (sum->end_ns - sum->begin_ns);
    walk->op.busy_ns   = sum->busy_ns;
    walk->op.wait_ns   = sum->wait_ns;
    walk->op.n_op_runs = sum->n;
    walk->op.cut       = sum->cut;
    walk->op.unwaited  = sum->unwaited;
    walk->op.submit_ns = sum->submit_ns;
    return true;
}

static bool next_op(struct ggs_walk * walk) {
    if (walk->opaque) return next_opaque(walk);
    if (walk->sums_only) return next_sum(walk);
    if (walk->next == walk->n_rows) return false;
    const struct ggs_op_run * row = &walk->rows[walk->next];
    uint64_t                  n   = 1;
    while (walk->next + n < walk->n_rows && row[n].node == row->node) n++;
    walk->next += n;
    fill_node(walk, &walk->op, row->node, row->absorbed);
    walk->op.n_op_runs = n;
    walk->op.op_runs   = row;
    walk->op.submit_ns = row->submit_ns;
    sum_up(&walk->op);
    return true;
}

// ---- filters ----

enum verdict { UNKNOWN, FITS_NOT, FITS };

// Whether an operand of the op matches the requested place. Cached for ops whose bytes are the same
// in every run.
static enum verdict match_bytes(struct ggs_walk * walk) {
    const struct ggs_access_list * list;
    walk->failed = ggs_walk_accesses(walk, &list, &walk->failure);
    for (unsigned i = 0; walk->failed == 0 && i < list->n; i++)
        if (ggs_sieve_fits_access(walk->sieve, walk->op.op, &list->access[i])) return FITS;
    return FITS_NOT;
}

static bool op_fits(struct ggs_walk * walk) {
    const struct ggs_sieve *   sieve = walk->sieve;
    const struct ggs_op_seen * op    = &walk->op;
    if (!ggs_sieve_fits_time(sieve, op->begin_ns, op->end_ns)) return false;
    if (walk->verdicts.graph != walk->graph->row.graph) {
        uint64_t nodes       = walk->graph->n_nodes;
        walk->verdicts.graph = walk->graph->row.graph;
        if (!ggs_array_reserve(walk->verdicts.memory, walk->verdicts.capacity, nodes + 1)) {
            walk->failed = ggs_fail_memory(&walk->failure);
            return false;
        }
        memset(walk->verdicts.memory, UNKNOWN, nodes);
    }
    uint8_t * verdict = &walk->verdicts.memory[op->node];
    if (*verdict != UNKNOWN) return *verdict == FITS;
    bool fits = ggs_sieve_fits_node(sieve, walk->graph, op->node, op->name, op->layer);
    if (fits && ggs_op_filter_asks_bytes(&sieve->filter)) {
        fits = match_bytes(walk) == FITS;
        if (walk->failed < 0 || ggs_trace_is_indexed(walk->trace, walk->graph, op->node, op->absorbed)) return fits;
    }
    *verdict = fits ? FITS : FITS_NOT;
    return fits;
}

bool ggs_walk_op(struct ggs_walk * walk) {
    while (walk->failed == 0 && next_op(walk))
        if (walk->sieve == NULL || op_fits(walk)) return walk->failed == 0;
    return false;
}

static int read_index(struct ggs_walk * walk, struct ggs_error * error) {
    if (walk->indexed) return 0;
    walk->indexed = true;
    return ggs_access_begin_run(&walk->accesses, walk->trace, &walk->run, walk->graph, error);
}

int ggs_walk_accesses(struct ggs_walk * walk, const struct ggs_access_list ** out, struct ggs_error * error) {
    int status = read_index(walk, error);
    *out       = &walk->accesses;
    if (status < 0) return status;
    return ggs_access_of(&walk->accesses, walk->trace, walk->graph, walk->op.node, walk->op.absorbed, error);
}

bool ggs_walk_part(const struct ggs_walk * walk, uint64_t part, struct ggs_op_seen * out) {
    *out = walk->op;
    if (part == 0) return true;
    if (part > walk->op.absorbed) return false;
    uint64_t number = walk->op.node;
    for (uint64_t i = 0; i < part && number < walk->graph->n_nodes; i++)
        number = ggs_trace_next_node(walk->trace, walk->graph, number);
    if (number == walk->graph->n_nodes) return false;
    fill_node(walk, out, number, 0);
    out->end_ns   = out->begin_ns;
    out->wall_ns  = 0;
    out->cut      = walk->op.cut;
    out->opaque   = walk->op.opaque;
    out->unwaited = walk->op.unwaited;
    return true;
}

int ggs_walk_part_accesses(struct ggs_walk * walk, uint64_t part, const struct ggs_access_list ** out,
                           struct ggs_error * error) {
    const struct ggs_op_seen * op     = &walk->op;
    int                        status = read_index(walk, error);
    *out                              = &walk->accesses;
    if (status < 0) return status;
    return ggs_access_of_part(&walk->accesses, walk->trace, walk->graph, op->node, op->absorbed, part, error);
}
