// Predicts the behaviour of `ggscope stream` from a model's GGUF files.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ggs_model;

struct ggs_stream_forecast {
    uint64_t memory, engine;           // total; of that, estimated for the engine
    bool     fits, too_little;         // nothing would be streamed
    uint64_t kept, slots, ring;        // division of the rest
    double   experts_held;             // share of the experts with slots
    uint64_t token_bytes, token_reads; // weights that a token uses; the part read from the disk
};

// Assumes uniform choices of experts; real ones are not uniform, so that less is read. `context`:
// tokens in the engine's KV cache. False if memory is out.
bool ggs_stream_forecast(struct ggs_stream_forecast * forecast, const struct ggs_model * model, uint64_t memory,
                         uint64_t context);
