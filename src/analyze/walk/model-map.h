// Where everything lies in the files of a recording's models: tensors, and what is no tensor, by
// file and offset.
//
// Read from the files if they are still there and as large as they were; else made of the tensors
// that the trace has seen.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/names.h"
#include "analyze/walk/trace.h"

struct ggs_model_place {
    const char * name; // lives as long as the map; "" for what is no tensor
    const char * kind; // "tensor", "header", "key-values", "tensor infos", "padding", "trailing"
    const char * type; // "Q4_K"; "" for what is no tensor
    const char * component;
    const char * category;
    uint64_t     file; // from 1
    uint64_t     offset, bytes;
    uint64_t     ne[4];
    unsigned     n_dims;  // 0 for what is no tensor
    int          layer;   // -1: none
    uint32_t     experts; // equal parts that it consists of; 0: it holds no experts
    bool         copied;  // the engine read it from a copy of its own
};

struct ggs_model_map {
    struct ggs_model_place * places; // by file, then offset
    uint64_t                 n, capacity;
    uint64_t                 from_trace; // files that were gone or had changed
    // Of the first file that could be read; "" and 0 if there was none.
    const char *       model, *architecture;
    uint64_t           layers, experts, experts_used;
    struct ggs_names * names;
};

int  ggs_model_map_make(struct ggs_model_map * map, struct ggs_trace * trace, struct ggs_error * error);
void ggs_model_map_release(struct ggs_model_map * map);

// The number of the place that holds the byte; -1 for none.
int64_t ggs_model_map_find(const struct ggs_model_map * map, uint64_t file, uint64_t offset);
