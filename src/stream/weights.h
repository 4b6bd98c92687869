// The weights that graphs use, and where each of them is to be found.
//
// A weight is a range of a mapped model file that an op reads whole, or, where it holds experts, one part for each expert that
// a token was given to. Dense weights are kept (read once, then in memory) or streamed (read into the ring for every use); experts
// have slots. All of it is decided together, by how much memory there is.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stream/disk/reader.h"
#include "stream/stream.h"

enum { GGS_GROUP_WEIGHTS = 4 };

enum ggs_weight_place {
    GGS_PLACE_MAPPED,   // left to the mapping
    GGS_PLACE_STREAMED, // through the ring
    GGS_PLACE_KEPT,     // in memory of its own, once it was read
    GGS_PLACE_SLOTS,    // experts
};

struct ggs_weight {
    const char *              address; // in the mapping
    uint64_t                  offset, bytes;
    int                       file;
    enum ggs_weight_place     place;
    uint32_t                  order;     // of first use
    struct ggs_expert_group * group;     // NULL for a dense weight
    uint32_t                  in_group;  // which of the group's weights
    bool                      is_router; // small, and used for predictions too
    // where it is kept
    char *             kept; // where its span begins; NULL until memory is given
    bool               asked, ready;
    bool               in_use; // by the op that runs
    bool               gone;   // its memory was given back: whoever comes to it next takes note
    struct ggs_arrival load;
    // where it has slots: slot s begins at slots + s * stride, its data at `delta` in it
    char *   slots;
    uint64_t stride, expert_bytes;
    uint32_t delta;
    bool     uneven; // experts begin at different places of a block: they are moved after reading
};

// The weights whose experts are chosen together: gate, up and down of a layer.
struct ggs_expert_group {
    struct ggs_weight *      weights[GGS_GROUP_WEIGHTS];
    uint32_t                 number, n_weights, n_experts, n_used, n_slots;
    uint32_t                 n_gone;  // of the slots, the last ones: their memory was given back
    int32_t *                slot_of; // by expert, -1 where it has none
    double *                 score;   // by expert: how often it was chosen, of which what is long ago counts less
    double                   weight;  // of the next choice
    struct ggs_expert_slot * slot;    // n_slots of them
    uint64_t                 clock;
    bool                     warm; // slots were filled at least once
    bool                     lent; // their memory serves as a ring just now
    // Where memory is too little for slots of its own, it has them in turns with others: whose they are now. NULL: they are its own.
    struct ggs_expert_group ** turn;
    int                        layer;     // by the weights' names, -1: they do not tell
    uint64_t                   n_inputs;  // of an expert
    uint32_t                   predicted; // experts read early since the last choice
    struct ggs_weight *        router;
};

struct ggs_expert_slot {
    int32_t            expert; // -1: empty
    bool               predicted;
    uint64_t           used; // the group's clock
    struct ggs_arrival load[GGS_GROUP_WEIGHTS];
    bool               moved[GGS_GROUP_WEIGHTS]; // uneven ones: already in place
};

// The span of a weight in its file that direct reads can have: begins at or before it, ends at or behind its end.
struct ggs_span {
    uint64_t offset, bytes, needed; // `needed` bytes of it exist in the file
    uint32_t delta;                 // where the data begins in it
};

// The weight at this address, made where it is new.
struct ggs_weight * ggs_weight_at(const char * address, uint64_t bytes, int file, uint64_t offset);

// Makes a group of weights of `n_experts` experts each.
struct ggs_expert_group * ggs_expert_group_new(uint32_t n_experts, uint32_t n_used, int layer, uint64_t n_inputs);
bool                      ggs_expert_group_add(struct ggs_expert_group * group, struct ggs_weight * weight);

// All groups, in order of first use, and the one of the layer behind this one, NULL where that is not known.
uint32_t                  ggs_expert_groups(void);
struct ggs_expert_group * ggs_expert_group_at(uint32_t i);
struct ggs_expert_group * ggs_expert_group_after(const struct ggs_expert_group * group);

struct ggs_span ggs_weight_span(const struct ggs_weight * weight);
struct ggs_span ggs_expert_span(const struct ggs_weight * weight, uint32_t expert);

// Bytes of weights that no decision has been taken on, and of all.
uint64_t ggs_weights_new(void);
uint64_t ggs_weights_total(void);

// Gives back all memory that weights have. Nothing may be in flight.
void ggs_weights_drop(void);

// A prompt uses nearly all experts of a layer: such weights are read as a whole, into memory that slots of some groups have otherwise. Returns it, and
// empties those slots. NULL if there is none. Nothing may be in flight.
char * ggs_weights_lend(uint64_t * bytes);
void   ggs_weights_lent_back(void);

// ---- giving memory back while graphs run, from another thread ----

// Held by that thread, and by the one that runs graphs where it changes which weights and slots have memory and which of them are in use. Never while
// something is waited for.
void ggs_weights_lock(void);
void ggs_weights_unlock(void);

// Lets go of memory of weights and slots that no op uses, `bytes` of it if there is so much. Returns how much it was. Allocates nothing.
uint64_t ggs_weights_give(uint64_t bytes);

// What was given since memory was divided, and what was promised then and has not been touched.
uint64_t ggs_weights_given(void);
uint64_t ggs_weights_promised(void);

// A kept weight is asked for, or for the op that begins now: false if its memory was given back, and then it is streamed from here on, or left to the mapping
// where the ring of `ring` bytes cannot hold it.
bool ggs_weight_ask(struct ggs_weight * weight, uint64_t ring);
bool ggs_weight_use(struct ggs_weight * weight, uint64_t ring);
void ggs_weight_used(struct ggs_weight * weight);

// Decides for all weights with `budget` bytes for them. Nothing may be in flight. Returns the size of the ring, and whether anything is
// gained by streaming at all.
bool ggs_weights_arrange(uint64_t budget, uint64_t * ring_bytes);

// Has the kernel read all weights that graphs use into memory: the model fits.
void ggs_weights_populate(void);

// Forgets everything: models went away. Nothing may be in flight.
void ggs_weights_forget(void);

// How the bytes of all weights are divided, and the memory that was divided.
struct ggs_weights_sizes {
    uint64_t dense, experts, kept, slots, streamed, mapped;
    uint64_t ring, limit, engine; // filled in by whoever decides
    bool     too_little;          // memory to stream in
};
struct ggs_weights_sizes        ggs_weights_sizes(void);
extern struct ggs_weights_sizes ggs_stream_sizes; // by the newest decision
