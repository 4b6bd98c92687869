#include "analyze/diff/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RESAMPLES = 2000, MOST = 1000 };

static int ascending(const void * left, const void * right) {
    double a = *(const double *) left, b = *(const double *) right;
    return a < b ? -1 : a > b;
}

static double median_of(double * values, unsigned n) {
    qsort(values, n, sizeof(*values), ascending);
    return n % 2 != 0 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double ggs_sample_median(const double * values, unsigned n) {
    double copy[MOST];
    if (n == 0 || n > MOST) return NAN;
    for (unsigned i = 0; i < n; i++) {
        if (isnan(values[i])) return NAN;
    }
    memcpy(copy, values, n * sizeof(*values));
    return median_of(copy, n);
}

static uint32_t draw(uint64_t * state) { // an LCG suffices to pick rounds
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t) (*state >> 33);
}

static double divide(double b, double a) {
    return a == b ? 1 : b / a;
}

struct ggs_ratio ggs_sample_ratio_within(const double * a, const double * b, unsigned n, double confidence) {
    double           ratios[RESAMPLES], x[MOST], y[MOST];
    uint64_t         state = 1;
    double           one = ggs_sample_median(a, n), other = ggs_sample_median(b, n);
    struct ggs_ratio ratio = {NAN, NAN, NAN};
    if (isnan(one) || isnan(other)) return ratio;
    for (unsigned r = 0; r < RESAMPLES; r++) {
        for (unsigned i = 0; i < n; i++) {
            unsigned pick = draw(&state) % n;
            x[i] = a[pick], y[i] = b[pick];
        }
        ratios[r] = divide(median_of(y, n), median_of(x, n));
    }
    qsort(ratios, RESAMPLES, sizeof(*ratios), ascending);
    unsigned outside = (unsigned) lround(RESAMPLES * (1 - confidence) / 2);
    ratio            = (struct ggs_ratio){divide(other, one), ratios[outside], ratios[RESAMPLES - 1 - outside]};
    return ratio;
}

struct ggs_ratio ggs_sample_ratio(const double * a, const double * b, unsigned n) {
    return ggs_sample_ratio_within(a, b, n, 0.95);
}

// The median lies between the k-th smallest and the k-th largest of n values unless fewer than k of
// them are on one side of it: a binomial with p = 1/2. Uses the largest k that covers.
struct ggs_median ggs_sample_interval(const double * values, unsigned n) {
    double            copy[MOST];
    struct ggs_median interval = {NAN, NAN, NAN, NAN};
    interval.median            = ggs_sample_median(values, n);
    if (isnan(interval.median)) return interval;
    memcpy(copy, values, n * sizeof(*values));
    qsort(copy, n, sizeof(*copy), ascending);
    double   log_term = -(double) n * log(2), below = exp(log_term); // P(0 of n), then P(at most k - 1)
    unsigned k          = 1;
    interval.confidence = 1 - 2 * below;
    while (2 * k < n) {
        log_term += log((double) (n - k + 1)) - log((double) k);
        if (1 - 2 * (below + exp(log_term)) < 0.95) break;
        below += exp(log_term);
        interval.confidence = 1 - 2 * below;
        k++;
    }
    interval.low = copy[k - 1], interval.high = copy[n - k];
    return interval;
}

bool ggs_ratio_differs(const struct ggs_ratio * ratio, const struct ggs_ratio * control) {
    if (isnan(ratio->value)) return false;
    bool leaves_out = ratio->low > 1 || ratio->high < 1;
    bool beyond     = isnan(control->value) || ratio->value > control->high || ratio->value < control->low;
    return leaves_out && beyond;
}
