// Repeated measurements, and whether two series differ by more than noise.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Sorts a copy; NaN without values.
double ggs_sample_median(const double * values, unsigned n);

// B's median divided by A's, with its 95 % interval by bootstrap. Rounds were measured in pairs, so
// pairs are drawn together. Deterministic.
struct ggs_ratio {
    double value, low, high; // NaN: unknown
};
struct ggs_ratio ggs_sample_ratio(const double * a, const double * b, unsigned n);
// The same with an interval of this confidence, such as 0.99.
struct ggs_ratio ggs_sample_ratio_within(const double * a, const double * b, unsigned n, double confidence);

// The 95 % interval of a median by order statistics, without assumptions about the distribution.
// With fewer than six values the interval is their range, and `confidence` is below 0.95 (five
// values: 0.9375). NaN without values.
struct ggs_median {
    double median, low, high;
    double confidence;
};
struct ggs_median ggs_sample_interval(const double * values, unsigned n);

// True if the change exceeds noise: its interval excludes 1, and it lies beyond the control, the
// same thing measured twice.
bool ggs_ratio_differs(const struct ggs_ratio * ratio, const struct ggs_ratio * control);
