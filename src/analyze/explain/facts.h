// The figures that findings use, computed once. A rule is a function of them alone, so that tests
// can make them.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/explain/explain.h"
#include "analyze/machine/conditions.h"
#include "analyze/machine/faults.h"
#include "analyze/machine/loading.h"
#include "base/limits.h"

// Ops of token steps of one phase.
struct ggs_phase_facts {
    uint64_t steps, tokens; // tokens: inputs
    uint64_t outputs;       // of these: with an output
    uint64_t unread;        // of these: never read
    uint64_t runs, decodes;
    uint64_t ns;                             // of steps
    uint64_t step_ns, outside_ns, before_ns; // median; outside of graph runs; since the last step
    uint64_t wall_ns, busy_ns;               // of ops on the CPU; busy: over all threads
    uint64_t uneven_ns, barrier_ns;          // thread time, of ops with several threads
    uint64_t attention_ns;                   // scores, softmax, values
    uint64_t softmax_ns, flash_ns;
    uint64_t output_ns, output_bytes; // the matrix of the logits
    uint64_t output_busy_ns;
    uint64_t read, weights_read, kv_read;
    uint64_t flops;
    uint64_t device_ns; // of ops on devices
    uint64_t expert_ns; // MUL_MAT_ID on the CPU
};

struct ggs_device_facts {
    char     name[64], description[128];
    bool     software; // it computes on the CPU
    uint64_t runs, run_ns, ops, op_ns, transfers, bytes, transfer_ns;
    uint64_t first_run_ns, median_run_ns; // of token steps
};

// Threads without a CPU.
struct ggs_off_cpu_facts {
    bool     recorded, others_seen;
    uint64_t run_ns, lost_ns, foreign_ns;
    char     who[96]; // ran instead; "" if unknown
};

struct ggs_explain_facts {
    // The machine:
    uint64_t                 cores, usable_cores, threads_per_core; // 0 if unknown
    double                   quota;                                 // CPUs of the group; 0 for no limit
    uint64_t                 periods, throttled_periods, throttled_ns;
    uint64_t                 memory_bytes, available_bytes, available_end, stall_ns; // PSI, some
    bool                     stall_known;
    struct ggs_conditions    conditions;
    struct ggs_off_cpu_facts off_cpu;
    struct ggs_rates         rates, all_rates; // with as many threads; with all cores
    char                     flags[4096], cpu_library[128];
    bool                     proved;
    // The program:
    struct ggs_invocation program;
    bool                  wants_device; // it asked for layers on one
    uint64_t              threads;
    uint64_t              wait_ns; // of all threads, for each other
    // What it did:
    uint64_t                load_ns;
    struct ggs_loading      loading;
    struct ggs_fault_sum    faults_in_ops, faults_in_load;
    struct ggs_phase_facts  prompt, generate;
    uint64_t                between_ns, drafting_ns;
    struct ggs_device_facts device; // the busiest one
    uint64_t                devices;
    uint64_t                cpu_run_ns; // graph runs of the CPU beside it
    // The model and its memory:
    uint64_t model_bytes, weight_bytes, wide_bytes; // wide: F16, BF16, F32
    double   weight_bits;                           // average of weights that every token reads
    char     type[32], output_type[32];             // of most weights
    bool     repacked;                              // some weights are, also for AMX
    uint64_t kv_bytes, kv_cells, positions;         // cells of the context; most positions used
    // Requests:
    uint64_t requests, sequences, back_to_back; // back to back: right after another in the slot
    uint64_t contexts_drafting, accepted, rejected;
    int64_t  ns_per_drafted, ns_per_plain;
    uint64_t prompt_again, prompt_of, first_difference, requests_again; // known tokens
};

int  ggs_explain_facts_gather(struct ggs_explain_facts * facts, struct ggs_trace * trace,
                              const struct ggs_totals * totals, struct ggs_error * error);
void ggs_explain_facts_release(struct ggs_explain_facts * facts);

// ---- parts ----

int  ggs_explain_facts_steps(struct ggs_explain_facts * facts, struct ggs_trace * trace, struct ggs_error * error);
int  ggs_explain_facts_requests(struct ggs_explain_facts * facts, struct ggs_trace * trace, struct ggs_error * error);
void ggs_explain_facts_experiment(struct ggs_explain_facts * facts, struct ggs_trace * trace);
void ggs_explain_facts_model(struct ggs_explain_facts * facts, struct ggs_trace * trace,
                             const struct ggs_totals * totals);

// ---- for rules ----

uint64_t ggs_explain_facts_part_ns(const struct ggs_explain_facts * facts, enum ggs_reason_part part);
// CPUs that threads can use at most.
uint64_t ggs_explain_facts_cpus(const struct ggs_explain_facts * facts);
