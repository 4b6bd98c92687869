#include <inttypes.h>
#include <string.h>

#include "analyze/check/check.h"
#include "analyze/machine/prove.h"
#include "analyze/walk/recent-runs.h"
#include "base/error.h"

// A file ends within a filesystem block, which a request may read as a whole.
enum { SLACK = 64 << 10 };

struct state {
    uint64_t               rows, in_files, in_runs;
    uint64_t               outside_file, outside_run;
    uint64_t               page_size;
    struct ggs_recent_runs runs;
};

// A file also ends within a page, whose rest a program may touch.
static bool is_inside(const struct state * s, const struct ggs_trace * trace, uint64_t file, uint64_t offset,
                      uint64_t bytes) {
    if (file > trace->n_files) return false;
    uint64_t size = trace->files[file - 1].size; // 0 if the file is missing
    uint64_t end  = size + (s->page_size - size % s->page_size) % s->page_size;
    return size == 0 || end < size || (offset < end && bytes <= end - offset + SLACK);
}

static int check_row(struct state * s, const struct ggs_trace * trace, int64_t ns, uint64_t file, uint64_t offset,
                     uint64_t bytes, uint64_t run, struct ggs_error * error) {
    const struct ggs_run * row;
    s->rows++;
    s->in_files += file != 0;
    s->outside_file += file != 0 && !is_inside(s, trace, file, offset, bytes);
    if (run == 0) return 0;
    int status = ggs_recent_runs_find(&s->runs, run, &row, error);
    s->in_runs++;
    s->outside_run +=
        row == NULL || ns < row->begin_ns || (ns > row->end_ns && (row->flags & GGS_RUN_INTERRUPTED) == 0);
    return status;
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
    struct state        s     = {.page_size = ggs_trace_page_size(trace)};
    struct ggs_error    error = {0};
    struct ggs_cursor * rows  = NULL;
    struct ggs_fault    f;
    uint64_t            lost   = 0;
    int                 status = ggs_trace_lost(trace, GGS_LOSS_FAULTS, &lost, &error);
    if (status == 0 && lost + ggs_reader_rows(trace->reader, GGS_TABLE_FAULTS) == 0) return;
    if (status == 0) status = ggs_recent_runs_open(&s.runs, trace, &error);
    if (status == 0) status = ggs_cursor_open(&rows, trace->reader, GGS_TABLE_FAULTS, &error);
    while (status >= 0 && (status = ggs_cursor_next(rows, &f, &error)) > 0)
        status = check_row(&s, trace, f.begin_ns, f.file, f.file_offset, 1, f.run, &error);
    ggs_cursor_close(rows);
    ggs_recent_runs_close(&s.runs);
    conclude(checks, "page faults", &s, lost, status, &error);
}

void ggs_check_requests(struct ggs_checks * checks, struct ggs_trace * trace) {
    struct state             s     = {.page_size = ggs_trace_page_size(trace)};
    struct ggs_error         error = {0};
    struct ggs_cursor *      rows  = NULL;
    struct ggs_block_request r;
    uint64_t                 lost   = 0;
    int                      status = ggs_trace_lost(trace, GGS_LOSS_BLOCK_REQUESTS, &lost, &error);
    if (status == 0 && lost + ggs_reader_rows(trace->reader, GGS_TABLE_BLOCK_REQUESTS) == 0) return;
    if (status == 0) status = ggs_recent_runs_open(&s.runs, trace, &error);
    if (status == 0) status = ggs_cursor_open(&rows, trace->reader, GGS_TABLE_BLOCK_REQUESTS, &error);
    while (status >= 0 && (status = ggs_cursor_next(rows, &r, &error)) > 0)
        status = check_row(&s, trace, r.begin_ns, r.file, r.file_offset, r.bytes, r.run, &error);
    ggs_cursor_close(rows);
    ggs_recent_runs_close(&s.runs);
    conclude(checks, "block requests", &s, lost, status, &error);
}

// For recordings with --prove: compares the ops' byte ranges with the touched pages.
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
                       "%" PRIu64 " of %" PRIu64 " were touched but not predicted; ggscope prove lists them",
                       proof.surprise_pages, proof.total.touched);
    } else if (proof.incomplete > 0 || proof.lost > 0) {
        ggs_checks_add(checks, name, GGS_CHECK_INTERRUPTED, "not all pages of %" PRIu64 " ops are known",
                       proof.incomplete + proof.lost);
    } else {
        ggs_checks_add(checks, name, GGS_CHECK_OK,
                       "%" PRIu64 ", all of them predicted (%.2f %% of the predicted ones); times mean nothing here",
                       proof.total.touched, 100 * ggs_proof_precision(&proof.total));
    }
    ggs_proof_release(&proof);
}

// The engine's type name of a buffer that is a file mapping; without the list of mappings its bytes
// would count as copied. Files are learned with the first graph.
void ggs_check_mappings(struct ggs_checks * checks, struct ggs_trace * trace) {
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < trace->n_buffers; i++) {
        const struct ggs_buffer * buffer = &trace->buffers[i];
        const char *              type   = ggs_reader_string(trace->reader, buffer->type);
        if (type != NULL && strstr(type, "_Mapped") != NULL && buffer->file == 0) bytes += buffer->size;
    }
    if (bytes > 0 && trace->n_tensors > 0)
        ggs_checks_add(checks, "mappings", GGS_CHECK_WARNING,
                       "%" PRIu64 " bytes of mapped files count as buffers: which file they lie in was not seen",
                       bytes);
}
