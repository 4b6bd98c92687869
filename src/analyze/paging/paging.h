// What would so much memory cost? The reads of a recording, served by caches of several sizes and
// policies.
//
//     lru       least recently used, exact, of every size at once
//     linux     the page cache of Linux with its readahead (linux.h)
//     pin-hot   the best fixed set of weights, the rest streamed (pin.h)
//     stream    what `ggscope stream` would read (stream.h)
//     opt       Belady's optimum: nothing that reads on demand reads less (opt.h)
//
// All begin with what the engine does at load: reading its files once from end to end; with `cold`
// they begin empty. Warm-up is left out. Parts run side by side in a few threads. Time grows
// linearly with the recording; memory with the model's pages, and for the optimum by some bytes per
// read.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/paging/gather.h"
#include "analyze/paging/lru.h"
#include "analyze/paging/pin.h"
#include "analyze/paging/speed.h"

enum ggs_paging_policy {
    GGS_PAGING_LRU,
    GGS_PAGING_LINUX,
    GGS_PAGING_PIN_HOT,
    GGS_PAGING_OPT,
    GGS_PAGING_STREAM, // only if it is asked for by name
    GGS_PAGING_POLICIES,
};
extern const char * const ggs_paging_policy_names[GGS_PAGING_POLICIES];
extern const char * const ggs_paging_policy_texts[GGS_PAGING_POLICIES]; // half a line each

enum { GGS_PAGING_BUDGETS = 64 };

enum { GGS_READAHEAD_MOST = 1 << 30 };
#define GGS_READAHEAD_CHOSEN UINT64_MAX // as the model's disk is set here, or as Linux does by default
enum ggs_readahead_from { GGS_READAHEAD_GIVEN, GGS_READAHEAD_OF_DISK, GGS_READAHEAD_USUAL };

struct ggs_paging_options {
    int64_t  first_step, last_step;
    uint64_t page;      // bytes: a power of two from 4 KiB to 2 MiB; 0: as the recorded machine has them
    uint64_t readahead; // bytes, as the device is set; or GGS_READAHEAD_CHOSEN
    bool     cold;
    bool     policies[GGS_PAGING_POLICIES];
    unsigned n_memory; // 0: some sizes that suit the recording
    uint64_t memory[GGS_PAGING_BUDGETS];
    void (*progress)(void * context, uint64_t done, uint64_t total); // may be NULL
    void * context;
};

struct ggs_paging_budget {
    uint64_t               memory;
    struct ggs_paging_cost cost[GGS_PAGING_POLICIES]; // of those that were asked for
    // Of linux, whose result depends on small differences: the least and the most that runs with
    // slightly more or less memory, and with statistics brought up to date more or less often, read
    // while generating. `cost` is the run in the middle.
    uint64_t               linux_least, linux_most;
    bool                   linux_known; // false: these are too far apart for a prediction
    struct ggs_paging_pins pins;        // if pin-hot was asked for
    bool                   streams;     // if stream was: it would; else its cost is that of lru
};

struct ggs_paging {
    uint64_t                   page, readahead;
    enum ggs_readahead_from    readahead_from;
    bool                       cold;
    struct ggs_paging_speed    speed;
    uint64_t                   model_bytes;   // of the files
    uint64_t                   touched_bytes; // that ops read, in whole pages
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

// Bytes read per token step: of those that generate, or of the prompt if there are none. 0 if there
// are no steps.
uint64_t ggs_paging_per_token(const struct ggs_paging * paging, const struct ggs_paging_cost * cost);
// The same for a sum over the steps of that class.
uint64_t ggs_paging_share(const struct ggs_paging * paging, uint64_t bytes);
// The class that the two above are about.
enum ggs_read_class ggs_paging_class(const struct ggs_paging * paging);
// Bytes in whole pages that ops ask for per token step: what having no memory at all would cost.
uint64_t ggs_paging_demand(const struct ggs_paging * paging);
