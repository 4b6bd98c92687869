#include "trace/seal/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/seal/seal-state.h"

static void report(const struct ggs_seal_state * sealing, struct ggs_seal_result * result) {
    if (result == NULL) return;
    *result = (struct ggs_seal_result){.ended       = sealing->ended,
                                       .bytes       = sealing->writer.offset,
                                       .spool_bytes = sealing->spool.bytes,
                                       .runs        = sealing->runs.count,
                                       .op_runs     = ggs_writer_next_row(&sealing->writer, GGS_TABLE_OP_RUNS),
                                       .steps       = (uint64_t) sealing->steps.next_step,
                                       .interrupted = sealing->runs.interrupted,
                                       .lost        = sealing->lost,
                                       .damaged     = sealing->damaged,
                                       .unseen      = sealing->runs.unseen};
}

// Stores the whole text of experiment.json, which may be missing.
static void add_experiment(struct ggs_writer * writer, const char * path) {
    struct ggs_mapping mapping;
    if (path == NULL || ggs_mapping_open(&mapping, path, NULL) != 0) return;
    struct ggs_experiment row = {(const char *) mapping.data, mapping.size < GGS_BYTES_MAX ? mapping.size : 0};
    ggs_writer_append(writer, GGS_TABLE_EXPERIMENT, &row);
    ggs_writer_flush(writer, GGS_TABLE_EXPERIMENT);
    ggs_mapping_close(&mapping);
}

static int write_trace(struct ggs_seal_state * sealing, int fd, const char * path, const char * experiment,
                       struct ggs_error * error) {
    const struct ggs_seal_options * options = sealing->options;
    int                             status  = ggs_seal_pass_1(sealing, error);
    if (status == 0 && options->facts != NULL) status = options->facts(options->facts_context, &sealing->facts, error);
    if (status != 0) return status;
    status = ggs_writer_init(&sealing->writer, fd, path, sealing->options->uuid);
    add_experiment(&sealing->writer, experiment);
    if (status == 0) status = ggs_seal_pass_2(sealing, error);
    if (status == 0)
        status = ggs_writer_finish(&sealing->writer, error);
    else if (sealing->writer.status != 0 && error != NULL)
        *error = sealing->writer.error;
    if (status == 0 && !sealing->options->no_sync && fdatasync(fd) != 0)
        status = ggs_fail_errno(error, "cannot write %s to the disk", path);
    return status;
}

// Sealed segments do not count as missing.
static void pass_sealed(struct ggs_seal_state * sealing) {
    for (size_t i = 0; i < sealing->spool.n_lanes; i++) {
        struct ggs_spool_stream * stream = &sealing->spool.lanes[i];
        for (size_t k = 0; k < sealing->part.n_lanes; k++)
            if (sealing->part.lanes[k].lane == stream->lane) stream->base = ggs_part_base(&sealing->part.lanes[k]);
    }
}

int ggs_seal_spool(const char * spool, const char * trace, const char * experiment,
                   const struct ggs_seal_options * options, struct ggs_seal_result * result, struct ggs_error * error) {
    struct ggs_seal_options given     = {0};
    char *                  temporary = NULL;
    int                     fd = -1, status = 0;
    if (options != NULL) memcpy(&given, options, options->size < sizeof(given) ? options->size : sizeof(given));
    struct ggs_seal_state * sealing = calloc(1, sizeof(*sealing));
    if (sealing == NULL || asprintf(&temporary, "%s.tmp", trace) < 0) {
        free(sealing);
        return ggs_fail_memory(error);
    }
    sealing->options = &given;
    sealing->part.fd = -1;
    status           = ggs_part_open(&sealing->part, given.part, given.start_monotonic_ns, error);
    if (given.start_monotonic_ns == 0) given.start_monotonic_ns = sealing->part.start_ns;
    if (status == 0) status = ggs_spool_open(&sealing->spool, spool, error);
    if (status == 0) pass_sealed(sealing);
    if (status != 0) goto done;
    fd = open(temporary, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        status = ggs_fail_errno(error, "cannot create %s", temporary);
        goto done;
    }
    status = write_trace(sealing, fd, temporary, experiment, error);
    if (status == 0 && rename(temporary, trace) != 0)
        status = ggs_fail_errno(error, "cannot rename %s to %s", temporary, trace);
    if (status != 0)
        unlink(temporary);
    else
        report(sealing, result);
done:
    if (fd >= 0) close(fd);
    ggs_seal_release(sealing);
    free(sealing);
    free(temporary);
    return status;
}

// ---- an experiment's directory ----

// A complete trace means that an earlier seal got this far: the spool may be incomplete.
static bool is_sealed(const char * trace) {
    struct ggs_reader * reader;
    if (ggs_reader_open(&reader, trace, NULL) != 0) return false;
    bool whole = ggs_reader_warning(reader) == NULL;
    ggs_reader_close(reader);
    return whole;
}

enum { TRACE, SPOOL, EXPERIMENT, PART, NAMES };

static int seal_locked(const char * directory, char * const names[NAMES], const struct ggs_seal_options * options,
                       struct ggs_seal_result * result, struct ggs_error * error) {
    struct ggs_seal_options given  = {0};
    int                     status = 0;
    if (options != NULL) memcpy(&given, options, options->size < sizeof(given) ? options->size : sizeof(given));
    given.size = sizeof(given);
    given.part = names[PART];
    if (is_sealed(names[TRACE])) {
        if (result != NULL) *result = (struct ggs_seal_result){.already = true};
    } else {
        status = ggs_seal_spool(names[SPOOL], names[TRACE], names[EXPERIMENT], &given, result, error);
        if (status == GGS_ABSENT)
            return ggs_fail(error, GGS_ABSENT, "%s holds neither a trace nor a spool to make one of", directory);
    }
    if (status != 0 || given.keep_spool) return status;
    if (unlink(names[PART]) != 0 && errno != ENOENT) return ggs_fail_errno(error, "cannot remove %s", names[PART]);
    return ggs_spool_remove(names[SPOOL], error);
}

int ggs_seal(const char * directory, const struct ggs_seal_options * options, struct ggs_seal_result * result,
             struct ggs_error * error) {
    static const char * const files[NAMES] = {"trace.ggs", "spool", "experiment.json", GGS_PART_NAME};
    char *                    names[NAMES] = {NULL};
    int                       status       = 0;
    if (result != NULL) *result = (struct ggs_seal_result){0};
    for (unsigned i = 0; i < NAMES; i++) {
        if (asprintf(&names[i], "%s/%s", directory, files[i]) >= 0) continue;
        names[i] = NULL;
        status   = ggs_fail_memory(error);
    }
    // Held until the folder is closed, or we die.
    int lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (status == 0 && (lock < 0 || flock(lock, LOCK_EX) != 0))
        status = ggs_fail_errno(error, "cannot open %s", directory);
    if (status == 0) status = seal_locked(directory, names, options, result, error);
    if (lock >= 0) close(lock);
    for (unsigned i = 0; i < NAMES; i++) free(names[i]);
    return status;
}
