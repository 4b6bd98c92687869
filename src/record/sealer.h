// Seals a recording while it goes on, and those of the programs that are followed, in a thread of its own at idle priority
// (trace/seal/background.h). If the machine has no time for that it falls behind, and the rest is done at the end.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ggs_control;
struct ggs_observation;
struct ggs_sealer;

struct ggs_sealer_settings {
    const char *             folder;      // of the spool
    const char *             directory;   // of the experiment
    uint64_t                 start_ns;    // CLOCK_MONOTONIC
    bool                     follow;      // there may be more below the directory
    struct ggs_observation * observation; // outlives the sealer, as does the next
    struct ggs_control *     control;     // is told of the room that there is again
};

// NULL if it could not be started: then everything is done at the end.
struct ggs_sealer * ggs_sealer_start(const struct ggs_sealer_settings * settings);
// NULL is fine.
void ggs_sealer_stop(struct ggs_sealer * sealer);
