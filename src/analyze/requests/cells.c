#include "analyze/requests/cells.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/requests/requests.h"
#include "base/array.h"
#include "base/error.h"
#include "base/map.h"

void ggs_cell_uses_release(struct ggs_cell_uses * uses) {
    free(uses->use);
    *uses = (struct ggs_cell_uses){0};
}

// ---- what attention goes over ----

// The first dimension of the mask of attention: one element for each cell. The largest one of a graph; 0 if there is none.
static uint64_t mask_of(const struct ggs_trace * trace, const struct ggs_graph * graph) {
    uint64_t most = 0;
    for (uint64_t i = 0; i < graph->n_nodes; i++) {
        const char * op   = ggs_trace_op_name(trace, graph->nodes[i].op);
        uint64_t     slot = strcmp(op, "FLASH_ATTN_EXT") == 0 ? 3 : strcmp(op, "SOFT_MAX") == 0 ? 1 : 0;
        if (slot == 0) continue;
        const struct ggs_tensor * mask = ggs_trace_tensor(trace, ggs_trace_source(graph, i, slot));
        if (mask != NULL && mask->ne[0] > 0 && (uint64_t) mask->ne[0] > most) most = (uint64_t) mask->ne[0];
    }
    return most;
}

// By decode: the most of its graph runs. Both maps hold value + 1.
static int read_attended(struct ggs_map * attended, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_map      graphs = {0};
    struct ggs_cursor * cursor = NULL;
    struct ggs_run      run;
    int                 status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_RUNS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &run, error)) > 0) {
        const struct ggs_graph * graph;
        if (run.decode == 0) continue;
        uint64_t * cells = ggs_map_put(&graphs, ggs_map_key_number(run.graph));
        if (cells == NULL) {
            status = ggs_fail_memory(error);
            break;
        }
        if (*cells == 0) {
            if (ggs_trace_graph(trace, run.graph, &graph, error) < 0) {
                status = GGS_FORMAT;
                break;
            }
            *cells = mask_of(trace, graph) + 1;
        }
        uint64_t   found = *cells;
        uint64_t * most  = ggs_map_put(attended, ggs_map_key_number(run.decode));
        if (most == NULL) status = ggs_fail_memory(error);
        if (most != NULL && found > *most) *most = found;
    }
    ggs_cursor_close(cursor);
    ggs_map_release(&graphs);
    return status;
}

// ---- what is in use ----

struct gathering {
    struct ggs_cell_uses * uses;
    struct ggs_map         attended;
    uint64_t               most;
};

// Halves the list: of each two neighbours of one context the fuller one stays.
static void thin(struct ggs_cell_uses * uses) {
    uint64_t kept = 0;
    for (uint64_t i = 0; i < uses->n; i++) {
        struct ggs_cell_use * use = &uses->use[i];
        if (i + 1 < uses->n && use[1].context == use->context) {
            uses->use[kept++] = use[1].cells > use->cells ? use[1] : *use;
            i++;
        } else {
            uses->use[kept++] = *use;
        }
    }
    uses->n = kept;
}

static int see(void * owner, const struct ggs_request_step * step, struct ggs_error * error) {
    struct gathering * g     = owner;
    uint64_t           index = ggs_map_get(&step->sequences->numbers, ggs_map_key_number(step->context));
    if (index == 0 || step->part != step->sequences->parts) return 0; // once for each batch
    const struct ggs_sequence_context * state    = step->sequences->contexts[index - 1];
    uint64_t                            attended = ggs_map_get(&g->attended, ggs_map_key_number(step->decode));
    struct ggs_cell_use                 use      = {.time_ns  = step->end_ns,
                                                    .token    = step->step,
                                                    .context  = step->context,
                                                    .attended = step->decode == 0 || attended == 0 ? 0 : attended - 1};
    if (!ggs_sequences_cells(state, &use.cells)) return ggs_fail_memory(error);
    for (size_t i = 0; i < state->n_sequences; i++) use.sequences += state->sequences[i].n_cells > 0;
    uint64_t before = g->uses->n;
    while (g->uses->n >= 2 * g->most) {
        thin(g->uses);
        if (g->uses->n == before) break; // contexts take turns: there is nothing to join
        before = g->uses->n;
    }
    return ggs_array_push(g->uses->use, g->uses->n, g->uses->capacity, use) ? 0 : ggs_fail_memory(error);
}

static int by_context(const void * a, const void * b) {
    const struct ggs_cell_use *x = a, *y = b;
    if (x->context != y->context) return x->context < y->context ? -1 : 1;
    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

int ggs_cell_uses_compute(struct ggs_cell_uses * uses, struct ggs_trace * trace, uint64_t most,
                          struct ggs_error * error) {
    struct gathering           g       = {.uses = uses, .most = most};
    struct ggs_request_visitor visitor = {.see = see, .owner = &g};
    *uses                              = (struct ggs_cell_uses){0};
    int status                         = read_attended(&g.attended, trace, error);
    if (status == 0) status = ggs_requests_walk(trace, &visitor, error);
    ggs_map_release(&g.attended);
    if (status < 0) {
        ggs_cell_uses_release(uses);
        return status;
    }
    if (uses->n > 1) qsort(uses->use, uses->n, sizeof(*uses->use), by_context);
    for (uint64_t before = uses->n + 1; uses->n > most && uses->n < before;) before = uses->n, thin(uses);
    return 0;
}
