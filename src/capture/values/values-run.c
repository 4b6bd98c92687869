#include "capture/values/values-run.h"

#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"
#include "capture/values/read.h"
#include "capture/values/values.h"
#include "preload/environment.h"

bool                           ggs_values_wanted;
bool                           ggs_values_unfused;
bool                           ggs_values_no_weights;
static struct ggs_values_asked asked;
static uint64_t                every = 1;
static struct ggs_values_run   runs[GGS_SLOTS];

// Returns false if an expression is invalid.
static bool compile_pattern(const char * name, regex_t * pattern, bool * wanted) {
    const char * text = getenv(name);
    if (text == NULL || text[0] == '\0') return true;
    *wanted = regcomp(pattern, text, REG_EXTENDED | REG_NOSUB) == 0;
    if (!*wanted) ggs_capture_warn("values are not recorded: %s is not a regular expression", text);
    return *wanted;
}

void ggs_values_configure(void) {
    if (getenv("GGSCOPE_VALUES") == NULL) return;
    every                 = ggs_environment_number("GGSCOPE_VALUES_EVERY", 1);
    ggs_values_unfused    = getenv("GGSCOPE_VALUES_UNFUSED") != NULL;
    ggs_values_no_weights = getenv("GGSCOPE_VALUES_NO_WEIGHTS") != NULL || getenv("GGSCOPE_PROVE") != NULL;
    if (!compile_pattern("GGSCOPE_VALUES", &asked.pattern, &asked.some)) return;
    if (!compile_pattern("GGSCOPE_VALUES_DUMP", &asked.dump, &asked.dumps)) return;
    ggs_values_kernel_init(false);
    ggs_values_wanted = true;
}

// ---- runs ----

static bool reserve(void ** list, uint32_t * capacity, uint64_t n, size_t size) {
    if (n <= *capacity) return true;
    void * more = n > UINT32_MAX ? NULL : aligned_alloc(64, (n * size + 63) / 64 * 64);
    if (more == NULL) return false;
    free(*list);
    *list     = more;
    *capacity = (uint32_t) n;
    return true;
}

static bool reserve_read(const struct ggs_values_plan * plan, struct ggs_values_read * read) {
    uint64_t pieces = (uint64_t) plan->most_rows * plan->most_pieces;
    read->unit      = NULL;
    return reserve((void **) &read->pieces, &read->pieces_capacity, pieces, sizeof(*read->pieces));
}

static void write_positions(struct ggs_slot * slot) {
    struct ggs_spool_values head = {.type = GGS_UNIT_POSITIONS};
    uint32_t                n;
    const int32_t *         positions = ggs_values_plan_positions(&n);
    head.bytes                        = n * (uint32_t) sizeof(*positions);
    if (positions != NULL && !ggs_slot_payload(slot, &head, positions)) slot->lost++;
}

struct ggs_values_run * ggs_values_run_begin(struct ggs_slot * slot, const struct abi_graph * graph,
                                             const struct ggs_captured_graph * known, uint64_t number) {
    struct ggs_values_run * run = &runs[slot - ggs_slots];
    if (every > 1 && (number - 1) % every != 0) return NULL;
    run->plan      = ggs_values_plan(graph, known, &asked);
    run->pending   = GGS_SLOT_NO_NODE;
    run->n_outputs = 0;
    if (run->plan == NULL || run->plan->most_rows == 0) return NULL;
    if (!reserve_read(run->plan, &run->read[0]) || !reserve_read(run->plan, &run->read[1]) ||
        !reserve((void **) &run->outputs, &run->outputs_capacity, run->plan->n_outputs, sizeof(*run->outputs)))
        return NULL;
    write_positions(slot);
    return run;
}

void ggs_values_run_outputs(struct ggs_values_run * run, const void * ids) {
    run->n_outputs = ids == NULL ? 0 : run->plan->n_outputs;
    if (run->n_outputs > 0) memcpy(run->outputs, ids, (size_t) run->n_outputs * sizeof(*run->outputs));
}

// ---- reading ----

// Threads share outputs with many rows by rows, others by pieces of rows.
static bool has_many_rows(const struct ggs_values_node * node, uint32_t threads) {
    return node->rows >= 4 * threads || node->elements <= GGS_VALUES_PIECE;
}

static uint32_t pieces_of(const struct ggs_values_node * node) {
    return (uint32_t) ((node->elements + GGS_VALUES_PIECE - 1) / GGS_VALUES_PIECE);
}

static uint32_t token_of(const struct ggs_values_run * run, const struct ggs_values_node * node, uint32_t row) {
    if (!node->tokens) return GGS_VALUE_NO_TOKEN;
    if (!node->output) return row;
    return row < run->n_outputs ? run->outputs[row] : GGS_VALUE_NO_TOKEN;
}

void ggs_values_run_expect(struct ggs_slot * slot, struct ggs_values_run * run, unsigned set, uint32_t index) {
    const struct ggs_values_node * node = &run->plan->node[index];
    struct ggs_values_read *       read = &run->read[set];
    if (node->kind == GGS_VALUES_NONE) return;
    read->unit   = ggs_slot_values_begin(slot, index, 0, false, node->elements, node->rows);
    read->node   = index;
    read->filled = false;
    if (read->unit == NULL) slot->lost++;
}

static struct ggs_spool_value * rows_of(const struct ggs_values_read * read) {
    return (struct ggs_spool_value *) (read->unit + 1);
}

// Consecutive rows, as most ops share out their work: they are in the thread's cache.
static void read_rows(struct ggs_values_run * run, const struct ggs_values_read * read,
                      const struct abi_tensor * tensor, uint32_t ith, uint32_t nth) {
    const struct ggs_values_node * node  = &run->plan->node[read->node];
    uint32_t                       share = (node->rows + nth - 1) / nth, first = ith * share;
    size_t                         stride;
    if (first >= node->rows) return;
    uint32_t                 n   = node->rows - first < share ? node->rows - first : share;
    struct ggs_spool_value * out = rows_of(read) + first;
    const char *             floats =
        node->elements > GGS_VALUES_PIECE ? NULL : (const char *) ggs_values_rows_at(tensor, node, &stride);
    if (floats == NULL) {
        for (uint32_t i = 0; i < n; i++)
            ggs_values_read_row(&out[i], tensor, node, first + i, token_of(run, node, first + i));
        return;
    }
    ggs_values_rows(out, (const float *) (floats + first * stride), stride, (uint32_t) node->elements, n);
    for (uint32_t i = 0; i < n; i++) out[i].token = token_of(run, node, first + i);
}

void ggs_values_run_read(struct ggs_values_run * run, unsigned set, const struct abi_tensor * tensor, uint32_t ith,
                         uint32_t nth) {
    struct ggs_values_read *       read = &run->read[set];
    const struct ggs_values_node * node = &run->plan->node[read->node];
    if (read->unit == NULL) return;
    if (ith == 0) {
        read->threads = nth;
        read->filled  = true;
    }
    if (has_many_rows(node, nth)) {
        read_rows(run, read, tensor, ith, nth);
        return;
    }
    uint32_t pieces = pieces_of(node);
    for (uint32_t i = ith; i < node->rows * pieces; i += nth)
        ggs_values_read(&read->pieces[i], tensor, node, i / pieces, (uint64_t) (i % pieces) * GGS_VALUES_PIECE);
}

void ggs_values_run_write(struct ggs_values_run * run, unsigned set) {
    struct ggs_values_read *       read   = &run->read[set];
    const struct ggs_values_node * node   = &run->plan->node[read->node];
    uint32_t                       pieces = pieces_of(node);
    if (read->unit == NULL) return;
    for (uint32_t row = 0; read->filled && !has_many_rows(node, read->threads) && row < node->rows; row++) {
        struct ggs_values_sum * sum = &read->pieces[row * pieces];
        for (uint32_t i = 1; i < pieces; i++) ggs_values_join(sum, sum + i);
        ggs_values_finish(sum, token_of(run, node, row), &rows_of(read)[row]);
    }
    ggs_slot_values_end(read->unit, read->filled);
    read->unit = NULL;
}
