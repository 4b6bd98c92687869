// The machine's part of stats: conditions of the recording, page faults, block requests, loading,
// residency.
#include <math.h>

#include "answer/answer.h"
#include "answer/ops/stats.h"

// ---- page faults ----

#define FAULT(member, key, ...) GGS_FIELD(struct ggs_fault_sum, member, key, __VA_ARGS__)

static const struct ggs_field fault_fields[] = {
    FAULT(minor, "minor", "the page was in memory, or read ahead"),
    FAULT(major, "major", "the page had to be read"),
    FAULT(open, "open", "the end was not seen; they count no time"),
    FAULT(stalled_ns, "stalled_ns", "time that threads were stalled"),
    {0},
};
static const struct ggs_object fault = {.name = "FaultSum", .text = "Page faults.", .fields = fault_fields};

struct fault_stage {
    uint64_t             stage;
    struct ggs_fault_sum sum;
};

GGS_NEXT(next_fault_stage) {
    const struct ggs_fault_totals * faults = at;
    if (*i == GGS_STAGES) return NULL;
    *(struct fault_stage *) room = (struct fault_stage){*i, faults->stages[*i]};
    ++*i;
    return room;
}

static const struct ggs_field fault_stage_fields[] = {
    GGS_FIELD_WORD(struct fault_stage, stage, "phase", ggs_stage_name, "part of the recording"),
    GGS_MEMBERS(struct fault_stage, sum, &fault),
    {0},
};
static const struct ggs_object fault_stage = {.fields = fault_stage_fields};

#define FAULTS_BY(key, member)                                   \
    static const struct ggs_field faults_by_##key##_fields[] = { \
        GGS_FIELD_OR_NULL(struct ggs_fault_group, member, #key), \
        GGS_MEMBERS(struct ggs_fault_group, sum, &fault),        \
        {0},                                                     \
    };                                                           \
    static const struct ggs_object faults_by_##key = {.fields = faults_by_##key##_fields};
FAULTS_BY(op, name)
FAULTS_BY(layer, order)
FAULTS_BY(token, order)
FAULTS_BY(name, name)

static const struct ggs_field faults_by_expert_fields[] = {
    GGS_FIELD_OR_NULL(struct ggs_fault_group, name, "name"),
    GGS_FIELD_OR_NULL(struct ggs_fault_group, order, "expert", "null for a weight without experts"),
    GGS_MEMBERS(struct ggs_fault_group, sum, &fault),
    {0},
};
static const struct ggs_object faults_by_expert = {.fields = faults_by_expert_fields};

#define FAULT_GROUPS(list, object, ...) \
    GGS_ROWS(struct ggs_fault_totals, list.group, list.n, #list, object, __VA_ARGS__)

static const struct ggs_field faults_fields[] = {
    GGS_MEMBERS(struct ggs_fault_totals, all, &fault),
    GGS_FIELD(struct ggs_fault_totals, lost, "lost", "faults that the kernel had no room for"),
    GGS_OBJECT(struct ggs_fault_totals, model, "model", &fault, "faults at bytes of the recording's files"),
    GGS_OBJECT(struct ggs_fault_totals, in_ops, "in_ops", &fault, "faults while an op was computed"),
    GGS_EACH("by_phase", next_fault_stage, &fault_stage),
    FAULT_GROUPS(by_op, &faults_by_op, "longest stall first"),
    FAULT_GROUPS(by_layer, &faults_by_layer),
    FAULT_GROUPS(by_token, &faults_by_token),
    FAULT_GROUPS(by_weight, &faults_by_name, "longest stall first"),
    FAULT_GROUPS(by_expert, &faults_by_expert, "the same, expert by expert"),
    {0},
};
static const struct ggs_object faults = {.fields = faults_fields, .lines = true};

// Of a selection without faults they are zero, not unknown.
static bool is_recorded(const struct ggs_trace * trace, enum ggs_trace_table table, uint64_t lost) {
    return ggs_reader_rows(trace->reader, table) > 0 || lost > 0;
}

static const void * faults_of(const void * at, const void * trace, void * room) {
    const struct ggs_fault_totals * f = &((const struct ggs_stats *) at)->faults;
    (void) room;
    return is_recorded(trace, GGS_TABLE_FAULTS, f->lost) ? f : NULL;
}

// ---- block requests ----

static const struct ggs_field request_fields[] = {
    GGS_FIELD(struct ggs_request_sum, requests, "count", "number of requests"),
    GGS_FIELD(struct ggs_request_sum, bytes, "bytes"),
    {0},
};
static const struct ggs_object request = {.name = "RequestSum", .text = "Requests to disks.", .fields = request_fields};

#define QUARTILE(name, share) \
    GGS_GET(int64_t, name##_of, struct ggs_histogram, (int64_t) ggs_histogram_quantile(it, share))
QUARTILE(quarter, 0.25)
QUARTILE(median, 0.5)
QUARTILE(three_quarters, 0.75)

static const struct ggs_field quartile_fields[] = {
    GGS_COUNT("quarter", quarter_of, ""),
    GGS_COUNT("median", median_of, ""),
    GGS_COUNT("three_quarters", three_quarters_of, ""),
    {0},
};
static const struct ggs_object quartiles = {.name = "Quartiles", .fields = quartile_fields};

struct request_stage {
    uint64_t               stage;
    struct ggs_request_sum sum;
};

GGS_NEXT(next_request_stage) {
    const struct ggs_request_totals * requests = at;
    if (*i == GGS_STAGES) return NULL;
    *(struct request_stage *) room = (struct request_stage){*i, requests->stages[*i]};
    ++*i;
    return room;
}

static const struct ggs_field request_stage_fields[] = {
    GGS_FIELD_WORD(struct request_stage, stage, "phase", ggs_stage_name, "part of the recording"),
    GGS_MEMBERS(struct request_stage, sum, &request),
    {0},
};
static const struct ggs_object request_stage = {.fields = request_stage_fields};

#define REQUESTS_BY(key, member)                                   \
    static const struct ggs_field requests_by_##key##_fields[] = { \
        GGS_FIELD_OR_NULL(struct ggs_request_group, member, #key), \
        GGS_MEMBERS(struct ggs_request_group, sum, &request),      \
        {0},                                                       \
    };                                                             \
    static const struct ggs_object requests_by_##key = {.fields = requests_by_##key##_fields};
REQUESTS_BY(token, order)
REQUESTS_BY(name, name)

#define REQUESTS(member, key, ...) GGS_FIELD(struct ggs_request_totals, member, key, __VA_ARGS__)

static const struct ggs_field over_time_fields[] = {
    REQUESTS(bin_begin_ns, "begin_ns"),
    REQUESTS(bin_ns, "bin_ns", "width of an entry"),
    GGS_LIST(struct ggs_request_totals, bins, n_bins, "bytes", "", .inside = true),
    {0},
};
static const struct ggs_object over_time = {.fields = over_time_fields, .lines = true};

static const struct ggs_field requests_fields[] = {
    GGS_OBJECT(struct ggs_request_totals, model, "model", &request,
               "reads of the recording's files; what follows is about these"),
    GGS_OBJECT(struct ggs_request_totals, other, "other", &request, "other reads of the same disks"),
    GGS_OBJECT(struct ggs_request_totals, writes, "writes", &request, "writes to the same disks"),
    REQUESTS(lost, "lost", "faults that the kernel had no room for"),
    REQUESTS(sequential, "bytes_sequential", "bytes of requests that begin at the end of the previous request"),
    GGS_OBJECT(struct ggs_request_totals, sizes, "bytes", &quartiles, "bytes of one request"),
    GGS_OBJECT(struct ggs_request_totals, latencies, "duration_ns", &quartiles, "of one request"),
    GGS_EACH("by_phase", next_request_stage, &request_stage),
    GGS_ROWS(struct ggs_request_totals, by_token, n_by_token, "by_token", &requests_by_token),
    GGS_ROWS(struct ggs_request_totals, by_weight, n_by_weight, "by_weight", &requests_by_name, "most bytes first"),
    GGS_OBJECT_OF("over_time", &over_time, "requested bytes over time"),
    {0},
};
static const struct ggs_object requests = {.fields = requests_fields, .lines = true};

static const void * requests_of(const void * at, const void * trace, void * room) {
    const struct ggs_request_totals * r = &((const struct ggs_stats *) at)->requests;
    (void) room;
    return is_recorded(trace, GGS_TABLE_BLOCK_REQUESTS, r->lost) ? r : NULL;
}

// ---- threads without a CPU ----

static const struct ggs_field lost_op_fields[] = {
    GGS_FIELD(struct ggs_off_cpu_op, name, "op"),
    GGS_FIELD(struct ggs_off_cpu_op, lost_ns, "lost_ns"),
    {0},
};
static const struct ggs_object lost_op = {.fields = lost_op_fields};

GGS_GET_TEXT(runner_of, struct ggs_off_cpu_runner, it->other == GGS_OTHER_PROGRAM ? it->name : NULL)

static const struct ggs_field runner_fields[] = {
    GGS_FIELD_WORD(struct ggs_off_cpu_runner, other, "other", ggs_off_cpu_other_name,
                   "idle: nobody; own: a thread of the same process; program: another one, or the kernel"),
    GGS_TEXT_OR_NULL("name", runner_of, "name of that program's thread"),
    GGS_FIELD(struct ggs_off_cpu_runner, ns, "lost_ns", "summed over threads"),
    {0},
};
static const struct ggs_object runner = {.fields = runner_fields};

#define OFF_CPU(member, key, ...) GGS_FIELD(struct ggs_off_cpu_totals, member, key, __VA_ARGS__)

static const struct ggs_field off_cpu_fields[] = {
    OFF_CPU(spans, "count", "times that threads left the CPU and ran again"),
    OFF_CPU(lost_events, "lost", "switches that the kernel had no room for"),
    OFF_CPU(run_ns, "run_ns", "time of graph runs of the CPU, without warm-up"),
    OFF_CPU(lost_ns, "lost_ns",
            "of that, time in which a thread with an op to compute had no CPU; the other threads wait for it"),
    OFF_CPU(preempted_ns, "preempted_ns",
            "of that, time in which the thread could have run; for the rest it waited for something"),
    OFF_CPU(foreign_ns, "foreign_ns", "of that, time in which no thread of the same process was seen to run instead"),
    OFF_CPU(thread_ns, "thread_ns", "lost_ns summed over threads"),
    OFF_CPU(others_seen, "others_seen", "who ran instead is known, which needs root"),
    GGS_ROWS(struct ggs_off_cpu_totals, by_op, n_by_op, "by_op", &lost_op, "most lost first"),
    GGS_ROWS(struct ggs_off_cpu_totals, by_other, n_by_other, "by_other", &runner, "who ran instead, longest first"),
    {0},
};
static const struct ggs_object off_cpu = {.fields = off_cpu_fields, .lines = true};

GGS_GET_VIEW(off_cpu_of, struct ggs_stats, it->off_cpu.recorded ? &it->off_cpu : NULL)

// ---- conditions ----

#define CONDITION(member, key, ...) GGS_FIELD(struct ggs_conditions, member, key, __VA_ARGS__)

static const struct ggs_field memory_fields[] = {
    CONDITION(memory_limit, "limit", "bytes"),
    CONDITION(mechanism, "mechanism", "mechanism of the kernel that enforced it"),
    CONDITION(memory_peak, "peak", "bytes"),
    CONDITION(memory_anonymous, "anonymous", "anonymous bytes of the peak"),
    CONDITION(memory_shared, "shared", "bytes"),
    CONDITION(limit_hits, "limit_hits"),
    CONDITION(oom_kills, "oom_kills"),
    {0},
};
static const struct ggs_object memory = {.fields = memory_fields};

GGS_GET(bool, is_resident_known, struct ggs_conditions, it->resident_known)

static const struct ggs_field cold_fields[] = {
    CONDITION(cold_bytes, "bytes", "bytes dropped from the page cache before the start"),
    CONDITION(resident_before, "resident_before", "bytes that were in memory until then", .known = is_resident_known),
    CONDITION(resident_after, "resident_after", "", .known = is_resident_known),
    {0},
};
static const struct ggs_object cold = {.fields = cold_fields};

GGS_GET(bool, is_limited, struct ggs_conditions, it->memory_limit > 0)
GGS_GET(bool, is_cold, struct ggs_conditions, it->cold)
GGS_GET(bool, is_read_known, struct ggs_conditions, it->memory_limit > 0 || it->cold)
GGS_GET(bool, is_busy, struct ggs_conditions, ggs_conditions_are_busy(it))
GGS_GET(double, others_of, struct ggs_conditions, it->others_cpu_share < 0 ? (double) NAN : it->others_cpu_share)

GGS_GET(double, steal_of, struct ggs_conditions, it->steal_share < 0 ? (double) NAN : it->steal_share)

static const struct ggs_field condition_fields[] = {
    GGS_OBJECT_OF("memory", &memory, "null without a limit on memory", .known = is_limited),
    GGS_OBJECT_OF("cold", &cold, "null if the page cache was left as it was", .known = is_cold),
    CONDITION(read_bytes, "bytes_read",
              "bytes that the program read from disks, by the kernel's count; null without --memory and --cold",
              .known = is_read_known),
    GGS_REAL_OR_NULL("others_cpu_share", others_of,
                     "share of the CPU time that others used while the program ran; null if not seen", .most = 1),
    CONDITION(forked_unrecorded, "forked_unrecorded", "forked children that computed graphs and were not recorded"),
    CONDITION(started_unrecorded, "started_unrecorded", "started programs that ran engines and were not recorded"),
    GGS_REAL_OR_NULL("steal_share", steal_of,
                     "share that the hypervisor gave to other machines; null if not seen, others_cpu_share may then "
                     "include it",
                     .most = 1),
    GGS_TEST("busy", is_busy, "others used so much of the CPUs that times say little"),
    {0},
};
static const struct ggs_object conditions = {.fields = condition_fields};

// ---- loading ----

struct loading_row {
    uint64_t                kind;
    struct ggs_loading_kind sum;
};

GGS_NEXT(next_kind) {
    const struct ggs_loading * loading = at;
    while (*i < GGS_LOADING_KINDS && loading->by_kind[*i].reads == 0) ++*i;
    if (*i == GGS_LOADING_KINDS) return NULL;
    *(struct loading_row *) room = (struct loading_row){*i, loading->by_kind[*i]};
    ++*i;
    return room;
}

static const struct ggs_field kind_fields[] = {
    GGS_FIELD_WORD(struct loading_row, kind, "kind", ggs_loading_name),
    GGS_FIELD(struct loading_row, sum.reads, "reads"),
    GGS_FIELD(struct loading_row, sum.bytes, "bytes", "every request counts, also for the same bytes"),
    GGS_FIELD(struct loading_row, sum.ns, "duration_ns", "time in the calls"),
    {0},
};
static const struct ggs_object kind = {.fields = kind_fields};

#define LOADING(member, key, ...) GGS_FIELD(struct ggs_loading, member, key, __VA_ARGS__)

static const struct ggs_field loading_fields[] = {
    LOADING(models, "models", "loads whose end was seen"),
    LOADING(wall_ns, "wall_ns", "time of these loads, begin to end"),
    LOADING(bytes, "bytes", "bytes of files, each counted once"),
    LOADING(ns, "duration_ns", "time in the calls"),
    GGS_EACH("by_kind", next_kind, &kind),
    {0},
};
static const struct ggs_object loading = {.fields = loading_fields, .lines = true};

GGS_GET(bool, has_loading, struct ggs_stats, it->loading.reads > 0)

// ---- residency ----

bool ggs_stats_ends_token(const struct ggs_resident_list * list, uint64_t snapshot) {
    const struct ggs_resident * at = &list->snapshot[snapshot];
    if (at->moment != GGS_MOMENT_GRAPH || at->step < 0) return false;
    for (uint64_t k = snapshot + 1; k < list->n; k++) {
        if (list->snapshot[k].moment == GGS_MOMENT_GRAPH) return list->snapshot[k].step != at->step;
    }
    return true;
}

static const struct ggs_field snapshot_fields[] = {
    GGS_FIELD_OR_NULL(struct ggs_resident, step, "token"),
    GGS_FIELD(struct ggs_resident, ns, "begin_ns", "when it was taken"),
    GGS_FIELD(struct ggs_resident, bytes, "bytes", "bytes in memory"),
    GGS_FIELD(struct ggs_resident, untouched, "bytes_untouched",
              "of these, bytes in pages that no op of the recording touches"),
    {0},
};
static const struct ggs_object snapshot_ = {
    .name = "Snapshot", .text = "What was in memory at a moment.", .fields = snapshot_fields};

GGS_NEXT(next_snapshot) {
    const struct ggs_resident_list * list = at;
    while (*i < list->n && !ggs_stats_ends_token(list, *i)) ++*i;
    return *i == list->n ? NULL : &list->snapshot[(*i)++];
}

GGS_GET_VIEW(load_of, struct ggs_resident_list, ggs_resident_last(it, GGS_MOMENT_LOAD))
GGS_GET_VIEW(end_of, struct ggs_resident_list, ggs_resident_last(it, GGS_MOMENT_END))

static const struct ggs_field snapshots_fields[] = {
    GGS_FIELD(struct ggs_resident_list, bytes, "bytes", "size of the files"),
    GGS_OBJECT_OR_NULL("load", load_of, &snapshot_, "after the model was loaded"),
    GGS_EACH("by_token", next_snapshot, &snapshot_, "at the end of each token step"),
    GGS_OBJECT_OR_NULL("end", end_of, &snapshot_, "at the end of the program"),
    {0},
};
static const struct ggs_object snapshots = {.fields = snapshots_fields};

static const char * const methods[] = {"mincore", "pagemap", "none", NULL};
GGS_GET(bool, has_residency, struct ggs_stats, it->conditions.residency[0] != '\0' || it->resident.n > 0)

static const struct ggs_field residency_fields[] = {
    GGS_FIELD_OR_NULL(struct ggs_stats, conditions.residency, "method", "how snapshots were taken", .words = methods),
    GGS_MEMBERS(struct ggs_stats, resident, &snapshots),
    {0},
};
static const struct ggs_object residency = {.fields = residency_fields, .lines = true};

// ---- the answer ----

static const struct ggs_field fields[] = {
    GGS_OBJECT_OR_NULL("faults", faults_of, &faults, "page faults; null if none were recorded"),
    GGS_OBJECT_OR_NULL("off_cpu", off_cpu_of, &off_cpu,
                       "threads without a CPU; null if context switches were not recorded"),
    GGS_OBJECT_OR_NULL("block_requests", requests_of, &requests, "requests to disks; null if none were recorded"),
    GGS_MEMBERS(struct ggs_stats, conditions, &conditions),
    GGS_OBJECT(struct ggs_stats, loading, "load", &loading,
               "what the engine asked the kernel for while it loaded models; null if nothing was seen",
               .known = has_loading),
    GGS_OBJECT_OF("residency", &residency, "null without snapshots of what is in memory", .known = has_residency),
    {0},
};
const struct ggs_object ggs_stats_machine_object = {.name = "Machine", .fields = fields, .lines = true};
