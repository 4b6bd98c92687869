#include "capture/values/device-values.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system/ticks.h"
#include "capture/capture.h"
#include "capture/device/device.h"
#include "capture/graph-run.h"
#include "capture/journal.h"
#include "capture/values/dump.h"
#include "capture/values/leafs.h"
#include "capture/values/values-run.h"
#include "capture/values/values.h"

enum { LOOK_AHEAD = 128, FLAG_OUTPUT = 2, I32 = 26, I64 = 27 };

// The engine returns its struct through a pointer; this one is larger than in any release.
union graph_view {
    struct abi_graph graph;
    char             room[512];
};

static struct {
    union graph_view (*view)(struct abi_graph * graph, int first, int end);
    void (*synchronize)(void * backend);
    void (*get)(const struct abi_tensor * tensor, void * data, size_t offset, size_t size);
    size_t (*bytes)(const struct abi_tensor * tensor);
} engine;

static bool find_functions(void) {
    *(void **) &engine.view        = ggs_abi_find("ggml_graph_view");
    *(void **) &engine.synchronize = ggs_abi_find("ggml_backend_synchronize");
    *(void **) &engine.get         = ggs_abi_find("ggml_backend_tensor_get");
    *(void **) &engine.bytes       = ggs_abi_find("ggml_nbytes");
    return engine.view != NULL && engine.synchronize != NULL && engine.get != NULL && engine.bytes != NULL;
}

bool ggs_values_on_device(void) {
    const struct ggs_device_run * device = ggs_device_current;
    if (device == NULL || ggs_in.depth != 1 || ggs_in.run == 0 || ggs_in.graph == NULL) return false;
    if (device->on_cpu || (!ggs_values_unfused && (device->kind == NULL || !device->kind->asks))) return false;
    return find_functions();
}

// A run in progress.
struct computing {
    struct ggs_slot *       slot;
    struct ggs_values_run * values;
    struct ggs_device_run * device;
    struct abi_graph *      graph;
};

// ---- reading ----

static void * make_room(struct ggs_values_run * values, unsigned which, size_t bytes) {
    if (bytes > values->host_capacity[which]) {
        free(values->host[which]);
        values->host[which]          = malloc(bytes);
        values->host_capacity[which] = values->host[which] == NULL ? 0 : bytes;
    }
    return values->host[which];
}

// Copies a tensor into host memory, into buffer `which` of the run. Returns false if it has no data
// or memory is exhausted.
static bool fetch(struct ggs_values_run * values, unsigned which, const struct abi_tensor * tensor,
                  struct abi_tensor * copy) {
    if (tensor == NULL || tensor->data == NULL) return false;
    size_t bytes = engine.bytes(tensor);
    *copy        = *tensor;
    copy->data   = make_room(values, which, bytes);
    if (copy->data == NULL || bytes == 0) return false;
    engine.get(tensor, copy->data, 0, bytes);
    return true;
}

static int64_t index_at(const struct abi_tensor * indices, int64_t i) {
    int64_t wide;
    int32_t narrow;
    if (indices->type == I64) {
        memcpy(&wide, (const char *) indices->data + 8 * i, 8);
        return wide;
    }
    memcpy(&narrow, (const char *) indices->data + 4 * i, 4);
    return narrow;
}

// Reads the rows that a SET_ROWS wrote: everything from the first to the last one at once.
static bool fetch_set(struct ggs_values_run * values, const struct abi_tensor * node, struct abi_tensor * copy,
                      struct abi_tensor * indices) {
    if (!fetch(values, 1, node->src[1], indices)) return false;
    int64_t first = INT64_MAX, last = -1;
    for (int64_t i = 0; i < indices->ne[0]; i++) {
        int64_t row = index_at(indices, i);
        if (row < first) first = row;
        if (row > last) last = row;
    }
    if (first < 0 || last >= node->ne[1]) return false;
    size_t row_bytes = (size_t) (node->ne[0] / ggs_engine.block_size(node->type)) * ggs_engine.type_size(node->type);
    size_t bytes     = (size_t) (last - first) * node->nb[1] + row_bytes;
    char * rows      = make_room(values, 0, bytes);
    if (rows == NULL) return false;
    engine.get(node, rows, (size_t) first * node->nb[1], bytes);
    *copy        = *node;
    copy->data   = (void *) ((uintptr_t) rows - (uintptr_t) first * node->nb[1]);
    copy->src[1] = indices;
    return true;
}

static void read_node(struct computing * c, uint32_t index) {
    const struct abi_tensor *      node  = c->graph->nodes[index];
    const struct ggs_values_node * known = &c->values->plan->node[index];
    struct abi_tensor              copy, indices;
    if (known->kind == GGS_VALUES_NONE || known->rows > c->values->plan->most_rows ||
        known->elements > (uint64_t) c->values->plan->most_pieces * GGS_VALUES_PIECE)
        return;
    bool there =
        known->kind == GGS_VALUES_SET ? fetch_set(c->values, node, &copy, &indices) : fetch(c->values, 0, node, &copy);
    if (!there) return;
    ggs_values_run_expect(c->slot, c->values, 0, index);
    ggs_values_run_read(c->values, 0, &copy, 0, 1);
    ggs_values_run_write(c->values, 0);
}

// Copies index data of a node: rows, experts, positions. `inputs`: those that are inputs of the
// graph; otherwise those that the graph computes.
static void copy_indices(struct computing * c, uint32_t index, bool inputs) {
    unsigned          wanted = ggs_in.graph->copies[index];
    struct abi_tensor copy;
    for (unsigned s = 0; wanted >> s != 0; s++) {
        const struct abi_tensor * source = c->graph->nodes[index]->src[s];
        if ((wanted >> s & 1) == 0 || source == NULL) continue;
        bool input = source->src[0] == NULL && source->view_src == NULL;
        if (input != inputs || !fetch(c->values, 2, source, &copy)) continue;
        if (!ggs_slot_index(c->slot, index, s, &copy)) c->slot->lost++;
    }
}

// ---- outputs of a group ----

static bool overlap(const struct abi_tensor * a, const struct abi_tensor * b) {
    const char *x = a->data, *y = b->data;
    return a->buffer == b->buffer && x < y + engine.bytes(b) && y < x + engine.bytes(a);
}

// True if the node's output is in memory when the group that ends before `end` is done: the output
// of the last node, and outputs that later nodes need. A fused kernel does not write others.
static bool is_made(const struct computing * c, uint32_t node, uint32_t end) {
    const struct ggs_values_node * known = &c->values->plan->node[node];
    if (known->empty && !known->view) return false;
    uint32_t last = end;
    while (last > node && c->values->plan->node[last - 1].empty) last--;
    bool needed = known->last_use >= end || (c->graph->nodes[node]->flags & FLAG_OUTPUT) != 0;
    return known->view ? needed && last > node + 1 : last == node + 1 || needed;
}

// `end`: after the node's group; `done`: after what was computed since. Returns false if something
// later overwrote the output.
static bool is_still_there(const struct computing * c, uint32_t node, uint32_t end, uint32_t done) {
    for (uint32_t i = end; i < done; i++)
        if (!c->values->plan->node[i].empty && overlap(c->graph->nodes[node], c->graph->nodes[i])) return false;
    return true;
}

// True if a view in a group is part of a tensor that is written whole, which says more.
static bool is_part(const struct computing * c, uint32_t view, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < view; i++)
        if (c->graph->nodes[i] == c->graph->nodes[view]->src[0]) return is_made(c, i, end);
    return true; // another group made it, and it was read
}

static void dump(struct computing * c, uint32_t node, unsigned source, const struct abi_tensor * tensor) {
    struct abi_tensor copy;
    if (fetch(c->values, 2, tensor, &copy)) ggs_values_dump(c->slot, node, source, tensor, copy.data);
}

// Which nodes will be fused is unknown. So all available inputs of the nodes around a wanted one
// are copied; the last copy before a node is computed is the valid one.
static void dump_inputs(struct computing * c, uint32_t first) {
    enum { AROUND = 8 };
    uint32_t last = first;
    for (uint32_t i = first; i < c->device->n_nodes && i < first + AROUND; i++)
        if (c->values->plan->node[i].dump) last = i + AROUND;
    for (uint32_t i = first; last > first && i < last && i < c->device->n_nodes; i++) {
        for (unsigned s = 0; s < ABI_SOURCES && !c->values->plan->node[i].empty; s++) {
            const struct abi_tensor * source = c->graph->nodes[i]->src[s];
            uint32_t                  k      = first;
            while (k < i && c->graph->nodes[k] != source) k++;
            if (source != NULL && k == i && !ggs_values_is_weight(source)) dump(c, i, s, source);
        }
    }
}

static void read_group(struct computing * c, uint32_t first, uint32_t end, uint32_t done) {
    bool dumps = false;
    for (uint32_t i = first; i < end; i++) dumps |= c->values->plan->node[i].dump;
    for (uint32_t i = first; i < end; i++) {
        if (!is_made(c, i, end) || !is_still_there(c, i, end, done)) continue;
        if (dumps) dump(c, i, GGS_DUMP_OUTPUT, c->graph->nodes[i]);
        if (!c->values->plan->node[i].view || !is_part(c, i, first, end)) read_node(c, i);
    }
}

// ---- running ----

// Reads must not count as commands of the node.
static void read_piece(struct computing * c, const struct ggs_device_piece * piece, void * backend) {
    struct ggs_device_run *current = ggs_device_current, *followed = ggs_device_followed;
    ggs_device_current = ggs_device_followed = NULL;
    engine.synchronize(backend);
    uint32_t first = piece->first;
    for (unsigned i = 0; i < piece->n_heads; i++) {
        read_group(c, first, piece->heads[i], piece->next);
        first = piece->heads[i];
    }
    read_group(c, first, piece->next, piece->next);
    uint32_t next = piece->next; // its index data may be overwritten later
    while (next < c->device->n_nodes && c->values->plan->node[next].empty) next++;
    if (next < c->device->n_nodes) copy_indices(c, next, false);
    dump_inputs(c, next);
    ggs_device_current  = current;
    ggs_device_followed = followed;
}

static bool fetch_leaf(struct ggs_values_run * values, const struct abi_tensor * tensor, struct abi_tensor * copy) {
    return fetch(values, 2, tensor, copy);
}

static void begin(struct computing * c, void * backend) {
    const struct abi_tensor * ids = ggs_values_plan_outputs(c->values->plan, c->graph);
    struct abi_tensor         copy;
    struct ggs_device_run *   current = ggs_device_current;
    ggs_device_current                = NULL;
    engine.synchronize(backend);
    if (ids != NULL && fetch(c->values, 2, ids, &copy)) ggs_values_run_outputs(c->values, copy.data);
    // Inputs of the graph are available, and name the token of each row.
    for (uint32_t i = 0; i < c->device->n_nodes; i++) copy_indices(c, i, true);
    dump_inputs(c, 0);
    ggs_values_leafs(c->slot, c->values, c->graph, fetch_leaf);
    ggs_device_current = current;
}

// Finds the end of the group that the backend has computed. A backend that asked for no node has
// replayed a group that it captured earlier, when it did ask.
static bool find_end(struct computing * c, struct ggs_device_piece * piece) {
    uint32_t * known = &c->values->plan->node[piece->first].group_end;
    if (piece->asked)
        __atomic_store_n(known, piece->next, __ATOMIC_RELAXED);
    else
        piece->next = __atomic_load_n(known, __ATOMIC_RELAXED);
    return piece->next > piece->first;
}

static int compute_groups(struct computing * c, ggs_compute_function real, void * backend) {
    struct ggs_device_piece * piece  = &c->device->piece;
    int                       status = 0;
    uint32_t                  n      = c->device->n_nodes;
    for (uint32_t at = 0; at < n && status == 0;) {
        if (at > 0 && c->values->plan->node[at].empty) {
            at++;
            continue;
        }
        uint32_t         end  = ggs_values_unfused ? at + 1 : at + LOOK_AHEAD < n ? at + LOOK_AHEAD : n;
        union graph_view view = engine.view(c->graph, (int) at, (int) end);
        *piece                = (struct ggs_device_piece){.on = true, .first = at, .end = end, .next = end};
        status                = real(backend, &view.graph);
        piece->on             = false;
        if (!ggs_values_unfused && !find_end(c, piece)) {
            // Nothing shows what was computed: computes all the rest at once.
            view = engine.view(c->graph, (int) end, (int) n);
            return status != 0 || end == n ? status : real(backend, &view.graph);
        }
        if (status == 0) read_piece(c, piece, backend);
        at = piece->next;
    }
    return status;
}

int ggs_values_compute(ggs_compute_function real, void * backend, struct abi_graph * graph) {
    struct computing c = {.device = ggs_device_current, .graph = graph};
    c.slot             = ggs_slot_open((uint32_t) ggs_in.run, graph, ggs_in.graph, NULL, 0);
    if (c.slot == NULL) {
        if (errno != EBUSY) ggs_capture_stop_full();
        return real(backend, graph);
    }
    uint64_t ticks  = ggs_ticks_now();
    uint64_t number = ggs_in.schedule != 0 ? ggs_in.schedule : ggs_in.run;
    c.values        = ggs_values_run_begin(c.slot, graph, ggs_in.graph, number);
    int status;
    if (c.values == NULL) {
        status = real(backend, graph);
    } else {
        ggs_journal_numbers(GGS_JOURNAL_RUN_THREADS, ggs_in.run, 0, ggs_slot_number(c.slot), 0, NULL);
        begin(&c, backend);
        ggs_device_followed = c.device;
        status              = compute_groups(&c, real, backend);
    }
    uint64_t lost = ggs_slot_close(c.slot);
    if (lost > 0) ggs_graph_run_lost(GGS_LOSS_SPACE, lost, ticks);
    return status;
}
