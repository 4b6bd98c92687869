#include "figure/reads.h"

#include <inttypes.h>

#include "base/error.h"
#include "figure/kinds.h"

int ggs_reads_absent(struct ggs_error * error) {
    return ggs_fail(error, GGS_ABSENT,
                    "no op reads bytes of a model file in this part of the recording: there is nothing to draw");
}

int ggs_reads_make(struct ggs_reads * reads, struct ggs_trace * trace, const struct ggs_figure_options * options,
                   struct ggs_error * error) {
    int status = ggs_model_map_make(&reads->map, trace, error);
    if (status < 0) return status;
    status     = ggs_heat_compute(&reads->heat, trace, &reads->map, options->first_step, options->last_step, error);
    reads->end = ggs_figure_base(trace, trace->n_files + 1);
    if (status == 0 && reads->heat.touched_bytes + reads->heat.unknown_bytes == 0) {
        ggs_heat_release(&reads->heat);
        status = ggs_reads_absent(error);
    }
    if (status < 0) ggs_model_map_release(&reads->map);
    return status;
}

void ggs_reads_release(struct ggs_reads * reads) {
    ggs_heat_release(&reads->heat);
    ggs_model_map_release(&reads->map);
}

bool ggs_reads_next(const struct ggs_reads * reads, const struct ggs_trace * trace, uint64_t * i, uint64_t * expert,
                    struct ggs_reads_part * part) {
    if (*i == reads->map.n) return false;
    const struct ggs_model_place * place = &reads->map.places[*i];
    const struct ggs_heat_place *  heat  = &reads->heat.places[*i];
    uint64_t                       base  = ggs_figure_base(trace, place->file) + place->offset;
    if (heat->expert_reads == NULL || heat->unknown || place->experts == 0) {
        *part = (struct ggs_reads_part){place, !heat->unknown, -1, base, place->bytes, heat->reads, heat->bytes};
        ++*i;
        return true;
    }
    uint64_t each = place->bytes / place->experts;
    *part         = (struct ggs_reads_part){place,
                                            true,
                                            (int64_t) *expert,
                                            base + *expert * each,
                                            each,
                                            heat->expert_reads[*expert],
                                            heat->expert_bytes[*expert]};
    if (++*expert == place->experts) ++*i, *expert = 0;
    return true;
}

void ggs_reads_put(struct ggs_text * data, const struct ggs_reads * reads, const struct ggs_trace * trace,
                   const char * end) {
    struct ggs_reads_part part;
    for (uint64_t i = 0, expert = 0; ggs_reads_next(reads, trace, &i, &expert, &part);) {
        ggs_figure_row(data, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s,", part.place->file,
                       part.begin - ggs_figure_base(trace, part.place->file), part.bytes, part.place->kind);
        ggs_figure_field(data, part.place->name);
        if (part.place->layer >= 0)
            ggs_figure_row(data, ",%d,", part.place->layer);
        else
            ggs_figure_row(data, ",,");
        if (part.expert >= 0) ggs_figure_row(data, "%" PRId64, part.expert);
        if (part.is_known)
            ggs_figure_row(data, ",%" PRIu64 ",%" PRIu64 "%s", part.accesses, part.bytes_read, end);
        else
            ggs_figure_row(data, ",,%s", end); // reads not seen
    }
}
