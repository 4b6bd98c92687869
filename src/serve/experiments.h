// The experiments that are served, each as it was when it was last opened.
//
// A snapshot is an experiment opened at one generation: its trace, and what requests share of it.
// It never changes. If the experiment does (a recording continues, a trace is replaced or
// truncated) a new snapshot of a higher generation takes its place, and the old one lives until the
// last request that holds it is done. So everything computed belongs to a generation, and no trace
// changes during a request.
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
    GGS_FOUND_FOLDER,     // no experiment: there may be some below
    GGS_FOUND_NOTHING,    // an experiment with nothing to show
    GGS_FOUND_EXPERIMENT, // one to show
};

// Access to a live recording. Both functions are called by one thread at a time.
struct ggs_live {
    // Is the directory being recorded to? Then *units is about how much there is.
    bool (*going_on)(void * context, const char * directory, uint64_t * units);
    // Writes a trace of what there is so far to `path`, and nothing anywhere else.
    int (*copy)(void * context, const char * directory, const char * path, struct ggs_error * error);
    // What is at this path below a folder that is served? Nothing may be written there.
    enum ggs_found (*look)(void * context, const char * directory);
    void * context;
    bool   damaged; // of damaged traces what is intact is shown
};

struct ggs_snapshot {
    _Atomic unsigned           holders;
    unsigned                   index;
    uint64_t                   generation;
    bool                       live;
    char *                     directory;
    char                       id[37];
    struct ggs_trace           trace; // to be borrowed
    pthread_mutex_t            lock;  // of what follows, each made when it is wanted first
    bool                       has_overview, has_map, has_ops, has_levels;
    struct ggs_overview        overview;
    struct ggs_model_map       map;
    struct ggs_timeline_levels levels;
    struct ggs_node_ops        node_ops;
    struct ggs_log_cache       log_cache; // with a lock of its own
    pthread_mutex_t            disk_lock; // of what follows, which takes long
    uint64_t *                 disk;      // ggs_curves_run_bytes
};

struct ggs_experiments_state { // of one experiment, for lists
    char     directory[4096];
    char     name[256];
    char     id[37];
    char     state[24]; // "recording", "complete", "interrupted", ...; "gone", "refused"
    bool     live;
    char     error[768]; // "" if it can be shown
    bool     found;      // found below a folder that is served, not named
    uint64_t generation;
};

struct ggs_experiments;

// `live` may be NULL: then live recordings are refused. Directories that cannot be opened are
// listed all the same, with the reason.
int ggs_experiments_new(struct ggs_experiments ** out, const char * const * directories, unsigned n,
                        const struct ggs_live * live, struct ggs_error * error);
// Every experiment below a folder, those that come later too.
int  ggs_experiments_add_folder(struct ggs_experiments * experiments, const char * folder, struct ggs_error * error);
void ggs_experiments_free(
    struct ggs_experiments * experiments); // NULL is fine; all snapshots must have been given back

// Removes the temporary files; for a program that ends without waiting for the refreshing thread.
void ggs_experiments_tidy(const struct ggs_experiments * experiments);

enum { GGS_EXPERIMENTS_ALL = 0xffffffffu }; // no index: all of them

unsigned ggs_experiments_count(const struct ggs_experiments * experiments);
// The first one with this id that can be shown; GGS_EXPERIMENTS_ALL for none.
unsigned ggs_experiments_find(struct ggs_experiments * experiments, const char * id);
void ggs_experiments_state(struct ggs_experiments * experiments, unsigned index, struct ggs_experiments_state * state);
// 0 if there is nothing to show. Quick.
uint64_t ggs_experiments_generation(struct ggs_experiments * experiments, unsigned index);
// Grows with every change of the list or of a state.
uint64_t ggs_experiments_changes(struct ggs_experiments * experiments);

// Holds the newest snapshot. GGS_ABSENT: no such number; GGS_IO: gone; GGS_FORMAT: refused.
int  ggs_experiments_acquire(struct ggs_experiments * experiments, unsigned index, struct ggs_snapshot ** out,
                             struct ggs_error * error);
void ggs_snapshot_release(struct ggs_snapshot * snapshot); // NULL is fine

// Looks whether experiments changed or new ones came, and opens them. Calls `changed` for each of
// those. One thread calls it.
void ggs_experiments_refresh(struct ggs_experiments * experiments, void (*changed)(void * context, unsigned index),
                             void *                   context);

// What is made when it is wanted first; lives as long as the snapshot.
int ggs_snapshot_overview(struct ggs_snapshot * snapshot, const struct ggs_overview ** out, struct ggs_error * error);
int ggs_snapshot_map(struct ggs_snapshot * snapshot, const struct ggs_model_map ** out, struct ggs_error * error);
int ggs_snapshot_levels(struct ggs_snapshot * snapshot, const struct ggs_timeline_levels ** out,
                        struct ggs_error * error);
int ggs_snapshot_ops(struct ggs_snapshot * snapshot, const struct ggs_node_ops ** out, struct ggs_error * error);
