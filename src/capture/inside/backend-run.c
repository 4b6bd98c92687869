// Graph runs of a backend without symbols. Thread 0 calls the abort callback after each node, which
// marks the node's end. Counting identifies the nodes once the run is over: the number of calls
// must be what the graph predicts.
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/system/ticks.h"
#include "capture/capture.h"
#include "capture/existing.h"
#include "capture/graph-run.h"
#include "capture/inside/backend.h"
#include "capture/journal.h"
#include "capture/losses.h"
#include "capture/slots.h"
#include "capture/thread.h"
#include "preload/ggml-abi.h"
#include "trace/spool.h"

// Which nodes are followed by a call of the abort callback. Releases differ.
enum rule {
    WITH_FUSED, // computed nodes; an RMS_NORM and the MUL of its result are one
    EACH,       // computed nodes
    ALL,        // all nodes, empty ones included
    RULES,
};

struct ends {
    uint64_t * at;
    uint32_t   n, most;
    _Bool (*abort)(void * data); // the program's own
    void * abort_data;
};

// Runs on thread 0 after each node.
static _Bool on_node_done(void * data) {
    struct ends * ends = data;
    if (ends->n < ends->most) ends->at[ends->n] = ggs_ticks_now();
    ends->n++;
    return ends->abort != NULL && ends->abort(ends->abort_data);
}

// ---- which node ----

enum { FLAG_COMPUTE = 16 };

static bool is_op(const struct abi_tensor * node, const char * name) {
    const char * op = ggs_engine.op_name(node->op);
    return op != NULL && strcmp(op, name) == 0;
}

static bool is_empty(const struct abi_tensor * node) {
    static const char * const names[] = {"NONE", "VIEW", "RESHAPE", "PERMUTE", "TRANSPOSE"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (is_op(node, names[i])) return true;
    return false;
}

static bool is_fused(const struct abi_graph * graph, int i) {
    if (i + 1 >= graph->n_nodes || !is_op(graph->nodes[i], "RMS_NORM")) return false;
    const struct abi_tensor * next = graph->nodes[i + 1];
    return is_op(next, "MUL") && (next->src[0] == graph->nodes[i] || next->src[1] == graph->nodes[i]);
}

struct step {
    uint32_t node;
    bool     fused;
};

// Lists the nodes that a rule predicts calls for, in order. Returns how many.
static uint32_t list_nodes(struct step * steps, const struct abi_graph * graph, enum rule rule) {
    bool     flagged = false; // releases without the flag never set it
    uint32_t n       = 0;
    for (int i = 0; i < graph->n_nodes && !flagged; i++) flagged = (graph->nodes[i]->flags & FLAG_COMPUTE) != 0;
    for (int i = 0; i < graph->n_nodes; i++) {
        const struct abi_tensor * node = graph->nodes[i];
        if (rule != ALL && (is_empty(node) || (flagged && (node->flags & FLAG_COMPUTE) == 0))) continue;
        bool fused = rule == WITH_FUSED && is_fused(graph, i);
        steps[n++] = (struct step){(uint32_t) i, fused};
        i += fused;
    }
    return n;
}

// Finds the rule that predicts this many calls; RULES if there is none. A run that was `stopped`
// early uses the rule of earlier runs.
static enum rule find_rule(struct step * steps, const struct abi_graph * graph, uint32_t calls, bool stopped) {
    static _Atomic int known = RULES;
    int                last  = atomic_load_explicit(&known, memory_order_relaxed);
    if (stopped) return last != RULES && calls <= list_nodes(steps, graph, (enum rule) last) ? (enum rule) last : RULES;
    if (last != RULES && list_nodes(steps, graph, (enum rule) last) == calls) return (enum rule) last;
    for (int rule = 0; rule < RULES; rule++) {
        if (list_nodes(steps, graph, (enum rule) rule) != calls) continue;
        atomic_store_explicit(&known, rule, memory_order_relaxed);
        return (enum rule) rule;
    }
    return RULES;
}

// ---- writing ----

static bool is_input(const struct abi_tensor * tensor) {
    while (tensor != NULL && tensor->view_src != NULL) tensor = tensor->view_src;
    return tensor != NULL && tensor->data != NULL && is_op(tensor, "NONE");
}

// Writes row selectors that exist before the graph runs: tokens and positions. What the graph
// itself computes, such as the choice of experts, is not recorded.
static void write_inputs(struct ggs_slot * slot, const struct abi_graph * graph) {
    const uint8_t * copies = slot->graph->copies;
    for (uint32_t i = 0; i < slot->graph->n_nodes; i++)
        for (unsigned s = 0; copies[i] >> s != 0; s++)
            if ((copies[i] >> s & 1) != 0 && is_input(graph->nodes[i]->src[s]))
                ggs_slot_index(slot, i, s, graph->nodes[i]->src[s]);
}

// An op begins where the previous one ended: the wait for other threads is included, and its length
// is unknown.
static void write_ops(struct ggs_slot * slot, const struct step * steps, const struct ends * ends, uint64_t begin) {
    struct ggs_slot_lane * lane = slot->lanes[0];
    uint32_t               run  = atomic_load_explicit(&slot->number, memory_order_relaxed);
    ggs_lane_thread(lane, run, ggs_thread_id());
    for (uint32_t i = 0; i < ends->n; i++) {
        struct ggs_spool_op * op  = ggs_lane_begin_at(lane, run, steps[i].node, begin, steps[i].fused);
        uint64_t              end = ends->at[i] < begin ? begin : ends->at[i];
        if (op == NULL) {
            slot->lost += ends->n - i;
            return;
        }
        ggs_lane_end_at(op, end - begin, 0, 0, GGS_OP_RUN_WAIT_UNSEEN | GGS_OP_RUN_INNER_UNSEEN);
        begin = end;
    }
}

// ---- runs ----

struct recorded {
    struct ggs_slot * slot;
    struct ends       ends;
    struct step *     steps;
    uint64_t          begin;
};

static bool open_run(struct recorded * r, const struct abi_graph * graph) {
    uint32_t most = (uint32_t) graph->n_nodes;
    *r            = (struct recorded){.ends = {.at = malloc(most * sizeof(*r->ends.at)), .most = most}};
    r->steps      = malloc(most * sizeof(*r->steps));
    if (r->ends.at != NULL && r->steps != NULL)
        r->slot = ggs_slot_open((uint32_t) ggs_in.run, graph, ggs_in.graph, NULL, 1);
    if (r->slot != NULL) write_inputs(r->slot, graph);
    return r->slot != NULL;
}

static void close_run(struct recorded * r, const struct abi_graph * graph, uint64_t threads, int status) {
    uint64_t lost = 0;
    if (r->slot != NULL) {
        bool one = r->ends.n <= r->ends.most && find_rule(r->steps, graph, r->ends.n, status != 0) != RULES;
        if (one) write_ops(r->slot, r->steps, &r->ends, r->begin);
        // Without ops the run is opaque, like a device's.
        ggs_journal_numbers(GGS_JOURNAL_RUN_THREADS, ggs_in.run, one ? threads : 0, ggs_slot_number(r->slot),
                            one ? GGS_RUN_NO_WAITS | GGS_RUN_FIRST_THREAD : 0, NULL);
        lost = ggs_slot_close(r->slot);
    }
    if (lost > 0) ggs_graph_run_lost(GGS_LOSS_SPACE, lost, r->begin);
    free(r->ends.at);
    free(r->steps);
}

static int compute(void * backend, struct abi_graph * graph, struct ggs_backend_context * context) {
    ggs_backend_compute * real    = ggs_backend_real();
    struct recorded       r       = {.slot = NULL};
    uint64_t              threads = context->n_threads > 0 ? (uint64_t) context->n_threads : 1;
    bool whole = ggs_in.run == 0 || ggs_in.graph == NULL || ggs_in.graph->n_nodes != (uint32_t) graph->n_nodes;
    if (whole || !open_run(&r, graph)) {
        int status = real(backend, graph);
        close_run(&r, graph, threads, status);
        return status;
    }
    r.ends.abort        = context->abort;
    r.ends.abort_data   = context->abort_data;
    context->abort      = on_node_done;
    context->abort_data = &r.ends;
    r.begin             = ggs_ticks_now();
    int status          = real(backend, graph);
    // The program may have replaced the callback during the run.
    if (context->abort == on_node_done && context->abort_data == &r.ends) {
        context->abort      = r.ends.abort;
        context->abort_data = r.ends.abort_data;
    }
    close_run(&r, graph, threads, status);
    return status;
}

int ggs_backend_record(void * backend, struct abi_graph * graph) {
    int                          state   = __atomic_load_n(&ggs_capture_state, __ATOMIC_RELAXED);
    struct ggs_backend_context * context = state == GGS_CAPTURE_OFF ? NULL : ggs_backend_context(backend);
    if (context == NULL || ggs_in.depth > 0) return ggs_backend_real()(backend, graph);
    if (!ggs_backend_proves_graph(graph)) {
        ggs_capture_disable("the program's ggml has no symbols, and its graphs are not laid out as expected: the "
                            "program runs on, nothing is recorded");
        return ggs_backend_real()(backend, graph);
    }
    // Each context of llama.cpp has a backend of its own, which stands for the scheduler that no
    // hook observes.
    const void * caller    = ggs_backend_engine();
    bool         outermost = ggs_in.schedule == 0;
    ggs_schedule_enter(backend, graph, caller);
    if (ggs_capture_recording()) ggs_existing_files(); // no hook observes the files it opens
    ggs_graph_run_enter(graph, NULL, caller);
    int status = compute(backend, graph, context);
    ggs_graph_run_leave(graph, status);
    ggs_schedule_leave(outermost, status);
    return status;
}
