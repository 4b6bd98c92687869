// Tables that grow with the recording: ops, op_runs, accesses, experts.
#include "analyze/experts/choices.h"
#include "export/tables/tables.h"

// Calls `visit` for each run of the walk.
static int each_run(const struct ggs_sink * sink,
                    int (*visit)(const struct ggs_sink * sink, struct ggs_walk * walk, void * state,
                                 struct ggs_error * error),
                    void * state, struct ggs_error * error) {
    struct ggs_walk * walk;
    int               status = ggs_export_walk(sink->export, &walk, error);
    if (status < 0) return status;
    walk->with_opaque = true;
    while ((status = ggs_walk_run(walk, error)) > 0) {
        status = visit(sink, walk, state, error);
        if (status < 0) break;
        ggs_export_step(sink->export);
    }
    ggs_walk_close(walk);
    return status < 0 ? status : 0;
}

// ---- ops ----

struct op_row {
    const char * op;
    const char * name;
    uint64_t     node, tensor, absorbed, threads;
    int          layer;
    int64_t      fused_into;                    // -1: not a fused node
    int64_t      begin_ns;                      // -1 if no times were seen
    int64_t      duration_ns, busy_ns, wait_ns; // -1 likewise, and for a fused node
    int64_t      bytes_read, bytes_written, bytes_disk;
    bool         cut;
};

#define RUN(member) GGS_MEMBER(0, struct ggs_walk, run.member)
#define TOKEN(part) GGS_MEMBER_OR_NONE(part, struct ggs_walk, run.step)
#define OP(member)  GGS_MEMBER(1, struct op_row, member)
#define OP_(member) GGS_MEMBER_OR_NONE(1, struct op_row, member)
static const struct ggs_table_field ops[] = {
    {"run", GGS_CELL_INTEGER, RUN(run), "graph run: runs.run"},
    {"node", GGS_CELL_INTEGER, OP(node), "node of the run's graph: nodes.node"},
    {"graph", GGS_CELL_INTEGER, RUN(graph), "graphs.graph"},
    {"token", GGS_CELL_INTEGER, TOKEN(0), "token step: tokens.token; null for warm-up and for what belongs to no step"},
    {"phase", GGS_CELL_TEXT, GGS_MEMBER_WORD(0, struct ggs_walk, run.phase, ggs_word_phase),
     "PROMPT, GENERATE, MIXED, VERIFY, GRAPH, WARMUP or NONE"},
    {"op", GGS_CELL_TEXT, OP(op), "ggml's name of the operation"},
    {"name", GGS_CELL_TEXT, OP(name), "name of the tensor that it computes"},
    {"tensor", GGS_CELL_INTEGER, OP(tensor), "tensors.tensor of the same"},
    {"layer", GGS_CELL_INTEGER, OP_(layer), "layer, null outside of layers"},
    {"fused_into", GGS_CELL_INTEGER, OP_(fused_into),
     "the node that it was computed together with, which has the time of both; null for an op of its own"},
    {"absorbed", GGS_CELL_INTEGER, OP(absorbed), "nodes that were fused into this one"},
    {"threads", GGS_CELL_INTEGER, OP(threads), "op runs that it consists of"},
    {"begin_ns", GGS_CELL_INTEGER, OP_(begin_ns),
     "first thread's begin; null if it ran on a backend that is seen as a whole only, as the next three"},
    {"duration_ns", GGS_CELL_INTEGER, OP_(duration_ns),
     "first thread's begin to last thread's end; null for a fused node, as the next two"},
    {"busy_ns", GGS_CELL_INTEGER, OP_(busy_ns), "sum over threads, without waits"},
    {"wait_ns", GGS_CELL_INTEGER, OP_(wait_ns),
     "sum over threads: in barriers inside the op and after it; null also if these were not seen"},
    {"bytes_read", GGS_CELL_INTEGER, OP(bytes_read),
     "all operands that it reads: exact rows and experts if it is sparse"},
    {"bytes_written", GGS_CELL_INTEGER, OP(bytes_written), "of its result"},
    {"bytes_disk", GGS_CELL_INTEGER, OP(bytes_disk), "part of both that lies in mapped files"},
    {"cut", GGS_CELL_BOOLEAN, OP(cut), "some thread's end was not seen"},
};

// Part 0 is the op itself, the others are nodes fused into it. The op has all of the time; bytes
// are per node.
static int put_op(const struct ggs_sink * sink, struct ggs_walk * walk, const struct ggs_op_seen * op, uint64_t part,
                  struct ggs_error * error) {
    const struct ggs_access_list * list;
    int                            status = ggs_walk_part_accesses(walk, part, &list, error);
    if (status < 0) return status;
    struct ggs_access_bytes bytes = ggs_access_sum(list);
    bool                    timed = part == 0 && !op->opaque;
    struct op_row           row   = {.op            = op->name,
                                     .name          = op->result == NULL ? "" : ggs_tensor_name(sink->export, op->result),
                                     .node          = op->node,
                                     .tensor        = op->result == NULL ? 0 : op->result->tensor,
                                     .absorbed      = part == 0 ? op->absorbed : 0,
                                     .threads       = part == 0 ? op->n_op_runs : 0,
                                     .layer         = op->layer,
                                     .fused_into    = part == 0 ? -1 : (int64_t) walk->op.node,
                                     .begin_ns      = op->opaque ? -1 : op->begin_ns,
                                     .duration_ns   = timed ? op->end_ns - op->begin_ns : -1,
                                     .busy_ns       = timed ? (int64_t) op->busy_ns : -1,
                                     .wait_ns       = timed ? (int64_t) op->wait_ns : -1,
                                     .bytes_read    = (int64_t) bytes.read,
                                     .bytes_written = (int64_t) bytes.written,
                                     .bytes_disk    = (int64_t) bytes.disk,
                                     .cut           = op->cut};
    for (uint64_t i = 0; part == 0 && i < op->n_op_runs; i++) {
        if ((op->op_runs[i].flags & GGS_OP_RUN_WAIT_UNSEEN) != 0) row.wait_ns = -1;
    }
    return ggs_sink_put(sink, (const void *[]){walk, &row}, error);
}

static int ops_of_run(const struct ggs_sink * sink, struct ggs_walk * walk, void * state, struct ggs_error * error) {
    int status = 0;
    (void) state;
    while (status >= 0 && ggs_walk_op(walk)) {
        struct ggs_op_seen op;
        for (uint64_t part = 0; status >= 0 && ggs_walk_part(walk, part, &op); part++)
            status = put_op(sink, walk, &op, part, error);
    }
    return status;
}

static int produce_ops(const struct ggs_sink * sink, struct ggs_error * error) {
    return each_run(sink, ops_of_run, NULL, error);
}

const struct ggs_flat_table ggs_table_ops = {
    .name = "ops",
    .description =
        "One row per op: one node that was executed in one graph run, by itself or fused into the one before; also the nodes of backends that are seen as a whole only, whose times are null.",
    .keys  = 2,
    .walks = true,
    GGS_FIELDS(ops),
    .produce = produce_ops,
    .foreign = {{"run", "runs", NULL},
                {"graph, node", "nodes", NULL},
                {"token", "tokens", NULL},
                {"tensor", "tensors", NULL},
                {"run, fused_into", "ops", "run, node"}},
};

// ---- op runs ----

#define OP_RUN(member)  GGS_MEMBER(1, struct ggs_op_run, member)
#define OP_RUN_IS(flag) GGS_MEMBER_TEST(1, struct ggs_op_run, flags, flag)
static void wait_of(struct ggs_export * export, const void * const * parts, struct ggs_cell * cell) {
    const struct ggs_op_run * r = parts[1];
    (void) export;
    *cell = (struct ggs_cell){.null = (r->flags & GGS_OP_RUN_WAIT_UNSEEN) != 0, .integer = (int64_t) r->wait_ns};
}

static void inner_wait_of(struct ggs_export * export, const void * const * parts, struct ggs_cell * cell) {
    const struct ggs_op_run * r = parts[1];
    (void) export;
    *cell = (struct ggs_cell){.null = (r->flags & GGS_OP_RUN_INNER_UNSEEN) != 0, .integer = (int64_t) r->inner_wait_ns};
}

static const struct ggs_table_field op_runs[] = {
    {"run", GGS_CELL_INTEGER, OP_RUN(run), "graph run: runs.run"},
    {"node", GGS_CELL_INTEGER, OP_RUN(node), "with run: the op, ops.(run, node)"},
    {"thread", GGS_CELL_INTEGER, OP_RUN(thread), "index in the engine's pool"},
    {"token", GGS_CELL_INTEGER, TOKEN(0), "token step: tokens.token"},
    {"os_thread", GGS_CELL_INTEGER, OP_RUN(os_thread), "the operating system's number of the thread"},
    {"begin_ns", GGS_CELL_INTEGER, OP_RUN(begin_ns),
     "begin of the thread's share; on the CPU, when it left the barrier before"},
    {"duration_ns", GGS_CELL_INTEGER, OP_RUN(duration_ns), "to its end, waits inside included"},
    {"wait_ns", GGS_CELL_INTEGER, GGS_CALL_OR_NONE(wait_of), "in the barrier after the end; null if that was not seen"},
    {"inner_wait_ns", GGS_CELL_INTEGER, GGS_CALL_OR_NONE(inner_wait_of),
     "in barriers inside, or between the kernels of an op; part of duration_ns; null if that was not seen"},
    {"ended", GGS_CELL_BOOLEAN, OP_RUN_IS(GGS_OP_RUN_ENDED), "false: it was cut off and its times are 0"},
    {"fused", GGS_CELL_BOOLEAN, OP_RUN_IS(GGS_OP_RUN_FUSED), "computed together with nodes that follow"},
    {"extra", GGS_CELL_BOOLEAN, OP_RUN_IS(GGS_OP_RUN_EXTRA),
     "computed by an extra buffer type (repacked weights, AMX)"},
    {"end_bound", GGS_CELL_BOOLEAN, OP_RUN_IS(GGS_OP_RUN_END_BOUND),
     "the end was not seen: it is at this time or earlier"},
    {"submit_ns", GGS_CELL_INTEGER, GGS_MEMBER_OR_NONE(1, struct ggs_op_run, submit_ns),
     "when the host handed it to the device; null on the CPU"},
};

static int op_runs_of_run(const struct ggs_sink * sink, struct ggs_walk * walk, void * state,
                          struct ggs_error * error) {
    int status = 0;
    (void) state;
    while (status >= 0 && ggs_walk_op(walk)) {
        for (uint64_t i = 0; status >= 0 && i < walk->op.n_op_runs; i++)
            status = ggs_sink_put(sink, (const void *[]){walk, &walk->op.op_runs[i]}, error);
    }
    return status;
}

static int produce_op_runs(const struct ggs_sink * sink, struct ggs_error * error) {
    return each_run(sink, op_runs_of_run, NULL, error);
}

const struct ggs_flat_table ggs_table_op_runs = {
    .name        = "op_runs",
    .description = "One row per op and thread.",
    .keys        = 3,
    .walks       = true,
    GGS_FIELDS(op_runs),
    .produce = produce_op_runs,
    .foreign = {{"run, node", "ops", NULL}, {"token", "tokens", NULL}},
};

// ---- accesses ----

struct range_row {
    uint64_t node, offset, bytes;
    int64_t  slot; // -1: the result
    uint64_t file, file_offset, buffer_offset;
};

#define ACCESS(member) GGS_MEMBER(1, struct ggs_access, member)
#define PLACE(member)  GGS_MEMBER(3, struct ggs_tensor, member)
#define RANGE(member)  GGS_MEMBER(2, struct range_row, member)
static void buffer_offset_of(struct ggs_export * export, const void * const * parts, struct ggs_cell * cell) {
    const struct range_row *  row    = parts[2];
    const struct ggs_tensor * tensor = parts[3];
    (void) export;
    *cell = (struct ggs_cell){.null = tensor->buffer == 0, .integer = (int64_t) row->buffer_offset};
}

static const struct ggs_table_field accesses[] = {
    {"run", GGS_CELL_INTEGER, RUN(run), "graph run: runs.run"},
    {"node", GGS_CELL_INTEGER, RANGE(node), "with run: the op, ops.(run, node)"},
    {"token", GGS_CELL_INTEGER, TOKEN(0), "token step: tokens.token"},
    {"slot", GGS_CELL_INTEGER, GGS_MEMBER_OR_NONE(2, struct range_row, slot),
     "which source of the node; null for the result"},
    {"write", GGS_CELL_BOOLEAN, ACCESS(write), "written, not read"},
    {"tensor", GGS_CELL_INTEGER, PLACE(tensor), "tensors.tensor"},
    {"exact", GGS_CELL_BOOLEAN, ACCESS(exact), "rows or experts that index data named; false: the whole operand"},
    {"offset", GGS_CELL_INTEGER, RANGE(offset), "where the range begins, from the operand's first byte"},
    {"bytes", GGS_CELL_INTEGER, RANGE(bytes),
     "length of the range; of a tensor with packed_bytes these, which are more than the file has"},
    {"source", GGS_CELL_TEXT, GGS_MEMBER_WORD_OR_NONE(3, struct ggs_tensor, source, ggs_word_source),
     "DISK: in a mapped file; VRAM: in the memory of a device; BUFFER: anything else"},
    {"file", GGS_CELL_INTEGER, GGS_MEMBER_OR_0(2, struct range_row, file),
     "DISK: files.file. Else the file that the bytes were copied from, if known"},
    {"file_offset", GGS_CELL_INTEGER, GGS_MEMBER_WITH(2, struct range_row, file_offset, file),
     "where the range begins in that file"},
    {"buffer", GGS_CELL_INTEGER, GGS_MEMBER_OR_0(3, struct ggs_tensor, buffer), "buffers.buffer that it lies in"},
    {"buffer_offset", GGS_CELL_INTEGER, GGS_CALL_OR_NONE(buffer_offset_of), "where the range begins in that buffer"},
};

static int put_ranges(const struct ggs_sink * sink, const struct ggs_walk * walk, uint64_t node,
                      const struct ggs_access * access, struct ggs_error * error) {
    const struct ggs_tensor * t      = access->tensor;
    bool                      disk   = t->source == GGS_SOURCE_DISK;
    uint64_t                  offset = disk ? t->file_offset : t->origin_offset;
    int                       status = 0;
    for (uint32_t i = 0; status >= 0 && i < access->n_ranges; i++) {
        const struct ggs_range * range = &access->ranges[i];
        const struct range_row   row   = {.node   = node,
                                          .offset = range->offset,
                                          .bytes  = t->packed_bytes > 0 && !access->exact ? access->bytes : range->length,
                                          .slot   = access->slot == GGS_ACCESS_RESULT ? -1 : (int64_t) access->slot,
                                          .file   = disk ? t->file : t->origin_file,
                                          .file_offset   = offset + range->offset,
                                          .buffer_offset = t->buffer_offset + range->offset};
        status                         = ggs_sink_put(sink, (const void *[]){walk, access, &row, t}, error);
    }
    return status;
}

static int accesses_of_run(const struct ggs_sink * sink, struct ggs_walk * walk, void * state,
                           struct ggs_error * error) {
    int status = 0;
    (void) state;
    while (status >= 0 && ggs_walk_op(walk)) {
        struct ggs_op_seen op;
        for (uint64_t part = 0; status >= 0 && ggs_walk_part(walk, part, &op); part++) {
            const struct ggs_access_list * list;
            status = ggs_walk_part_accesses(walk, part, &list, error);
            for (unsigned i = 0; status >= 0 && i < list->n; i++)
                status = put_ranges(sink, walk, op.node, &list->access[i], error);
        }
    }
    return status;
}

static int produce_accesses(const struct ggs_sink * sink, struct ggs_error * error) {
    return each_run(sink, accesses_of_run, NULL, error);
}

const struct ggs_flat_table ggs_table_accesses = {
    .name = "accesses",
    .description =
        "One row per range of bytes that an op reads or writes. Of an op that is known to read some rows, but not which, the ranges are more than its bytes_read.",
    .walks = true,
    GGS_FIELDS(accesses),
    .produce = produce_accesses,
    .foreign = {{"run, node", "ops", NULL},
                {"token", "tokens", NULL},
                {"tensor", "tensors", NULL},
                {"file", "files", NULL},
                {"buffer", "buffers", NULL}},
};

// ---- experts ----

struct expert_row {
    uint64_t     input, rank;
    int64_t      expert;
    const float *weight, *probability; // NULL: unknown
};

static void put_real(struct ggs_cell * cell, const float * value) {
    *cell = (struct ggs_cell){.null = value == NULL, .real = value == NULL ? 0 : (double) *value};
}

static void weight_of(struct ggs_export * export, const void * const * parts, struct ggs_cell * cell) {
    (void) export;
    put_real(cell, ((const struct expert_row *) parts[2])->weight);
}

static void probability_of(struct ggs_export * export, const void * const * parts, struct ggs_cell * cell) {
    (void) export;
    put_real(cell, ((const struct expert_row *) parts[2])->probability);
}

#define EXPERT(member) GGS_MEMBER(2, struct expert_row, member)
static const struct ggs_table_field experts[] = {
    {"run", GGS_CELL_INTEGER, RUN(run), "graph run: runs.run"},
    {"node", GGS_CELL_INTEGER, GGS_MEMBER(1, struct ggs_choice, node),
     "the first MUL_MAT_ID node that uses the choice"},
    {"input", GGS_CELL_INTEGER, EXPERT(input),
     "which of the tokens that the layer computes: the last layer leaves out those without output"},
    {"rank", GGS_CELL_INTEGER, EXPERT(rank), "which of its experts: 0 is the first choice"},
    {"token", GGS_CELL_INTEGER, TOKEN(0), "token step: tokens.token"},
    {"layer", GGS_CELL_INTEGER, GGS_MEMBER_OR_NONE(1, struct ggs_choice, layer), "layer"},
    {"expert", GGS_CELL_INTEGER, EXPERT(expert), "number of the expert"},
    {"weight", GGS_CELL_REAL, GGS_CALL_OR_NONE(weight_of), "routing weight: what multiplies the expert's output"},
    {"probability", GGS_CELL_REAL, GGS_CALL_OR_NONE(probability_of), "what the router gave, before it was scaled"},
};

static int rows_of_choice(const struct ggs_sink * sink, const struct ggs_walk * walk, const struct ggs_choice * c,
                          struct ggs_error * error) {
    int status = 0;
    for (uint64_t i = 0; status >= 0 && i < c->tokens * c->used; i++) {
        const struct expert_row row = {.input       = i / c->used,
                                       .rank        = i % c->used,
                                       .expert      = c->experts[i],
                                       .weight      = c->weights == NULL ? NULL : &c->weights[i],
                                       .probability = c->probabilities == NULL ? NULL : &c->probabilities[i]};
        status                      = ggs_sink_put(sink, (const void *[]){walk, c, &row}, error);
    }
    return status;
}

static int experts_of_run(const struct ggs_sink * sink, struct ggs_walk * walk, void * state,
                          struct ggs_error * error) {
    struct ggs_choices * choices = state;
    int                  status  = ggs_choices_of(choices, walk, error);
    for (uint64_t i = 0; status >= 0 && i < choices->n; i++)
        status = rows_of_choice(sink, walk, &choices->choice[i], error);
    return status;
}

static int produce_experts(const struct ggs_sink * sink, struct ggs_error * error) {
    struct ggs_choices choices = {0};
    int                status  = each_run(sink, experts_of_run, &choices, error);
    ggs_choices_release(&choices);
    return status;
}

const struct ggs_flat_table ggs_table_experts = {
    .name        = "experts",
    .description = "One row per expert that was chosen for a token in a layer.",
    .keys        = 4,
    .walks       = true,
    GGS_FIELDS(experts),
    .produce = produce_experts,
    .foreign = {{"run, node", "ops", NULL}, {"token", "tokens", NULL}},
};
