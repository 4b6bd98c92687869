#include "base/stream-plan.h"

enum { LEAST_RING = 1 << 20 };

static const uint64_t MIB    = 1 << 20;
static const double   AGEING = 0.97, LARGE = 1e100;

uint64_t ggs_stream_reserve(uint64_t limit) {
    uint64_t share = limit / 32;
    return 8 * MIB + (share < 256 * MIB ? share : 256 * MIB);
}

// The ring: large enough for what goes through it while the disk is busy with what comes next, small beside what could be kept instead.
// The largest weights are kept if they can be, so that it need not hold them. 0 if `budget` is too little.
static uint64_t ring_for_dense(const struct ggs_stream_plan * plan, uint64_t budget) {
    uint64_t ring = budget / 5 < 24 * MIB ? budget / 5 : 24 * MIB, large = 0, largest = 0;
    for (uint64_t i = 0; i < plan->n_dense; i++) {
        if (plan->dense[i] > plan->mapped_above) continue;
        if (2 * plan->dense[i] > ring) large += plan->dense[i];
        if (plan->dense[i] > largest) largest = plan->dense[i];
    }
    if (large <= budget - ring) return ring;
    if (2 * largest <= budget / 2) return 2 * largest;
    return largest <= budget - budget / 8 ? largest : 0;
}

static uint64_t dense_above(const struct ggs_stream_plan * plan, uint64_t least) {
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < plan->n_dense; i++) bytes += plan->dense[i] > least ? plan->dense[i] : 0;
    return bytes;
}

static bool divide(struct ggs_stream_plan * plan, uint64_t budget, uint64_t slots) {
    plan->ring = plan->whole = 0;
    if (plan->largest_experts > 0) { // two weights at a time if that is little beside the slots it is lent from
        uint64_t one = plan->largest_experts + MIB;
        plan->whole  = 2 * one <= budget / 3 ? 2 * one : one;
        if (slots < plan->whole) slots = plan->whole;
    }
    if (slots >= budget) return false;
    uint64_t dense = dense_above(plan, 0) - dense_above(plan, plan->mapped_above);
    if (plan->largest_experts == 0 || dense + slots > budget) {
        plan->ring = ring_for_dense(plan, budget - slots);
        if (plan->ring < LEAST_RING || slots + plan->ring > budget) return false;
    }
    plan->kept  = budget - plan->ring - slots;
    plan->slots = slots;
    return true;
}

static bool divide_somehow(struct ggs_stream_plan * plan, uint64_t budget) {
    plan->shared = false;
    if (divide(plan, budget, plan->least_slots)) return true;
    plan->shared = GGS_STREAM_SHARES * plan->most_slots < plan->least_slots;
    return plan->shared && divide(plan, budget, GGS_STREAM_SHARES * plan->most_slots);
}

bool ggs_stream_plan(struct ggs_stream_plan * plan, uint64_t budget) {
    plan->mapped_above = UINT64_MAX;
    if (divide_somehow(plan, budget)) return true;
    // A weight that memory cannot hold, the output matrix mostly, comes through the page cache, which needs some for it.
    plan->mapped_above = budget / 2;
    uint64_t mapped = dense_above(plan, plan->mapped_above), all = dense_above(plan, 0) + plan->least_slots;
    return mapped > 0 && mapped <= all / 4 && divide_somehow(plan, budget - budget / 4);
}

bool ggs_stream_one_more(uint64_t rest, uint64_t * used, uint64_t i, uint64_t n, uint64_t bytes) {
    if (*used + bytes > rest / n * (i + 1)) return false;
    *used += bytes;
    return true;
}

void ggs_stream_age(double * weight, double * scores, uint64_t n) {
    *weight /= AGEING;
    if (*weight < LARGE) return;
    for (uint64_t i = 0; i < n; i++) scores[i] /= *weight;
    *weight = 1;
}
