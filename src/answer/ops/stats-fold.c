// Folds rows by token: several tokens per row for recordings with thousands of them.
#include "answer/ops/stats.h"

static int64_t folded(int64_t token, uint64_t per_row) {
    return token < 0 ? token : token - token % (int64_t) per_row;
}

static void fold_groups(struct ggs_groups * groups, uint64_t per_row) {
    uint64_t n = 0;
    for (uint64_t i = 0; i < groups->n; i++) { // in order of numbers: tokens of one row are adjacent
        struct ggs_group one = groups->group[i];
        one.order            = folded(one.order, per_row);
        if (n == 0 || groups->group[n - 1].order != one.order) {
            groups->group[n++] = one;
            continue;
        }
        struct ggs_group * row = &groups->group[n - 1];
        row->ops += one.ops, row->op_runs += one.op_runs, row->untimed += one.untimed;
        row->wall_ns += one.wall_ns, row->busy_ns += one.busy_ns, row->wait_ns += one.wait_ns;
        row->read += one.read, row->written += one.written, row->disk += one.disk;
        row->opaque = row->opaque || one.opaque, row->unwaited = row->unwaited || one.unwaited;
        row->on_device = row->on_device || one.on_device;
    }
    groups->n = n;
}

static void fold_faults(struct ggs_fault_groups * groups, uint64_t per_row) {
    uint64_t n = 0;
    for (uint64_t i = 0; i < groups->n; i++) {
        struct ggs_fault_group one = groups->group[i];
        one.order                  = folded(one.order, per_row);
        if (n == 0 || groups->group[n - 1].order != one.order) {
            groups->group[n++] = one;
            continue;
        }
        struct ggs_fault_sum * sum = &groups->group[n - 1].sum;
        sum->minor += one.sum.minor, sum->major += one.sum.major, sum->open += one.sum.open;
        sum->stalled_ns += one.sum.stalled_ns;
    }
    groups->n = n;
}

static void fold_requests(struct ggs_request_totals * requests, uint64_t per_row) {
    uint64_t n = 0;
    for (uint64_t i = 0; i < requests->n_by_token; i++) {
        struct ggs_request_group one = requests->by_token[i];
        one.order                    = folded(one.order, per_row);
        if (n == 0 || requests->by_token[n - 1].order != one.order) {
            requests->by_token[n++] = one;
            continue;
        }
        requests->by_token[n - 1].sum.requests += one.sum.requests;
        requests->by_token[n - 1].sum.bytes += one.sum.bytes;
    }
    requests->n_by_token = n;
}

void ggs_stats_fold(struct ggs_stats * stats, uint64_t per_row) {
    if (per_row < 2) return;
    fold_groups(&stats->groups[GGS_BY_TOKEN], per_row);
    fold_faults(&stats->faults.by_token, per_row);
    fold_requests(&stats->requests, per_row);
    // A row takes its last snapshot.
    for (uint64_t i = 0; i < stats->resident.n; i++)
        stats->resident.snapshot[i].step = folded(stats->resident.snapshot[i].step, per_row);
}
