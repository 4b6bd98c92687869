// The tables of stats: totals, devices, the order of reads, groups, weights.
#include <math.h>
#include <string.h>

#include "analyze/walk/times.h"
#include "analyze/walk/words.h"
#include "answer/answer.h"
#include "answer/ops/stats.h"
#include "answer/requests.h"

// ---- totals ----

#define TOTAL(member, key, ...) GGS_FIELD(struct ggs_totals, member, key, __VA_ARGS__)

static const struct ggs_field buffers_fields[] = {
    TOTAL(buffers, "count"),
    TOTAL(peak_bytes, "peak_bytes", "largest sum of buffers outside of mapped files"),
    {0},
};
static const struct ggs_object buffers = {.fields = buffers_fields};

GGS_GET_TEXT(copied_into, struct ggs_totals, it->places.n == 0 ? NULL : it->places.buffer[0])

static const struct ggs_field model_fields[] = {
    TOTAL(model_bytes, "bytes", "size of the opened GGUF files, header and padding included"),
    TOTAL(touched_bytes, "bytes_touched", "bytes that ops touch"),
    TOTAL(unknown_bytes, "bytes_unknown", "bytes besides, read in part: which rows or experts was not seen"),
    TOTAL(places.mapped, "bytes_mapped", "bytes of weights that ops read from the mapped file"),
    TOTAL(places.copied, "bytes_copied",
          "bytes of weights that the engine copied at load: ops read nothing of them from the file"),
    GGS_TEXT_OR_NULL("copied_into", copied_into, "type of the buffer that holds most of the copies"),
    TOTAL(stray.n, "stray_weights", "weights in buffers whose origin was not seen; in none of the above"),
    TOTAL(stray.bytes, "stray_bytes", "of these, in memory"),
    {0},
};
static const struct ggs_object model = {.fields = model_fields};

GGS_GET(double, speed_of, struct ggs_totals, ggs_answer_speed(it->decoded_tokens, it->generate_ns + it->between_ns))
GGS_GET(double, inside_of, struct ggs_totals, ggs_answer_speed(it->decoded_tokens, it->generate_ns + it->drafting_ns))

static const struct ggs_field totals_fields[] = {
    TOTAL(steps, "tokens", "token steps, without warm-up"),
    TOTAL(warmup_steps, "warmup_steps"),
    TOTAL(requests, "requests", "requests that began, without warm-up and contexts that draft"),
    TOTAL(prompt_tokens, "prompt_tokens", "computed as prompt, over all requests; cached ones do not count"),
    TOTAL(generated_tokens, "generated_tokens", "sampled from outputs, over all requests"),
    TOTAL(drafted_tokens, "drafted_tokens", "by contexts that draft for others"),
    TOTAL(accepted_tokens, "accepted_tokens", "drafted tokens that were kept"),
    TOTAL(rejected_tokens, "rejected_tokens", "drafted tokens that were removed"),
    TOTAL(draft_ns, "draft_ns", "steps of contexts that draft; in neither prompt_ns nor generate_ns"),
    TOTAL(threads, "threads", "most threads that computed one op on the CPU"),
    TOTAL(runs, "runs", "graph runs"),
    TOTAL(interrupted_runs, "interrupted_runs", "of these, cut off"),
    TOTAL(runs_without_waits, "runs_without_waits",
          "graph runs whose waits were not seen: the engine's barrier is inside its compute loop"),
    TOTAL(runs_of_first_thread, "runs_of_first_thread",
          "of these, graph runs of which only the first thread was seen: the engine's functions were not found"),
    TOTAL(nodes, "nodes", "nodes of all graph runs: the sum of the next seven"),
    TOTAL(executed, "executed"),
    TOTAL(absorbed, "absorbed", "computed together with the node before"),
    TOTAL(empty, "empty", "views and the like"),
    TOTAL(skipped, "skipped", "not computed, by the engine's choice"),
    TOTAL(opaque, "opaque", "on a backend that is seen as a whole"),
    TOTAL(unseen, "unseen", "seen by no hook"),
    TOTAL(cut, "cut", "not reached when the run was interrupted"),
    TOTAL(dropped, "lost", "records that could not be kept"),
    TOTAL(ops, "ops"),
    TOTAL(op_runs, "op_runs", "ops on threads"),
    TOTAL(wall_ns, "wall_ns", "begin of the first graph run to the end of the last"),
    TOTAL(run_ns, "run_ns", "time of all graph runs"),
    TOTAL(op_ns, "op_ns", "time of all ops, each from the first thread's begin to the last thread's end"),
    TOTAL(opaque_ns, "opaque_ns", "time of graph runs that are seen as a whole"),
    TOTAL(prompt_ns, "prompt_ns", "time of all prompt steps"),
    TOTAL(generate_ns, "generate_ns", "time of all other steps"),
    TOTAL(between_ns, "between_ns",
          "time between a step that generates and the previous step: sampling, printing, drafting"),
    TOTAL(proved, "times_distorted", "recorded with --prove"),
    TOTAL(read, "bytes_read"),
    TOTAL(written, "bytes_written"),
    TOTAL(disk, "bytes_disk", "of both, bytes in mapped files"),
    TOTAL(vram, "bytes_vram", "of both, bytes in the memory of devices"),
    TOTAL(buffer, "bytes_buffer", "of both, bytes in other memory"),
    GGS_REAL_OR_NULL("tokens_per_second", speed_of, "generated tokens per second, as the user gets them"),
    GGS_REAL_OR_NULL("tokens_per_second_of_decodes", inside_of, "the same without the time between decodes"),
    GGS_OBJECT_OF("buffers", &buffers),
    GGS_OBJECT_OF("model", &model),
    {0},
};
static const struct ggs_object totals = {.fields = totals_fields};

// ---- devices ----

#define MOVED(member, key, ...) GGS_FIELD(struct ggs_device_moved, member, key, __VA_ARGS__)

static const struct ggs_field moved_fields[] = {
    MOVED(count, "count"),
    MOVED(bytes, "bytes"),
    MOVED(timed_bytes, "bytes_timed", "bytes of transfers whose end was seen: asynchronous ones show only their begin"),
    MOVED(ns, "duration_ns", "of these"),
    {0},
};
static const struct ggs_object moved = {.fields = moved_fields};

static int64_t overlap_of(const struct ggs_device_totals * device, const struct ggs_device_moved * of) {
    return ggs_device_is_timed(device) ? (int64_t) of->overlap_ns : -1;
}

static int64_t median_of(const struct ggs_spread * spread) {
    struct ggs_quartiles q = ggs_spread_quartiles(spread);
    return q.n == 0 ? -1 : (int64_t) q.median;
}

#define DEVICE_GET(get, expression) GGS_GET(int64_t, get, struct ggs_device_totals, expression)
DEVICE_GET(op_ns_of, it->runs > 0 && it->timed_runs == 0 ? -1 : (int64_t) it->op_ns)
DEVICE_GET(timed_median_of, median_of(&it->timed_run))
DEVICE_GET(whole_median_of, median_of(&it->whole_run))
DEVICE_GET(in_overlap_of, overlap_of(it, &it->in))
DEVICE_GET(out_overlap_of, overlap_of(it, &it->out))

#define OVERLAP "part of duration_ns in which ops ran on the device; null if some of its graph runs have no op times"

static const struct ggs_field in_fields[] = {
    GGS_MEMBERS(struct ggs_device_totals, in, &moved),
    GGS_NATURAL("overlap_ns", in_overlap_of, OVERLAP),
    {0},
};
static const struct ggs_field out_fields[] = {
    GGS_MEMBERS(struct ggs_device_totals, out, &moved),
    GGS_NATURAL("overlap_ns", out_overlap_of, OVERLAP),
    {0},
};
static const struct ggs_object in = {.fields = in_fields}, out = {.fields = out_fields};

#define DEVICE(member, key, ...) GGS_FIELD(struct ggs_device_totals, member, key, __VA_ARGS__)

static const struct ggs_field device_head_fields[] = {
    DEVICE(row.device, "device", "number, from 1", .least = 1),
    DEVICE(name, "name", "as the engine names it"),
    GGS_FIELD_NUMBER(struct ggs_device_totals, row.description, "description", "the hardware", .or_null = true),
    GGS_FIELD_WORD(struct ggs_device_totals, row.type, "type", ggs_word_device),
    GGS_FIELD_WORD(struct ggs_device_totals, row.seen, "seen", ggs_word_seen, "how closely it was watched"),
    GGS_FIELD_OR_NULL(struct ggs_device_totals, row.memory, "memory_bytes"),
    DEVICE(runs, "runs", "graph runs that it finished"),
    DEVICE(run_ns, "run_ns", "time of these runs, from begin to results"),
    DEVICE(timed_runs, "runs_with_op_times"),
    DEVICE(timed_ns, "run_ns_with_op_times"),
    DEVICE(ops, "ops", "ops that have times"),
    GGS_NATURAL("op_ns", op_ns_of, "time that it was busy with these; null if no graph run has op times"),
    DEVICE(queues, "queues"),
    {0},
};
static const struct ggs_field device_tail_fields[] = {
    GGS_NATURAL("run_median_ns_with_op_times", timed_median_of,
                "median time of a graph run that generates a token, with op times; null if there is none"),
    GGS_NATURAL("run_median_ns_without", whole_median_of,
                "the same without op times: the difference is what seeing ops costs"),
    GGS_OBJECT_OF("to_device", &in, "transfers into its memory, in the whole recording"),
    GGS_OBJECT_OF("from_device", &out, "transfers out of its memory, in the whole recording"),
    {0},
};
static const struct ggs_object device_head = {.fields = device_head_fields},
                               device_tail = {.fields = device_tail_fields};

struct device_row {
    const struct ggs_device_list *   list;
    const struct ggs_device_totals * device;
    double                           busy; // NaN: unknown
};

GGS_NEXT(next_device) {
    const struct ggs_device_list * list = at;
    if (*i == list->n) return NULL;
    const struct ggs_device_totals * device = &list->device[(*i)++];
    double                           busy   = ggs_device_busy(list, device);
    *(struct device_row *) room             = (struct device_row){list, device, busy < 0 ? (double) NAN : busy};
    return room;
}

static struct ggs_list busy_bins(const void * at, const void * trace, void * room) {
    const struct device_row *      row    = at;
    const struct ggs_device_list * list   = row->list;
    double                         width  = (double) ggs_time_between(list->begin_ns, list->end_ns) / GGS_DEVICE_BINS;
    double *                       shares = room;
    _Static_assert(GGS_DEVICE_BINS * sizeof(double) <= GGS_ROOM, "they are made there");
    (void) trace;
    if (isnan(row->busy) || width <= 0) return (struct ggs_list){0};
    for (unsigned k = 0; k < GGS_DEVICE_BINS; k++)
        shares[k] = (double) row->device->bins[k] > width ? 1 : (double) row->device->bins[k] / width;
    return (struct ggs_list){shares, GGS_DEVICE_BINS, sizeof(*shares)};
}

GGS_GET_VIEW(device_of, struct device_row, it->device)

static const struct ggs_field device_fields[] = {
    GGS_MEMBERS_VIEW(device_of, &device_head),
    GGS_FIELD_OR_NULL(struct device_row, busy, "busy",
                      "share of the time between the first graph run and the last in which it computed an op; null if "
                      "some graph runs have no op times",
                      .most = 1),
    GGS_LIST_OF(DOUBLE, "busy_over_time", busy_bins, "the same in 64 equal parts of that time; empty if not known",
                .most = 1),
    GGS_MEMBERS_VIEW(device_of, &device_tail),
    {0},
};
static const struct ggs_object device = {.name = "DeviceTotals", .fields = device_fields, .lines = true};

static const struct ggs_field device_list_fields[] = {
    GGS_EACH("devices", next_device, &device, "the CPU and others, by number"),
    {0},
};
static const struct ggs_object devices = {.fields = device_list_fields};

// ---- estimates ----

#define ESTIMATE(member, key, ...) GGS_FIELD(struct ggs_estimate, member, key, __VA_ARGS__)

static const struct ggs_field estimated_op_fields[] = {
    GGS_FIELD(struct ggs_estimated_op, name, "op"),
    GGS_FIELD(struct ggs_estimated_op, wall_ns, "wall_ns",
              "time of all graph runs of devices: seen, and the estimate for the rest"),
    {0},
};
static const struct ggs_object estimated_op = {.fields = estimated_op_fields};

static const struct ggs_field estimate_fields[] = {
    ESTIMATE(runs, "runs", "graph runs without op times that have an estimate"),
    ESTIMATE(run_ns, "run_ns", "time of these runs"),
    ESTIMATE(from_runs, "from_runs", "graph runs with op times that the estimate uses"),
    ESTIMATE(from_ns, "from_ns", "of these"),
    GGS_ROWS(struct ggs_estimate, op, n, "by_op", &estimated_op),
    {0},
};
static const struct ggs_object estimate = {.fields = estimate_fields, .lines = true};

GGS_GET(bool, has_estimate, struct ggs_stats, it->totals.estimate.runs > 0)

// ---- the order of reads ----

#define PATTERN(member, key, ...) GGS_FIELD(struct ggs_pattern, member, key, __VA_ARGS__)
static struct ggs_list jump_bins_of(const void * at, const void * trace, void * room) {
    (void) trace, (void) room;
    return ggs_answer_bins(((const struct ggs_pattern *) at)->jump_bins, GGS_PATTERN_BINS);
}

static struct ggs_list reuse_bins_of(const void * at, const void * trace, void * room) {
    (void) trace, (void) room;
    return ggs_answer_bins(((const struct ggs_pattern *) at)->reuse_bins, GGS_PATTERN_BINS);
}

static const struct ggs_field pattern_fields[] = {
    PATTERN(reads, "reads", "reads of model bytes, in the order of ops"),
    PATTERN(bytes, "bytes"),
    PATTERN(gap, "gap_bytes", "bytes that a read may skip and still count as sequential"),
    PATTERN(sequential, "bytes_sequential",
            "bytes of reads that begin at most gap_bytes after the end of the previous read"),
    PATTERN(sequential_strict, "bytes_sequential_strict",
            "bytes of reads that begin exactly at the end of the previous read"),
    PATTERN(first_bytes, "bytes_first", "bytes read for the first time: model.bytes_touched"),
    PATTERN(jumps, "jumps", "reads that are not sequential"),
    PATTERN(jumps_strict, "jumps_strict", "reads that do not begin exactly at the end of the previous read"),
    PATTERN(jumps_between_files, "jumps_between_files",
            "of both, jumps from one file to another: they have no distance"),
    PATTERN(jump_median, "jump_median", "median distance of jumps within a file, in bytes"),
    PATTERN(jump_90, "jump_90", "their 90th percentile"),
    PATTERN(reuse_median, "reuse_median",
            "model bytes read between two reads of a byte: the median over bytes that are read again"),
    PATTERN(reuse_90, "reuse_90", "the 90th percentile"),
    PATTERN(is_rounded, "rounded", "true: these four are at most 1/2048 too small; false: exact"),
    GGS_LIST_OF(U64, "jump_bins", jump_bins_of,
                "strict jumps within a file by distance: bin 0 is 0, bin i is 2^(i-1) to below 2^i bytes"),
    GGS_LIST_OF(U64, "reuse_bins", reuse_bins_of, "bytes by reuse distance, in the same bins"),
    {0},
};
static const struct ggs_object pattern = {.fields = pattern_fields, .lines = true};

// ---- groups ----

#define GROUP(member, key, ...) GGS_FIELD(struct ggs_group, member, key, __VA_ARGS__)

// A backend that is seen as whole graphs has a row with its name in place of an op, a layer or a
// thread.
static const char * backend_of(const void * at, const void * trace, char * room, size_t * length) {
    static const char        whole[] = ", as a whole";
    const struct ggs_group * group   = at;
    (void) trace, (void) room;
    if (!group->opaque) return NULL;
    size_t all = strlen(group->name), tail = sizeof(whole) - 1;
    *length = all > tail && strcmp(group->name + all - tail, whole) == 0 ? all - tail : all;
    return group->name;
}

GGS_GET(bool, is_group, struct ggs_group, !it->opaque)
GGS_GET(int64_t, wall_of, struct ggs_group, it->untimed == it->ops ? -1 : (int64_t) it->wall_ns)
GGS_GET(int64_t, busy_of, struct ggs_group, it->untimed > 0 ? -1 : (int64_t) it->busy_ns)
GGS_GET(int64_t, wait_of, struct ggs_group, it->unwaited ? -1 : (int64_t) it->wait_ns)

#define NAMED(key, ...)    GGS_FIELD(struct ggs_group, name, key, __VA_ARGS__, .known = is_group)
#define NUMBERED(key, ...) GGS_FIELD_OR_NULL(struct ggs_group, order, key, __VA_ARGS__, .known = is_group)
#define BACKEND                \
    GGS_TEXT_OR_NULL(          \
        "backend", backend_of, \
        "name of a backend that is seen as whole graphs, or 'first use of' a device that compiled shaders: it has its own row")
#define ESTIMATED GGS_TRUE("estimated", "steps are shared out by tokens")
#define WALL_TEXT "first thread's begin to last thread's end, summed over ops"
#define WALL      GROUP(wall_ns, "wall_ns", WALL_TEXT)
#define COUNTS                                                                                              \
    GROUP(ops, "ops"),                                                                                      \
        GROUP(untimed, "ops_untimed", "of these, ops without times: on a backend that is seen as a whole"), \
        GROUP(op_runs, "op_runs", "ops on threads")
#define TIMES                                                                                                     \
    GGS_NATURAL("busy_ns", busy_of, "sum over threads, without waits; null if some ops have no times"),           \
        GGS_NATURAL(                                                                                              \
            "wait_ns", wait_of,                                                                                   \
            "sum over threads: in barriers inside ops and after them; null if not all was seen: on a device, or " \
            "in an engine whose barrier is not seen")
#define BYTES                                                                                                       \
    GROUP(read, "bytes_read", "bytes that ops read, exact where an op is sparse"), GROUP(written, "bytes_written"), \
        GROUP(disk, "bytes_disk", "part of both that lies in mapped files")

static const struct ggs_field sums_fields[]  = {COUNTS, WALL, TIMES, BYTES, {0}},
                              times_fields[] = {COUNTS, WALL, TIMES, {0}};
static const struct ggs_object sums          = {.name = "GroupSums", .text = "Ops added up.", .fields = sums_fields},
                               times         = {.name   = "GroupTimes",
                                                .text   = "The same without bytes, which belong to ops.",
                                                .fields = times_fields};
#define SUMS GGS_MEMBERS_OF(&sums)

// The forms of groups in GGS_GROUPINGS: key, backend, sums.
#define FORM_NAMED(key)     NAMED(key, ""), BACKEND, SUMS
#define FORM_NUMBERED(key)  NUMBERED(key, ""), BACKEND, SUMS
#define FORM_THREADS(key)   NUMBERED(key, ""), BACKEND, GGS_MEMBERS_OF(&times)
#define FORM_KERNELS(key)   GROUP(name, key), BACKEND, GGS_MEMBERS_OF(&times)
#define FORM_PROCESSES(key) NUMBERED(key, "", .least = 1), BACKEND, GROUP(name, "name", "program and number"), SUMS
#define FORM_REQUESTS(key)  GROUP(order, key, "", .from_0 = true), BACKEND, ESTIMATED, SUMS
#define FORM_SEQUENCES(key) \
    GROUP(order, key, "", .from_0 = true), BACKEND, GROUP(context, "context", "", .from_0 = true), ESTIMATED, SUMS
// The time of a run that is seen as a whole belongs to no tensor.
#define FORM_TENSORS(key)                                                                    \
    NAMED(key, "name of the weight that the op reads, else of its result"), BACKEND, COUNTS, \
        GGS_NATURAL("wall_ns", wall_of, WALL_TEXT "; null if none of them has times"), TIMES, BYTES

#define ROW(number_, name_, key_, form_, ...)                                               \
    static const struct ggs_field  by_##name_##_fields[] = {FORM_##form_(key_), {0}};       \
    static const struct ggs_object by_##name_            = {.fields = by_##name_##_fields}; \
    GGS_GET(bool, wants_##name_, struct ggs_stats, (it->by >> GGS_BY_##number_ & 1) != 0)
GGS_GROUPINGS(ROW)
#undef ROW

// Rows by op are always present.
#define ROW(number_, name_, key_, form_, order_, decides_, find_, compute_, text_)                                    \
    GGS_ROWS(struct ggs_stats, groups[GGS_BY_##number_].group, groups[GGS_BY_##number_].n, "by_" #name_, &by_##name_, \
             "by " text_, .asked = GGS_BY_##number_ == GGS_BY_OP ? NULL : wants_##name_),
static const struct ggs_field groups_fields[] = {GGS_GROUPINGS(ROW){0}};
#undef ROW
static const struct ggs_object groups = {.fields = groups_fields};

// ---- weights ----

#define WEIGHT(member, key, ...) GGS_FIELD(struct ggs_weight_totals, member, key, __VA_ARGS__)

static const struct ggs_field weight_fields[] = {
    WEIGHT(name, "name"),
    WEIGHT(file, "path", "of its file"),
    WEIGHT(size, "bytes"),
    WEIGHT(touched, "bytes_touched"),
    WEIGHT(unknown, "bytes_unknown", "bytes besides, read in part: which part was not seen"),
    WEIGHT(reads, "reads"),
    WEIGHT(bytes, "bytes_read", "every read counts, also of the same bytes"),
    {0},
};
static const struct ggs_object weight = {.fields = weight_fields};

// ---- the answer ----

GGS_GET(bool, has_windows, struct ggs_stats, it->windows.n > 0)
GGS_GET(bool, has_streamed, struct ggs_stats, it->streamed.uses > 0)
GGS_GET(bool, has_processes, struct ggs_stats, it->processes.n > 1)

#define STATS(member, key, object, ...) GGS_OBJECT(struct ggs_stats, member, key, object, __VA_ARGS__)

static const struct ggs_field fields[] = {
    GGS_ABOUT,
    GGS_STEP_KIND,
    STATS(windows, "windows", &ggs_windows_object, GGS_WINDOWS_TEXT, .known = has_windows),
    STATS(streamed, "streamed", &ggs_streamed_object, "what ggscope stream did; only in recordings made with it",
          .asked = has_streamed),
    GGS_MEMBERS(struct ggs_stats, totals, &totals),
    GGS_MEMBERS(struct ggs_stats, totals.devices, &devices),
    STATS(processes, "processes", &ggs_processes_object,
          "the processes of a joined experiment, and where its time went; null if there is one",
          .known = has_processes),
    STATS(
        totals.estimate, "estimated", &estimate,
        "estimate for graph runs of devices without op times: time is divided among ops as in runs of the same device and phase with op times; null if all runs have op times, or none",
        .known = has_estimate),
    STATS(totals.pattern, "pattern", &pattern, "in which order the model's bytes are read"),
    GGS_OBJECT_OF("machine", &ggs_stats_machine_object, "what was set on the machine and what it did"),
    GGS_FIELD_OR_NULL(struct ggs_stats, rates.memory_bytes_per_second, "memory_bytes_per_second",
                      "memory bandwidth of this machine with that many threads; null if not measured"),
    GGS_FIELD_OR_NULL(
        struct ggs_stats, rates.flops_per_second, "flops_per_second",
        "32-bit floating point operations per second of the same threads, two for each multiply-add; null if not measured"),
    GGS_MEMBERS_OF(&groups),
    {.type   = GGS_FIELD_MEMBERS,
     .offset = offsetof(struct ggs_stats, contexts),
     .object = &ggs_request_contexts,
     .asked  = wants_context},
    GGS_FIELD(struct ggs_stats, weights.unread, "from_trace",
              "files that are gone: of their weights, only those that ops used are known"),
    GGS_ROWS(struct ggs_stats, weights.weight, weights.n, "weights", &weight,
             "weights of the model, most bytes read first"),
    {0},
};
const struct ggs_object ggs_stats_object = {
    .name = "Stats", .text = "Statistics of a recording.", .fields = fields, .lines = true};

void ggs_stats_write(struct ggs_json * json, const struct ggs_stats * stats) {
    ggs_answer_write(json, &ggs_stats_object, stats, stats->trace);
}
