// The figures that findings use, computed once. A rule is a function of them alone, so that tests
// can make them.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/explain/explain.h"
#include "analyze/machine/conditions.h"
#include "analyze/machine/faults.h"
#include "analyze/machine/loading.h"
#include "analyze/machine/streamed.h"
#include "base/machine-limits.h"

// Ops of token steps of one phase.
struct ggs_phase_facts {
    uint64_t steps, tokens; // tokens: inputs
    uint64_t outputs;       // of these: with an output
    uint64_t unread;        // of these: never read
    uint64_t runs, decodes;
    uint64_t ns; // of steps
    // Medians: of steps; outside of graph runs; since the last step, without waits for a CPU.
    uint64_t step_ns, outside_ns, before_ns;
    uint64_t wall_ns, busy_ns;      // of ops on the CPU; busy: over all threads
    uint64_t uneven_ns, barrier_ns; // thread time, of ops with several threads
    uint64_t attention_ns;          // scores, softmax, values
    uint64_t softmax_ns, flash_ns, flash_busy_ns;
    uint64_t output_ns, output_bytes; // the matrix of the logits
    uint64_t output_busy_ns;
    uint64_t read, weights_read, kv_read;
    uint64_t flops;
    uint64_t device_ns; // of ops on devices
    uint64_t device_read;
    uint64_t expert_ns;    // MUL_MAT_ID on the CPU
    uint64_t plain_ns;     // of CPU ops without weights
    char     plain_op[32]; // that takes the most of these
    uint64_t plain_op_ns;
};

enum { GGS_EXPLAIN_NODES = 16 };

// The kernel's account of memory while the program ran (record/memory/mappings.h).
struct ggs_pages_facts {
    bool     recorded;
    uint64_t resident, swapped; // of all mappings
    // Of weights in host memory:
    uint64_t weights;
    unsigned nodes;                   // 0 if unknown
    uint64_t node[GGS_EXPLAIN_NODES]; // bytes on each
    // Of weights that are copies, not in a mapped file:
    uint64_t copied, copied_small; // small: not in huge pages
    char     huge_pages[16];       // the kernel's choice: "madvise"; "" if unknown
};

struct ggs_device_facts {
    char     name[64], description[128];
    bool     software; // it computes on the CPU
    uint64_t runs, run_ns, ops, op_ns, transfers, bytes, transfer_ns;
    uint64_t first_run_ns, median_run_ns; // of token steps
    uint64_t timed_runs;                  // with op times
    uint64_t whole_run_ns;                // median of one without, generating; 0 if there are none
    uint64_t lanes, most_lanes;           // of PCIe; 0 if unknown
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
    struct ggs_pages_facts   pages;
    uint64_t                 readahead, disk_sequential; // bytes; bytes per second; 0 if unknown
    char                     sanitizer[16];              // linked into the program; "" for none
    bool                     unoptimised;                // the engine's library
    bool                     old;                        // it is older than ggml_version(), of August 2025
    struct ggs_conditions    conditions;
    double                   load; // average of a minute when the program started; 0 if unknown
    struct ggs_off_cpu_facts off_cpu;
    struct ggs_rates         rates, all_rates; // with as many threads; with all cores
    char                     flags[4096], cpu_library[128];
    bool                     proved;
    // The program:
    struct ggs_invocation program;
    bool                  wants_device; // it asked for layers on one
    bool                  graphs;       // it has no tokens: its steps are graph runs, and are in `generate`
    bool                  under_stream; // it ran under ggscope stream, whether or not that streamed weights
    uint64_t              threads;
    uint64_t              wait_ns; // of all threads, for each other
    double                at_once; // steps that are computed at the same time, on average; 0 if unknown
    // What it did:
    uint64_t                   load_ns;
    uint64_t                   repack_ns, repack_bytes; // copies into another layout while loading
    struct ggs_loading         loading;
    struct ggs_fault_sum       faults_in_ops, faults_in_load;
    struct ggs_streamed_totals streamed;
    struct ggs_phase_facts     prompt, generate;
    uint64_t                   between_ns, drafting_ns;
    uint64_t                   shifts, shift_ns; // of positions in the KV cache; time that these steps take more
    struct ggs_device_facts    device;           // the busiest one
    uint64_t                   devices;
    uint64_t                   cpu_run_ns; // graph runs of the CPU beside it
    // The model and its memory:
    uint64_t model_bytes, weight_bytes, wide_bytes; // wide: F16, BF16, F32
    double   weight_bits;                           // average of weights that every token reads
    char     type[32], output_type[32];             // of most weights
    bool     repacked;                              // some weights are, also for AMX
    char     kv_type[32];                           // of keys
    uint64_t kv_bytes, kv_cells, kv_streams;        // cells of all streams; a sequence uses those of one
    uint64_t positions, positions_each;             // used by all sequences; by the one that used most
    // Requests:
    uint64_t requests, sequences, back_to_back; // back to back: right after another in the slot
    uint64_t outputs_needed;                    // of prompts: the last one to generate, all to score or embed
    uint64_t contexts_drafting, accepted, rejected;
    int64_t  ns_per_drafted, ns_per_plain;
    uint64_t prompt_again, prompt_of, first_difference, requests_again; // known tokens
};

int  ggs_explain_facts_gather(struct ggs_explain_facts * facts, struct ggs_trace * trace,
                              const struct ggs_totals * totals, struct ggs_error * error);
void ggs_explain_facts_release(struct ggs_explain_facts * facts);

// ---- parts ----

// Finds out whether the program has tokens: ahead of all parts that sum by phase.
int  ggs_explain_facts_tokens(struct ggs_explain_facts * facts, struct ggs_trace * trace, struct ggs_error * error);
int  ggs_explain_facts_steps(struct ggs_explain_facts * facts, struct ggs_trace * trace, struct ggs_error * error);
int  ggs_explain_facts_requests(struct ggs_explain_facts * facts, struct ggs_trace * trace, struct ggs_error * error);
void ggs_explain_facts_experiment(struct ggs_explain_facts * facts, struct ggs_trace * trace);
void ggs_explain_facts_model(struct ggs_explain_facts * facts, struct ggs_trace * trace,
                             const struct ggs_totals * totals);
int  ggs_explain_facts_memory(struct ggs_explain_facts * facts, struct ggs_trace * trace, struct ggs_error * error);

// ---- for rules ----

uint64_t ggs_explain_facts_part_ns(const struct ggs_explain_facts * facts, enum ggs_reason_part part);
// The sums of a phase; NULL if it is none of tokens, or of graph runs of a program without tokens.
struct ggs_phase_facts * ggs_explain_facts_phase(struct ggs_explain_facts * facts, uint64_t phase);
// CPUs that other programs used; of short runs, the load ahead of them.
double ggs_explain_facts_others(const struct ggs_explain_facts * facts);
// CPUs that threads can use at most.
uint64_t ggs_explain_facts_cpus(const struct ggs_explain_facts * facts);
