#include "capture/values/values.h"

#include "capture/values/dump.h"
#include "capture/values/leafs.h"
#include "capture/values/values-run.h"

enum { NO_NODE = GGS_SLOT_NO_NODE };

// State of the calling thread.
static _Thread_local struct {
    struct ggs_slot * slot;
    uint32_t          run, cursor, previous;
    unsigned          set;    // of the run's reads, for the next one
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
    if (run != NULL && run->weights.n > 0) { // no hook observed an op
        ggs_values_weights_read(&run->weights);
        ggs_values_leafs_end(slot, run);
    }
    if (run != NULL && run->pending != NO_NODE) {
        ggs_values_run_write(run, run->expected ^ 1);
        ggs_values_run_read(run, run->expected, node_of(slot, run->pending), 0, 1);
        ggs_values_run_write(run, run->expected);
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
    self.set       = 0;
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

static bool overlap(const struct abi_tensor * a, uint64_t a_bytes, const struct abi_tensor * b, uint64_t b_bytes) {
    return (const char *) a->data < (const char *) b->data + b_bytes &&
           (const char *) b->data < (const char *) a->data + a_bytes;
}

// True if the op that writes `writer` may change what is read of `reader`'s output. The allocator
// computes many ops in place, and gives the memory of an output that nobody needs to the next one.
static bool overwrites(const struct ggs_slot * slot, uint32_t writer, uint32_t reader) {
    const struct ggs_values_node * node  = slot->values->plan->node;
    const struct abi_tensor *      out   = node_of(slot, writer);
    const struct abi_tensor *      in    = node_of(slot, reader);
    const struct abi_tensor *      index = node[reader].kind == GGS_VALUES_SET ? in->src[1] : NULL;
    uint64_t                       bytes = node[writer].bytes;
    if (bytes == 0 || node[reader].bytes == 0 || overlap(out, bytes, in, node[reader].bytes)) return true;
    return index != NULL && overlap(out, bytes, index, (uint64_t) index->ne[0] * index->nb[0]);
}

// For thread 0, when all threads have begun the op before `index`, whose output goes to `set`: ends
// what they read, and makes room for the output of `index`.
static void write_and_expect(struct ggs_values_run * run, unsigned set, bool reads, uint32_t index) {
    ggs_values_run_write(run, set ^ 1);
    if (!reads) ggs_values_run_write(run, set);
    run->expected = reads ? set ^ 1 : set;
    run->pending  = index;
    ggs_values_run_expect(self.slot, run, run->expected, index);
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
    bool weighs = run->weights.n > 0; // until thread 0 has written them, after the run's first barrier
    self.dumped = dumps;
    if (weighs) ggs_values_weights_read(&run->weights);
    if (params->ith == 0) write_and_expect(run, self.set, reads, index);
    if (reads) {
        ggs_values_run_read(run, self.set, node_of(self.slot, previous), (uint32_t) params->ith,
                            (uint32_t) params->nth);
        self.set ^= 1;
    }
    if (params->ith == 0) {
        run->dumped = dumps;
        if (writes) dump_output(self.slot, previous);
        if (dumps) dump_inputs(self.slot, head, NULL);
        if (dumps && index != head) dump_inputs(self.slot, index, first);
    }
    if (!reads && !writes && !dumps && !weighs) return false;
    if (writes || dumps || weighs || overwrites(self.slot, index, previous) ||
        (head != index && overwrites(self.slot, head, previous)))
        barrier(params->threadpool);
    if (params->ith == 0 && weighs) ggs_values_leafs_end(self.slot, run);
    return true;
}
