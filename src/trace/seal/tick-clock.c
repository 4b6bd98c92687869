#include "trace/seal/tick-clock.h"

#include "base/search.h"
#include "base/system/ticks.h"

enum { SPACING_NS = 100000000, SHARE = 512 };

void ggs_clock_init(struct ggs_clock * clock) {
    *clock = (struct ggs_clock){0};
}

void ggs_clock_anchor(struct ggs_clock * clock, uint64_t ticks, uint64_t monotonic_ns) {
    if (clock->n_anchors > 0 && (ticks <= clock->last.ticks || monotonic_ns <= clock->last.ns)) return;
    clock->last = (struct ggs_anchor){ticks, monotonic_ns};
    if (clock->n_anchors > 0) {
        uint64_t since = monotonic_ns - clock->anchors[clock->n_anchors - 1].ns;
        if (since < SPACING_NS || since < (monotonic_ns - clock->anchors[0].ns) / SHARE) return;
    }
    // One place stays free for the last anchor.
    if (clock->n_anchors < GGS_CLOCK_ANCHORS - 1) clock->anchors[clock->n_anchors++] = clock->last;
}

// A process that was killed before its first graph run left a single anchor. Spools are read on the
// machine that wrote them, so the present time serves as a second anchor unless the machine was
// restarted.
static void anchor_now(struct ggs_clock * clock) {
    struct ggs_anchor now = {ggs_ticks_counter(), ggs_clock_now()};
    if (now.ticks <= clock->last.ticks || now.ns <= clock->last.ns) return;
    // or it is another counter
    if (ggs_ticks_plausible(now.ticks - clock->last.ticks, now.ns - clock->last.ns)) clock->last = now;
}

void ggs_clock_finish(struct ggs_clock * clock, uint64_t start_ns) {
    if (clock->n_anchors == 1 && clock->last.ticks == clock->anchors[0].ticks && !clock->tick_is_ns) anchor_now(clock);
    if (clock->n_anchors == 0)
        clock->anchors[clock->n_anchors++] = (struct ggs_anchor){0, start_ns};
    else if (clock->last.ticks != clock->anchors[clock->n_anchors - 1].ticks)
        clock->anchors[clock->n_anchors++] = clock->last;
    clock->start_ns = start_ns != 0 ? start_ns : clock->anchors[0].ns;
}

// Uses the piece from anchor `first` to the next one. The outermost pieces have no end.
static void use(struct ggs_clock * clock, uint32_t first) {
    const struct ggs_anchor * a = &clock->anchors[first];
    clock->base_ticks           = a->ticks;
    clock->base_ns              = a->ns;
    clock->from_ticks           = a->ticks;
    clock->to_ticks             = UINT64_MAX;
    clock->rate                 = 1ull << 40;
    if (first + 1 >= clock->n_anchors) return;
    unsigned __int128 rate = ((unsigned __int128) (a[1].ns - a->ns) << 40) / (a[1].ticks - a->ticks);
    // More than 2^16 ns per tick is damage; the bound keeps the products within 128 bits.
    clock->rate = rate > 1ull << 56 ? 1ull << 56 : (uint64_t) rate;
    if (first + 2 < clock->n_anchors && !(clock->limited && first == clock->limit)) clock->to_ticks = a[1].ticks;
}

// Finds the piece that contains the ticks.
static uint32_t find(const struct ggs_clock * clock, uint64_t ticks) {
    uint32_t at = (uint32_t) ggs_search(clock->n_anchors, i, clock->anchors[i].ticks <= ticks);
    if (at > 0) at--; // the last anchor at or before `ticks`
    return at + 1 == clock->n_anchors && at > 0 ? at - 1 : at;
}

void ggs_clock_reach(struct ggs_clock * clock, uint64_t ticks) {
    if (clock->limited && (clock->limit + 2 >= clock->n_anchors || ticks < clock->anchors[clock->limit + 1].ticks))
        return;
    uint32_t at = find(clock, ticks);
    if (clock->limited && at <= clock->limit) return;
    clock->limited    = true;
    clock->limit      = at;
    clock->from_ticks = clock->to_ticks = 0; // the last piece may have changed
}

int64_t ggs_clock_slow(struct ggs_clock * clock, uint64_t ticks) {
    uint32_t at = find(clock, ticks);
    if (clock->limited && at > clock->limit) at = clock->limit;
    use(clock, at);
    if (ticks >= clock->from_ticks && ticks < clock->to_ticks) return ggs_clock_ns(clock, ticks);
    if (ticks >= clock->to_ticks) return INT64_MAX; // beyond all pieces
    unsigned __int128 before = ((unsigned __int128) (clock->base_ticks - ticks) * clock->rate + (1ull << 39)) >> 40;
    uint64_t          ns     = before < clock->base_ns ? clock->base_ns - (uint64_t) before : 0;
    return ns < clock->start_ns ? 0 : (int64_t) ((ns - clock->start_ns) & INT64_MAX);
}
