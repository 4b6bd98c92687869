#include "analyze/machine/prove.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/walk/walk.h"
#include "base/array.h"
#include "base/error.h"

// Pages [begin, end) of a file.
struct span {
    uint64_t file, begin, end;
};

struct spans {
    struct span * span;
    size_t        n, capacity;
};

struct pass {
    struct ggs_proof *  proof;
    struct ggs_trace *  trace;
    struct ggs_walk *   walk;
    struct ggs_cursor * cursor;
    struct ggs_pages    ahead; // read already, of a later run
    bool                waiting;
    struct ggs_pages *  rows; // of the run, by node
    size_t              n_rows, capacity, next;
    uint64_t            surprises_capacity, copies_capacity;
    struct spans        predicted, touched; // of the op
};

double ggs_proof_recall(const struct ggs_proof_sum * sum) {
    return sum->touched == 0 ? 1 : (double) sum->both / (double) sum->touched;
}

double ggs_proof_precision(const struct ggs_proof_sum * sum) {
    return sum->predicted == 0 ? 1 : (double) sum->both / (double) sum->predicted;
}

void ggs_proof_release(struct ggs_proof * proof) {
    free(proof->by_op);
    free(proof->surprises);
    free(proof->copies);
    *proof = (struct ggs_proof){0};
}

// ---- spans ----

static bool add_span(struct spans * spans, uint64_t file, uint64_t begin, uint64_t end) {
    return ggs_array_push(spans->span, spans->n, spans->capacity, (struct span){file, begin, end});
}

static int by_place(const void * a, const void * b) {
    const struct span *x = a, *y = b;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

// Sorts and merges adjacent or overlapping spans. Returns the number of pages.
static uint64_t unite(struct spans * spans) {
    uint64_t pages = 0;
    size_t   n     = 0;
    if (spans->n > 1) qsort(spans->span, spans->n, sizeof(*spans->span), by_place);
    for (size_t i = 0; i < spans->n; i++) {
        struct span * last = n == 0 ? NULL : &spans->span[n - 1];
        if (last != NULL && last->file == spans->span[i].file && spans->span[i].begin <= last->end) {
            if (spans->span[i].end > last->end) last->end = spans->span[i].end;
        } else {
            spans->span[n++] = spans->span[i];
        }
    }
    spans->n = n;
    for (size_t i = 0; i < n; i++) pages += spans->span[i].end - spans->span[i].begin;
    return pages;
}

// ---- ops that are not checked ----

static bool is_copied_weight(const struct ggs_trace * trace, const struct ggs_access * access) {
    const struct ggs_tensor * t = access->tensor;
    if (access->write || t->source == GGS_SOURCE_DISK || t->view != 0) return false;
    const struct ggs_buffer * buffer = ggs_trace_buffer(trace, t->buffer);
    return t->origin_file != 0 || (buffer != NULL && buffer->class_ == GGS_CLASS_WEIGHTS);
}

static struct ggs_proof_copies * find_copies(struct pass * pass, const char * buffer_type) {
    struct ggs_proof * proof = pass->proof;
    uint64_t           op    = pass->walk->op.op;
    for (uint64_t i = 0; i < proof->n_copies; i++) {
        if (proof->copies[i].op_number == op && strcmp(proof->copies[i].buffer_type, buffer_type) == 0)
            return &proof->copies[i];
    }
    struct ggs_proof_copies copies = {.op = pass->walk->op.name, .buffer_type = buffer_type, .op_number = op};
    if (!ggs_array_push(proof->copies, proof->n_copies, pass->copies_capacity, copies)) return NULL;
    return &proof->copies[proof->n_copies - 1];
}

// Counts the op once per type of buffer from which it reads weights.
static int add_copies(struct pass * pass, const struct ggs_access_list * list, struct ggs_error * error) {
    struct ggs_proof_copies * last = NULL;
    for (unsigned i = 0; i < list->n; i++) {
        if (!is_copied_weight(pass->trace, &list->access[i])) continue;
        const struct ggs_buffer * buffer = ggs_trace_buffer(pass->trace, list->access[i].tensor->buffer);
        struct ggs_proof_copies * copies =
            find_copies(pass, buffer == NULL ? "" : ggs_reader_string(pass->trace->reader, buffer->type));
        if (copies == NULL) return ggs_fail_memory(error);
        pass->proof->copied_ops += last == NULL;
        copies->ops += copies != last;
        copies->bytes += list->access[i].bytes;
        last = copies;
    }
    return 0;
}

static int by_bytes(const void * a, const void * b) {
    const struct ggs_proof_copies *x = a, *y = b;
    return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

// ---- predicted pages ----

// A test build makes the first prediction of a recording wrong, to test that it is detected.
#ifndef GGS_PROVE_SHIFT
#define GGS_PROVE_SHIFT 0
#endif

static int predict(struct pass * pass, struct ggs_error * error) {
    const struct ggs_access_list * list;
    uint64_t                       page   = pass->proof->page_size;
    int                            status = ggs_walk_accesses(pass->walk, &list, error);
    if (status >= 0) status = add_copies(pass, list, error);
    pass->predicted.n = 0;
    for (unsigned i = 0; status >= 0 && i < list->n; i++) {
        const struct ggs_access * access = &list->access[i];
        if (access->tensor->source != GGS_SOURCE_DISK) continue;
        for (uint32_t k = 0; k < access->n_ranges; k++) {
            uint64_t begin = access->tensor->file_offset + access->ranges[k].offset;
            if (pass->proof->total.ops == 0) begin += GGS_PROVE_SHIFT;
            uint64_t end = begin + access->ranges[k].length;
            if (access->ranges[k].length == 0) continue;
            if (!add_span(&pass->predicted, access->tensor->file, begin / page, (end + page - 1) / page))
                return ggs_fail_memory(error);
        }
    }
    return status;
}

// ---- touched pages ----

static int by_node(const void * a, const void * b) {
    const struct ggs_pages *x = a, *y = b;
    return x->node < y->node ? -1 : x->node > y->node;
}

static int add_surprise(struct pass * pass, const struct span * span, uint64_t node, bool known,
                        struct ggs_error * error) {
    struct ggs_proof * proof = pass->proof;
    proof->surprise_pages += span->end - span->begin;
    if (proof->n_surprises++ >= GGS_PROOF_SURPRISES) return 0;
    if (!ggs_array_reserve(proof->surprises, pass->surprises_capacity, proof->n_surprises))
        return ggs_fail_memory(error);
    const struct ggs_op_seen * op            = &pass->walk->op;
    proof->surprises[proof->n_surprises - 1] = (struct ggs_surprise){
        .run    = pass->walk->run.run,
        .node   = node,
        .token  = pass->walk->run.step,
        .op     = known ? op->name : "",
        .tensor = known && op->result != NULL ? ggs_reader_string(pass->trace->reader, op->result->name) : "",
        .file   = span->file,
        .page   = span->begin,
        .pages  = span->end - span->begin};
    return 0;
}

// Adds rows of a node without an op in the run: not predicted.
static int add_stray(struct pass * pass, const struct ggs_pages * row, struct ggs_error * error) {
    struct span span = {row->file, row->page, row->page + row->pages};
    pass->proof->total.touched += row->pages;
    return row->pages == 0 ? 0 : add_surprise(pass, &span, row->node, false, error);
}

static int collect_touched(struct pass * pass, uint64_t node, struct ggs_error * error) {
    bool incomplete = false;
    pass->touched.n = 0;
    for (; pass->next < pass->n_rows && pass->rows[pass->next].node <= node; pass->next++) {
        const struct ggs_pages * row    = &pass->rows[pass->next];
        int                      status = 0;
        if (row->node < node) {
            status = add_stray(pass, row, error);
        } else if (row->pages > 0 && !add_span(&pass->touched, row->file, row->page, row->page + row->pages)) {
            status = ggs_fail_memory(error);
        }
        if (status < 0) return status;
        incomplete |= row->node == node && (row->flags & GGS_PAGES_INCOMPLETE) != 0;
    }
    pass->proof->incomplete += incomplete;
    return 0;
}

// ---- comparison ----

// Walks both lists: pages in both, and touched pages that were not predicted.
static int compare(struct pass * pass, uint64_t * both, struct ggs_error * error) {
    size_t p = 0;
    *both    = 0;
    for (size_t t = 0; t < pass->touched.n; t++) {
        struct span left = pass->touched.span[t];
        while (left.begin < left.end) {
            const struct span * span = NULL;
            while (p < pass->predicted.n && by_place(&pass->predicted.span[p], &left) < 0 &&
                   (pass->predicted.span[p].file != left.file || pass->predicted.span[p].end <= left.begin))
                p++;
            if (p < pass->predicted.n && pass->predicted.span[p].file == left.file) span = &pass->predicted.span[p];
            if (span != NULL && span->begin <= left.begin) {
                uint64_t end = span->end < left.end ? span->end : left.end;
                *both += end - left.begin;
                left.begin = end;
            } else {
                struct span gap = left;
                if (span != NULL && span->begin < gap.end) gap.end = span->begin;
                int status = add_surprise(pass, &gap, pass->walk->op.node, true, error);
                if (status < 0) return status;
                left.begin = gap.end;
            }
        }
    }
    return 0;
}

static void add_sum(struct ggs_proof_sum * to, const struct ggs_proof_sum * sum) {
    to->ops += sum->ops;
    to->predicted += sum->predicted;
    to->touched += sum->touched;
    to->both += sum->both;
}

// In a truncated run (a kill, a full disk) nothing is known of ops after the last one with rows.
static bool is_unknown(const struct pass * pass) {
    bool cut_off = (pass->walk->run.flags & (GGS_RUN_INTERRUPTED | GGS_RUN_PARTIAL)) != 0;
    return cut_off && pass->touched.n == 0 && pass->next == pass->n_rows;
}

static int add_op(struct pass * pass, struct ggs_error * error) {
    const struct ggs_op_seen * op     = &pass->walk->op;
    struct ggs_proof_sum       sum    = {.ops = 1};
    int                        status = predict(pass, error);
    if (status >= 0) status = collect_touched(pass, op->node, error);
    if (status < 0 || is_unknown(pass)) return status;
    sum.predicted = unite(&pass->predicted);
    sum.touched   = unite(&pass->touched);
    status        = compare(pass, &sum.both, error);
    if (status < 0 || (sum.predicted == 0 && sum.touched == 0)) return status;
    add_sum(&pass->proof->total, &sum);
    if (op->op < pass->proof->n_by_op) add_sum(&pass->proof->by_op[op->op], &sum);
    return 0;
}

// Reads the pages of walk->run, skipping those of earlier runs without op runs.
static int read_rows(struct pass * pass, struct ggs_error * error) {
    uint64_t run = pass->walk->run.run;
    int      more;
    pass->n_rows = pass->next = 0;
    for (;;) {
        if (!pass->waiting) {
            more = ggs_cursor_next(pass->cursor, &pass->ahead, error);
            if (more < 0) return more;
            if (more == 0) break;
            pass->waiting = true;
        }
        if (pass->ahead.run > run) break;
        pass->waiting = false;
        if (pass->ahead.run != run) continue;
        if (!ggs_array_push(pass->rows, pass->n_rows, pass->capacity, pass->ahead)) return ggs_fail_memory(error);
    }
    if (pass->n_rows > 1) qsort(pass->rows, pass->n_rows, sizeof(*pass->rows), by_node);
    return 0;
}

static int add_run(struct pass * pass, struct ggs_error * error) {
    int status = read_rows(pass, error);
    while (status >= 0 && ggs_walk_op(pass->walk)) status = add_op(pass, error);
    for (; status >= 0 && pass->next < pass->n_rows; pass->next++)
        status = add_stray(pass, &pass->rows[pass->next], error);
    pass->proof->runs++;
    return status;
}

static int by_touched(const void * a, const void * b) {
    const struct ggs_proof_sum *x = a, *y = b;
    if (x->touched != y->touched) return x->touched > y->touched ? -1 : 1;
    if (x->predicted != y->predicted) return x->predicted > y->predicted ? -1 : 1;
    return x->op == NULL || y->op == NULL ? 0 : strcmp(x->op, y->op);
}

static void finish(struct ggs_proof * proof, const struct ggs_trace * trace) {
    uint64_t n = 0;
    for (uint64_t i = 0; i < proof->n_by_op; i++) {
        proof->by_op[i].op = ggs_trace_op_name(trace, i);
        if (proof->by_op[i].ops > 0) proof->by_op[n++] = proof->by_op[i];
    }
    proof->n_by_op = n;
    if (proof->n_copies > 1) qsort(proof->copies, proof->n_copies, sizeof(*proof->copies), by_bytes);
    if (n > 1) qsort(proof->by_op, n, sizeof(*proof->by_op), by_touched);
}

int ggs_proof_compute(struct ggs_proof * proof, struct ggs_trace * trace, struct ggs_error * error) {
    struct pass pass = {.proof = proof, .trace = trace};
    *proof           = (struct ggs_proof){.n_by_op = trace->n_ops};
    if (ggs_reader_rows(trace->reader, GGS_TABLE_PAGES) == 0)
        return ggs_fail(error, GGS_ABSENT,
                        "this recording has no touched pages: record with --prove, a model that is mapped into "
                        "memory (not --no-mmap) and not repacked (--no-repack)");
    proof->page_size = ggs_trace_page_size(trace);
    int status       = ggs_trace_lost(trace, GGS_LOSS_PAGES, &proof->lost, error);
    proof->by_op     = calloc(trace->n_ops + 1, sizeof(*proof->by_op));
    if (status == 0 && proof->by_op == NULL) status = ggs_fail_memory(error);
    if (status == 0) status = ggs_cursor_open(&pass.cursor, trace->reader, GGS_TABLE_PAGES, error);
    if (status == 0) status = ggs_walk_open(&pass.walk, trace, INT64_MIN, INT64_MAX, error);
    int more = 0;
    while (pass.walk != NULL && status >= 0 && (more = ggs_walk_run(pass.walk, error)) > 0)
        status = add_run(&pass, error);
    if (status >= 0 && more < 0) status = more;
    ggs_walk_close(pass.walk);
    ggs_cursor_close(pass.cursor);
    free(pass.rows);
    free(pass.predicted.span);
    free(pass.touched.span);
    if (status < 0) {
        ggs_proof_release(proof);
        return status;
    }
    finish(proof, trace);
    return 0;
}
