#include "trace/seal/incremental.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "trace/seal/seal-state.h"

// A position in a stream of records.
struct place {
    uint32_t sequence;
    uint64_t position;
};

struct ggs_incremental {
    struct ggs_seal_state   state;
    struct ggs_seal_options options;
    struct ggs_part_keep    keep;
    char *                  spool;
    char *                  part;
    int                     fd;
    bool                    begun;
    bool                    ended;            // a block
    struct place            anchors, journal; // read up to here
    struct ggs_part_lane *  lanes;            // of the last block
    size_t                  n_lanes;
    uint64_t                removed; // bytes of segments
};

int ggs_incremental_open(struct ggs_incremental ** out, const char * spool, const char * part, uint64_t start_ns,
                         struct ggs_error * error) {
    struct ggs_incremental * seal = calloc(1, sizeof(*seal));
    *out                          = seal;
    if (seal == NULL) return ggs_fail_memory(error);
    seal->fd            = -1;
    seal->spool         = strdup(spool);
    seal->part          = strdup(part);
    seal->options       = (struct ggs_seal_options){.size = sizeof(seal->options), .start_monotonic_ns = start_ns};
    seal->state.options = &seal->options;
    seal->state.keep    = &seal->keep;
    seal->state.part.fd = -1;
    seal->state.tokens  = true; // steps are not written here
    ggs_clock_init(&seal->state.clock);
    if (seal->spool != NULL && seal->part != NULL) return 0;
    ggs_incremental_close(seal);
    *out = NULL;
    return ggs_fail_memory(error);
}

void ggs_incremental_close(struct ggs_incremental * seal) {
    if (seal == NULL) return;
    ggs_seal_release(&seal->state);
    ggs_part_keep_release(&seal->keep);
    if (seal->fd >= 0) close(seal->fd);
    free(seal->lanes);
    free(seal->spool);
    free(seal->part);
    free(seal);
}

// ---- the growing spool ----

static void remember(const struct ggs_spool_stream * stream, struct place * place) {
    place->position = ggs_spool_stream_tell(stream, &place->sequence);
}

static void go_to(struct ggs_spool_stream * stream, const struct place * place) {
    if (place->position > 0) ggs_spool_stream_seek(stream, place->sequence, place->position);
}

// Reads all anchors that the journal has so far: they precede the records that need them.
static void read_anchors(struct ggs_incremental * seal) {
    struct ggs_spool_stream * journal = &seal->state.spool.journal;
    struct ggs_clock *        clock   = &seal->state.clock;
    struct ggs_record         record;
    go_to(journal, &seal->anchors);
    while (ggs_spool_stream_record(journal, &record)) {
        ggs_seal_read_anchor(&seal->state, &record);
        remember(journal, &seal->anchors);
    }
    ggs_spool_stream_rewind(journal);
    // The machine's records use a copy of the clock: a conversion caches the piece it used.
    struct ggs_clock * other = &seal->state.observed.clock;
    memcpy(other->anchors, clock->anchors, clock->n_anchors * sizeof(*clock->anchors));
    other->n_anchors = clock->n_anchors;
}

// Lists the folder again; all streams keep their positions.
static int list_again(struct ggs_incremental * seal, struct ggs_error * error) {
    struct ggs_seal_state * state = &seal->state;
    struct ggs_part_lane *  lanes = NULL;
    size_t                  n     = state->spool.n_lanes;
    if (seal->begun) {
        lanes = ggs_runs_save(&state->runs);
        if (lanes == NULL) return ggs_fail_memory(error);
    }
    ggs_spool_release(&state->spool);
    int status = ggs_spool_open(&state->spool, seal->spool, error);
    for (size_t i = 0; status == 0 && i < state->spool.n_lanes; i++)
        for (size_t k = 0; k < seal->n_lanes; k++)
            if (seal->lanes[k].lane == state->spool.lanes[i].lane)
                state->spool.lanes[i].base = ggs_part_base(&seal->lanes[k]);
    if (status == 0) read_anchors(seal);
    if (status == 0 && seal->begun) {
        go_to(&state->spool.journal, &seal->journal);
        ggs_observed_reopen(&state->observed);
        if (ggs_runs_load(&state->runs, lanes, n) != 0) status = ggs_fail_memory(error);
    }
    free(lanes);
    return status;
}

// ---- segments that can be removed ----

// The program never unmaps segments, so unlinking alone would not free their memory; punching a
// hole does.
static uint64_t remove_segment(const char * path) {
    struct stat info;
    uint64_t    bytes = 0;
    int         fd    = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return 0;
    if (fstat(fd, &info) == 0 && unlink(path) == 0) {
        bytes = (uint64_t) info.st_size;
        if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, info.st_size) != 0) {
            // If the file system cannot, memory is freed when the program ends.
        }
    }
    close(fd);
    return bytes;
}

static void remove_segments(struct ggs_incremental * seal) {
    struct ggs_spool * spool = &seal->state.spool;
    if (flock(seal->fd, LOCK_EX | LOCK_NB) != 0) return; // the recording is being read: try later
    for (size_t i = 0; i < spool->n_lanes; i++) {
        const struct ggs_spool_stream * lane = &spool->lanes[i];
        size_t                          k    = 0;
        while (k < seal->n_lanes && seal->lanes[k].lane != lane->lane) k++;
        if (k == seal->n_lanes) continue;
        for (size_t s = 0; s < lane->n_segments && lane->segments[s].sequence < ggs_part_base(&seal->lanes[k]); s++)
            seal->removed += remove_segment(lane->segments[s].path);
    }
    flock(seal->fd, LOCK_UN);
}

// ---- sealing ----

// Ends a block when a chunk of op runs is closed between two graph runs.
static void end_block(void * context) {
    struct ggs_incremental * seal   = context;
    struct ggs_seal_state *  state  = &seal->state;
    struct ggs_writer *      writer = &state->writer;
    struct ggs_part_lane *   lanes  = ggs_runs_save(&state->runs);
    if (lanes == NULL) {
        ggs_writer_fail_memory(writer);
        return;
    }
    ggs_writer_settle(writer);
    if (writer->status == 0 &&
        ggs_part_write_block(seal->fd, &seal->keep, &state->lods, writer->n_entries,
                             ggs_writer_next_row(writer, GGS_TABLE_OP_RUNS), lanes, state->spool.n_lanes) != 0)
        writer->status = ggs_fail_errno(&writer->error, "cannot write %s", seal->part);
    writer->n_entries  = 0;
    state->lods.n_left = 0;
    free(seal->lanes);
    seal->lanes   = lanes;
    seal->n_lanes = state->spool.n_lanes;
    seal->ended   = true;
}

// Makes the part, once there is something to seal.
static int begin(struct ggs_incremental * seal, struct ggs_error * error) {
    struct ggs_seal_state * state    = &seal->state;
    uint64_t                start_ns = seal->options.start_monotonic_ns;
    state->clock.start_ns            = start_ns != 0 ? start_ns : state->clock.anchors[0].ns;
    seal->fd                         = open(seal->part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (seal->fd < 0 || ggs_part_write_header(seal->fd, state->clock.start_ns) != 0)
        return ggs_fail_errno(error, "cannot make %s", seal->part);
    int status = ggs_writer_init_op_runs(&state->writer, seal->fd, seal->part);
    if (status == 0) status = ggs_seal_begin(state, error);
    state->runs.whole         = end_block;
    state->runs.whole_context = seal;
    seal->begun               = status == 0;
    return status;
}

// True if the record can be sealed: later records cannot change its meaning.
static bool is_over(struct ggs_seal_state * state, const struct ggs_record * record, uint64_t until_ns) {
    struct ggs_clock * clock = &state->clock;
    if (record->ticks >= clock->anchors[clock->n_anchors - 1].ticks) return false;
    ggs_clock_reach(clock, record->ticks);
    return (uint64_t) ggs_clock_ns(clock, record->ticks) + clock->start_ns < until_ns;
}

// Decodes ascend in the journal. Records without a decode belong with their neighbours.
static bool is_certain(const struct ggs_record * record, uint64_t decode) {
    return record->type != GGS_JOURNAL_DECODE || ((const struct ggs_journal_decode *) record->body)->decode <= decode;
}

int ggs_incremental_step(struct ggs_incremental * seal, uint64_t until_ns, uint64_t until_decode,
                         struct ggs_error * error) {
    struct ggs_seal_state * state = &seal->state;
    struct ggs_record       record;
    int                     status = list_again(seal, error);
    if (status == GGS_ABSENT) return 0; // the program has not begun
    if (status == 0 && seal->n_lanes > 0) remove_segments(seal);
    if (status == 0 && (state->clock.n_anchors < 2 || state->clock.anchors[1].ns >= until_ns)) return 0;
    if (status == 0 && !seal->begun) status = begin(seal, error);
    seal->ended = false;
    while (status == 0 && !seal->ended && ggs_spool_stream_record(&state->spool.journal, &record) &&
           is_over(state, &record, until_ns) && is_certain(&record, until_decode)) {
        ggs_seal_record(state, &record);
        remember(&state->spool.journal, &seal->journal);
        status = state->writer.status;
        if (status != 0 && error != NULL) *error = state->writer.error;
    }
    return status != 0 ? status : seal->ended;
}

uint64_t ggs_incremental_freed(const struct ggs_incremental * seal) {
    off_t taken = seal->fd < 0 ? 0 : lseek(seal->fd, 0, SEEK_CUR);
    return taken >= 0 && seal->removed > (uint64_t) taken ? seal->removed - (uint64_t) taken : 0;
}
