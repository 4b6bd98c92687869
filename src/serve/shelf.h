// The experiments that are served, each as it was when it was last opened.
//
// An exhibit is an experiment opened: its trace, and what requests share of it. It never changes. Where the experiment does (a recording that
// goes on, a trace that was replaced or cut off) a new exhibit of a higher generation takes its place, and the old one lives until the last
// request that holds it is done. So whatever was worked out belongs to a generation, and to a request a trace never changes under its hands.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "analyze/ops/overview.h"
#include "analyze/walk/model-map.h"
#include "base/error.h"
#include "serve/log-cache.h"

// How to look at a recording that goes on. Both may be called by one thread at a time.
struct ggs_live {
    // Is the directory being recorded to? Then *units tells about how much there is.
    bool (*going_on)(void * context, const char * directory, uint64_t * units);
    // Writes a trace of what there is so far to `path`, and nothing anywhere else.
    int (*snapshot)(void * context, const char * directory, const char * path, struct ggs_error * error);
    void * context;
};

struct ggs_node_ops { // by graph: which op each node is
    uint32_t   graph;
    uint32_t   n_nodes;
    uint16_t * ops; // shared where graphs have the same base
    bool       owned;
};

struct ggs_exhibit {
    _Atomic unsigned      holders;
    unsigned              index;
    uint64_t              generation;
    bool                  live;
    char *                directory;
    char                  id[37];
    struct ggs_trace      trace; // to be borrowed
    pthread_mutex_t       lock;  // of what follows, each made when it is wanted first
    bool                  has_overview, has_map, has_ops, has_levels;
    struct ggs_overview   overview;
    struct ggs_model_map  map;
    uint64_t              levels[64]; // of detail, as powers of two, ascending
    unsigned              n_levels;
    struct ggs_node_ops * node_ops; // by graph
    uint64_t              n_node_ops;
    struct ggs_log_cache  log_cache; // with a lock of its own
    pthread_mutex_t       disk_lock; // of what follows, which takes long
    uint64_t *            disk;      // by place in overview.run: bytes of mapped files that its ops read
};

struct ggs_shelf_state { // of one experiment, for whoever lists them
    char     directory[4096];
    char     name[256];
    char     id[37];
    char     state[24]; // "recording", "complete", "interrupted", ...; "gone", "refused"
    bool     live;
    char     error[768]; // "" where it can be shown
    uint64_t generation;
};

struct ggs_shelf;

// `live` may be NULL: then recordings that go on are refused. Directories that cannot be opened are on the shelf all the same, with the reason.
int  ggs_shelf_new(struct ggs_shelf ** out, const char * const * directories, unsigned n, const struct ggs_live * live,
                   struct ggs_error * error);
void ggs_shelf_free(struct ggs_shelf * shelf); // NULL is fine; all exhibits must have been given back

// Removes what the shelf has in the folder for temporary files; for a program that ends without waiting for whoever tends it.
void ggs_shelf_tidy(const struct ggs_shelf * shelf);

unsigned ggs_shelf_count(const struct ggs_shelf * shelf);
void     ggs_shelf_state(struct ggs_shelf * shelf, unsigned index, struct ggs_shelf_state * state);
// 0 where there is nothing to show. Quick.
uint64_t ggs_shelf_generation(struct ggs_shelf * shelf, unsigned index);
// Grows with everything that changes on the shelf.
uint64_t ggs_shelf_changes(struct ggs_shelf * shelf);

// Holds the newest exhibit. GGS_ABSENT: no such number; GGS_IO: gone; GGS_FORMAT: refused.
int  ggs_shelf_take(struct ggs_shelf * shelf, unsigned index, struct ggs_exhibit ** out, struct ggs_error * error);
void ggs_shelf_give_back(struct ggs_exhibit * exhibit); // NULL is fine

// Looks whether experiments changed, and opens them again where they did. Returns a bit for each of the first 64 that did. One thread calls it.
uint64_t ggs_shelf_tend(struct ggs_shelf * shelf);

// What is made when it is wanted first; lives as long as the exhibit.
int ggs_exhibit_overview(struct ggs_exhibit * exhibit, const struct ggs_overview ** out, struct ggs_error * error);
int ggs_exhibit_map(struct ggs_exhibit * exhibit, const struct ggs_model_map ** out, struct ggs_error * error);
// Levels of detail that the timeline has, finest first.
int ggs_exhibit_levels(struct ggs_exhibit * exhibit, uint64_t levels[64], unsigned * n, struct ggs_error * error);
// The op of a node; UINT16_MAX where it is not known. Call ggs_exhibit_ops first.
int      ggs_exhibit_ops(struct ggs_exhibit * exhibit, struct ggs_error * error);
uint16_t ggs_exhibit_op(const struct ggs_exhibit * exhibit, uint32_t graph, uint64_t node);
