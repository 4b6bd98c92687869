#include "answer/ops/stats.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/lanes/kernels.h"
#include "analyze/requests/shares.h"
#include "analyze/walk/times.h"
#include "analyze/walk/words.h"
#include "answer/answer.h"
#include "answer/requests.h"
#include "base/error.h"
#include "base/json-read.h"
#include "base/limits.h"
#include "base/system/file.h"

static const char * const by_names[GGS_BY_COUNT] = {
    [GGS_BY_OP]        = "op",
    [GGS_BY_LAYER]     = "layer",
    [GGS_BY_COMPONENT] = "component",
    [GGS_BY_TENSOR]    = "tensor",
    [GGS_BY_THREAD]    = "thread",
    [GGS_BY_TOKEN]     = "token",
    [GGS_BY_DEVICE]    = "device",
    [GGS_BY_CONTEXT]   = "context",
    [GGS_BY_REQUEST]   = "request",
    [GGS_BY_SEQUENCE]  = "sequence",
    [GGS_BY_KERNEL]    = "kernel",
    [GGS_BY_PROCESS]   = "process",
    [GGS_BY_HOST]      = "host",
};

const char * ggs_stats_by_name(enum ggs_by by) {
    return by_names[by];
}

bool ggs_stats_parse_by(const char * text, unsigned * by) {
    *by = 0;
    for (size_t length;; text += length + 1) {
        unsigned found = GGS_BY_COUNT;
        length         = strcspn(text, ",");
        for (unsigned i = 0; i < GGS_BY_COUNT; i++) {
            if (strlen(by_names[i]) == length && memcmp(by_names[i], text, length) == 0) found = i;
        }
        // A backend computes on one device, and both have the same name.
        if (length == strlen("backend") && memcmp("backend", text, length) == 0) found = GGS_BY_DEVICE;
        if (found == GGS_BY_COUNT) return false;
        *by |= 1u << found;
        if (text[length] == '\0') return true;
    }
}

// ---- what the machine can do: experiment.json, or DIR/probe.json ----

char * ggs_stats_probe_path(char path[PATH_MAX], const char * directory) {
    struct stat status; // beside a trace that is given by itself
    bool        file = stat(directory, &status) == 0 && S_ISREG(status.st_mode);
    snprintf(path, PATH_MAX, file ? "%s.probe.json" : "%s/probe.json", directory);
    return path;
}

void ggs_stats_limits(struct ggs_limits * limits, const struct ggs_trace * trace, const char * directory) {
    const char *          experiment = ggs_reader_experiment(trace->reader);
    struct ggs_json_value host       = ggs_json_member(ggs_json_read(experiment, strlen(experiment)), "host");
    char                  path[PATH_MAX];
    struct ggs_mapping    file;
    ggs_limits_read(limits, ggs_json_member(host, "limits"));
    if (directory == NULL || ggs_mapping_open(&file, ggs_stats_probe_path(path, directory), NULL) < 0) return;
    if (file.size > 0) ggs_limits_read(limits, ggs_json_read((const char *) file.data, (size_t) file.size));
    ggs_mapping_close(&file);
}

// ---- computing ----

// By op comes with the totals.
static int copy_by_op(struct ggs_groups * groups, const struct ggs_totals * totals, struct ggs_error * error) {
    groups->group = calloc(totals->n_by_op + 1, sizeof(*groups->group));
    if (groups->group == NULL) return ggs_fail_memory(error);
    groups->n = groups->capacity = totals->n_by_op;
    groups->has_bytes            = true;
    for (uint64_t i = 0; i < totals->n_by_op; i++) {
        const struct ggs_op_totals * op = &totals->by_op[i];
        groups->group[i]                = (struct ggs_group){.name      = op->name,
                                                             .opaque    = op->opaque,
                                                             .ops       = op->ops,
                                                             .op_runs   = op->op_runs,
                                                             .wall_ns   = op->wall_ns,
                                                             .busy_ns   = op->busy_ns,
                                                             .wait_ns   = op->wait_ns,
                                                             .untimed   = op->opaque ? op->ops : 0,
                                                             .unwaited  = op->unwaited,
                                                             .on_device = op->on_device,
                                                             .read      = op->read,
                                                             .written   = op->written,
                                                             .disk      = op->disk};
    }
    return 0;
}

// All others in one pass; by thread in a pass of its own, because that is slower.
static int compute_groups(struct ggs_stats * stats, const struct ggs_totals_range * range, struct ggs_error * error) {
    struct ggs_groups groups[GGS_BY_COUNT];
    enum ggs_by       by[GGS_BY_COUNT];
    unsigned          n      = 0;
    int               status = copy_by_op(&stats->groups[GGS_BY_OP], &stats->totals, error);
    for (unsigned i = 0; i < GGS_BY_COUNT; i++) {
        bool own =
            i == GGS_BY_OP || i == GGS_BY_THREAD || i == GGS_BY_KERNEL || i == GGS_BY_REQUEST || i == GGS_BY_SEQUENCE;
        if ((stats->by >> i & 1) != 0 && !own) by[n++] = (enum ggs_by) i;
    }
    if (status == 0 && n > 0) {
        status = ggs_groups_compute_several(groups, by, n, stats->trace, range, error);
        for (unsigned i = 0; status == 0 && i < n; i++) stats->groups[by[i]] = groups[i];
    }
    if (status == 0 && (stats->by >> GGS_BY_THREAD & 1) != 0)
        status = ggs_groups_compute(&stats->groups[GGS_BY_THREAD], stats->trace, GGS_BY_THREAD, range, error);
    if (status == 0 && (stats->by >> GGS_BY_KERNEL & 1) != 0)
        status = ggs_groups_of_kernels(&stats->groups[GGS_BY_KERNEL], stats->trace, range, error);
    for (unsigned i = GGS_BY_REQUEST; status == 0 && i <= GGS_BY_SEQUENCE; i++)
        if ((stats->by >> i & 1) != 0)
            status = ggs_shares_compute(&stats->groups[i], stats->trace, (enum ggs_by) i, range, error);
    return status;
}

int ggs_stats_compute(struct ggs_stats * stats, struct ggs_trace * trace, const struct ggs_stats_options * options,
                      struct ggs_error * error) {
    const struct ggs_totals_range * range = &options->range;
    *stats                                = (struct ggs_stats){.trace = trace, .by = options->by | 1u << GGS_BY_OP};
    int status                            = ggs_trace_check_steps(trace, range->first_step, range->last_step, error);
    if (status == 0) status = ggs_trace_check_layer(trace, range->layer, error);
    if (status == 0) status = ggs_totals_compute(&stats->totals, trace, range, error);
    if (status == 0) status = compute_groups(stats, range, error);
    if (status == 0) status = ggs_weights_list(&stats->weights, trace, &stats->totals, error);
    if (status == 0) status = ggs_fault_totals_compute(&stats->faults, trace, range, error);
    if (status == 0) status = ggs_request_totals_compute(&stats->requests, trace, range, error);
    if (status == 0 && (stats->by >> GGS_BY_CONTEXT & 1) != 0)
        status = ggs_requests_list(&stats->contexts, trace, false, error);
    if (status == 0) status = ggs_windows_read(&stats->windows, trace, error);
    if (status == 0) status = ggs_process_list_read(&stats->processes, trace, error);
    if (status == 0) status = ggs_streamed_compute(&stats->streamed, trace, range, error);
    if (status == 0) status = ggs_loading_compute(&stats->loading, trace, error);
    if (status == 0) status = ggs_resident_list(&stats->resident, trace, &stats->totals, error);
    if (status < 0) {
        ggs_stats_release(stats);
        return status;
    }
    ggs_conditions_read(&stats->conditions, trace);
    struct ggs_limits limits;
    ggs_stats_limits(&limits, trace, options->directory);
    stats->rates = ggs_limits_of(&limits, stats->totals.threads);
    return 0;
}

void ggs_stats_release(struct ggs_stats * stats) {
    ggs_windows_release(&stats->windows);
    ggs_requests_release(&stats->contexts);
    ggs_process_list_release(&stats->processes);
    ggs_request_totals_release(&stats->requests);
    ggs_fault_totals_release(&stats->faults);
    ggs_resident_release(&stats->resident);
    ggs_weights_release(&stats->weights);
    for (unsigned i = 0; i < GGS_BY_COUNT; i++) ggs_groups_release(&stats->groups[i]);
    ggs_totals_release(&stats->totals);
    *stats = (struct ggs_stats){0};
}

// ---- writing ----

static void write_totals(struct ggs_json * json, const struct ggs_totals * t) {
    static const struct ggs_field counts[] = {
        GGS_FIELD(struct ggs_totals, steps, "tokens"),
        GGS_FIELD(struct ggs_totals, warmup_steps, "warmup_steps"),
        GGS_FIELD(struct ggs_totals, requests, "requests"),
        GGS_FIELD(struct ggs_totals, prompt_tokens, "prompt_tokens"),
        GGS_FIELD(struct ggs_totals, generated_tokens, "generated_tokens"),
        GGS_FIELD(struct ggs_totals, drafted_tokens, "drafted_tokens"),
        GGS_FIELD(struct ggs_totals, accepted_tokens, "accepted_tokens"),
        GGS_FIELD(struct ggs_totals, rejected_tokens, "rejected_tokens"),
        GGS_FIELD(struct ggs_totals, draft_ns, "draft_ns"),
        GGS_FIELD(struct ggs_totals, threads, "threads"),
        GGS_FIELD(struct ggs_totals, runs, "runs"),
        GGS_FIELD(struct ggs_totals, interrupted_runs, "interrupted_runs"),
        GGS_FIELD(struct ggs_totals, runs_without_waits, "runs_without_waits"),
        GGS_FIELD(struct ggs_totals, nodes, "nodes"),
        GGS_FIELD(struct ggs_totals, executed, "executed"),
        GGS_FIELD(struct ggs_totals, absorbed, "absorbed"),
        GGS_FIELD(struct ggs_totals, empty, "empty"),
        GGS_FIELD(struct ggs_totals, skipped, "skipped"),
        GGS_FIELD(struct ggs_totals, opaque, "opaque"),
        GGS_FIELD(struct ggs_totals, unseen, "unseen"),
        GGS_FIELD(struct ggs_totals, cut, "cut"),
        GGS_FIELD(struct ggs_totals, dropped, "lost"),
        GGS_FIELD(struct ggs_totals, ops, "ops"),
        GGS_FIELD(struct ggs_totals, op_runs, "op_runs"),
        GGS_FIELD(struct ggs_totals, wall_ns, "wall_ns"),
        GGS_FIELD(struct ggs_totals, run_ns, "run_ns"),
        GGS_FIELD(struct ggs_totals, op_ns, "op_ns"),
        GGS_FIELD(struct ggs_totals, opaque_ns, "opaque_ns"),
        GGS_FIELD(struct ggs_totals, prompt_ns, "prompt_ns"),
        GGS_FIELD(struct ggs_totals, generate_ns, "generate_ns"),
        GGS_FIELD(struct ggs_totals, proved, "times_distorted"),
        GGS_FIELD(struct ggs_totals, read, "bytes_read"),
        GGS_FIELD(struct ggs_totals, written, "bytes_written"),
        GGS_FIELD(struct ggs_totals, disk, "bytes_disk"),
        GGS_FIELD(struct ggs_totals, vram, "bytes_vram"),
        GGS_FIELD(struct ggs_totals, buffer, "bytes_buffer"),
        {0},
    };
    static const struct ggs_field buffers[] = {
        GGS_FIELD(struct ggs_totals, buffers, "count"), GGS_FIELD(struct ggs_totals, peak_bytes, "peak_bytes"), {0}};
    static const struct ggs_field model[] = {GGS_FIELD(struct ggs_totals, model_bytes, "bytes"),
                                             GGS_FIELD(struct ggs_totals, touched_bytes, "bytes_touched"),
                                             GGS_FIELD(struct ggs_totals, unknown_bytes, "bytes_unknown"),
                                             {0}};
    ggs_fields_members(json, counts, t);
    ggs_answer_speed(json, t->decoded_tokens, t->generate_ns + t->drafting_ns);
    ggs_fields_object(json, "buffers", buffers, t);
    ggs_fields_object(json, "model", model, t);
}

// `known`: when the device computed.
static void write_moved(struct ggs_json * json, const char * key, const struct ggs_device_moved * moved, bool known) {
    static const struct ggs_field fields[] = {
        GGS_FIELD(struct ggs_device_moved, count, "count"),
        GGS_FIELD(struct ggs_device_moved, bytes, "bytes"),
        GGS_FIELD(struct ggs_device_moved, timed_bytes, "bytes_timed"),
        GGS_FIELD(struct ggs_device_moved, ns, "duration_ns"),
        {0},
    };
    ggs_json_object_inline(json, key);
    ggs_fields_members(json, fields, moved);
    ggs_json_natural(json, "overlap_ns", known ? (int64_t) moved->overlap_ns : -1);
    ggs_json_end(json);
}

static void write_median(struct ggs_json * json, const char * key, const struct ggs_spread * spread) {
    struct ggs_quartiles q = ggs_spread_quartiles(spread);
    ggs_json_natural(json, key, q.n == 0 ? -1 : (int64_t) q.median);
}

// What ops take in all, if some graph runs of devices have no op times; null if all have, or none to estimate from.
static void write_estimate(struct ggs_json * json, const struct ggs_estimate * estimate) {
    static const struct ggs_field fields[] = {GGS_FIELD(struct ggs_estimate, runs, "runs"),
                                              GGS_FIELD(struct ggs_estimate, run_ns, "run_ns"),
                                              GGS_FIELD(struct ggs_estimate, from_runs, "from_runs"),
                                              GGS_FIELD(struct ggs_estimate, from_ns, "from_ns"),
                                              {0}};
    static const struct ggs_field op[]     = {
            GGS_FIELD(struct ggs_estimated_op, name, "op"), GGS_FIELD(struct ggs_estimated_op, wall_ns, "wall_ns"), {0}};
    if (estimate->runs == 0) {
        ggs_json_null(json, "estimated");
        return;
    }
    ggs_json_object(json, "estimated");
    ggs_fields_members(json, fields, estimate);
    ggs_json_array(json, "by_op");
    for (uint64_t i = 0; i < estimate->n; i++) ggs_fields_object(json, NULL, op, &estimate->op[i]);
    ggs_json_end(json);
    ggs_json_end(json);
}

// Busy shares in equal parts of the recording; null if some graph run's ops are not known.
static void write_devices(struct ggs_json * json, const struct ggs_stats * stats) {
    static const struct ggs_field fields[] = {
        GGS_FIELD(struct ggs_device_totals, runs, "runs"),
        GGS_FIELD(struct ggs_device_totals, run_ns, "run_ns"),
        GGS_FIELD(struct ggs_device_totals, timed_runs, "runs_with_op_times"),
        GGS_FIELD(struct ggs_device_totals, timed_ns, "run_ns_with_op_times"),
        GGS_FIELD(struct ggs_device_totals, ops, "ops"),
        {0},
    };
    const struct ggs_device_list * list  = &stats->totals.devices;
    double                         width = (double) ggs_time_between(list->begin_ns, list->end_ns) / GGS_DEVICE_BINS;
    ggs_json_array(json, "devices");
    for (uint64_t i = 0; i < list->n; i++) {
        const struct ggs_device_totals * d           = &list->device[i];
        double                           busy        = ggs_device_busy(list, d);
        const char *                     description = ggs_reader_string(stats->trace->reader, d->row.description);
        ggs_json_object(json, NULL);
        ggs_json_u64(json, "device", d->row.device);
        ggs_json_string(json, "name", d->name);
        ggs_json_string(json, "description", description[0] == '\0' ? NULL : description);
        ggs_json_string(json, "type", ggs_word_device(d->row.type));
        ggs_json_string(json, "seen", ggs_word_seen(d->row.seen));
        if (d->row.memory == 0)
            ggs_json_null(json, "memory_bytes");
        else
            ggs_json_u64(json, "memory_bytes", d->row.memory);
        ggs_fields_members(json, fields, d);
        ggs_json_natural(json, "op_ns", d->runs > 0 && d->timed_runs == 0 ? -1 : (int64_t) d->op_ns);
        ggs_json_u64(json, "queues", d->queues);
        if (busy < 0)
            ggs_json_null(json, "busy");
        else
            ggs_json_double(json, "busy", busy);
        ggs_json_array_inline(json, "busy_over_time");
        for (unsigned k = 0; busy >= 0 && width > 0 && k < GGS_DEVICE_BINS; k++)
            ggs_json_double(json, NULL, (double) d->bins[k] > width ? 1 : (double) d->bins[k] / width);
        ggs_json_end(json);
        write_median(json, "run_median_ns_with_op_times", &d->timed_run);
        write_median(json, "run_median_ns_without", &d->whole_run);
        write_moved(json, "to_device", &d->in, ggs_device_is_timed(d));
        write_moved(json, "from_device", &d->out, ggs_device_is_timed(d));
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

static void write_bins(struct ggs_json * json, const char * key, const uint64_t bins[GGS_PATTERN_BINS]) {
    unsigned n = GGS_PATTERN_BINS;
    while (n > 0 && bins[n - 1] == 0) n--;
    ggs_json_array_inline(json, key);
    for (unsigned i = 0; i < n; i++) ggs_json_u64(json, NULL, bins[i]);
    ggs_json_end(json);
}

static void write_pattern(struct ggs_json * json, const struct ggs_pattern * p) {
    static const struct ggs_field fields[] = {
        GGS_FIELD(struct ggs_pattern, reads, "reads"),
        GGS_FIELD(struct ggs_pattern, bytes, "bytes"),
        GGS_FIELD(struct ggs_pattern, sequential, "bytes_sequential"),
        GGS_FIELD(struct ggs_pattern, first_bytes, "bytes_first"),
        GGS_FIELD(struct ggs_pattern, jumps, "jumps"),
        {0},
    };
    ggs_json_object(json, "pattern");
    ggs_fields_members(json, fields, p);
    ggs_json_u64(json, "jump_median", ggs_pattern_quantile(p->jump_bins, 0.5));
    ggs_json_u64(json, "reuse_median", ggs_pattern_quantile(p->reuse_bins, 0.5));
    ggs_json_u64(json, "reuse_90", ggs_pattern_quantile(p->reuse_bins, 0.9));
    write_bins(json, "jump_bins", p->jump_bins);
    write_bins(json, "reuse_bins", p->reuse_bins);
    ggs_json_end(json);
}

// A backend that is seen as whole graphs is a row of its own: its name instead of an op, a layer or a thread.
static void write_key(struct ggs_json * json, const struct ggs_field * key, const struct ggs_group * group) {
    static const char whole[] = ", as a whole";
    if (!group->opaque) {
        ggs_fields_members(json, key, group);
        ggs_json_null(json, "backend");
        return;
    }
    size_t length = strlen(group->name), tail = sizeof(whole) - 1;
    if (length > tail && strcmp(group->name + length - tail, whole) == 0) length -= tail;
    ggs_json_null(json, key->key);
    ggs_json_string_n(json, "backend", group->name, length);
}

// Null if they were not seen. Of a tensor whose ops have times in some graph runs only, these are what is known.
static void write_times(struct ggs_json * json, enum ggs_by by, const struct ggs_group * group) {
    ggs_json_natural(json, "wall_ns", ggs_group_has_wall(group, by) ? (int64_t) group->wall_ns : -1);
    ggs_json_natural(json, "busy_ns", group->untimed > 0 ? -1 : (int64_t) group->busy_ns);
    ggs_json_natural(json, "wait_ns", group->unwaited ? -1 : (int64_t) group->wait_ns);
}

// Bytes belong to ops: a thread has none.
static void write_groups(struct ggs_json * json, enum ggs_by by, const struct ggs_groups * groups) {
    static const struct ggs_field counts[] = {
        GGS_FIELD(struct ggs_group, ops, "ops"),
        GGS_FIELD(struct ggs_group, untimed, "ops_untimed"),
        GGS_FIELD(struct ggs_group, op_runs, "op_runs"),
        {0},
    };
    static const struct ggs_field bytes[] = {
        GGS_FIELD(struct ggs_group, read, "bytes_read"),
        GGS_FIELD(struct ggs_group, written, "bytes_written"),
        GGS_FIELD(struct ggs_group, disk, "bytes_disk"),
        {0},
    };
    static const struct ggs_field name[]                = {GGS_FIELD(struct ggs_group, name, "name"), {0}};
    static const struct ggs_field context[]             = {GGS_FIELD(struct ggs_group, context, "context"), {0}};
    static const struct ggs_field keys[GGS_BY_COUNT][2] = {
        [GGS_BY_OP]        = {GGS_FIELD(struct ggs_group, name, "op")},
        [GGS_BY_LAYER]     = {GGS_FIELD_OR_NULL(struct ggs_group, order, "layer")},
        [GGS_BY_COMPONENT] = {GGS_FIELD(struct ggs_group, name, "component")},
        [GGS_BY_TENSOR]    = {GGS_FIELD(struct ggs_group, name, "name")},
        [GGS_BY_THREAD]    = {GGS_FIELD(struct ggs_group, order, "thread")},
        [GGS_BY_DEVICE]    = {GGS_FIELD(struct ggs_group, name, "device")},
        [GGS_BY_KERNEL]    = {GGS_FIELD(struct ggs_group, name, "kernel")},
        [GGS_BY_TOKEN]     = {GGS_FIELD_OR_NULL(struct ggs_group, order, "token")},
        [GGS_BY_CONTEXT]   = {GGS_FIELD_OR_NULL(struct ggs_group, order, "context")},
        [GGS_BY_PROCESS]   = {GGS_FIELD(struct ggs_group, order, "process")},
        [GGS_BY_HOST]      = {GGS_FIELD(struct ggs_group, name, "host")},
        [GGS_BY_REQUEST]   = {GGS_FIELD(struct ggs_group, order, "request")},
        [GGS_BY_SEQUENCE]  = {GGS_FIELD(struct ggs_group, order, "sequence")},
    };
    char key[32];
    snprintf(key, sizeof(key), "by_%s", by_names[by]);
    ggs_json_array(json, key);
    for (uint64_t i = 0; i < groups->n; i++) {
        ggs_json_object_inline(json, NULL);
        write_key(json, keys[by], &groups->group[i]);
        if (by == GGS_BY_SEQUENCE) ggs_fields_members(json, context, &groups->group[i]);
        if (by == GGS_BY_PROCESS) ggs_fields_members(json, name, &groups->group[i]);
        if (by == GGS_BY_SEQUENCE || by == GGS_BY_REQUEST) ggs_json_bool(json, "estimated", true);
        ggs_fields_members(json, counts, &groups->group[i]);
        write_times(json, by, &groups->group[i]);
        if (groups->has_bytes) ggs_fields_members(json, bytes, &groups->group[i]);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

static void write_weights(struct ggs_json * json, const struct ggs_weights * weights) {
    static const struct ggs_field fields[] = {
        GGS_FIELD(struct ggs_weight_totals, name, "name"),
        GGS_FIELD(struct ggs_weight_totals, file, "path"),
        GGS_FIELD(struct ggs_weight_totals, size, "bytes"),
        GGS_FIELD(struct ggs_weight_totals, touched, "bytes_touched"),
        GGS_FIELD(struct ggs_weight_totals, unknown, "bytes_unknown"),
        GGS_FIELD(struct ggs_weight_totals, reads, "reads"),
        GGS_FIELD(struct ggs_weight_totals, bytes, "bytes_read"),
        {0},
    };
    ggs_fields_rows(json, "weights", fields, weights->weight, sizeof(*weights->weight), weights->n);
}

void ggs_stats_write(struct ggs_json * json, const struct ggs_stats * stats) {
    static const struct ggs_field probed[] = {
        GGS_FIELD_OR_NULL(struct ggs_stats, rates.memory_bytes_per_second, "memory_bytes_per_second"),
        GGS_FIELD_OR_NULL(struct ggs_stats, rates.flops_per_second, "flops_per_second"),
        {0}};
    ggs_json_object(json, NULL);
    ggs_answer_experiment(json, stats->trace);
    ggs_json_string(json, "step_kind", ggs_word_step(stats->trace));
    ggs_windows_answer(json, stats->trace, &stats->windows);
    ggs_streamed_answer(json, &stats->streamed);
    write_totals(json, &stats->totals);
    write_devices(json, stats);
    ggs_processes_answer(json, &stats->processes);
    write_estimate(json, &stats->totals.estimate);
    write_pattern(json, &stats->totals.pattern);
    ggs_stats_write_machine(json, stats);
    ggs_fields_members(json, probed, stats);
    for (unsigned i = 0; i < GGS_BY_COUNT; i++) {
        if ((stats->by >> i & 1) != 0) write_groups(json, (enum ggs_by) i, &stats->groups[i]);
    }
    if ((stats->by >> GGS_BY_CONTEXT & 1) != 0) ggs_request_contexts_write(json, &stats->contexts);
    ggs_json_u64(json, "from_trace", stats->weights.unread);
    write_weights(json, &stats->weights);
    ggs_json_end(json);
}
