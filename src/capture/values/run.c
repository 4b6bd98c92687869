#include "capture/values/run.h"

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
    uint64_t pieces = (uint64_t) run->plan->most_rows * run->plan->most_pieces;
    if (!reserve((void **) &run->pieces, &run->pieces_capacity, pieces, sizeof(*run->pieces)) ||
        !reserve((void **) &run->rows, &run->rows_capacity, run->plan->most_rows, sizeof(*run->rows)) ||
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

void ggs_values_run_read(struct ggs_values_run * run, uint32_t index, const struct abi_tensor * tensor, uint32_t ith,
                         uint32_t nth) {
    const struct ggs_values_node * node   = &run->plan->node[index];
    uint32_t                       pieces = pieces_of(node);
    if (!has_many_rows(node, nth)) {
        for (uint32_t i = ith; i < node->rows * pieces; i += nth)
            ggs_values_read(&run->pieces[i], tensor, node, i / pieces, (uint64_t) (i % pieces) * GGS_VALUES_PIECE);
        return;
    }
    for (uint32_t row = ith; row < node->rows; row += nth) {
        struct ggs_values_sum sum, next;
        ggs_values_read(&sum, tensor, node, row, 0);
        for (uint32_t i = 1; i < pieces; i++) {
            ggs_values_read(&next, tensor, node, row, (uint64_t) i * GGS_VALUES_PIECE);
            ggs_values_join(&sum, &next);
        }
        ggs_values_finish(&sum, token_of(run, node, row), &run->rows[row]);
    }
}

void ggs_values_run_write(struct ggs_slot * slot, struct ggs_values_run * run, uint32_t index, uint32_t nth) {
    const struct ggs_values_node * node   = &run->plan->node[index];
    uint32_t                       pieces = pieces_of(node);
    for (uint32_t row = 0; !has_many_rows(node, nth) && row < node->rows; row++) {
        struct ggs_values_sum * sum = &run->pieces[row * pieces];
        for (uint32_t i = 1; i < pieces; i++) ggs_values_join(sum, sum + i);
        ggs_values_finish(sum, token_of(run, node, row), &run->rows[row]);
    }
    if (!ggs_slot_values(slot, index, 0, false, node->elements, run->rows, node->rows)) slot->lost++;
}
