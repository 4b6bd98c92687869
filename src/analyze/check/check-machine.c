#include <inttypes.h>

#include "analyze/check/check.h"
#include "analyze/machine/prove.h"
#include "base/error.h"

// Files end in the middle of a page, and of a block of their filesystem.
enum { SLACK = 64 << 10 };

struct state {
    uint64_t rows, in_files, in_runs;
    uint64_t outside_file, outside_run;
    // runs in their order, beside the rows
    struct ggs_cursor * runs;
    struct ggs_run      recent[64];
    uint64_t            n_runs;
};

static bool is_inside(const struct ggs_trace * trace, uint64_t file, uint64_t offset, uint64_t bytes) {
    if (file > trace->n_files) return false;
    uint64_t size = trace->files[file - 1].size; // 0 where it is gone
    return size == 0 || (offset < size && bytes <= size - offset + SLACK);
}

// The run among those that were read last; NULL where it is not there.
static const struct ggs_run * find_run(struct state * s, uint64_t run) {
    enum { N = sizeof(s->recent) / sizeof(s->recent[0]) };
    while (s->n_runs == 0 || s->recent[(s->n_runs - 1) % N].run < run) {
        struct ggs_run row;
        if (ggs_cursor_next(s->runs, &row, NULL) <= 0) break;
        s->recent[s->n_runs++ % N] = row;
    }
    for (uint64_t i = 0; i < N && i < s->n_runs; i++)
        if (s->recent[i].run == run) return &s->recent[i];
    return NULL;
}

static void see(struct state * s, const struct ggs_trace * trace, int64_t ns, uint64_t file, uint64_t offset,
                uint64_t bytes, uint64_t run) {
    s->rows++;
    s->in_files += file != 0;
    s->outside_file += file != 0 && !is_inside(trace, file, offset, bytes);
    if (run == 0) return;
    const struct ggs_run * row = find_run(s, run);
    s->in_runs++;
    s->outside_run +=
        row == NULL || ns < row->begin_ns || (ns > row->end_ns && (row->flags & GGS_RUN_INTERRUPTED) == 0);
}

static void conclude(struct ggs_checks * checks, const char * name, const struct state * s, uint64_t lost, int status,
                     const struct ggs_error * error) {
    if (status < 0) {
        ggs_checks_add(checks, name, GGS_CHECK_FAIL, "%s", error->text);
    } else if (s->outside_file > 0 || s->outside_run > 0) {
        ggs_checks_add(checks, name, GGS_CHECK_FAIL,
                       "%" PRIu64 " of %" PRIu64 " lie outside of their file, %" PRIu64 " outside of their graph run",
                       s->outside_file, s->rows, s->outside_run);
    } else if (lost > 0) {
        ggs_checks_add(checks, name, GGS_CHECK_INTERRUPTED,
                       "%" PRIu64 " of %" PRIu64 " were lost: the kernel had no room for them, sums fall short", lost,
                       s->rows + lost);
    } else {
        ggs_checks_add(checks, name, GGS_CHECK_OK,
                       "%" PRIu64 " of %" PRIu64 " in the model's files, %" PRIu64 " in ops; none lost", s->in_files,
                       s->rows, s->in_runs);
    }
}

void ggs_check_faults(struct ggs_checks * checks, struct ggs_trace * trace) {
    struct state        s     = {0};
    struct ggs_error    error = {0};
    struct ggs_cursor * rows  = NULL;
    struct ggs_fault    f;
    uint64_t            lost   = 0;
    int                 status = ggs_trace_lost(trace, GGS_LOSS_FAULTS, &lost, &error);
    if (status == 0 && lost + ggs_reader_rows(trace->reader, GGS_TABLE_FAULTS) == 0) return;
    if (status == 0) status = ggs_cursor_open(&s.runs, trace->reader, GGS_TABLE_RUNS, &error);
    if (status == 0) status = ggs_cursor_open(&rows, trace->reader, GGS_TABLE_FAULTS, &error);
    while (status >= 0 && (status = ggs_cursor_next(rows, &f, &error)) > 0)
        see(&s, trace, f.begin_ns, f.file, f.file_offset, 1, f.run);
    ggs_cursor_close(rows);
    ggs_cursor_close(s.runs);
    conclude(checks, "page faults", &s, lost, status, &error);
}

void ggs_check_requests(struct ggs_checks * checks, struct ggs_trace * trace) {
    struct state             s     = {0};
    struct ggs_error         error = {0};
    struct ggs_cursor *      rows  = NULL;
    struct ggs_block_request r;
    uint64_t                 lost   = 0;
    int                      status = ggs_trace_lost(trace, GGS_LOSS_BLOCK_REQUESTS, &lost, &error);
    if (status == 0 && lost + ggs_reader_rows(trace->reader, GGS_TABLE_BLOCK_REQUESTS) == 0) return;
    if (status == 0) status = ggs_cursor_open(&s.runs, trace->reader, GGS_TABLE_RUNS, &error);
    if (status == 0) status = ggs_cursor_open(&rows, trace->reader, GGS_TABLE_BLOCK_REQUESTS, &error);
    while (status >= 0 && (status = ggs_cursor_next(rows, &r, &error)) > 0)
        see(&s, trace, r.begin_ns, r.file, r.file_offset, r.bytes, r.run);
    ggs_cursor_close(rows);
    ggs_cursor_close(s.runs);
    conclude(checks, "block requests", &s, lost, status, &error);
}

// Recordings with --prove: the trace's own claims, against the hardware's word.
void ggs_check_pages(struct ggs_checks * checks, struct ggs_trace * trace) {
    static const char name[] = "touched pages";
    struct ggs_proof  proof;
    struct ggs_error  error = {0};
    if (ggs_reader_rows(trace->reader, GGS_TABLE_PAGES) == 0) return;
    if (ggs_proof_compute(&proof, trace, &error) < 0) {
        ggs_checks_add(checks, name, GGS_CHECK_FAIL, "%s", error.text);
        return;
    }
    if (proof.n_surprises > 0) {
        ggs_checks_add(checks, name, GGS_CHECK_FAIL,
                       "%" PRIu64 " of %" PRIu64 " were touched though no op says so; ggscope prove lists them",
                       proof.surprise_pages, proof.total.touched);
    } else if (proof.incomplete > 0 || proof.lost > 0) {
        ggs_checks_add(checks, name, GGS_CHECK_INTERRUPTED, "of %" PRIu64 " ops not all could be told",
                       proof.incomplete + proof.lost);
    } else {
        ggs_checks_add(checks, name, GGS_CHECK_OK,
                       "%" PRIu64 ", all of them predicted (%.2f %% of the predicted ones); times mean nothing here",
                       proof.total.touched, 100 * ggs_proof_precision(&proof.total));
    }
    ggs_proof_release(&proof);
}
