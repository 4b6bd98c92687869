// Several measurements of the same, and whether two series differ by more than noise.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Sorts a copy; NaN for none.
double ggs_sample_median(const double * values, unsigned n);

// B's median by A's, with its 95 % interval by bootstrap: rounds were measured one after the other,
// so their pairs are drawn together. The same values give the same interval.
struct ggs_ratio {
    double value, low, high; // NaN: not known
};
struct ggs_ratio ggs_sample_ratio(const double * a, const double * b, unsigned n);
// The same with an interval of this confidence, such as 0.99.
struct ggs_ratio ggs_sample_ratio_within(const double * a, const double * b, unsigned n, double confidence);

// The 95 % interval of a median by order statistics: no assumption about how values are spread.
// With fewer than six values the interval is the range of all of them, and `confidence` is less
// than 0.95 (five values: 0.9375). NaN for none.
struct ggs_median {
    double median, low, high;
    double confidence;
};
struct ggs_median ggs_sample_interval(const double * values, unsigned n);

// Is the change more than noise? Its interval leaves out 1, and the change itself lies beyond what
// the same thing measured twice shows.
bool ggs_ratio_differs(const struct ggs_ratio * ratio, const struct ggs_ratio * control);
