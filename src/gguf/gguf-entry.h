// The entries of a memory map: the tensors of a file in order of their offsets, optionally one
// entry per expert.
//
//     struct ggs_entries entries = ggs_entries(gguf, &map, true);
//     struct ggs_entry   entry;
//     while (ggs_entries_next(&entries, &entry)) ...
//
// `ggscope gguf` in text, CSV and JSON, and every export, walk a file this way, so their lists
// agree.
#pragma once

#include "gguf/gguf-name.h"
#include "gguf/gguf.h"

struct ggs_gguf_map;
struct ggs_text;

struct ggs_entry {
    const struct ggs_gguf_tensor * tensor;
    struct ggs_name                name;
    uint32_t                       n_experts; // in this tensor; 0: not a tensor of experts
    int64_t                        expert;    // the expert of this entry; -1: none, or all of them
    uint64_t                       offset;    // of this entry in the file
    uint64_t                       size;
    uint64_t                       elements;
    uint64_t                       ne[GGS_GGUF_DIMS_MAX]; // shape of this entry
    unsigned                       n_dims;
};

struct ggs_entries {
    const struct ggs_gguf *     gguf;
    const struct ggs_gguf_map * map;
    bool                        experts; // one entry per expert
    size_t                      region;
    uint32_t                    next_expert;
};

// Borrows both arguments, which must outlive the walk.
struct ggs_entries ggs_entries(const struct ggs_gguf * gguf, const struct ggs_gguf_map * map, bool experts);
bool               ggs_entries_next(struct ggs_entries * entries, struct ggs_entry * entry);

// Appends "blk.0.attn_q.weight", or "blk.0.ffn_down_exps.weight[7]" for one of several experts. The
// bytes are those of the file, unchecked.
void ggs_entry_append_name(struct ggs_text * text, const struct ggs_entry * entry);

// Returns the expert of an entry, -1 if it has none: a slice, or a tensor of its own in older
// files.
int64_t ggs_entry_expert(const struct ggs_entry * entry);
