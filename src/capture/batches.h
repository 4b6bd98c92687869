// The tokens of a decode as the journal has them. Releases from late 2026 on have opaque batches
// (llama_batch_ext); their contents are tracked here.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ggs_batch {
    uint32_t  n, capacity;
    int32_t * token; // -1 for an embedding
    int32_t * position;
    int32_t * sequence; // the first one
    uint8_t * output;
    int32_t (*more)[2]; // index of a token and a further sequence that it belongs to
    uint32_t n_more, more_capacity;
};

// Adds a token at position 0 without output. Returns false and changes nothing if out of memory.
bool ggs_batch_add(struct ggs_batch * batch, int32_t token, int32_t sequence);
bool ggs_batch_add_sequence(struct ggs_batch * batch, uint32_t index, int32_t sequence);
void ggs_batch_release(struct ggs_batch * batch);

// Contents of the engine's batch at `address`; NULL if some of them were not observed.
const struct ggs_batch * ggs_batch_at(const void * address);
