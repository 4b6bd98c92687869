// The tables of a joined trace that are in time order: rows of all recordings, merged.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "trace/join/merge.h"
#include "trace/seal/runs/lods.h"

// The next row of a table.
struct ahead {
    struct ggs_cursor * cursor;
    uint64_t            row[GGS_COLUMNS_MAX + 1];
    bool                there;
};

static int advance(struct ahead * ahead, struct ggs_error * error) {
    int more     = ggs_cursor_next(ahead->cursor, ahead->row, error);
    ahead->there = more > 0;
    return more < 0 ? more : 0;
}

struct writing {
    struct ggs_join *      join;
    struct ggs_join_part * parts;
    uint32_t               n;
    struct ggs_writer      writer;
    struct ggs_lods        lods;
    struct ggs_devices     devices; // empty: lanes have their names
    // by step of the joined trace
    uint64_t *step_runs, *step_first, *step_last;
    int64_t   n_steps;
};

// ---- steps and tokens ----

struct step {
    uint32_t        part;
    struct ggs_step row;
    int64_t         begin_ns; // on the common clock
};

static int by_begin(const void * a, const void * b) {
    const struct step *x = a, *y = b;
    if (x->begin_ns != y->begin_ns) return x->begin_ns < y->begin_ns ? -1 : 1;
    if (x->part != y->part) return x->part < y->part ? -1 : 1;
    return x->row.step < y->row.step ? -1 : x->row.step > y->row.step;
}

static int by_old(const void * a, const void * b) {
    const struct ggs_join_step *x = a, *y = b;
    return x->old < y->old ? -1 : x->old > y->old;
}

static int read_steps(struct writing * w, struct step ** steps, uint64_t * n, struct ggs_error * error) {
    bool     tokens   = false;
    uint64_t capacity = 0;
    int      status   = 0;
    for (uint32_t i = 0; i < w->n; i++) tokens |= w->parts[i].source->tokens;
    for (uint32_t i = 0; status == 0 && i < w->n; i++) {
        struct ggs_cursor * cursor;
        struct step         step = {.part = i};
        status                   = ggs_cursor_open(&cursor, w->parts[i].reader, GGS_TABLE_STEPS, error);
        while (status >= 0 && (status = ggs_cursor_next(cursor, &step.row, error)) > 0) {
            if (tokens && step.row.phase == GGS_PHASE_GRAPH) continue;
            step.begin_ns = ggs_clock_line_map(&w->parts[i].source->line, step.row.begin_ns);
            if (!ggs_array_push(*steps, *n, capacity, step)) status = ggs_fail_memory(error);
        }
        ggs_cursor_close(cursor);
    }
    return status < 0 ? status : 0;
}

// Numbers the steps in time order.
static int number_steps(struct writing * w, struct step * steps, uint64_t n, struct ggs_error * error) {
    if (n > 0) qsort(steps, n, sizeof(*steps), by_begin);
    for (uint64_t i = 0; i < n; i++) {
        struct ggs_join_part * part = &w->parts[steps[i].part];
        struct ggs_join_step   step = {.old = steps[i].row.step, .number = w->n_steps};
        if (step.old < 0) continue;
        w->n_steps++;
        if (!ggs_array_push(part->steps, part->n_steps, part->steps_capacity, step)) return ggs_fail_memory(error);
    }
    for (uint32_t i = 0; i < w->n; i++)
        if (w->parts[i].n_steps > 0) qsort(w->parts[i].steps, w->parts[i].n_steps, sizeof(*w->parts[i].steps), by_old);
    w->step_runs  = calloc((uint64_t) w->n_steps + 1, sizeof(*w->step_runs));
    w->step_first = calloc((uint64_t) w->n_steps + 1, sizeof(*w->step_first));
    w->step_last  = calloc((uint64_t) w->n_steps + 1, sizeof(*w->step_last));
    return w->step_runs == NULL || w->step_first == NULL || w->step_last == NULL ? ggs_fail_memory(error) : 0;
}

// Writes the tokens of a step; `next` is the current row of the part's cursor.
static int write_tokens(struct ggs_join_part * part, struct ggs_cursor * cursor, uint64_t * next,
                        const struct ggs_step * step, uint64_t * written, struct ggs_error * error) {
    struct ggs_token row;
    int              more = 1;
    if (step->tokens > 0 && *next != step->first_token) ggs_cursor_range(cursor, step->first_token, UINT64_MAX);
    if (step->tokens > 0) *next = step->first_token;
    for (*written = 0; *written < step->tokens && (more = ggs_cursor_next(cursor, &row, error)) > 0; ++*written) {
        ggs_join_translate(part, GGS_TABLE_TOKENS, &row);
        ggs_writer_append(part->writer, GGS_TABLE_TOKENS, &row);
        ++*next;
    }
    return more < 0 ? more : 0;
}

// Runs are counted again because runs of servers belong to these steps too.
static int write_steps(struct writing * w, struct step * steps, uint64_t n, struct ggs_error * error) {
    struct ggs_cursor * cursors[GGS_JOIN_MOST] = {NULL};
    uint64_t            next[GGS_JOIN_MOST]    = {0};
    int                 status                 = 0;
    for (uint32_t i = 0; status == 0 && i < w->n; i++)
        status = ggs_cursor_open(&cursors[i], w->parts[i].reader, GGS_TABLE_TOKENS, error);
    for (uint64_t i = 0; status == 0 && i < n; i++) {
        struct ggs_join_part * part  = &w->parts[steps[i].part];
        uint64_t               first = ggs_writer_next_row(&w->writer, GGS_TABLE_TOKENS), tokens;
        struct ggs_step        row   = steps[i].row;
        status = write_tokens(part, cursors[steps[i].part], &next[steps[i].part], &row, &tokens, error);
        ggs_join_translate(part, GGS_TABLE_STEPS, &row);
        row.first_token = first;
        row.tokens      = tokens;
        if (row.step >= 0) {
            row.runs      = w->step_runs[row.step];
            row.first_run = w->step_first[row.step];
            row.last_run  = w->step_last[row.step];
        }
        ggs_writer_append(&w->writer, GGS_TABLE_STEPS, &row);
    }
    for (uint32_t i = 0; i < w->n; i++) ggs_cursor_close(cursors[i]);
    return status;
}

// ---- graph runs ----

// The merge key of a run. Each recording keeps its own order.
static void number_runs(struct writing * w) {
    uint64_t next[GGS_JOIN_MOST] = {0}, number = 1;
    for (;;) {
        uint32_t first = UINT32_MAX;
        int64_t  least = 0;
        for (uint32_t i = 0; i < w->n; i++) {
            if (next[i] == w->parts[i].side->n) continue;
            int64_t begin = ggs_clock_line_map(&w->parts[i].source->line, w->parts[i].side->runs[next[i]].begin_ns);
            if (first != UINT32_MAX && begin >= least) continue;
            first = i;
            least = begin;
        }
        if (first == UINT32_MAX) return;
        w->parts[first].side->runs[next[first]++].number = number++;
    }
}

// A server's run belongs to the step of its client's run.
static void assign_step(const struct writing * w, const struct ggs_join_part * part, const struct ggs_join_run * known,
                        struct ggs_run * row) {
    if (known->peer_source == UINT32_MAX) return;
    const struct ggs_join_part * other = &w->parts[known->peer_source];
    const struct ggs_join_run *  peer  = &other->side->runs[known->peer_run];
    row->peer                          = peer->number;
    if (known->remote) {
        if ((peer->flags & GGS_RUN_INTERRUPTED) != 0) return;
        row->skipped += row->opaque; // the server's run has them
        row->opaque = 0;
        return;
    }
    row->step    = ggs_join_step_number(other, peer->step);
    row->phase   = peer->phase;
    row->context = peer->context < 0 ? -1 : (int64_t) other->context + peer->context;
    row->decode  = peer->decode == 0 ? 0 : other->decode + peer->decode;
    (void) part;
}

static void count_step(struct writing * w, const struct ggs_run * row) {
    if (row->step < 0 || row->step >= w->n_steps) return;
    if (w->step_runs[row->step]++ == 0) w->step_first[row->step] = row->run;
    w->step_last[row->step] = row->run;
}

// Removes the steps of a program without tokens, which others replace.
static void leave_out(struct ggs_run * row) {
    if (row->step < 0 && row->phase == GGS_PHASE_GRAPH) row->phase = GGS_PHASE_NONE;
}

static int copy_ops(struct writing * w, struct ggs_join_part * part, struct ahead * ahead, uint64_t old,
                    struct ggs_run * row, struct ggs_error * error) {
    const struct ggs_device device = {.device = row->device};
    struct ggs_lod_lane *   lane   = NULL;
    int                     status = 0;
    row->first_op_run              = ggs_writer_next_row(&w->writer, GGS_TABLE_OP_RUNS);
    row->op_runs                   = 0;
    while (status == 0 && ahead->there && ahead->row[0] <= old) {
        struct ggs_op_run op;
        memcpy(&op, ahead->row, sizeof(op));
        if (op.run == old) {
            op.run = 0; // known: no lookup
            ggs_join_translate(part, GGS_TABLE_OP_RUNS, &op);
            op.run = row->run;
            if (op.inner_wait_ns > op.duration_ns) op.inner_wait_ns = op.duration_ns;
            ggs_writer_append(&w->writer, GGS_TABLE_OP_RUNS, &op);
            row->op_runs++;
            if (lane == NULL || lane->thread != op.thread)
                lane = ggs_lods_lane(&w->lods, &device, row->slot, op.thread);
            if (lane != NULL) ggs_lods_add(&w->lods, lane, &op);
        }
        status = advance(ahead, error);
    }
    if ((row->flags & GGS_RUN_OPAQUE) != 0) {
        struct ggs_op_run whole = {.run = row->run, .begin_ns = row->begin_ns};
        if (row->end_ns > row->begin_ns) whole.duration_ns = (uint64_t) (row->end_ns - row->begin_ns);
        lane = ggs_lods_lane(&w->lods, &device, -1, 0);
        if (lane != NULL) ggs_lods_add(&w->lods, lane, &whole);
    }
    return status;
}

// Copies the rows of a table that belong to the run; tables are in order of runs.
static int copy_rows(struct ggs_join_part * part, enum ggs_trace_table table, struct ahead * ahead, uint64_t old,
                     struct ggs_error * error) {
    int status = 0;
    while (status == 0 && ahead->there && ahead->row[0] <= old) {
        if (ahead->row[0] == old) {
            ggs_join_translate(part, table, ahead->row);
            ggs_writer_append(part->writer, table, ahead->row);
        }
        status = advance(ahead, error);
    }
    return status;
}

// A new table is joined here, in merge_rest, or in concatenate.c.
_Static_assert(GGS_TABLE_COUNT == 40, "every table is joined");
static const enum ggs_trace_table by_run[] = {GGS_TABLE_RUNS,    GGS_TABLE_OP_RUNS,   GGS_TABLE_INDEX,
                                              GGS_TABLE_PAGES,   GGS_TABLE_KERNELS,   GGS_TABLE_STREAMED,
                                              GGS_TABLE_SUBMITS, GGS_TABLE_OP_VALUES, GGS_TABLE_OP_DUMPS};
enum { BY_RUN = sizeof(by_run) / sizeof(by_run[0]) };

static int write_run(struct writing * w, struct ggs_join_part * part, struct ahead * ahead, struct ggs_error * error) {
    struct ggs_run row;
    memcpy(&row, ahead[0].row, sizeof(row));
    uint64_t                    old   = row.run;
    const struct ggs_join_run * known = ggs_join_side_find(part->side, old);
    ggs_join_translate(part, GGS_TABLE_RUNS, &row);
    uint64_t process = w->writer.process;
    if (known != NULL) assign_step(w, part, known, &row);
    leave_out(&row);
    int status = copy_ops(w, part, &ahead[1], old, &row, error);
    for (unsigned t = 2; status == 0 && t < BY_RUN; t++) status = copy_rows(part, by_run[t], &ahead[t], old, error);
    w->writer.process = process;
    ggs_writer_append(&w->writer, GGS_TABLE_RUNS, &row);
    count_step(w, &row);
    ggs_writer_checkpoint(&w->writer);
    return status < 0 ? status : advance(&ahead[0], error);
}

static int write_runs(struct writing * w, struct ggs_error * error) {
    struct ahead * ahead  = calloc((size_t) w->n * BY_RUN + 1, sizeof(*ahead));
    int            status = ahead == NULL ? ggs_fail_memory(error) : 0;
    for (uint32_t i = 0; status == 0 && i < w->n * BY_RUN; i++) {
        status = ggs_cursor_open(&ahead[i].cursor, w->parts[i / BY_RUN].reader, by_run[i % BY_RUN], error);
        if (status == 0) status = advance(&ahead[i], error);
    }
    while (status == 0) {
        uint32_t first = UINT32_MAX;
        uint64_t least = 0;
        for (uint32_t i = 0; i < w->n; i++) {
            const struct ahead * run    = &ahead[i * BY_RUN];
            uint64_t             number = run->there ? ggs_join_run_number(&w->parts[i], run->row[0]) : 0;
            if (!run->there || (first != UINT32_MAX && number >= least)) continue;
            first = i;
            least = number;
        }
        if (first == UINT32_MAX) break;
        if (least == 0) // damaged: a number occurs twice
            status = advance(&ahead[first * BY_RUN], error);
        else
            status = write_run(w, &w->parts[first], &ahead[first * BY_RUN], error);
    }
    for (uint32_t i = 0; ahead != NULL && i < w->n * BY_RUN; i++) ggs_cursor_close(ahead[i].cursor);
    free(ahead);
    return status;
}

// Lanes are those of the recordings. Their levels of detail are computed again, because bins have
// fixed boundaries and times have changed.
static int begin_lods(struct writing * w, struct ggs_error * error) {
    uint64_t op_runs = 0, lanes = 0;
    int64_t  end = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        const struct ggs_join_source * source = w->parts[i].source;
        int64_t                        last   = ggs_clock_line_map(&source->line, source->end_ns);
        op_runs += ggs_reader_rows(source->reader, GGS_TABLE_OP_RUNS);
        lanes += ggs_reader_rows(source->reader, GGS_TABLE_LANES);
        if (last > end) end = last;
    }
    ggs_lods_init(&w->lods, &w->writer, &w->devices, op_runs, (uint64_t) end, lanes);
    int status = 0;
    for (uint32_t i = 0; status == 0 && i < w->n; i++) {
        struct ggs_cursor * cursor;
        struct ggs_lane     row;
        status = ggs_cursor_open(&cursor, w->parts[i].reader, GGS_TABLE_LANES, error);
        while (status >= 0 && (status = ggs_cursor_next(cursor, &row, error)) > 0) {
            ggs_join_translate(&w->parts[i], GGS_TABLE_LANES, &row);
            struct ggs_lod_lane lane = {
                .number = row.lane, .device = row.device, .slot = row.slot, .thread = row.queue};
            for (unsigned k = 0; k < GGS_LOD_LEVELS; k++) lane.bins[k].begin_ns = -1;
            if (!ggs_array_push(w->lods.lanes, w->lods.n_lanes, w->lods.capacity, lane))
                status = ggs_fail_memory(error);
        }
        ggs_cursor_close(cursor);
    }
    return status < 0 ? status : 0;
}

// ---- other tables with times ----

static void finish_row(struct ggs_join_part * part, enum ggs_trace_table table, const uint64_t * before, void * row) {
    if (table == GGS_TABLE_WINDOWS)
        ((struct ggs_window *) row)->window = ggs_writer_next_row(part->writer, GGS_TABLE_WINDOWS) + 1;
    if (table != GGS_TABLE_TRANSFERS) return;
    const struct ggs_transfer * old  = (const void *) before;
    uint64_t                    from = old->from_buffer, to = old->to_buffer;
    struct ggs_transfer *       moved = row;
    if (from < part->n_peers && part->peers[from] != 0) moved->peer = part->peers[from];
    if (to < part->n_peers && part->peers[to] != 0) moved->peer = part->peers[to];
}

static int merge(struct writing * w, enum ggs_trace_table table, struct ggs_error * error) {
    int            column   = ggs_schema_role(ggs_trace_schema(table), GGS_ROLE_BEGIN);
    struct ahead * ahead    = calloc(w->n + 1, sizeof(*ahead));
    uint64_t       snapshot = 0, last_snapshot = 0;
    uint32_t       last_part = UINT32_MAX;
    int            status    = ahead == NULL ? ggs_fail_memory(error) : 0;
    for (uint32_t i = 0; status == 0 && i < w->n; i++) {
        status = ggs_cursor_open(&ahead[i].cursor, w->parts[i].reader, table, error);
        if (status == 0) status = advance(&ahead[i], error);
    }
    while (status == 0) {
        uint32_t first = UINT32_MAX;
        int64_t  least = 0;
        for (uint32_t i = 0; i < w->n; i++) {
            if (!ahead[i].there) continue;
            int64_t begin = ggs_clock_line_map(&w->parts[i].source->line, (int64_t) ahead[i].row[column]);
            if (first != UINT32_MAX && begin >= least) continue;
            first = i;
            least = begin;
        }
        if (first == UINT32_MAX) break;
        uint64_t row[GGS_COLUMNS_MAX + 1];
        memcpy(row, ahead[first].row, sizeof(row));
        ggs_join_translate(&w->parts[first], table, row);
        finish_row(&w->parts[first], table, ahead[first].row, row);
        if (table == GGS_TABLE_RESIDENCY) {
            if (first != last_part || ahead[first].row[0] != last_snapshot) snapshot++;
            last_part     = first;
            last_snapshot = ahead[first].row[0];
            row[0]        = snapshot;
        }
        ggs_writer_append(&w->writer, table, row);
        status = advance(&ahead[first], error);
    }
    for (uint32_t i = 0; ahead != NULL && i < w->n; i++) ggs_cursor_close(ahead[i].cursor);
    free(ahead);
    return status;
}

static int merge_rest(struct writing * w, struct ggs_error * error) {
    static const enum ggs_trace_table tables[] = {GGS_TABLE_LOADS,          GGS_TABLE_DECODES, GGS_TABLE_SCHEDULES,
                                                  GGS_TABLE_TRANSFERS,      GGS_TABLE_LOSSES,  GGS_TABLE_FAULTS,
                                                  GGS_TABLE_RESIDENCY,      GGS_TABLE_READS,   GGS_TABLE_BLOCK_REQUESTS,
                                                  GGS_TABLE_MEMORY_CHANGES, GGS_TABLE_WINDOWS, GGS_TABLE_OFF_CPU};
    int                               status   = 0;
    for (size_t i = 0; status == 0 && i < sizeof(tables) / sizeof(tables[0]); i++) status = merge(w, tables[i], error);
    return status;
}

// ---- interface ----

static int write_all(struct writing * w, const char * text, struct ggs_error * error) {
    struct step *         steps   = NULL;
    uint64_t              n_steps = 0;
    struct ggs_experiment row     = {text, strlen(text)};
    ggs_writer_append(&w->writer, GGS_TABLE_EXPERIMENT, &row);
    number_runs(w);
    int status = ggs_join_number(w->parts, w->n, error);
    if (status == 0) status = read_steps(w, &steps, &n_steps, error);
    if (status == 0) status = number_steps(w, steps, n_steps, error);
    if (status == 0) status = begin_lods(w, error);
    if (status == 0) status = write_runs(w, error);
    if (status == 0) ggs_lods_finish(&w->lods);
    if (status == 0) status = write_steps(w, steps, n_steps, error);
    if (status == 0) status = merge_rest(w, error);
    free(steps);
    return status;
}

int ggs_join_write(struct ggs_join * join, const char * path, const uint8_t uuid[16], const char * text,
                   struct ggs_error * error) {
    struct writing * w         = calloc(1, sizeof(*w));
    char *           temporary = NULL;
    if (w == NULL || asprintf(&temporary, "%s.tmp", path) < 0) {
        free(w);
        return ggs_fail_memory(error);
    }
    *w       = (struct writing){.join = join, .n = join->n};
    w->parts = calloc(join->n + 1, sizeof(*w->parts));
    for (uint32_t i = 0; w->parts != NULL && i < join->n; i++)
        w->parts[i] = (struct ggs_join_part){.join   = join,
                                             .source = &join->sources[i],
                                             .side   = &join->sides[i],
                                             .reader = join->sources[i].reader,
                                             .writer = &w->writer};
    int status = w->parts == NULL ? ggs_fail_memory(error) : 0;
    int fd     = open(temporary, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (status == 0 && fd < 0) status = ggs_fail_errno(error, "cannot create %s", temporary);
    if (status == 0) {
        status = ggs_writer_init(&w->writer, fd, temporary, uuid);
        if (status < 0 && error != NULL) *error = w->writer.error;
    }
    if (status == 0) status = write_all(w, text, error);
    if (status == 0) status = ggs_writer_finish(&w->writer, error);
    if (status == 0 && fdatasync(fd) != 0) status = ggs_fail_errno(error, "cannot write %s to the disk", temporary);
    if (status == 0 && rename(temporary, path) != 0)
        status = ggs_fail_errno(error, "cannot rename %s to %s", temporary, path);
    if (status < 0 && fd >= 0) unlink(temporary);
    if (fd >= 0) close(fd);
    ggs_lods_release(&w->lods);
    ggs_writer_release(&w->writer);
    for (uint32_t i = 0; w->parts != NULL && i < join->n; i++) ggs_join_part_release(&w->parts[i]);
    free(w->parts);
    free(w->step_runs);
    free(w->step_first);
    free(w->step_last);
    free(w);
    free(temporary);
    return status;
}
