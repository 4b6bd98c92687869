// Runs from a part: its blocks replace lanes.
#include <stdlib.h>

#include "trace/seal/runs/runs.h"

struct ggs_part_lane * ggs_runs_save(const struct ggs_runs * runs) {
    struct ggs_part_lane * lanes = calloc(runs->spool->n_lanes + 1, sizeof(*lanes));
    for (size_t i = 0; lanes != NULL && i < runs->spool->n_lanes; i++) {
        const struct ggs_spool_stream * stream = &runs->spool->lanes[i];
        uint32_t                        sequence;
        lanes[i]          = (struct ggs_part_lane){.lane      = stream->lane,
                                                   .position  = ggs_spool_stream_tell(stream, &sequence),
                                                   .missing   = stream->missing,
                                                   .damaged   = stream->damaged,
                                                   .gap       = stream->gap,
                                                   .os_thread = runs->os_threads[i],
                                                   .unmatched = runs->unmatched[i]};
        lanes[i].sequence = sequence;
        ggs_observed_save(runs->observed, i, &lanes[i]);
    }
    return lanes;
}

int ggs_runs_load(struct ggs_runs * runs, const struct ggs_part_lane * lanes, size_t n) {
    struct ggs_spool * spool      = runs->spool;
    uint64_t *         os_threads = calloc(spool->n_lanes + 1, sizeof(*os_threads));
    uint64_t *         unmatched  = calloc(spool->n_lanes + 1, sizeof(*unmatched));
    bool               good       = os_threads != NULL && unmatched != NULL && ggs_observed_lanes(runs->observed);
    free(runs->os_threads);
    free(runs->unmatched);
    runs->os_threads = os_threads;
    runs->unmatched  = unmatched;
    for (size_t i = 0; good && i < spool->n_lanes; i++) {
        struct ggs_spool_stream * stream = &spool->lanes[i];
        size_t                    at     = 0;
        while (at < n && lanes[at].lane != stream->lane) at++;
        if (at == n) continue;
        ggs_spool_stream_seek(stream, (uint32_t) lanes[at].sequence, lanes[at].position);
        stream->missing += lanes[at].missing;
        stream->damaged += lanes[at].damaged;
        stream->gap |= lanes[at].gap != 0;
        os_threads[i] = lanes[at].os_thread;
        unmatched[i]  = lanes[at].unmatched;
        ggs_observed_load(runs->observed, i, &lanes[at]);
    }
    return good ? 0 : GGS_MEMORY;
}

static void begin_block(struct ggs_runs * runs) {
    bool more            = ggs_part_next_block(runs->part);
    runs->lods->replays  = more;
    runs->observed->part = more ? runs->part : NULL;
    ggs_writer_count(runs->writer, more);
    if (more) {
        runs->lods->level  = (unsigned) runs->part->counts.level;
        runs->lods->levels = GGS_LOD_LEVELS;
        runs->lods->open   = false;
        return;
    }
    if (runs->part->n_lanes > 0 && ggs_runs_load(runs, runs->part->lanes, runs->part->n_lanes) != 0)
        ggs_writer_fail_memory(runs->writer);
    runs->mode = GGS_RUNS_FROM_LANES;
}

void ggs_runs_begin_part(struct ggs_runs * runs) {
    if (runs->mode == GGS_RUNS_FROM_PART) begin_block(runs);
}

void ggs_runs_end_block(struct ggs_runs * runs) {
    struct ggs_part * part = runs->part;
    struct ggs_lods * lods = runs->lods;
    uint64_t          at = 0, n = 0, length;
    const void *      chunk;
    ggs_writer_close_others(runs->writer);
    while ((chunk = ggs_part_chunk(part, &at, &n, &length)) != NULL) ggs_writer_copy(runs->writer, chunk, length);
    runs->writer->rows[GGS_TABLE_OP_RUNS] = part->op_runs;
    for (uint64_t i = 0; i < part->counts.left; i++) ggs_lods_replay(lods, &part->left[i]);
    for (uint64_t i = 0; i < part->counts.lod_lanes; i++) {
        const struct ggs_part_lod_lane * lane = &part->lod_lanes[i];
        ggs_lods_resume(lods, lane->device, lane->slot, lane->thread, lane->covered_ns, &lane->bin);
    }
    lods->credit = part->counts.credit;
    begin_block(runs);
}
