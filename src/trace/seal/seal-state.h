// A spool on its way into a trace. The journal is read twice: pass 1 collects what later records
// say about earlier ones (anchors of the clock, warm-ups) and the facts; pass 2 writes the tables.
// Lanes and the machine's records are read once, in pass 2.
#pragma once

#include "trace/seal/facts.h"
#include "trace/seal/machine.h"
#include "trace/seal/runs/runs.h"
#include "trace/seal/seal.h"

struct ggs_open_load {
    struct ggs_load row;
    char *          file; // the first one that it opened, NULL for none yet
    char *          path; // that it was asked for
};

struct ggs_seal_state {
    const struct ggs_seal_options * options;
    struct ggs_spool_facts          facts;
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
    struct ggs_part                 part;      // what is sealed already
    struct ggs_part_keep *          keep;      // of an incremental seal, which writes a part; or NULL
    struct ggs_schedule *           schedules; // that have begun and not ended
    size_t                          n_schedules, schedules_capacity;
    struct ggs_open_load *          loads; // all
    size_t                          n_loads, loads_capacity;
    char *                          newest_file; // that was opened
    struct ggs_process              process;
    bool                            ended;
    bool                            lossy;  // pass 1 found losses that name no run
    bool                            out;    // the newest decode is no part of the recording
    struct ggs_map                  ends;   // of decodes that windows end with
    bool                            tokens; // pass 1 found a context, a decode or a graph that looks up tokens
    int64_t                         last_ns;
    uint64_t                        lost, damaged;
};

int ggs_seal_pass_1(struct ggs_seal_state * sealing, struct ggs_error * error);
// Is the record about something that began when its window was over? Records are given in their
// order, from the first on.
bool ggs_seal_leaves_out(struct ggs_seal_state * sealing, const struct ggs_record * record);
// What a record says of the clock.
void ggs_seal_read_anchor(struct ggs_seal_state * sealing, const struct ggs_record * record);
// Writes all tables but the experiment's.
int ggs_seal_pass_2(struct ggs_seal_state * sealing, struct ggs_error * error);
// The parts of pass 2, for a journal that goes on: what comes before the first record, and a
// record.
int  ggs_seal_begin(struct ggs_seal_state * sealing, struct ggs_error * error);
void ggs_seal_record(struct ggs_seal_state * sealing, const struct ggs_record * record);
void ggs_seal_release(struct ggs_seal_state * sealing);
