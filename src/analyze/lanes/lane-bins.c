#include "analyze/lanes/lane-bins.h"

#include <stddef.h>
#include <stdlib.h>

#include "analyze/walk/times.h"
#include "base/error.h"

int ggs_lane_bins_init(struct ggs_lane_bins * bins, uint64_t lanes, int64_t begin_ns, int64_t end_ns, unsigned level,
                       struct ggs_error * error) {
    int64_t first = begin_ns >> level, last = (end_ns - 1) >> level;
    *bins = (struct ggs_lane_bins){
        .begin_ns = first << level, .level = level, .n_lanes = lanes, .n = (uint64_t) (last - first) + 1};
    bins->bins = calloc(lanes * bins->n + 1, sizeof(*bins->bins));
    bins->most = calloc(lanes * bins->n + 1, sizeof(*bins->most));
    if (bins->bins != NULL && bins->most != NULL) return 0;
    ggs_lane_bins_release(bins);
    return ggs_fail_memory(error);
}

void ggs_lane_bins_release(struct ggs_lane_bins * bins) {
    free(bins->bins);
    free(bins->most);
    *bins = (struct ggs_lane_bins){0};
}

// Clips [from, to) to the bins; returns the first bin and the one after the last.
static bool reach(const struct ggs_lane_bins * bins, int64_t from, int64_t to, uint64_t * first, uint64_t * last) {
    int64_t end = bins->begin_ns + (int64_t) (bins->n << bins->level);
    if (from < bins->begin_ns) from = bins->begin_ns;
    if (to > end) to = end;
    if (from >= to) return false;
    *first = (uint64_t) (from - bins->begin_ns) >> bins->level;
    *last  = ((uint64_t) (to - 1 - bins->begin_ns) >> bins->level) + 1;
    return true;
}

// The part of [from, to) within the bin.
static double inside(const struct ggs_lane_bins * bins, uint64_t bin, int64_t from, int64_t to) {
    int64_t begin = bins->begin_ns + (int64_t) (bin << bins->level), end = begin + (1ll << bins->level);
    return (double) ((to < end ? to : end) - (from > begin ? from : begin));
}

static void spread_part(struct ggs_lane_bins * bins, uint64_t lane, int64_t from, int64_t to, size_t member,
                        double part) {
    uint64_t first, last;
    if (!reach(bins, from, to, &first, &last)) return;
    for (uint64_t i = first; i < last; i++)
        *(double *) (void *) ((char *) &bins->bins[lane * bins->n + i] + member) += part * inside(bins, i, from, to);
}

static void spread(struct ggs_lane_bins * bins, uint64_t lane, int64_t from, int64_t to, size_t member) {
    spread_part(bins, lane, from, to, member, 1);
}

void ggs_lane_bins_add(struct ggs_lane_bins * bins, uint64_t lane, const struct ggs_op_run * op) {
    // The times of waits inside an op are unknown: they count at its end.
    int64_t  end  = ggs_time_after(op->begin_ns, op->duration_ns);
    int64_t  done = ggs_time_after(op->begin_ns, ggs_op_run_busy(op)), after = ggs_time_after(end, op->wait_ns);
    uint64_t first, last;
    spread(bins, lane, op->begin_ns, done, offsetof(struct ggs_lane_bin, busy_ns));
    spread(bins, lane, done, after, offsetof(struct ggs_lane_bin, wait_ns));
    if (reach(bins, op->begin_ns, op->begin_ns + 1, &first, &last)) bins->bins[lane * bins->n + first].count++;
    if (!reach(bins, op->begin_ns, end > op->begin_ns ? end : op->begin_ns + 1, &first, &last)) return;
    for (uint64_t i = first; i < last; i++) {
        struct ggs_lane_bin * bin  = &bins->bins[lane * bins->n + i];
        double                part = inside(bins, i, op->begin_ns, end), *most = &bins->most[lane * bins->n + i];
        if (bin->longest_run != 0 && part < *most) continue;
        *most             = part;
        bin->longest_ns   = (double) op->duration_ns;
        bin->longest_run  = op->run;
        bin->longest_node = op->node;
    }
}

void ggs_lane_bins_stall(struct ggs_lane_bins * bins, uint64_t lane, int64_t begin_ns, uint64_t duration_ns) {
    spread(bins, lane, begin_ns, ggs_time_after(begin_ns, duration_ns), offsetof(struct ggs_lane_bin, stalled_ns));
}

void ggs_lane_bins_disk_wait(struct ggs_lane_bins * bins, uint64_t lane, int64_t begin_ns, int64_t end_ns,
                             uint64_t wait_ns) {
    if (end_ns > begin_ns)
        spread_part(bins, lane, begin_ns, end_ns, offsetof(struct ggs_lane_bin, disk_wait_ns),
                    (double) wait_ns / (double) (end_ns - begin_ns));
}
