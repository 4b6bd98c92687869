#include "analyze/paging/gather.h"

#include <stdlib.h>

#include "analyze/walk/per-node.h"
#include "base/checked.h"
#include "base/error.h"

enum { KEPT_READS = 2 };

// The reads of an op, cached if they are the same in every run of a graph.
struct known {
    struct ggs_node_known node;
    bool                  copied;
    unsigned              n;
    struct model_read {
        uint64_t file, begin, end;
    } reads[KEPT_READS];
};

struct gathering {
    struct ggs_paging_sequence * sequence;
    struct ggs_paging_facts *    facts;
    struct ggs_walk *            walk;
    struct ggs_per_node          nodes; // struct known
};

// ---- files ----

// The sizes of the model's files; other mapped files count as empty. A file that was missing when
// the trace was sealed extends to its last tensor.
static uint64_t * file_sizes(const struct ggs_trace * trace) {
    uint64_t * sizes = calloc(trace->n_files + 1, sizeof(*sizes));
    if (sizes == NULL) return NULL;
    for (uint64_t i = 0; i < trace->n_files; i++) {
        if (trace->models[i]) sizes[i] = trace->files[i].size;
    }
    for (uint64_t i = 0; i < trace->n_tensors; i++) {
        const struct ggs_tensor * t = &trace->tensors[i];
        uint64_t                  file, offset, end;
        if (!ggs_trace_origin(t, &file, &offset) || !trace->models[file - 1]) continue;
        if (trace->files[file - 1].size != 0 || !ggs_add(offset, ggs_trace_extent(trace, t), &end)) continue;
        if (end > sizes[file - 1]) sizes[file - 1] = end;
    }
    return sizes;
}

// ---- ops ----

static enum ggs_read_class class_of(const struct ggs_run * run) {
    return run->phase == GGS_PHASE_GENERATE || run->phase == GGS_PHASE_MIXED || run->phase == GGS_PHASE_VERIFY
               ? GGS_READ_GENERATE
               : GGS_READ_PROMPT;
}

static int add_read(struct gathering * g, const struct model_read * read, bool copied, struct ggs_error * error) {
    if (copied) g->facts->copied += read->end - read->begin;
    return ggs_paging_sequence_read(g->sequence, read->file, read->begin, read->end, class_of(&g->walk->run), error);
}

// The ranges of an operand ascend; overlapping ones (rows of a view) are one read.
static bool next_range(const struct ggs_access * access, uint64_t base, uint32_t * i, struct model_read * read) {
    bool found = false;
    for (; *i < access->n_ranges; ++*i) {
        uint64_t begin, end;
        if (!ggs_add(base, access->ranges[*i].offset, &begin) || !ggs_add(begin, access->ranges[*i].length, &end))
            continue; // a damaged trace
        if (found && (begin < read->begin || begin >= read->end)) break;
        if (!found || end > read->end) read->end = end;
        if (!found) read->begin = begin;
        found = true;
    }
    return found;
}

static int add_access(struct gathering * g, const struct ggs_access * access, bool choosing, struct known * known,
                      struct ggs_error * error) {
    bool              disk = access->tensor->source == GGS_SOURCE_DISK;
    uint64_t          file, base;
    uint32_t          i = 0;
    struct model_read read;
    if (access->write || !ggs_trace_origin(access->tensor, &file, &base)) return 0;
    if (choosing && !access->exact && access->slot == 0) g->facts->unknown++;
    read.file = file - 1;
    while (next_range(access, base, &i, &read)) {
        int status = add_read(g, &read, !disk, error);
        if (status < 0) return status;
        if (known->n < KEPT_READS) known->reads[known->n] = read;
        known->n++;
        known->copied |= !disk;
    }
    return 0;
}

static int gather_op(struct gathering * g, struct ggs_error * error) {
    struct known * known  = ggs_per_node(&g->nodes, g->walk, sizeof(*known));
    int            status = 0;
    if (known == NULL) return ggs_fail_memory(error);
    if (ggs_node_is_known(&known->node, g->walk)) {
        for (unsigned i = 0; status == 0 && i < known->n; i++)
            status = add_read(g, &known->reads[i], known->copied, error);
        return status;
    }
    const struct ggs_access_list * list;
    *known = (struct known){0};
    status = ggs_node_learn(&known->node, g->walk, &list, error);
    for (unsigned i = 0; status == 0 && i < list->n; i++)
        status = add_access(g, &list->access[i], !known->node.is_known, known, error);
    known->node.is_known = known->node.is_known && known->n <= KEPT_READS;
    return status;
}

static int gather_runs(struct gathering * g, struct ggs_trace * trace, int64_t first, int64_t last,
                       struct ggs_error * error) {
    int status = ggs_walk_open(&g->walk, trace, first, last, error);
    if (status >= 0) g->walk->sums_only = true;
    while (status >= 0 && (status = ggs_walk_run(g->walk, error)) > 0) {
        if (g->walk->run.phase == GGS_PHASE_WARMUP) continue;
        while (status >= 0 && ggs_walk_op(g->walk)) status = gather_op(g, error);
    }
    ggs_walk_close(g->walk);
    free(g->nodes.memory);
    return status < 0 ? status : 0;
}

static int count_steps(struct ggs_paging_facts * facts, struct ggs_trace * trace, int64_t first, int64_t last,
                       struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_step     step;
    int                 status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_STEPS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &step, error)) > 0) {
        if (step.phase == GGS_PHASE_WARMUP || step.step < first || step.step > last) continue;
        bool generate =
            step.phase == GGS_PHASE_GENERATE || step.phase == GGS_PHASE_MIXED || step.phase == GGS_PHASE_VERIFY;
        facts->steps[generate ? GGS_READ_GENERATE : GGS_READ_PROMPT]++;
    }
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

int ggs_paging_gather(struct ggs_paging_sequence * sequence, struct ggs_paging_facts * facts, struct ggs_trace * trace,
                      uint64_t page, int64_t first_step, int64_t last_step, struct ggs_error * error) {
    struct gathering g     = {.sequence = sequence, .facts = facts};
    uint64_t *       sizes = file_sizes(trace);
    *facts                 = (struct ggs_paging_facts){0};
    *sequence              = (struct ggs_paging_sequence){0};
    if (sizes == NULL) return ggs_fail_memory(error);
    int status = ggs_paging_sequence_init(sequence, page, sizes, trace->n_files, error);
    free(sizes);
    if (status == 0) status = count_steps(facts, trace, first_step, last_step, error);
    if (status == 0) status = gather_runs(&g, trace, first_step, last_step, error);
    return status;
}
