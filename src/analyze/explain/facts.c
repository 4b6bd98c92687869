#include "analyze/explain/facts.h"

#include <stdio.h>
#include <string.h>

#include "analyze/machine/off-cpu.h"
#include "analyze/ops/roofline.h"
#include "base/error.h"

uint64_t ggs_explain_facts_part_ns(const struct ggs_explain_facts * facts, enum ggs_reason_part part) {
    uint64_t generate = facts->generate.ns + facts->between_ns;
    switch (part) {
        case GGS_PART_LOAD:
            return facts->load_ns;
        case GGS_PART_PROMPT:
            return facts->prompt.ns;
        case GGS_PART_GENERATE:
        case GGS_PART_GRAPHS:
            return generate;
        case GGS_PART_TOKENS:
            return facts->prompt.ns + generate;
        default:
            return 0;
    }
}

uint64_t ggs_explain_facts_cpus(const struct ggs_explain_facts * facts) {
    uint64_t cpus = facts->usable_cores, quota = (uint64_t) (facts->quota + 0.99);
    if (facts->quota > 0 && quota < cpus) cpus = quota;
    return cpus;
}

double ggs_explain_facts_others(const struct ggs_explain_facts * facts) {
    double cores = (double) facts->cores, share = facts->conditions.others_cpu_share;
    return share >= 0 ? share * cores : facts->load < cores ? facts->load : cores;
}

// ---- ops ----

static bool makes_logits(const struct ggs_roofline_row * row) {
    return strcmp(row->component, "Output Projection") == 0 ||
           (strcmp(row->component, "Token Embeddings") == 0 && strcmp(row->op, "MUL_MAT") == 0);
}

static void add_plain(struct ggs_phase_facts * phase, const struct ggs_roofline_row * row) {
    phase->plain_ns += row->wall_ns;
    if (row->wall_ns <= phase->plain_op_ns) return;
    phase->plain_op_ns = row->wall_ns;
    snprintf(phase->plain_op, sizeof(phase->plain_op), "%s", row->op);
}

static void add_row(struct ggs_phase_facts * phase, const struct ggs_roofline_row * row) {
    bool activations = strcmp(row->component, "(activations)") == 0;
    bool flash = strcmp(row->op, "FLASH_ATTN_EXT") == 0, softmax = strcmp(row->op, "SOFT_MAX") == 0;
    if (row->on_device) {
        phase->device_ns += row->wall_ns;
        phase->device_read += row->read;
        return;
    }
    phase->wall_ns += row->wall_ns;
    phase->busy_ns += row->busy_ns;
    phase->uneven_ns += row->uneven_ns;
    phase->barrier_ns += row->barrier_ns;
    phase->read += row->read;
    if (row->flops > 0) phase->flops += (uint64_t) row->flops;
    if (!activations) phase->weights_read += row->read;
    if (activations) add_plain(phase, row);
    if (softmax) phase->softmax_ns += row->wall_ns;
    if (flash) phase->flash_ns += row->wall_ns, phase->flash_busy_ns += row->busy_ns;
    phase->attention_ns += row->attention_ns;
    phase->kv_read += row->attention_read;
    if (strcmp(row->op, "MUL_MAT_ID") == 0) phase->expert_ns += row->wall_ns;
    if (makes_logits(row)) {
        phase->output_ns += row->wall_ns;
        phase->output_busy_ns += row->busy_ns;
        phase->output_bytes += row->read;
    }
}

static int add_ops(struct ggs_explain_facts * facts, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_roofline roofline;
    int                 status = ggs_roofline_compute(&roofline, trace, &ggs_totals_all, error);
    if (status < 0) return status;
    for (uint64_t i = 0; i < roofline.n; i++) {
        struct ggs_phase_facts * phase = ggs_explain_facts_phase(facts, roofline.row[i].phase);
        if (phase != NULL) add_row(phase, &roofline.row[i]);
    }
    ggs_roofline_release(&roofline);
    return 0;
}

// ---- devices ----

static bool is_software(const char * description) {
    return strstr(description, "llvmpipe") != NULL || strstr(description, "lavapipe") != NULL ||
           strstr(description, "SwiftShader") != NULL;
}

static void add_devices(struct ggs_explain_facts * facts, struct ggs_trace * trace, const struct ggs_totals * totals) {
    for (uint64_t i = 0; i < totals->devices.n; i++) {
        const struct ggs_device_totals * d = &totals->devices.device[i];
        if (d->row.type == GGS_DEVICE_CPU) facts->cpu_run_ns += d->run_ns;
        if (d->row.type != GGS_DEVICE_GPU || d->runs == 0) continue;
        facts->devices++;
        if (d->run_ns <= facts->device.run_ns) continue;
        const char * description = ggs_reader_string(trace->reader, d->row.description);
        facts->device            = (struct ggs_device_facts){.software    = is_software(description),
                                                             .runs        = d->runs,
                                                             .run_ns      = d->run_ns,
                                                             .ops         = d->ops,
                                                             .op_ns       = d->op_ns,
                                                             .transfers   = d->in.count + d->out.count,
                                                             .bytes       = d->in.bytes + d->out.bytes,
                                                             .transfer_ns = d->in.ns + d->out.ns,
                                                             .timed_runs  = d->timed_runs,
                                                             .lanes       = facts->device.lanes,
                                                             .most_lanes  = facts->device.most_lanes};
        if (d->whole_run.n > 0) facts->device.whole_run_ns = (uint64_t) ggs_spread_quartiles(&d->whole_run).median;
        snprintf(facts->device.name, sizeof(facts->device.name), "%s", d->name);
        snprintf(facts->device.description, sizeof(facts->device.description), "%s", description);
    }
}

static int add_off_cpu(struct ggs_off_cpu_facts * facts, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_off_cpu_totals totals;
    int                       status = ggs_off_cpu_totals_compute(&totals, trace, &ggs_totals_all, error);
    if (status < 0) return status;
    *facts = (struct ggs_off_cpu_facts){.recorded    = totals.recorded,
                                        .others_seen = totals.others_seen,
                                        .run_ns      = totals.run_ns,
                                        .lost_ns     = totals.lost_ns,
                                        .foreign_ns  = totals.foreign_ns};
    ggs_off_cpu_who(&totals, facts->who, sizeof(facts->who));
    ggs_off_cpu_totals_release(&totals);
    return 0;
}

static int add_machine(struct ggs_explain_facts * facts, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_fault_totals faults;
    ggs_conditions_read(&facts->conditions, trace);
    int status = ggs_loading_compute(&facts->loading, trace, error);
    if (status == 0) status = add_off_cpu(&facts->off_cpu, trace, error);
    if (status == 0) status = ggs_fault_totals_compute(&faults, trace, &ggs_totals_all, error);
    if (status == 0) {
        status = ggs_streamed_compute(&facts->streamed, trace, &ggs_totals_all, error);
        if (status < 0) ggs_fault_totals_release(&faults);
    }
    if (status < 0) return status;
    facts->under_stream |= facts->streamed.uses > 0;
    facts->load_ns        = facts->loading.wall_ns;
    facts->faults_in_ops  = faults.in_ops;
    facts->faults_in_load = faults.stages[GGS_STAGE_LOAD];
    ggs_fault_totals_release(&faults);
    return 0;
}

int ggs_explain_facts_gather(struct ggs_explain_facts * facts, struct ggs_trace * trace,
                             const struct ggs_totals * totals, struct ggs_error * error) {
    *facts = (struct ggs_explain_facts){.ns_per_drafted = -1,
                                        .ns_per_plain   = -1,
                                        .threads        = totals->threads,
                                        .between_ns     = totals->between_ns,
                                        .drafting_ns    = totals->drafting_ns,
                                        .accepted       = totals->accepted_tokens,
                                        .rejected       = totals->rejected_tokens,
                                        .requests       = totals->requests,
                                        .proved         = totals->proved,
                                        .model_bytes    = totals->model_bytes};
    for (uint64_t i = 0; i < totals->n_by_op; i++) facts->wait_ns += totals->by_op[i].wait_ns;
    int status = ggs_explain_facts_tokens(facts, trace, error);
    if (status < 0) return status;
    ggs_explain_facts_experiment(facts, trace);
    ggs_explain_facts_model(facts, trace, totals);
    add_devices(facts, trace, totals);
    status = add_machine(facts, trace, error);
    if (status == 0) status = ggs_explain_facts_memory(facts, trace, error);
    if (status == 0) status = add_ops(facts, trace, error);
    if (status == 0) status = ggs_explain_facts_steps(facts, trace, error);
    if (status == 0) status = ggs_explain_facts_requests(facts, trace, error);
    if (status < 0) ggs_explain_facts_release(facts);
    return status;
}

void ggs_explain_facts_release(struct ggs_explain_facts * facts) {
    ggs_invocation_release(&facts->program);
    *facts = (struct ggs_explain_facts){0};
}
