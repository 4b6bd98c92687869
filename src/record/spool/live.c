#include "record/spool/live.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "record/experiment.h"
#include "record/spool/place.h"
#include "trace/seal/part.h"
#include "trace/seal/seal.h"
#include "trace/spool-reader.h"

static bool folder_of(const char * directory, char folder[PATH_MAX]) {
    char path[PATH_MAX];
    return snprintf(path, sizeof(path), "%s/spool", directory) < (int) sizeof(path) && realpath(path, folder) != NULL;
}

static bool has_trace(const char * directory) {
    char path[PATH_MAX];
    return snprintf(path, sizeof(path), "%s/trace.ggs", directory) < (int) sizeof(path) && access(path, F_OK) == 0;
}

bool ggs_live_is_starting(const char * directory) {
    return ggs_experiment_is_claimed(directory) && !ggs_spool_place_has_segments(directory) && !has_trace(directory);
}

bool ggs_live_going_on(void * context, const char * directory, uint64_t * units) {
    char             folder[PATH_MAX];
    struct ggs_spool spool;
    (void) context;
    *units = 0;
    if (!ggs_spool_place_is_live(directory)) return ggs_live_is_starting(directory);
    if (folder_of(directory, folder) && ggs_spool_open(&spool, folder, NULL) == 0) {
        *units = ggs_spool_estimate(&spool) + spool.n_segments;
        ggs_spool_release(&spool);
    }
    return true;
}

int ggs_live_copy(void * context, const char * directory, const char * path, struct ggs_error * error) {
    struct ggs_live_context *  live = context;
    struct ggs_experiment_json experiment;
    char                       folder[PATH_MAX], json[PATH_MAX], part[PATH_MAX];
    if (!folder_of(directory, folder)) return ggs_fail(error, GGS_ABSENT, "%s has no spool", directory);
    if (snprintf(json, sizeof(json), "%s/experiment.json", directory) >= (int) sizeof(json) ||
        snprintf(part, sizeof(part), "%s/%s", directory, GGS_PART_NAME) >= (int) sizeof(part))
        return ggs_fail(error, GGS_USAGE, "the path %s is too long", directory);
    int status = ggs_experiment_open(&experiment, directory, error);
    if (status < 0) return status;
    struct ggs_seal_options options = {.size               = sizeof(options),
                                       .start_monotonic_ns = ggs_experiment_start_ns(&experiment),
                                       .keep_spool         = true,
                                       .no_sync            = true,
                                       .weights            = live->weights,
                                       .origin             = ggs_model_files_find,
                                       .origin_context     = &live->files,
                                       .token_text         = ggs_model_files_token,
                                       .text_ends          = ggs_model_files_ends,
                                       .token_text_context = &live->files,
                                       .part               = part};
    ggs_experiment_uuid(&experiment, options.uuid);
    ggs_experiment_release(&experiment);
    bool none = access(part, F_OK) != 0;
    status    = ggs_seal_spool(folder, path, json, &options, NULL, error);
    // One that appeared meanwhile was not locked: segments may have been removed before they were
    // read.
    if (none && access(part, F_OK) == 0) status = ggs_seal_spool(folder, path, json, &options, NULL, error);
    // Segments are removed once the trace has its name.
    if (status == 0 && has_trace(directory)) {
        unlink(path);
        status = ggs_fail(error, GGS_ABSENT, "the recording has ended: %s is complete", directory);
    }
    return status;
}

void ggs_live_release(struct ggs_live_context * context) {
    ggs_model_files_release(&context->files);
}

bool ggs_live_can_be_shown(const char * directory) {
    return has_trace(directory) || ggs_spool_place_is_live(directory) || ggs_live_is_starting(directory);
}
