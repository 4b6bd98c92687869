// How often every place of the model's files, every expert and every buffer was touched.
#pragma once

#include <stdint.h>

#include "analyze/memory/buffer-heat.h"
#include "analyze/walk/intervals.h"
#include "analyze/walk/model-map.h"

struct ggs_heat_place {
    uint64_t   reads, bytes;        // bytes: with repetitions
    uint64_t   disk;                // of these bytes, those read from the mapped file and not from a copy
    uint64_t   last_run, last_node; // of the last op that touched it; run 0: never
    uint64_t   last_op;             // ggml's number
    bool       unknown;             // part of it was read, but which part was not seen: unknown by expert
    uint64_t * expert_reads;        // by expert; NULL without experts
    uint64_t * expert_bytes;
};

struct ggs_heat {
    struct ggs_heat_place * places; // as in the map
    uint64_t                n_places;
    uint64_t                touched_bytes, model_bytes; // of the opened GGUF files
    uint64_t                unknown_bytes;              // in addition: partly read, unknown which part
    uint64_t tensor_bytes; // of their tensors; the rest is header and padding, which no op reads: not cold
    struct ggs_heat_buffer {
        uint64_t reads, writes, bytes; // accesses
    } * buffers;                       // as in the trace
    uint64_t               n_buffers;
    struct ggs_buffer_heat in_buffers; // by bytes of the buffers
    struct ggs_intervals * touched;    // by file - 1
    struct ggs_intervals * maybe;      // the same with possible reads
    uint64_t               n_files;
};

// For token steps first..last, without warm-up.
int  ggs_heat_compute(struct ggs_heat * heat, struct ggs_trace * trace, const struct ggs_model_map * map,
                      int64_t first_step, int64_t last_step, struct ggs_error * error);
void ggs_heat_release(struct ggs_heat * heat);
