#include "analyze/requests/cell-numbers.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/search.h"

struct ggs_batch_run {
    uint64_t decode; // 0: the call was not seen; the step identifies it
    int64_t  step;
    uint64_t run, graph;
};

// How a graph writes keys.
struct ggs_cell_plan {
    uint64_t ids;       // tensor with the row ids, 0 if rows are consecutive
    uint64_t first;     // first row
    uint64_t tokens;    // per run, 0 if it writes none
    uint64_t positions; // tensor, 0 if there is none
    uint64_t cells, streams;
    uint64_t attended, attended_streams;
    bool     moves; // copies cells to others
};

void ggs_cell_numbers_close(struct ggs_cell_numbers * numbers) {
    free(numbers->runs);
    free(numbers->plans);
    free(numbers->written);
    free(numbers->positions);
    free(numbers->cell);
    ggs_map_release(&numbers->plans_of);
    ggs_access_release(&numbers->index);
    *numbers = (struct ggs_cell_numbers){0};
}

static int by_batch(const void * a, const void * b) {
    const struct ggs_batch_run *x = a, *y = b;
    if (x->decode != y->decode) return x->decode < y->decode ? -1 : 1;
    if (x->decode == 0 && x->step != y->step) return x->step < y->step ? -1 : 1;
    return x->run < y->run ? -1 : x->run > y->run;
}

int ggs_cell_numbers_open(struct ggs_cell_numbers * numbers, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_run      row;
    *numbers   = (struct ggs_cell_numbers){.trace = trace};
    int status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_RUNS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &row, error)) > 0) {
        struct ggs_batch_run run = {row.decode, row.step, row.run, row.graph};
        if (!ggs_array_push(numbers->runs, numbers->n_runs, numbers->runs_capacity, run))
            status = ggs_fail_memory(error);
    }
    ggs_cursor_close(cursor);
    if (status == 0 && numbers->n_runs > 0) qsort(numbers->runs, numbers->n_runs, sizeof(*numbers->runs), by_batch);
    if (status < 0) ggs_cell_numbers_close(numbers);
    return status;
}

// ---- writes of a graph ----

static bool has_name(const struct ggs_trace * trace, const struct ggs_tensor * tensor, const char * part) {
    return tensor != NULL && strstr(ggs_trace_tensor_name(trace, tensor->tensor), part) != NULL;
}

static uint64_t elements(const struct ggs_tensor * tensor) {
    uint64_t n = 1;
    for (int i = 0; i < 4; i++) n *= tensor->ne[i] > 0 ? (uint64_t) tensor->ne[i] : 0;
    return n;
}

// Returns the keys of a layer of which the tensor is a view; NULL if it is not.
static const struct ggs_tensor * keys_of(const struct ggs_trace * trace, const struct ggs_tensor * tensor) {
    const struct ggs_tensor * root = tensor == NULL ? NULL : ggs_trace_root(trace, tensor);
    return has_name(trace, root, "cache_k_l") ? root : NULL;
}

// Reads the inputs of a graph: number of tokens, and their positions. An attention mask has one
// element per cell.
static void read_inputs(struct ggs_cell_plan * plan, const struct ggs_trace * trace, const struct ggs_graph * graph,
                        uint64_t node) {
    const char * op = ggs_trace_op_name(trace, graph->nodes[node].op);
    for (uint64_t slot = 0; slot < 2; slot++) {
        const struct ggs_tensor * source = ggs_trace_tensor(trace, ggs_trace_source(graph, node, slot));
        if (source == NULL) continue;
        if (has_name(trace, source, "inp_tokens")) plan->tokens = (uint64_t) source->ne[0];
        if (has_name(trace, source, "inp_embd")) plan->tokens = (uint64_t) source->ne[1];
        if (slot == 1 && has_name(trace, source, "inp_pos")) plan->positions = source->tensor;
    }
    uint64_t                  slot = strcmp(op, "FLASH_ATTN_EXT") == 0 ? 3 : strcmp(op, "SOFT_MAX") == 0 ? 1 : 0;
    const struct ggs_tensor * mask = slot == 0 ? NULL : ggs_trace_tensor(trace, ggs_trace_source(graph, node, slot));
    if (mask == NULL || mask->ne[0] <= 0 || mask->ne[3] <= 0) return;
    uint64_t attended = (uint64_t) mask->ne[0] * (uint64_t) mask->ne[3];
    if (attended > plan->attended) plan->attended = attended, plan->attended_streams = (uint64_t) mask->ne[3];
}

// Of caches of several sizes (sliding windows) the largest holds everything.
static void read_write(struct ggs_cell_plan * plan, const struct ggs_trace * trace, const struct ggs_graph * graph,
                       uint64_t node) {
    enum ggs_op_kind          kind   = ggs_trace_op_kind(trace, graph->nodes[node].op);
    const struct ggs_tensor * result = ggs_trace_tensor(trace, graph->nodes[node].tensor);
    const struct ggs_tensor * keys   = NULL;
    if (kind == GGS_KIND_SET_ROWS || kind == GGS_KIND_CPY) keys = keys_of(trace, result);
    if (keys == NULL) return;
    if (kind == GGS_KIND_SET_ROWS) {
        uint64_t cells = (uint64_t) keys->ne[1] * (uint64_t) keys->ne[2];
        if (cells <= plan->cells) return;
        plan->ids     = ggs_trace_source(graph, node, 1);
        plan->cells   = cells;
        plan->streams = (uint64_t) keys->ne[2];
        return;
    }
    if (keys_of(trace, ggs_trace_tensor(trace, ggs_trace_source(graph, node, 0))) != NULL) {
        plan->moves = true;
        return;
    }
    uint64_t bytes =
        ggs_trace_row_bytes(trace, result) * (elements(result) / (uint64_t) (result->ne[0] > 0 ? result->ne[0] : 1));
    uint64_t row    = plan->tokens == 0 ? 0 : bytes / plan->tokens,
             values = plan->tokens == 0 ? 0 : elements(result) / plan->tokens;
    if (row == 0 || values == 0 || result->address < keys->address || elements(keys) / values <= plan->cells) return;
    plan->first   = (result->address - keys->address) / row;
    plan->cells   = elements(keys) / values;
    plan->streams = 1;
}

static int plan_of(struct ggs_cell_numbers * numbers, uint64_t number, const struct ggs_graph ** graph,
                   struct ggs_cell_plan ** out, struct ggs_error * error) {
    uint64_t * index = ggs_map_put(&numbers->plans_of, ggs_map_key_number(number));
    if (index == NULL) return ggs_fail_memory(error);
    if (*index == 0) {
        struct ggs_cell_plan plan = {0};
        if (*graph == NULL && ggs_trace_graph(numbers->trace, number, graph, error) < 0) return GGS_FORMAT;
        for (uint64_t i = 0; i < (*graph)->n_nodes; i++) read_inputs(&plan, numbers->trace, *graph, i);
        for (uint64_t i = 0; i < (*graph)->n_nodes; i++) read_write(&plan, numbers->trace, *graph, i);
        if (!ggs_array_push(numbers->plans, numbers->n_plans, numbers->plans_capacity, plan))
            return ggs_fail_memory(error);
        *index = numbers->n_plans;
    }
    *out = &numbers->plans[*index - 1];
    return 0;
}

// ---- writes of a batch ----

static bool add_written(struct ggs_cell_numbers * numbers, int64_t cell, int64_t position) {
    if (!ggs_array_reserve(numbers->positions, numbers->positions_capacity, numbers->n_written + 1)) return false;
    numbers->positions[numbers->n_written] = position;
    return ggs_array_push(numbers->written, numbers->n_written, numbers->written_capacity, cell);
}

static int read_run(struct ggs_cell_numbers * numbers, const struct ggs_batch_run * batch_run,
                    struct ggs_error * error) {
    const struct ggs_graph * graph = NULL;
    struct ggs_cell_plan *   plan;
    struct ggs_run           run    = {.run = batch_run->run};
    int                      status = plan_of(numbers, batch_run->graph, &graph, &plan, error);
    if (status < 0) return status;
    numbers->moved |= plan->moves;
    if (plan->attended > numbers->attended)
        numbers->attended = plan->attended, numbers->attended_streams = plan->attended_streams;
    if (plan->cells == 0 || plan->tokens == 0) return 0;
    numbers->cells = plan->cells, numbers->streams = plan->streams;
    if (graph == NULL && (plan->ids != 0 || plan->positions != 0))
        status = ggs_trace_graph(numbers->trace, batch_run->graph, &graph, error);
    if (status == 0 && graph != NULL)
        status = ggs_access_begin_run(&numbers->index, numbers->trace, &run, graph, error);
    if (status < 0) return status;
    const struct ggs_access_index * ids = plan->ids == 0 ? NULL : ggs_access_values(&numbers->index, plan->ids);
    const struct ggs_access_index * positions =
        plan->positions == 0 ? NULL : ggs_access_values(&numbers->index, plan->positions);
    if (plan->ids != 0 && ids == NULL) return 0;
    uint64_t n = ids != NULL ? ids->n : plan->tokens;
    for (uint64_t i = 0; i < n; i++) {
        int64_t cell = ids != NULL ? ids->values[i] : (int64_t) (plan->first + i);
        if (cell < 0 || (uint64_t) cell >= plan->cells) cell = -1; // invalid in a damaged trace
        if (!add_written(numbers, cell, positions != NULL && positions->n == n ? positions->values[i] : -1))
            return ggs_fail_memory(error);
    }
    return 0;
}

// Returns the token of the batch that the engine wrote as the i-th. Their order is kept, except if
// sequences have separate streams or batches are split into parts of equal length.
static uint64_t token_of(const struct ggs_cell_numbers * numbers, const struct ggs_sequence_batch * batch, uint64_t i) {
    int64_t  cell = numbers->written[i], position = numbers->positions[i];
    uint64_t each = numbers->streams > 1 ? numbers->cells / numbers->streams : 0;
    bool     same = position < 0 || batch->position[i] == position;
    if (numbers->cell[i] < 0 && same && (each == 0 || batch->sequence[i] == cell / (int64_t) each)) return i;
    for (uint64_t k = 0; k < batch->n; k++) {
        if (numbers->cell[k] >= 0 || (position >= 0 && batch->position[k] != position)) continue;
        if (each == 0 || batch->sequence[k] == cell / (int64_t) each) return k;
    }
    return batch->n;
}

int ggs_cell_numbers_find(struct ggs_cell_numbers * numbers, const struct ggs_sequence_batch * batch,
                          struct ggs_error * error) {
    struct ggs_batch_run key    = {.decode = batch->decode, .step = batch->step};
    int                  status = 0;
    numbers->n_written = numbers->cells = numbers->streams = numbers->attended = numbers->attended_streams = 0;
    numbers->moved                                                                                         = false;
    if (!ggs_array_reserve(numbers->cell, numbers->cell_capacity, batch->n + 1)) return ggs_fail_memory(error);
    for (uint64_t i = 0; i < batch->n; i++) numbers->cell[i] = -1;
    if (batch->decode == 0 && batch->step < 0) return 0;
    uint64_t i = ggs_search(numbers->n_runs, at, by_batch(&numbers->runs[at], &key) < 0);
    for (; status == 0 && i < numbers->n_runs; i++) {
        const struct ggs_batch_run * run = &numbers->runs[i];
        if (run->decode != key.decode || (key.decode == 0 && run->step != key.step)) break;
        status = read_run(numbers, run, error);
    }
    if (status < 0 || numbers->n_written != batch->n) return status; // some were not seen, unknown which
    for (uint64_t k = 0; k < batch->n; k++) {
        uint64_t token = token_of(numbers, batch, k);
        if (token < batch->n) numbers->cell[token] = numbers->written[k];
    }
    return 0;
}

int ggs_cell_streams(struct ggs_trace * trace, uint64_t context, uint64_t * streams, struct ggs_error * error) {
    enum { MOST = 64 }; // maximum graphs to examine
    struct ggs_cell_numbers numbers = {.trace = trace};
    struct ggs_cursor *     cursor  = NULL;
    struct ggs_run          run;
    struct ggs_cell_plan *  plan;
    *streams   = 0;
    int status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_RUNS, error);
    while (status >= 0 && *streams == 0 && numbers.n_plans < MOST &&
           (status = ggs_cursor_next(cursor, &run, error)) > 0) {
        const struct ggs_graph * graph = NULL;
        if (run.context < 0 || (uint64_t) run.context != context) continue;
        status = plan_of(&numbers, run.graph, &graph, &plan, error);
        if (status == 0) *streams = plan->streams;
    }
    ggs_cursor_close(cursor);
    ggs_cell_numbers_close(&numbers);
    return status < 0 ? status : 0;
}
