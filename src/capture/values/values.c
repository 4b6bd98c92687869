#include "capture/values/values.h"

#include "capture/values/dump.h"
#include "capture/values/leafs.h"
#include "capture/values/run.h"

enum { NO_NODE = GGS_SLOT_NO_NODE };

// State of the calling thread.
static _Thread_local struct {
    struct ggs_slot * slot;
    uint32_t          run, cursor, previous;
    bool              dumped; // of the previous op
} self = {.previous = NO_NODE};

// ---- runs ----

// The tokens whose outputs are wanted are an input of the graph, whose memory later nodes may
// reuse.
static void read_outputs(struct ggs_values_run * run, const struct abi_graph * graph) {
    const struct abi_tensor * ids = ggs_values_plan_outputs(run->plan, graph);
    if (ids != NULL) ggs_values_run_outputs(run, ids->data);
}

void ggs_values_begin(struct ggs_slot * slot, const struct abi_graph * graph, const struct ggs_captured_graph * known,
                      uint64_t number) {
    struct ggs_values_run * run = ggs_values_run_begin(slot, graph, known, number);
    if (run == NULL) return;
    read_outputs(run, graph);
    ggs_values_leafs(slot, run, graph, NULL);
    slot->values = run;
}

static const struct abi_tensor * node_of(const struct ggs_slot * slot, uint32_t index) {
    const struct ggs_slot_nodes * nodes = atomic_load_explicit(&slot->nodes, memory_order_relaxed);
    return atomic_load_explicit(&nodes->node[index], memory_order_relaxed);
}

static void dump_output(struct ggs_slot * slot, uint32_t index) {
    const struct abi_tensor * node = node_of(slot, index);
    ggs_values_dump(slot, index, GGS_DUMP_OUTPUT, node, node->data);
}

// `other`: the op it is fused with, whose output is not made.
static void dump_inputs(struct ggs_slot * slot, uint32_t index, const struct abi_tensor * other) {
    const struct abi_tensor * node = node_of(slot, index);
    for (unsigned s = 0; s < ABI_SOURCES; s++) {
        const struct abi_tensor * source = node->src[s];
        if (source != NULL && source != other && !ggs_values_is_weight(source))
            ggs_values_dump(slot, index, s, source, source->data);
    }
}

void ggs_values_end(struct ggs_slot * slot) {
    struct ggs_values_run * run = slot->values;
    if (run != NULL && run->pending != NO_NODE) {
        if (run->plan->node[run->pending].kind != GGS_VALUES_NONE) {
            ggs_values_run_read(run, run->pending, node_of(slot, run->pending), 0, 1);
            ggs_values_run_write(slot, run, run->pending, 1);
        }
        if (run->dumped) dump_output(slot, run->pending);
    }
    slot->values = NULL;
}

// ---- ops ----

// Finds the slot whose run has the node. A node belongs to one run at a time, so all threads of the
// run find the same slot.
static uint32_t attach(const struct abi_tensor * node) {
    uint32_t index = NO_NODE;
    self.slot      = NULL;
    self.previous  = NO_NODE;
    for (unsigned i = 0; i < GGS_SLOTS; i++) {
        self.run = ggs_slot_search(&ggs_slots[i], node, &index);
        if (self.run == 0) continue;
        self.slot = &ggs_slots[i];
        return index;
    }
    return NO_NODE;
}

static uint32_t find(const struct abi_tensor * node) {
    if (self.slot != NULL && atomic_load_explicit(&self.slot->number, memory_order_relaxed) == self.run) {
        const struct ggs_slot_nodes * nodes = atomic_load_explicit(&self.slot->nodes, memory_order_relaxed);
        uint32_t                      index = ggs_slot_find(nodes, node, self.cursor);
        if (index != NO_NODE) return index;
    }
    return attach(node);
}

bool ggs_values_op(const struct abi_params * params, const struct abi_tensor * first, const struct abi_tensor * output,
                   void (*barrier)(void * pool)) {
    uint32_t head = find(first);
    if (head == NO_NODE || self.slot->values == NULL) {
        self.previous = NO_NODE;
        return false;
    }
    struct ggs_values_run *       run   = self.slot->values;
    const struct ggs_slot_nodes * nodes = atomic_load_explicit(&self.slot->nodes, memory_order_relaxed);
    uint32_t                      index = first == output ? head : ggs_slot_find(nodes, output, head);
    if (run->plan->node[head].empty || index == NO_NODE) return false; // old releases visit empty
    uint32_t previous = self.previous;
    self.previous     = index;
    self.cursor       = index + 1;
    // An op in between that no hook observed may have overwritten the previous output.
    bool there = previous != NO_NODE && run->plan->node[previous].next == head;
    bool reads = there && run->plan->node[previous].kind != GGS_VALUES_NONE, writes = there && self.dumped;
    bool dumps  = run->plan->node[head].dump || run->plan->node[index].dump;
    self.dumped = dumps;
    if (reads)
        ggs_values_run_read(run, previous, node_of(self.slot, previous), (uint32_t) params->ith,
                            (uint32_t) params->nth);
    if (params->ith == 0) {
        run->pending = index;
        run->dumped  = dumps;
        if (writes) dump_output(self.slot, previous);
        if (dumps) dump_inputs(self.slot, head, NULL);
        if (dumps && index != head) dump_inputs(self.slot, index, first);
    }
    if (!reads && !writes && !dumps) return false;
    barrier(params->threadpool);
    if (params->ith == 0 && reads) ggs_values_run_write(self.slot, run, previous, (uint32_t) params->nth);
    return true;
}
