// The dimensions of a model: a preset, changed by options, checked as a whole.
#pragma once

#include <stdint.h>

struct ggs_error;
struct ggs_synth_arch;

enum {
    GGS_SYNTH_MAX_LAYERS  = 512, // the engine's limits
    GGS_SYNTH_MAX_EXPERTS = 1024,
    GGS_SYNTH_MAX_WIDTH   = 1 << 20, // of a row; far above any model
    GGS_SYNTH_MAX_SPLITS  = 65535,   // split.count has 16 bits
};

// The options of the command line; a number is -1 if not given.
struct ggs_synth_options {
    const char * preset;
    const char * arch; // NULL: the preset's
    int64_t      layers;
    int64_t      embd;
    int64_t      ff;
    int64_t      heads;
    int64_t      kv_heads;
    int64_t      experts;
    int64_t      experts_used;
};

struct ggs_synth_shape {
    const char *                  preset;
    const struct ggs_synth_arch * arch;
    uint32_t                      layers;
    uint32_t                      embd;
    uint32_t                      ff; // width of the feed-forward net, or of one expert
    uint32_t                      heads;
    uint32_t                      kv_heads;
    uint32_t                      head;    // values per head: embd / heads
    uint32_t                      experts; // 0: none
    uint32_t                      experts_used;
    uint32_t                      context;
    uint32_t                      vocabulary; // number of tokens; set when the vocabulary is read
};

// Fills `shape` from the options, or fails with a sentence (GGS_USAGE). The vocabulary stays 0.
int ggs_synth_shape_init(struct ggs_synth_shape * shape, const struct ggs_synth_options * options,
                         struct ggs_error * error);
