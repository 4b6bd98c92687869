// The experiments that are served.
//
// A snapshot is an experiment opened at one generation: its trace, and data shared by requests. It
// never changes. If the experiment changes (a recording continues, a trace is replaced or
// truncated), a new snapshot of a higher generation replaces it; the old one lives until the last
// request releases it. So every result belongs to one generation, and no trace changes during a
// request.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "analyze/lanes/timeline.h"
#include "analyze/ops/overview.h"
#include "analyze/walk/model-map.h"
#include "base/error.h"
#include "serve/log-cache.h"

enum ggs_found {
    GGS_FOUND_FOLDER,     // not an experiment: it may contain some
    GGS_FOUND_NOTHING,    // an experiment without data
    GGS_FOUND_EXPERIMENT, // an experiment with data
};

// Access to a live recording. Both functions are called by one thread at a time.
struct ggs_live {
    // True if the directory is being recorded to; *units is about the size of the recording.
    bool (*going_on)(void * context, const char * directory, uint64_t * units);
    // Writes a trace of the recording so far to `path`, and nothing anywhere else.
    int (*copy)(void * context, const char * directory, const char * path, struct ggs_error * error);
    // Classifies a path below a served folder. Must not write there.
    enum ggs_found (*classify)(void * context, const char * directory);
    void * context;
    bool   damaged; // show the intact part of damaged traces
};

struct ggs_snapshot {
    _Atomic unsigned           holders;
    unsigned                   index;
    uint64_t                   generation;
    bool                       live;
    char *                     directory;
    char                       id[37];
    struct ggs_trace           trace; // to be borrowed
    pthread_mutex_t            lock;  // protects the following members, each computed on first use
    bool                       has_overview, has_map, has_ops, has_levels;
    struct ggs_overview        overview;
    struct ggs_model_map       map;
    struct ggs_timeline_levels levels;
    struct ggs_node_ops        node_ops;
    struct ggs_log_cache       log_cache; // has its own lock
    pthread_mutex_t            disk_lock; // protects `disk`, which takes long to compute
    uint64_t *                 disk;      // ggs_curves_run_bytes
};

struct ggs_experiments_state { // of one experiment, for lists
    char     directory[4096];
    char     name[256];
    char     id[37];
    char     state[24]; // "recording", "complete", "interrupted", ...; "gone", "refused"
    bool     live;
    char     error[768]; // "" if it can be shown
    bool     found;      // discovered below a served folder, not given on the command line
    uint64_t generation;
};

struct ggs_experiments;

// `live` may be NULL: live recordings are then refused. Directories that cannot be opened are
// listed with the reason.
int ggs_experiments_new(struct ggs_experiments ** out, const char * const * directories, unsigned n,
                        const struct ggs_live * live, struct ggs_error * error);
// Adds every experiment below a folder, including future ones.
int  ggs_experiments_add_folder(struct ggs_experiments * experiments, const char * folder, struct ggs_error * error);
void ggs_experiments_free(struct ggs_experiments * experiments); // NULL is fine; all snapshots must have been released

// Removes temporary files, for a program that exits without waiting for the refreshing thread.
void ggs_experiments_tidy(const struct ggs_experiments * experiments);

enum { GGS_EXPERIMENTS_ALL = 0xffffffffu }; // not an index: all of them

unsigned ggs_experiments_count(const struct ggs_experiments * experiments);
// Returns the first readable experiment with this id; GGS_EXPERIMENTS_ALL if there is none.
unsigned ggs_experiments_find(struct ggs_experiments * experiments, const char * id);
void ggs_experiments_state(struct ggs_experiments * experiments, unsigned index, struct ggs_experiments_state * state);
// Returns 0 if there is no snapshot. Fast.
uint64_t ggs_experiments_generation(struct ggs_experiments * experiments, unsigned index);
// A counter of changes to the list and to states.
uint64_t ggs_experiments_changes(struct ggs_experiments * experiments);

// Acquires the newest snapshot. GGS_ABSENT: no such number; GGS_IO: gone; GGS_FORMAT: refused.
int  ggs_experiments_acquire(struct ggs_experiments * experiments, unsigned index, struct ggs_snapshot ** out,
                             struct ggs_error * error);
void ggs_snapshot_release(struct ggs_snapshot * snapshot); // NULL is fine

// Opens changed and new experiments and calls `changed` for each. Only one thread may call it.
void ggs_experiments_refresh(struct ggs_experiments * experiments, void (*changed)(void * context, unsigned index),
                             void *                   context);

// Data computed on first use; lives as long as the snapshot.
int ggs_snapshot_overview(struct ggs_snapshot * snapshot, const struct ggs_overview ** out, struct ggs_error * error);
int ggs_snapshot_map(struct ggs_snapshot * snapshot, const struct ggs_model_map ** out, struct ggs_error * error);
int ggs_snapshot_levels(struct ggs_snapshot * snapshot, const struct ggs_timeline_levels ** out,
                        struct ggs_error * error);
int ggs_snapshot_ops(struct ggs_snapshot * snapshot, const struct ggs_node_ops ** out, struct ggs_error * error);
