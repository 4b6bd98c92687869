// The layout of a recording's model files: tensors and other regions, by file and offset.
//
// Read from the files if they exist with the same size; else made of the tensors in the trace.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/names.h"
#include "analyze/walk/trace.h"

struct ggs_model_place {
    const char * name; // lives as long as the map; "" for other regions
    const char * kind; // "tensor", "header", "key-values", "tensor infos", "padding", "trailing"
    const char * type; // "Q4_K"; "" for other regions
    const char * component;
    const char * category;
    uint64_t     file; // from 1
    uint64_t     offset, bytes;
    uint64_t     ne[4];
    unsigned     n_dims;  // 0 for other regions
    int          layer;   // -1: none
    uint32_t     experts; // number of equal parts; 0: no experts
    bool         copied;  // the engine read a copy of it
};

struct ggs_model_map {
    struct ggs_model_place * places; // by file, then offset
    uint64_t                 n, capacity;
    uint64_t                 from_trace; // files that were missing or changed
    // Of the first readable file; "" and 0 if there is none.
    const char *       model, *architecture;
    uint64_t           layers, experts, experts_used;
    struct ggs_names * names;
};

int  ggs_model_map_make(struct ggs_model_map * map, struct ggs_trace * trace, struct ggs_error * error);
void ggs_model_map_release(struct ggs_model_map * map);

// Returns the index of the place that contains the byte; -1 if there is none.
int64_t ggs_model_map_find(const struct ggs_model_map * map, uint64_t file, uint64_t offset);
