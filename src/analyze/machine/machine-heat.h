// What the machine did with every place of the model's files: pages that ops really touched, page faults and how long they held
// threads up. Beside heat.h, which is about what ops address.
#pragma once

#include <stdint.h>

#include "analyze/walk/model-map.h"

struct ggs_machine_place {
    uint64_t touched; // bytes of pages that ops really touched, each counted once, at most the place's own
    uint64_t minor, major, stalled_ns;
};

struct ggs_machine_heat {
    struct ggs_machine_place * places; // as in the map
    uint64_t                   n_places;
    bool                       pages, faults; // recorded at all
};

// Token steps first..last. Goes through the tables of what the machine did, not through op runs.
int ggs_machine_heat_compute(struct ggs_machine_heat * heat, struct ggs_trace * trace, const struct ggs_model_map * map,
                             int64_t first_step, int64_t last_step, struct ggs_error * error);
void ggs_machine_heat_release(struct ggs_machine_heat * heat);
