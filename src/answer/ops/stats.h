// Statistics of a recording.
#pragma once

#include <limits.h>

#include "analyze/lanes/processes.h"
#include "analyze/machine/block-requests.h"
#include "analyze/machine/conditions.h"
#include "analyze/machine/faults.h"
#include "analyze/machine/loading.h"
#include "analyze/machine/off-cpu.h"
#include "analyze/machine/residency.h"
#include "analyze/machine/streamed.h"
#include "analyze/memory/weights-read.h"
#include "analyze/ops/groups.h"
#include "analyze/ops/windows.h"
#include "analyze/requests/requests.h"
#include "answer/fields.h"
#include "base/machine-limits.h"

struct ggs_json;

struct ggs_stats_options {
    struct ggs_totals_range range;
    unsigned                by;        // bits 1 << enum ggs_by; by op is always included
    const char *            directory; // of the measured limits; NULL: none
};

struct ggs_stats {
    struct ggs_trace * trace; // borrowed
    struct ggs_totals  totals;
    unsigned           by;                   // requested groupings
    struct ggs_groups  groups[GGS_BY_COUNT]; // by op: without names
    struct ggs_weights weights;
    // settings and events of the machine
    struct ggs_conditions      conditions;
    struct ggs_loading         loading;
    struct ggs_resident_list   resident;
    struct ggs_fault_totals    faults;
    struct ggs_request_totals  requests;
    struct ggs_off_cpu_totals  off_cpu;
    struct ggs_windows         windows;
    struct ggs_streamed_totals streamed;
    struct ggs_process_list    processes;
    struct ggs_requests        contexts; // by context, for the whole recording
    struct ggs_rates           rates;    // limits for the number of threads; 0 if not measured
};

int  ggs_stats_compute(struct ggs_stats * stats, struct ggs_trace * trace, const struct ggs_stats_options * options,
                       struct ggs_error * error);
void ggs_stats_release(struct ggs_stats * stats); // a zeroed struct is fine
// Folds rows by token: `per_row` tokens in each, under the number of the first. The size of a
// picture then does not grow with the recording.
void ggs_stats_fold(struct ggs_stats * stats, uint64_t per_row);
void ggs_stats_write(struct ggs_json * json, const struct ggs_stats * stats);

// True if this snapshot is the last one of its token step.
bool ggs_stats_ends_token(const struct ggs_resident_list * list, uint64_t snapshot);

// Returns the path of an experiment's measured limits.
char * ggs_stats_probe_path(char path[PATH_MAX], const char * directory);
// Reads the limits of the machine: those measured later for the experiment, else those in the
// recording. `directory` may be NULL.
void ggs_stats_limits(struct ggs_limits * limits, const struct ggs_trace * trace, const char * directory);

extern const struct ggs_object ggs_stats_object;         // of a struct ggs_stats
extern const struct ggs_object ggs_stats_machine_object; // its member "machine", in stats-machine.c
