// A spool that is being sealed. The journal is read twice: pass 1 collects later information about
// earlier records (anchors of the clock, warm-ups) and the facts; pass 2 writes the tables. Lanes
// and the machine's records are read once, in pass 2.
#pragma once

#include "trace/seal/machine.h"
#include "trace/seal/runs/runs.h"
#include "trace/seal/seal.h"
#include "trace/seal/spool-facts.h"

struct ggs_open_load {
    struct ggs_load row;
    char *          file; // the first one that it opened, or NULL
    char *          path; // the requested one
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
    struct ggs_part                 part;      // what is sealed
    struct ggs_part_keep *          keep;      // of an incremental seal, or NULL
    struct ggs_schedule *           schedules; // open ones
    size_t                          n_schedules, schedules_capacity;
    struct ggs_open_load *          loads; // all
    size_t                          n_loads, loads_capacity;
    char *                          newest_file; // opened last
    struct ggs_process              process;
    bool                            ended;
    bool                            lossy;  // pass 1 found losses without a run
    bool                            out;    // the newest decode is excluded
    struct ggs_map                  ends;   // ends of the last decodes of windows
    bool                            tokens; // pass 1 found a context, decode or token lookup
    int64_t                         last_ns;
    uint64_t                        lost, damaged;
};

int ggs_seal_pass_1(struct ggs_seal_state * sealing, struct ggs_error * error);
// True if the record is about something that began after its window. Call it for all records in
// order.
bool ggs_seal_leaves_out(struct ggs_seal_state * sealing, const struct ggs_record * record);
// Reads the anchor of a record.
void ggs_seal_read_anchor(struct ggs_seal_state * sealing, const struct ggs_record * record);
// Writes all tables except `experiment`.
int ggs_seal_pass_2(struct ggs_seal_state * sealing, struct ggs_error * error);
// The parts of pass 2 for a growing journal: the begin, and one record.
int  ggs_seal_begin(struct ggs_seal_state * sealing, struct ggs_error * error);
void ggs_seal_record(struct ggs_seal_state * sealing, const struct ggs_record * record);
void ggs_seal_release(struct ggs_seal_state * sealing);
