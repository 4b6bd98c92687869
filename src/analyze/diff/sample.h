// Several measurements of the same, and whether two series differ by more than noise.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Sorts a copy; NaN for none.
double ggs_sample_median(const double * values, unsigned n);

// B's median by A's, with its 95 % interval by bootstrap: rounds were measured one after the other, so their pairs are drawn together. The
// same values give the same interval.
struct ggs_ratio {
    double value, low, high; // NaN: not known
};
struct ggs_ratio ggs_sample_ratio(const double * a, const double * b, unsigned n);

// Is the change more than noise? Its interval leaves out 1, and the change itself lies beyond what the same thing measured twice shows.
bool ggs_ratio_differs(const struct ggs_ratio * ratio, const struct ggs_ratio * control);
