#include "trace/join/clocks.h"

#include <math.h>
#include <stddef.h>

int64_t ggs_clock_line_map(const struct ggs_clock_line * line, int64_t ns) {
    double drift = (double) (ns - line->origin_ns) * (double) line->drift_ppb / 1e9;
    return ns + line->offset_ns + (int64_t) floor(drift);
}

struct ggs_clock_line ggs_clock_line_after(const struct ggs_clock_line * first, const struct ggs_clock_line * then) {
    int64_t origin = ggs_clock_line_map(first, first->origin_ns);
    return (struct ggs_clock_line){
        .origin_ns = first->origin_ns,
        .offset_ns = first->offset_ns + ggs_clock_line_map(then, origin) - origin,
        .drift_ppb = first->drift_ppb + then->drift_ppb,
        .error_ns  = first->error_ns < 0 || then->error_ns < 0 ? -1 : first->error_ns + then->error_ns};
}

struct ggs_clock_line ggs_clock_line_inverse(const struct ggs_clock_line * line) {
    return (struct ggs_clock_line){.origin_ns = line->origin_ns + line->offset_ns,
                                   .offset_ns = -line->offset_ns,
                                   .drift_ppb = -line->drift_ppb, // its error is of second order
                                   .error_ns  = line->error_ns};
}

// ---- fitting ----

// Bounds relative to `zero`, so that doubles represent them exactly.
struct view {
    const struct ggs_clock_bound * bounds;
    uint64_t                       n;
    int64_t                        zero, at;
};

// The interval that all bounds leave at that time for lines of this slope.
static double least(const struct view * v, double slope) {
    double most = -INFINITY;
    for (uint64_t i = 0; i < v->n; i++)
        most = fmax(most, (double) (v->bounds[i].least_ns - v->zero) - slope * (double) (v->bounds[i].at_ns - v->at));
    return most;
}

static double most(const struct view * v, double slope) {
    double least_ = INFINITY;
    for (uint64_t i = 0; i < v->n; i++)
        least_ =
            fmin(least_, (double) (v->bounds[i].most_ns - v->zero) - slope * (double) (v->bounds[i].at_ns - v->at));
    return least_;
}

static double room(const struct view * v, double slope) {
    return most(v, slope) - least(v, slope);
}

static double less(const struct view * v, double slope) {
    return -least(v, slope);
}

enum { ROUNDS = 60 };

// Finds the maximum of a concave function.
static double largest(const struct view * v, double (*of)(const struct view * v, double slope), double low,
                      double high) {
    for (int i = 0; i < ROUNDS; i++) {
        double a = low + (high - low) / 3, b = high - (high - low) / 3;
        if (of(v, a) < of(v, b))
            low = a;
        else
            high = b;
    }
    return (low + high) / 2;
}

// Bisects between a slope that fits and one that does not; returns the last that fits.
static double edge(const struct view * v, double inside, double beyond) {
    if (room(v, beyond) >= 0) return beyond;
    for (int i = 0; i < ROUNDS; i++) {
        double middle = (inside + beyond) / 2;
        if (room(v, middle) >= 0)
            inside = middle;
        else
            beyond = middle;
    }
    return inside;
}

// The largest distance of a fitting line from `value` at that time.
static double reach(struct view v, int64_t at, double low, double high, double value) {
    v.at         = at;
    double above = most(&v, largest(&v, most, low, high)), below = least(&v, largest(&v, less, low, high));
    return fmax(above - value, value - below);
}

bool ggs_clocks_fit(const struct ggs_clock_bound * bounds, uint64_t n, int64_t begin_ns, int64_t end_ns,
                    struct ggs_clock_line * line) {
    const double steepest = GGS_DRIFT_MOST_PPB / 1e9;
    if (n == 0) return false;
    struct view v    = {bounds, n, bounds[0].least_ns, begin_ns};
    double      best = largest(&v, room, -steepest, steepest);
    if (room(&v, best) < 0) return false;
    double low = edge(&v, best, -steepest), high = edge(&v, best, steepest);
    double slope = round((low + high) / 2 * 1e9) / 1e9;
    if (room(&v, slope) < 0) slope = best;
    double value = (most(&v, slope) + least(&v, slope)) / 2;
    double span  = (double) (end_ns - begin_ns);
    double error = fmax(reach(v, begin_ns, low, high, value), reach(v, end_ns, low, high, value + slope * span));
    *line        = (struct ggs_clock_line){.origin_ns = begin_ns,
                                           .offset_ns = v.zero + (int64_t) llround(value),
                                           .drift_ppb = (int64_t) llround(slope * 1e9),
                                           .error_ns  = (int64_t) ceil(error + span / 1e9) + 1}; // the slope is rounded
    return true;
}
