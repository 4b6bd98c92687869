#include "analyze/walk/time-bins.h"

void ggs_time_bins_add(const struct ggs_time_bins * bins, int64_t from_ns, int64_t to_ns, double amount) {
    double last  = (double) bins->n;
    double width = ((double) bins->end_ns - (double) bins->begin_ns) / last;
    double a     = ((double) from_ns - (double) bins->begin_ns) / width;
    double b     = ((double) to_ns - (double) bins->begin_ns) / width;
    if (b < a + 1e-6) b = a + 1e-6; // an instant
    if (!(amount > 0) || b <= 0 || a >= last) return;
    double each = amount / (b - a), at = a < 0 ? 0 : a, stop = b > last ? last : b;
    while (at < stop) {
        uint64_t bin  = (uint64_t) at;
        double   next = (double) (bin + 1);
        if (bin >= bins->n) return;
        if (next > stop) next = stop;
        *(double *) (void *) ((char *) bins->first + bin * bins->stride) += each * (next - at);
        at = next;
    }
}
