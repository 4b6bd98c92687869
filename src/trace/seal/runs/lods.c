#include "trace/seal/runs/lods.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { OP_RUNS_PER_BIN = 40, BINS_AT_TOP = 16, MOST_EMPTY = 1 << 20, CREDIT = 8, SKEW_NS = 1000 };

static void set_level(struct ggs_lods * lods, uint64_t op_runs, uint64_t span_ns, uint64_t lanes) {
    uint64_t runs  = op_runs / (lanes == 0 ? 1 : lanes) / OP_RUNS_PER_BIN; // most bins of a lane
    uint64_t width = span_ns / (runs == 0 ? 1 : runs);
    lods->level    = 10;
    while (lods->level < 60 && 1ull << lods->level < width) lods->level++;
}

// Number of levels for a recording of that length.
static unsigned count_levels(const struct ggs_lods * lods, uint64_t span_ns) {
    unsigned levels = 1;
    while (levels < GGS_LOD_LEVELS && span_ns >> (lods->level + GGS_LOD_SHIFT * levels) > BINS_AT_TOP) levels++;
    return levels;
}

void ggs_lods_init(struct ggs_lods * lods, struct ggs_writer * writer, const struct ggs_devices * devices,
                   uint64_t op_runs, uint64_t span_ns, uint64_t lanes) {
    *lods          = (struct ggs_lods){.writer = writer, .devices = devices, .credit = MOST_EMPTY, .span_ns = span_ns};
    lods->limit_ns = span_ns > INT64_MAX / 4 ? INT64_MAX / 2 : 2 * (int64_t) span_ns;
    set_level(lods, op_runs, span_ns, lanes);
    lods->levels = count_levels(lods, span_ns);
    for (unsigned i = 0; i < GGS_LOD_LEVELS; i++) lods->waiting[i].schema = ggs_trace_schema(GGS_TABLE_LOD);
}

void ggs_lods_leave_open(struct ggs_lods * lods) {
    lods->open = true;
}

static void add(struct ggs_lods * lods, struct ggs_lod_lane * lane, const struct ggs_op_run * op);

static void close_level(struct ggs_lods * lods) {
    lods->open = false;
    for (size_t i = 0; i < lods->n_early; i++) add(lods, &lods->lanes[lods->early[i].lane], &lods->early[i].op);
    free(lods->early);
    lods->early   = NULL;
    lods->n_early = lods->early_capacity = 0;
}

void ggs_lods_choose(struct ggs_lods * lods) {
    int64_t  first = INT64_MAX, last = 0;
    uint64_t lanes = 0;
    if (!lods->open) return;
    bool * seen = calloc(lods->n_lanes + 1, sizeof(*seen));
    if (seen == NULL) {
        ggs_writer_fail_memory(lods->writer);
        return;
    }
    for (size_t i = 0; i < lods->n_early; i++) {
        const struct ggs_op_run * op = &lods->early[i].op;
        if (op->begin_ns >= lods->limit_ns) continue;
        if (op->begin_ns < first) first = op->begin_ns;
        if (op->begin_ns > last) last = op->begin_ns;
        lanes += !seen[lods->early[i].lane];
        seen[lods->early[i].lane] = true;
    }
    free(seen);
    set_level(lods, lods->n_early, last > first ? (uint64_t) (last - first) : 0, lanes);
    lods->levels = GGS_LOD_LEVELS;
    close_level(lods);
}

void ggs_lods_release(struct ggs_lods * lods) {
    for (unsigned i = 0; i < GGS_LOD_LEVELS; i++) ggs_block_release(&lods->waiting[i]);
    free(lods->lanes);
    free(lods->early);
    free(lods->left);
}

// Names the lane, uniquely in the trace.
static uint64_t name_lane(struct ggs_lods * lods, const struct ggs_device * device, int64_t slot, uint64_t thread) {
    const char * name = ggs_devices_name(lods->devices, device->device);
    char         text[160];
    int          n;
    if (slot < 0 || (slot >= GGS_DEVICE_SLOT && thread == 0))
        n = snprintf(text, sizeof(text), "%.100s", name);
    else if (slot >= GGS_DEVICE_SLOT)
        n = snprintf(text, sizeof(text), "%.100s queue %" PRIu64, name, thread);
    else if (slot == 0)
        n = snprintf(text, sizeof(text), "%.100s thread %" PRIu64, name, thread);
    else
        n = snprintf(text, sizeof(text), "%.100s #%" PRId64 " thread %" PRIu64, name, slot + 1, thread);
    return ggs_writer_string(lods->writer, text, (uint64_t) n);
}

static struct ggs_lod_lane * find_lane(struct ggs_lods * lods, uint64_t device, int64_t slot, uint64_t thread) {
    for (size_t i = 0; i < lods->n_lanes; i++) {
        struct ggs_lod_lane * lane = &lods->lanes[i];
        if (lane->slot == slot && lane->thread == thread && lane->device == device) return lane;
    }
    return NULL;
}

struct ggs_lod_lane * ggs_lods_lane(struct ggs_lods * lods, const struct ggs_device * device, int64_t slot,
                                    uint64_t thread) {
    struct ggs_lod_lane * known = find_lane(lods, device->device, slot, thread);
    if (known != NULL) return known;
    if (!ggs_writer_reserve(lods->writer, lods->lanes, lods->capacity, lods->n_lanes + 1)) return NULL;
    struct ggs_lod_lane * lane = &lods->lanes[lods->n_lanes++];
    *lane = (struct ggs_lod_lane){.number = lods->n_lanes, .device = device->device, .slot = slot, .thread = thread};
    for (unsigned i = 0; i < GGS_LOD_LEVELS; i++) lane->bins[i].begin_ns = -1;
    struct ggs_lane row = {.lane   = lane->number,
                           .device = device->device,
                           .slot   = slot,
                           .queue  = thread,
                           .kind   = slot < 0                  ? GGS_LANE_GRAPHS
                                     : slot >= GGS_DEVICE_SLOT ? GGS_LANE_QUEUE
                                                               : GGS_LANE_THREAD,
                           .name   = name_lane(lods, device, slot, thread)};
    ggs_writer_append(lods->writer, GGS_TABLE_LANES, &row);
    return lane;
}

// Writes the rows of a level as chunks of their own.
static void write_level(struct ggs_lods * lods, unsigned i) {
    struct ggs_block * waiting = &lods->waiting[i];
    for (uint32_t r = 0; r < waiting->rows; r++) {
        uint64_t row[sizeof(struct ggs_lod) / 8];
        for (unsigned w = 0; w < sizeof(row) / sizeof(row[0]); w++) row[w] = waiting->words[w][r];
        ggs_writer_append(lods->writer, GGS_TABLE_LOD, row);
    }
    waiting->rows = 0;
    ggs_writer_flush(lods->writer, GGS_TABLE_LOD);
}

static struct ggs_lod * bin_at(struct ggs_lods * lods, struct ggs_lod_lane * lane, unsigned i, int64_t ns);

// Writes the lane's open bin of a level and adds it to the one above.
static void leave(struct ggs_lods * lods, struct ggs_lod_lane * lane, unsigned i) {
    struct ggs_lod * bin = &lane->bins[i];
    if (bin->begin_ns < 0) return;
    if (i == 0 && lods->keeps &&
        !ggs_array_push(lods->left, lods->n_left, lods->left_capacity, (struct ggs_lod_bin){lane->device, *bin}))
        ggs_writer_fail_memory(lods->writer);
    if (ggs_block_append(&lods->waiting[i], bin) != 0) ggs_writer_fail_memory(lods->writer);
    if (lods->waiting[i].rows >= GGS_CHUNK_ROWS) write_level(lods, i);
    if (i + 1 < lods->levels) {
        struct ggs_lod * above = bin_at(lods, lane, i + 1, bin->begin_ns);
        above->busy_ns += bin->busy_ns;
        above->wait_ns += bin->wait_ns;
        above->count += bin->count;
        if (bin->longest_ns > above->longest_ns) {
            above->longest_ns   = bin->longest_ns;
            above->longest_run  = bin->longest_run;
            above->longest_node = bin->longest_node;
        }
    }
    bin->begin_ns = -1;
}

// Returns the open bin of that time, or a later one that is open: damaged spools go back.
static struct ggs_lod * bin_at(struct ggs_lods * lods, struct ggs_lod_lane * lane, unsigned i, int64_t ns) {
    unsigned         level = lods->level + GGS_LOD_SHIFT * i;
    int64_t          begin = ns >> level << level;
    struct ggs_lod * bin   = &lane->bins[i];
    if (bin->begin_ns >= 0 && bin->begin_ns >= begin) return bin;
    leave(lods, lane, i);
    *bin = (struct ggs_lod){
        .level = level, .slot = lane->slot, .thread = lane->thread, .begin_ns = begin, .lane = lane->number};
    return bin;
}

static uint64_t * member(struct ggs_lod * bin, bool wait) {
    return wait ? &bin->wait_ns : &bin->busy_ns;
}

// Adds [from, to) to its bins.
static void spread(struct ggs_lods * lods, struct ggs_lod_lane * lane, int64_t from, int64_t to, bool wait) {
    int64_t width = 1ll << lods->level;
    // A thread does one thing at a time, but time stamp counters of cores differ by 0.1 us and
    // order the ops (keep_order). Overlaps of that size count at the lane's current position, so
    // sums stay those of the op runs. Larger overlaps are damage and must not cost a walk per op.
    int64_t again = (to < lane->covered_ns ? to : lane->covered_ns) - from;
    if (again > 0 && again <= SKEW_NS) *member(bin_at(lods, lane, 0, from), wait) += (uint64_t) again;
    if (from < lane->covered_ns) from = lane->covered_ns;
    if (to > lods->limit_ns) to = lods->limit_ns;
    while (from < to && lods->credit > 0) {
        struct ggs_lod * bin  = bin_at(lods, lane, 0, from);
        int64_t          stop = bin->begin_ns + width; // beyond `from`, even in a later bin
        if (stop > to) stop = to;
        *member(bin, wait) += (uint64_t) (stop - from);
        from = lane->covered_ns = stop;
        lods->credit--;
    }
}

static void add(struct ggs_lods * lods, struct ggs_lod_lane * lane, const struct ggs_op_run * op) {
    if (op->begin_ns >= lods->limit_ns) return;
    lods->credit += lods->credit < MOST_EMPTY ? CREDIT : 0;
    // Waits in barriers inside an op count as waits, as in single op runs. Their position is
    // unknown, so they count at the op's end.
    uint64_t         inner = op->inner_wait_ns < op->duration_ns ? op->inner_wait_ns : op->duration_ns;
    uint64_t         busy  = op->duration_ns - inner;
    int64_t          end = op->begin_ns + (int64_t) busy, after = end + (int64_t) (inner + op->wait_ns);
    struct ggs_lod * bin = bin_at(lods, lane, 0, op->begin_ns);
    bin->count++;
    if (op->duration_ns >= bin->longest_ns) {
        bin->longest_ns   = op->duration_ns;
        bin->longest_run  = op->run;
        bin->longest_node = op->node;
    }
    if (op->begin_ns >= lane->covered_ns && after <= bin->begin_ns + (1ll << lods->level)) {
        bin->busy_ns += busy;
        bin->wait_ns += inner + op->wait_ns;
        lane->covered_ns = after;
        return;
    }
    spread(lods, lane, op->begin_ns, end, false);
    spread(lods, lane, end, after, true);
}

void ggs_lods_add(struct ggs_lods * lods, struct ggs_lod_lane * lane, const struct ggs_op_run * op) {
    if (lods->replays) return;
    if (!lods->open) {
        add(lods, lane, op);
    } else if (!ggs_array_push(lods->early, lods->n_early, lods->early_capacity,
                               (struct ggs_lod_op){(size_t) (lane - lods->lanes), *op})) {
        ggs_writer_fail_memory(lods->writer);
    }
}

void ggs_lods_replay(struct ggs_lods * lods, const struct ggs_lod_bin * bin) {
    struct ggs_lod_lane * lane = find_lane(lods, bin->device, bin->bin.slot, bin->bin.thread);
    if (lane == NULL || bin->bin.begin_ns < 0) return;
    lane->bins[0]      = bin->bin;
    lane->bins[0].lane = lane->number;
    leave(lods, lane, 0);
}

void ggs_lods_resume(struct ggs_lods * lods, uint64_t device, int64_t slot, uint64_t thread, int64_t covered_ns,
                     const struct ggs_lod * bin) {
    struct ggs_lod_lane * lane = find_lane(lods, device, slot, thread);
    if (lane == NULL) return;
    lane->covered_ns   = covered_ns;
    lane->bins[0]      = *bin;
    lane->bins[0].lane = lane->number;
}

void ggs_lods_finish(struct ggs_lods * lods) {
    if (lods->open) close_level(lods);
    lods->levels = count_levels(lods, lods->span_ns);
    for (unsigned i = 0; i < lods->levels; i++)
        for (size_t lane = 0; lane < lods->n_lanes; lane++) leave(lods, &lods->lanes[lane], i);
    for (unsigned i = 0; i < lods->levels; i++) write_level(lods, i);
}
