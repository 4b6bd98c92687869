#include "capture/cpu/barrier.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/system/ticks.h"
#include "capture/cpu/ops.h"
#include "capture/memory/touched-pages.h"

enum { MOST_ENGINES = 16 };
enum { UNKNOWN, SEEN, HIDDEN };

// Entries are filled once and never change their engine.
static struct {
    _Atomic(void *) engine;
    _Atomic int     state;
} engines[MOST_ENGINES];

GGS_WITH_EVERY_OP bool ggs_barrier_hidden_;

static _Atomic int * state_of(void * engine) {
    for (unsigned i = 0; i < MOST_ENGINES; i++) {
        void * known = NULL;
        if (atomic_compare_exchange_strong(&engines[i].engine, &known, engine) || known == engine)
            return &engines[i].state;
    }
    return NULL; // treated as seen
}

bool ggs_barrier_is_hidden(const void * engine) {
    for (unsigned i = 0; i < MOST_ENGINES; i++)
        if (engines[i].engine == engine) return engines[i].state == HIDDEN;
    return false;
}

// On thread 0, after each node.
static _Bool on_node_done(void * data) {
    const struct ggs_barrier_watch * watch = data;
    ggs_op_ended();
    if (watch->alone && ggs_touched_pages_active()) {
        uint32_t run, node;
        ggs_op_current(&run, &node);
        ggs_touched_pages_emit(run, node);
    }
    return watch->abort != NULL && watch->abort(watch->abort_data);
}

bool ggs_barrier_watch(struct ggs_barrier_watch * watch, void * engine, struct abi_plan * plan) {
    _Atomic int * state = state_of(engine);
    if (state == NULL || *state == SEEN) return false;
    *watch           = (struct ggs_barrier_watch){engine, plan->abort, plan->abort_data, plan->n_threads == 1};
    plan->abort      = on_node_done;
    plan->abort_data = watch;
    return true;
}

bool ggs_barrier_unwatch(const struct ggs_barrier_watch * watch, struct abi_plan * plan) {
    _Atomic int *      state = state_of(watch->engine);
    struct ggs_op_ends ends  = ggs_op_ends();
    plan->abort              = watch->abort;
    plan->abort_data         = watch->abort_data;
    if (*state == UNKNOWN && ends.ended > 0) *state = ends.followed > 0 ? SEEN : HIDDEN;
    bool hidden = *state == HIDDEN;
    if (hidden) __atomic_store_n(&ggs_barrier_hidden_, true, __ATOMIC_RELAXED);
    return hidden;
}
