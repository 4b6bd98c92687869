// Accounts for every byte of a GGUF file.
//
// A map lists the regions of a file in order. Each region begins where the previous one ends, the
// first at 0, and the last one ends with the file. So the sizes of all regions always add up to the
// size of the file.
//
//     | header | key-values | tensor infos | padding | tensor | padding | tensor | ... | trailing |
//
// Padding reaches to the next multiple of the file's alignment and no further. Tensors may be in
// any order. Overlapping or unaligned tensors, and gaps between tensors, are errors that name the
// tensors. Bytes behind the last tensor and its padding are a region ("trailing"), because they do
// no harm.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ggs_error;
struct ggs_gguf;

enum ggs_region_kind {
    GGS_REGION_HEADER,
    GGS_REGION_KEY_VALUES,
    GGS_REGION_TENSOR_INFOS,
    GGS_REGION_PADDING,
    GGS_REGION_TENSOR,
    GGS_REGION_TRAILING,
    GGS_REGION_KINDS,
};

struct ggs_region {
    enum ggs_region_kind kind;
    uint64_t             offset;
    uint64_t             size;   // 0 only for a tensor without elements
    size_t               tensor; // index into gguf->tensors, for GGS_REGION_TENSOR
};

struct ggs_gguf_map {
    struct ggs_region * regions;
    size_t              n_regions;
    uint64_t            bytes[GGS_REGION_KINDS]; // in all regions of a kind
};

// Fills the caller's map. ggs_gguf_map_release frees its contents, also after a failure.
int  ggs_gguf_map_init(struct ggs_gguf_map * map, const struct ggs_gguf * gguf, struct ggs_error * error);
void ggs_gguf_map_release(struct ggs_gguf_map * map);

const char * ggs_region_name(uint64_t kind); // "header", "key-values", ...
