// Machine events for every place of the model's files: pages that ops touched, page faults and
// their stalls. Complements heat.h, which is about addressed bytes.
#pragma once

#include <stdint.h>

#include "analyze/walk/model-map.h"

struct ggs_machine_place {
    uint64_t touched; // bytes of touched pages, counted once, at most the size of the place
    uint64_t minor, major, stalled_ns;
};

// A range of a file in units of `stretch_bytes`.
struct ggs_machine_stretch {
    uint64_t                 file;   // from 1
    uint64_t                 offset; // of its first byte
    struct ggs_machine_place sum;
};

struct ggs_machine_heat {
    struct ggs_machine_place *  places; // as in the map
    uint64_t                    n_places;
    struct ggs_machine_place ** experts; // by place: by expert; NULL without experts
    // By byte range, from the recorded addresses: stretches with events, by file and offset. A
    // stretch is a page or, in large files, such that there are some thousand of them.
    uint64_t                     stretch_bytes, page_bytes;
    struct ggs_machine_stretch * stretch;
    uint64_t                     n_stretches, stretches_capacity;
    bool                         pages, faults; // recorded
};

// For token steps first..last. Reads the tables of machine events, not op runs.
int ggs_machine_heat_compute(struct ggs_machine_heat * heat, struct ggs_trace * trace, const struct ggs_model_map * map,
                             int64_t first_step, int64_t last_step, struct ggs_error * error);
void ggs_machine_heat_release(struct ggs_machine_heat * heat);
