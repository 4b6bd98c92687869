// Predicts the cost of limited memory: serves the reads of a recording from caches of several sizes
// and policies.
//
//     lru       least recently used, exact, for all sizes at once
//     linux     the page cache of Linux with its readahead (linux.h)
//     pin-hot   the best fixed set of weights, the rest streamed (pin.h)
//     stream    the reads of `ggscope stream` (stream-simulation.h)
//     opt       Belady's optimum: a lower bound for reading on demand (opt.h)
//
// All start like the engine at load, with one read of its files from start to end; with `cold` they
// start empty. Warm-up is left out. Parts run in a few threads. Time is linear in the length of the
// recording; memory in the model's pages, plus some bytes per read for the optimum.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/paging/gather.h"
#include "analyze/paging/lru.h"
#include "analyze/paging/pin.h"
#include "analyze/paging/token-time.h"

enum ggs_paging_policy {
    GGS_PAGING_LRU,
    GGS_PAGING_LINUX,
    GGS_PAGING_PIN_HOT,
    GGS_PAGING_OPT,
    GGS_PAGING_STREAM, // only if requested by name
    GGS_PAGING_POLICIES,
};
extern const char * const ggs_paging_policy_names[GGS_PAGING_POLICIES];
extern const char * const ggs_paging_policy_texts[GGS_PAGING_POLICIES]; // half a line each

enum { GGS_PAGING_BUDGETS = 64 };

enum { GGS_READAHEAD_MOST = 1 << 30 };
#define GGS_READAHEAD_CHOSEN UINT64_MAX // the setting of the model's disk, or Linux's default
enum ggs_readahead_from { GGS_READAHEAD_GIVEN, GGS_READAHEAD_OF_DISK, GGS_READAHEAD_USUAL };

struct ggs_paging_options {
    int64_t  first_step, last_step;
    uint64_t page;      // bytes: a power of two from 4 KiB to 2 MiB; 0: that of the recorded machine
    uint64_t readahead; // bytes, the device's setting; or GGS_READAHEAD_CHOSEN
    bool     cold;
    bool     policies[GGS_PAGING_POLICIES];
    unsigned n_memory; // 0: sizes chosen for the recording
    uint64_t memory[GGS_PAGING_BUDGETS];
    void (*progress)(void * context, uint64_t done, uint64_t total); // may be NULL
    void * context;
};

struct ggs_paging_budget {
    uint64_t               memory;
    struct ggs_paging_cost cost[GGS_PAGING_POLICIES]; // of the requested policies
    // Of linux, whose result depends on small differences: minimum and maximum bytes read while
    // generating, over runs with slightly different memory and update intervals. `cost` is the
    // middle run.
    uint64_t               linux_least, linux_most;
    bool                   linux_known; // false: too far apart for a prediction
    struct ggs_paging_pins pins;        // if pin-hot is requested
    bool                   streams;     // for stream: true if it would stream; else its cost is that of lru
};

struct ggs_paging {
    uint64_t                   page, readahead;
    enum ggs_readahead_from    readahead_from;
    bool                       cold;
    struct ggs_paging_speed    speed;
    uint64_t                   model_bytes;   // of the files
    uint64_t                   touched_bytes; // read by ops, in whole pages
    struct ggs_paging_facts    facts;
    struct ggs_paging_lru      lru; // the whole curve
    struct ggs_paging_sequence sequence;
    struct ggs_paging_weights  weights;
    unsigned                   n_budgets; // ascending
    struct ggs_paging_budget   budget[GGS_PAGING_BUDGETS];
};

int  ggs_paging_compute(struct ggs_paging * paging, struct ggs_trace * trace, const struct ggs_paging_options * options,
                        struct ggs_error * error);
void ggs_paging_release(struct ggs_paging * paging);

// Bytes read per token step: of generating steps, or of the prompt if there are none. 0 without
// steps.
uint64_t ggs_paging_per_token(const struct ggs_paging * paging, const struct ggs_paging_cost * cost);
// The same for a sum over the steps of that class.
uint64_t ggs_paging_share(const struct ggs_paging * paging, uint64_t bytes);
// The class used by the two above.
enum ggs_read_class ggs_paging_class(const struct ggs_paging * paging);
// Bytes in whole pages that ops request per token step: the cost without any cache.
uint64_t ggs_paging_demand(const struct ggs_paging * paging);
