// The figures of a recording that findings ask for, gathered once. A rule is a function of them
// alone, so that a test can make them.
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
    uint64_t steps, tokens; // tokens: that were fed
    uint64_t outputs;       // of these: with an output
    uint64_t unread;        // of these: nobody read it
    uint64_t runs, decodes;
    uint64_t ns;                             // of steps
    uint64_t step_ns, outside_ns, before_ns; // the median step; outside of its graph runs; since the step before it
    uint64_t wall_ns, busy_ns;               // of ops on the CPU; busy: summed over threads
    uint64_t uneven_ns, barrier_ns;          // thread time, of those that several threads share
    uint64_t attention_ns;                   // queries by keys, softmax, by values
    uint64_t softmax_ns, flash_ns;
    uint64_t output_ns, output_bytes; // the matrix that makes logits
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
    char     who[96]; // ran instead; "" if nobody was seen
};

struct ggs_explain_facts {
    // the machine
    uint64_t                 cores, usable_cores, threads_per_core; // 0: not known
    double                   quota; // CPUs that the group may use; 0: as many as there are
    uint64_t                 periods, throttled_periods, throttled_ns;
    uint64_t                 memory_bytes, available_bytes, available_end, stall_ns; // stall: PSI, memory, some
    bool                     stall_known;
    struct ggs_conditions    conditions;
    struct ggs_off_cpu_facts off_cpu;
    struct ggs_rates         rates, all_rates; // of as many threads as computed; of all usable cores
    char                     flags[4096], cpu_library[128];
    bool                     proved;
    // the program
    struct ggs_invocation program;
    bool                  wants_device; // it asked for layers on one
    uint64_t              threads;
    uint64_t              wait_ns; // of all threads, for each other
    // what it did
    uint64_t                load_ns;
    struct ggs_loading      loading;
    struct ggs_fault_sum    faults_in_ops, faults_in_load;
    struct ggs_phase_facts  prompt, generate;
    uint64_t                between_ns, drafting_ns;
    struct ggs_device_facts device; // the one that computed most
    uint64_t                devices;
    uint64_t                cpu_run_ns; // graph runs of the CPU beside it
    // the model and its memory
    uint64_t model_bytes, weight_bytes, wide_bytes; // wide: F16, BF16, F32
    double   weight_bits;                           // on average; weights that every token reads
    char     type[32], output_type[32];             // of most weights
    bool     repacked;                              // some weights are, or AMX
    uint64_t kv_bytes, kv_cells, positions;         // cells: of the context; positions: the most that were used
    // requests
    uint64_t requests, sequences, back_to_back; // back to back: that began as another in the same slot ended
    uint64_t contexts_drafting, accepted, rejected;
    int64_t  ns_per_drafted, ns_per_plain;
    uint64_t prompt_again, prompt_of, first_difference, requests_again; // tokens computed though they had been there
};

int  ggs_explain_facts_gather(struct ggs_explain_facts * facts, struct ggs_trace * trace,
                              const struct ggs_totals * totals, struct ggs_error * error);
void ggs_explain_facts_release(struct ggs_explain_facts * facts);

// ---- parts of it ----

int  ggs_explain_facts_steps(struct ggs_explain_facts * facts, struct ggs_trace * trace, struct ggs_error * error);
int  ggs_explain_facts_requests(struct ggs_explain_facts * facts, struct ggs_trace * trace, struct ggs_error * error);
void ggs_explain_facts_experiment(struct ggs_explain_facts * facts, struct ggs_trace * trace);
void ggs_explain_facts_model(struct ggs_explain_facts * facts, struct ggs_trace * trace,
                             const struct ggs_totals * totals);

// ---- for rules ----

uint64_t ggs_explain_facts_part_ns(const struct ggs_explain_facts * facts, enum ggs_reason_part part);
// CPUs that threads can have at most.
uint64_t ggs_explain_facts_cpus(const struct ggs_explain_facts * facts);
