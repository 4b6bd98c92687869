// The lines of a memory map: the tensors of a file in the order in which they lie there, experts
// one by one if asked for.
//
//     struct ggs_entries entries = ggs_entries(gguf, &map, true);
//     struct ggs_entry   entry;
//     while (ggs_entries_next(&entries, &entry)) ...
//
// Text, CSV and JSON of `ggscope gguf` and every export walk a file this way, so they all list the
// same things.
#pragma once

#include "gguf/gguf-name.h"
#include "gguf/gguf.h"

struct ggs_gguf_map;
struct ggs_text;

struct ggs_entry {
    const struct ggs_gguf_tensor * tensor;
    struct ggs_name                name;
    uint32_t                       n_experts; // in this tensor; 0: it is no tensor of experts
    int64_t                        expert;    // the expert that this entry is, -1: none, or all of them
    uint64_t                       offset;    // of this entry in the file
    uint64_t                       size;
    uint64_t                       elements;
    uint64_t                       ne[GGS_GGUF_DIMS_MAX]; // shape of this entry
    unsigned                       n_dims;
};

struct ggs_entries {
    const struct ggs_gguf *     gguf;
    const struct ggs_gguf_map * map;
    bool                        experts; // one by one?
    size_t                      region;
    uint32_t                    next_expert;
};

// Borrows both, which must outlive the walk.
struct ggs_entries ggs_entries(const struct ggs_gguf * gguf, const struct ggs_gguf_map * map, bool experts);
bool               ggs_entries_next(struct ggs_entries * entries, struct ggs_entry * entry);

// Appends "blk.0.attn_q.weight", or "blk.0.ffn_down_exps.weight[7]" for one expert of several. The
// bytes are the file's own.
void ggs_entry_append_name(struct ggs_text * text, const struct ggs_entry * entry);

// The number of the expert that an entry is, -1 if it is none: a slice, or a tensor of its own in
// older files.
int64_t ggs_entry_expert(const struct ggs_entry * entry);
