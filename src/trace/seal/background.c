#include "trace/seal/background.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "trace/seal/sealing.h"

// A place in a stream of records.
struct place {
    uint32_t sequence;
    uint64_t position;
};

struct ggs_background {
    struct ggs_sealing      sealing;
    struct ggs_seal_options options;
    struct ggs_part_keep    keep;
    char *                  spool;
    char *                  part;
    int                     fd;
    bool                    begun;
    bool                    ended;            // a block
    struct place            anchors, journal; // how far it is read
    struct ggs_part_lane *  lanes;            // as the last block has them
    size_t                  n_lanes;
    uint64_t                removed; // bytes of segments
};

int ggs_background_open(struct ggs_background ** out, const char * spool, const char * part, uint64_t start_ns,
                        struct ggs_error * error) {
    struct ggs_background * background = calloc(1, sizeof(*background));
    *out                               = background;
    if (background == NULL) return ggs_fail_memory(error);
    background->fd    = -1;
    background->spool = strdup(spool);
    background->part  = strdup(part);
    background->options =
        (struct ggs_seal_options){.size = sizeof(background->options), .start_monotonic_ns = start_ns};
    background->sealing.options = &background->options;
    background->sealing.keep    = &background->keep;
    background->sealing.part.fd = -1;
    background->sealing.tokens  = true; // steps are not written here
    ggs_clock_init(&background->sealing.clock);
    if (background->spool != NULL && background->part != NULL) return 0;
    ggs_background_close(background);
    *out = NULL;
    return ggs_fail_memory(error);
}

void ggs_background_close(struct ggs_background * background) {
    if (background == NULL) return;
    ggs_sealing_release(&background->sealing);
    ggs_part_keep_release(&background->keep);
    if (background->fd >= 0) close(background->fd);
    free(background->lanes);
    free(background->spool);
    free(background->part);
    free(background);
}

// ---- the spool as it grows ----

static void remember(const struct ggs_spool_stream * stream, struct place * place) {
    place->position = ggs_spool_stream_tell(stream, &place->sequence);
}

static void go_to(struct ggs_spool_stream * stream, const struct place * place) {
    if (place->position > 0) ggs_spool_stream_seek(stream, place->sequence, place->position);
}

// Anchors come before what they are needed for: all that the journal has by now.
static void read_anchors(struct ggs_background * background) {
    struct ggs_spool_stream * journal = &background->sealing.spool.journal;
    struct ggs_clock *        clock   = &background->sealing.clock;
    struct ggs_record         record;
    go_to(journal, &background->anchors);
    while (ggs_spool_stream_record(journal, &record)) {
        ggs_sealing_anchor(&background->sealing, &record);
        remember(journal, &background->anchors);
    }
    ggs_spool_stream_rewind(journal);
    // The machine's records have a clock of their own, which is the same but for what it was asked last.
    struct ggs_clock * other = &background->sealing.observed.clock;
    memcpy(other->anchors, clock->anchors, clock->n_anchors * sizeof(*clock->anchors));
    other->n_anchors = clock->n_anchors;
}

// Lists the folder again; all streams are where they were.
static int look_again(struct ggs_background * background, struct ggs_error * error) {
    struct ggs_sealing *   sealing = &background->sealing;
    struct ggs_part_lane * lanes   = NULL;
    size_t                 n       = sealing->spool.n_lanes;
    if (background->begun) {
        lanes = ggs_runs_save(&sealing->runs);
        if (lanes == NULL) return ggs_fail_memory(error);
    }
    ggs_spool_release(&sealing->spool);
    int status = ggs_spool_open(&sealing->spool, background->spool, error);
    for (size_t i = 0; status == 0 && i < sealing->spool.n_lanes; i++)
        for (size_t k = 0; k < background->n_lanes; k++)
            if (background->lanes[k].lane == sealing->spool.lanes[i].lane)
                sealing->spool.lanes[i].base = ggs_part_base(&background->lanes[k]);
    if (status == 0) read_anchors(background);
    if (status == 0 && background->begun) {
        go_to(&sealing->spool.journal, &background->journal);
        ggs_observed_reopen(&sealing->observed);
        if (ggs_runs_load(&sealing->runs, lanes, n) != 0) status = ggs_fail_memory(error);
    }
    free(lanes);
    return status;
}

// ---- segments that are not needed any more ----

// The program has its segments mapped for good: a name that is gone would not free the memory.
static uint64_t remove_segment(const char * path) {
    struct stat info;
    uint64_t    bytes = 0;
    int         fd    = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return 0;
    if (fstat(fd, &info) == 0 && unlink(path) == 0) {
        bytes = (uint64_t) info.st_size;
        if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, info.st_size) != 0) {
            // Not every file system can: then it is free when the program has ended.
        }
    }
    close(fd);
    return bytes;
}

static void remove_segments(struct ggs_background * background) {
    struct ggs_spool * spool = &background->sealing.spool;
    if (flock(background->fd, LOCK_EX | LOCK_NB) != 0) return; // somebody reads the recording: another time
    for (size_t i = 0; i < spool->n_lanes; i++) {
        const struct ggs_spool_stream * lane = &spool->lanes[i];
        size_t                          k    = 0;
        while (k < background->n_lanes && background->lanes[k].lane != lane->lane) k++;
        if (k == background->n_lanes) continue;
        for (size_t s = 0; s < lane->n_segments && lane->segments[s].sequence < ggs_part_base(&background->lanes[k]);
             s++)
            background->removed += remove_segment(lane->segments[s].path);
    }
    flock(background->fd, LOCK_UN);
}

// ---- sealing ----

// A chunk of op runs is closed, between two graph runs.
static void end_block(void * context) {
    struct ggs_background * background = context;
    struct ggs_sealing *    sealing    = &background->sealing;
    struct ggs_writer *     writer     = &sealing->writer;
    struct ggs_part_lane *  lanes      = ggs_runs_save(&sealing->runs);
    if (lanes == NULL) {
        ggs_writer_fail_memory(writer);
        return;
    }
    ggs_writer_settle(writer);
    if (writer->status == 0 &&
        ggs_part_write_block(background->fd, &background->keep, &sealing->lods, writer->n_entries,
                             ggs_writer_next_row(writer, GGS_TABLE_OP_RUNS), lanes, sealing->spool.n_lanes) != 0)
        writer->status = ggs_fail_errno(&writer->error, "cannot write %s", background->part);
    writer->n_entries    = 0;
    sealing->lods.n_left = 0;
    free(background->lanes);
    background->lanes   = lanes;
    background->n_lanes = sealing->spool.n_lanes;
    background->ended   = true;
}

// There is something to seal: makes the part.
static int begin(struct ggs_background * background, struct ggs_error * error) {
    struct ggs_sealing * sealing  = &background->sealing;
    uint64_t             start_ns = background->options.start_monotonic_ns;
    sealing->clock.start_ns       = start_ns != 0 ? start_ns : sealing->clock.anchors[0].ns;
    background->fd                = open(background->part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (background->fd < 0 || ggs_part_write_header(background->fd, sealing->clock.start_ns) != 0)
        return ggs_fail_errno(error, "cannot make %s", background->part);
    int status = ggs_writer_init_op_runs(&sealing->writer, background->fd, background->part);
    if (status == 0) status = ggs_sealing_begin(sealing, error);
    sealing->runs.whole         = end_block;
    sealing->runs.whole_context = background;
    background->begun           = status == 0;
    return status;
}

// Can it be sealed yet? What it says must not change with what comes later.
static bool is_over(struct ggs_sealing * sealing, const struct ggs_record * record, uint64_t until_ns) {
    struct ggs_clock * clock = &sealing->clock;
    if (record->ticks >= clock->anchors[clock->n_anchors - 1].ticks) return false;
    ggs_clock_reach(clock, record->ticks);
    return (uint64_t) ggs_clock_ns(clock, record->ticks) + clock->start_ns < until_ns;
}

int ggs_background_step(struct ggs_background * background, uint64_t until_ns, struct ggs_error * error) {
    struct ggs_sealing * sealing = &background->sealing;
    struct ggs_record    record;
    int                  status = look_again(background, error);
    if (status == GGS_ABSENT) return 0; // the program has not begun
    if (status == 0 && background->n_lanes > 0) remove_segments(background);
    if (status == 0 && (sealing->clock.n_anchors < 2 || sealing->clock.anchors[1].ns >= until_ns)) return 0;
    if (status == 0 && !background->begun) status = begin(background, error);
    background->ended = false;
    while (status == 0 && !background->ended && ggs_spool_stream_record(&sealing->spool.journal, &record) &&
           is_over(sealing, &record, until_ns)) {
        ggs_sealing_record(sealing, &record);
        remember(&sealing->spool.journal, &background->journal);
        status = sealing->writer.status;
        if (status != 0 && error != NULL) *error = sealing->writer.error;
    }
    return status != 0 ? status : background->ended;
}

uint64_t ggs_background_freed(const struct ggs_background * background) {
    off_t taken = background->fd < 0 ? 0 : lseek(background->fd, 0, SEEK_CUR);
    return taken >= 0 && background->removed > (uint64_t) taken ? background->removed - (uint64_t) taken : 0;
}
