// What `ggscope stream` would do with a model, by its GGUF files alone.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ggs_model;

struct ggs_stream_forecast {
    uint64_t memory, engine;           // given to the program; of that, what the engine takes: estimated
    bool     fits, too_little;         // nothing would be streamed
    uint64_t kept, slots, ring;        // how the rest is divided
    double   experts_held;             // share of the experts that have slots
    uint64_t token_bytes, token_reads; // weights that a token uses, and what of them comes from the disk
};

// Experts are taken to be chosen evenly: real ones are not, so that less is read. `context`: tokens
// that the engine's KV cache holds. Returns false if there is no memory for the computation.
bool ggs_stream_forecast(struct ggs_stream_forecast * forecast, const struct ggs_model * model, uint64_t memory,
                         uint64_t context);
