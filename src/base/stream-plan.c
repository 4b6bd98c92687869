#include "base/stream-plan.h"

enum { LEAST_RING = 1 << 20, SMALL_CHUNK = 64 << 10, HUGE_CHUNK = 2 << 20, MOST_CHUNKS = 16 };

static const uint64_t MIB    = 1 << 20;
static const double   AGEING = 0.97, LARGE = 1e100, NEARLY_ALL = 0.8;

uint64_t ggs_stream_reserve(uint64_t limit) {
    uint64_t share = limit / 32;
    return 8 * MIB + (share < 256 * MIB ? share : 256 * MIB);
}

// Returns the size of the ring: large enough to keep the disk busy with the next reads, small
// compared to what could be kept instead. The largest weights are kept if possible, so that the
// ring need not hold them. 0: `budget` is too small.
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

// Returns the bytes that a prompt needs for one weight beyond its slots; for two weights if that is
// cheap, so that one is read while the other is in use.
static uint64_t spare_for(const struct ggs_stream_plan * plan, uint64_t slots, uint64_t budget) {
    if (plan->largest_experts == 0 || slots >= plan->all_slots) return 0;
    uint64_t one = (uint64_t) ((double) plan->largest_experts * (1 - (double) slots / (double) plan->all_slots)) + MIB;
    return 2 * one <= budget / 8 ? 2 * one : one;
}

static bool divide(struct ggs_stream_plan * plan, uint64_t budget, uint64_t least) {
    uint64_t dense = dense_above(plan, 0) - dense_above(plan, plan->mapped_above), slots = least;
    for (int i = 0; i < 3; i++) { // more slots need less spare memory
        plan->ring  = 0;
        plan->spare = spare_for(plan, slots, budget);
        if (least + plan->spare >= budget) return false;
        uint64_t rest = budget - least - plan->spare;
        if (plan->largest_experts == 0 || dense > rest) {
            plan->ring = ring_for_dense(plan, rest);
            if (plan->ring < LEAST_RING || plan->ring > rest) return false;
        }
        plan->kept  = rest - plan->ring;
        plan->slots = least;
        slots       = least + (plan->kept > dense && least > 0 ? plan->kept - dense : 0);
    }
    return true;
}

// Estimates what a token reads: dense weights that are not kept, and experts without a slot. A few
// slots hold about twice their share, because tokens choose some experts more often.
static double bytes_per_token(const struct ggs_stream_plan * plan) {
    double dense = (double) (dense_above(plan, 0) - dense_above(plan, plan->mapped_above)), kept = (double) plan->kept;
    double slots = plan->slots == 0 ? 0 : (double) plan->slots + (kept > dense ? kept - dense : 0);
    double read  = kept < dense ? dense - kept : 0;
    if (2 * slots < (double) plan->all_slots)
        read += (double) plan->least_slots * (1 - 2 * slots / (double) plan->all_slots);
    return read;
}

// Few slots hold few of the experts that a token chooses. Where they displace dense weights, which
// every token reads, memory is better used without them.
static bool divide_somehow(struct ggs_stream_plan * plan, uint64_t budget) {
    struct ggs_stream_plan without = *plan;
    bool                   slots   = divide(plan, budget, plan->least_slots);
    if (plan->least_slots == 0 || (slots && plan->ring == 0)) return slots;
    if (!divide(&without, budget, 0) || (slots && bytes_per_token(plan) <= bytes_per_token(&without))) return slots;
    *plan = without;
    return true;
}

bool ggs_stream_plan(struct ggs_stream_plan * plan, uint64_t budget) {
    plan->mapped_above = UINT64_MAX;
    if (divide_somehow(plan, budget)) return true;
    // A weight larger than memory, usually the output matrix, is read through the page cache, which
    // needs a share.
    plan->mapped_above = budget / 2;
    uint64_t mapped = dense_above(plan, plan->mapped_above), all = dense_above(plan, 0) + plan->least_slots;
    return mapped > 0 && mapped <= all / 4 && divide_somehow(plan, budget - budget / 4);
}

// Returns the size of chunks of which a weight needs 8 to 16, with the least memory left unused.
static uint64_t chunk_for(uint64_t bytes, uint64_t granule) {
    uint64_t chunk = 0, least = UINT64_MAX;
    for (uint64_t n = MOST_CHUNKS / 2; n <= MOST_CHUNKS; n++) {
        uint64_t size = (bytes + n * granule - 1) / (n * granule) * granule;
        if (n * size < least) {
            least = n * size;
            chunk = size;
        }
    }
    return chunk;
}

struct ggs_stream_chunks ggs_stream_chunks(uint64_t spare, uint64_t least) {
    struct ggs_stream_chunks c = {.granule = spare >= MOST_CHUNKS / 2 * HUGE_CHUNK ? HUGE_CHUNK : SMALL_CHUNK};
    if (least == 0) return c;
    c.bytes       = chunk_for(least, c.granule);
    uint64_t each = (least + c.bytes - 1) / c.bytes, all = spare + spare / 8 >= 2 * least ? 2 * each : each;
    c.n = spare / c.bytes < all ? all : spare / c.bytes;
    return c;
}

bool ggs_stream_nearly_all(uint64_t n, uint64_t used, uint64_t tokens) {
    double none = 1; // probability that an expert is not chosen
    for (uint64_t i = 0; i < tokens && none > 1 - NEARLY_ALL; i++) none *= 1 - (double) used / (double) n;
    return none <= 1 - NEARLY_ALL;
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
