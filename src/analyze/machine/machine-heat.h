// What the machine did with every place of the model's files: pages that ops really touched, page
// faults and how long they held threads up. Beside heat.h, which is about what ops address.
#pragma once

#include <stdint.h>

#include "analyze/walk/model-map.h"

struct ggs_machine_place {
    uint64_t touched; // bytes of pages that ops really touched, each counted once, at most the place's own
    uint64_t minor, major, stalled_ns;
};

// Some bytes of a file, in units of `stretch_bytes`.
struct ggs_machine_stretch {
    uint64_t                 file;   // from 1
    uint64_t                 offset; // of its first byte
    struct ggs_machine_place sum;
};

struct ggs_machine_heat {
    struct ggs_machine_place *  places; // as in the map
    uint64_t                    n_places;
    struct ggs_machine_place ** experts; // by place: by expert; NULL if the place holds none
    // By byte range, from the recorded addresses: stretches in which something happened, by file
    // and offset. They are a page or, in large files, as many as leave some thousand of them.
    uint64_t                     stretch_bytes, page_bytes;
    struct ggs_machine_stretch * stretch;
    uint64_t                     n_stretches, stretches_capacity;
    bool                         pages, faults; // recorded at all
};

// Token steps first..last. Goes through the tables of what the machine did, not through op runs.
int ggs_machine_heat_compute(struct ggs_machine_heat * heat, struct ggs_trace * trace, const struct ggs_model_map * map,
                             int64_t first_step, int64_t last_step, struct ggs_error * error);
void ggs_machine_heat_release(struct ggs_machine_heat * heat);
