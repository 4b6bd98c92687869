// The journal, record by record: first a survey that learns what later records say about earlier ones, then the telling.
#pragma once

#include "trace/seal/machine.h"
#include "trace/seal/runs.h"
#include "trace/seal/seal.h"

struct ggs_sealing {
    const struct ggs_seal_options * options;
    struct ggs_writer               writer;
    struct ggs_spool                spool;
    struct ggs_clock                clock;
    struct ggs_places               places;
    struct ggs_graphs               graphs;
    struct ggs_steps                steps;
    struct ggs_devices              devices;
    struct ggs_lods                 lods;
    struct ggs_runs                 runs;
    struct ggs_machine              machine;
    struct ggs_observed             observed;
    struct ggs_schedule *           schedules; // that have begun and not ended
    size_t                          n_schedules, schedules_capacity;
    struct ggs_load *               loads;      // all
    char **                         load_files; // beside them: the first file of each, NULL for none yet
    char *                          newest_file;
    size_t                          n_loads, loads_capacity;
    struct ggs_process              process;
    bool                            ended;
    bool                            lossy; // the survey found losses that name no run
    int64_t                         last_ns;
    uint64_t                        lost, damaged;
};

// Reads anchors into the clock, and finds the decodes that are warm-ups.
int ggs_sealing_pass_1(struct ggs_sealing * sealing, struct ggs_error * error);
// Reads everything, writes all tables but the experiment's.
int  ggs_sealing_pass_2(struct ggs_sealing * sealing, struct ggs_error * error);
void ggs_sealing_release(struct ggs_sealing * sealing);
