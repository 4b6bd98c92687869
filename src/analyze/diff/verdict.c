#include "analyze/diff/verdict.h"

#include <math.h>
#include <stdbool.h>

enum { FEW = 5 };

// 1: slower, -1: faster, 0: the medians are within the spread.
static int judge_medians(const struct ggs_quartiles * a, const struct ggs_quartiles * b) {
    double n          = (double) (a->n < b->n ? a->n : b->n);
    double difference = b->median - a->median, least = fmin(a->median, b->median);
    double spread = fmax(a->high - a->low, b->high - b->low) * (1 + 8 / n);
    if (fabs(difference) <= spread || fabs(difference) < 0.03 * least || fabs(difference) < 100) return 0;
    return difference > 0 ? 1 : -1;
}

enum ggs_verdict ggs_verdict_of(const struct ggs_measured * a, const struct ggs_measured * b, uint64_t whole_ns) {
    const struct ggs_quartiles *x = &a->time, *y = &b->time;
    if (x->median == y->median && x->low == y->low && x->high == y->high && x->n == y->n && a->sum_ns == b->sum_ns)
        return GGS_SAME;
    if (x->n < FEW || y->n < FEW) return GGS_UNCERTAIN;
    // By mean, because the counts may differ.
    double n      = (double) (x->n < y->n ? x->n : y->n);
    double mean_a = (double) a->sum_ns / (double) x->n, mean_b = (double) b->sum_ns / (double) y->n;
    double difference = mean_b - mean_a, least = fmin(mean_a, mean_b);
    int    typical = judge_medians(x, y), sum = difference > 0 ? 1 : difference < 0 ? -1 : 0;
    bool   clear =
        fabs(difference) >= 0.5 * least && fabs(difference) * n >= 0.01 * (double) whole_ns && fabs(difference) >= 100;
    if (typical == 0 ? !clear : fabs(difference) < 0.03 * least) return GGS_WITHIN_NOISE;
    if (typical == sum) return sum > 0 ? GGS_SLOWER : GGS_FASTER;
    // The typical value moved as far as the mean, although within its spread: not caused by a few
    // values.
    if (typical == 0 && (y->median - x->median) / difference > 0.5) return sum > 0 ? GGS_SLOWER : GGS_FASTER;
    return sum > 0 ? GGS_STALLS : GGS_FEWER_STALLS;
}
