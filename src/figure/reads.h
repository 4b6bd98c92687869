// How often each part of the model's files was read.
#pragma once

#include "analyze/memory/heat.h"
#include "figure/figure.h"

struct ggs_reads {
    struct ggs_model_map map;
    struct ggs_heat      heat;
    uint64_t             end; // of the axis of offsets
};

// A part of the files that is read as a whole: a tensor, or one expert of it.
struct ggs_reads_part {
    const struct ggs_model_place * place;
    bool                           is_known;
    int64_t                        expert; // -1: none
    uint64_t                       begin, bytes, accesses, bytes_read;
};

// GGS_ABSENT if nothing was read.
int  ggs_reads_make(struct ggs_reads * reads, struct ggs_trace * trace, const struct ggs_figure_options * options,
                    struct ggs_error * error);
void ggs_reads_release(struct ggs_reads * reads);
// Returns the next part; *i and *expert start at 0.
bool ggs_reads_next(const struct ggs_reads * reads, const struct ggs_trace * trace, uint64_t * i, uint64_t * expert,
                    struct ggs_reads_part * part);
// Appends the parts as rows of CSV. `end`: of each row, with its line break.
void ggs_reads_put(struct ggs_text * data, const struct ggs_reads * reads, const struct ggs_trace * trace,
                   const char * end);
// Says that there is nothing to draw.
int ggs_reads_absent(struct ggs_error * error);
