#include "record/spool/sealing.h"

#include "base/error.h"
#include "base/system/progress.h"
#include "record/control.h"
#include "record/experiment.h"
#include "record/model-files.h"
#include "record/observe/disks.h"
#include "record/spool/place.h"
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void show(void * context, uint64_t done, uint64_t total) {
    struct ggs_progress * progress = context;
    progress->total                = total;
    ggs_progress_update(progress, done);
}

int ggs_seal_experiment(const struct ggs_experiment_json * experiment, bool quiet, ggs_facts_function facts,
                        void * context, struct ggs_seal_result * result, struct ggs_error * error) {
    struct ggs_model_files  files = {0};
    struct ggs_disks        disks = {0};
    struct ggs_progress     progress;
    struct ggs_seal_options options = {
        .size               = sizeof(options),
        .start_monotonic_ns = ggs_experiment_start_ns(experiment),
        .origin             = ggs_model_files_find,
        .origin_context     = &files,
        .token_text         = ggs_model_files_token,
        .text_ends          = ggs_model_files_ends,
        .token_text_context = &files,
        .disk               = ggs_disks_find,
        .disk_context       = &disks,
        .facts              = facts,
        .facts_context      = context,
        .progress           = quiet ? NULL : show,
        .progress_context   = &progress,
    };
    ggs_experiment_uuid(experiment, options.uuid);
    ggs_control_share(experiment->directory);
    ggs_progress_start(&progress, "sealing", 0);
    int status = ggs_seal(experiment->directory, &options, result, error);
    ggs_progress_finish(&progress);
    ggs_model_files_release(&files);
    ggs_disks_release(&disks);
    return status;
}

static bool has(const char * directory, const char * name) {
    char        path[PATH_MAX];
    struct stat status;
    return snprintf(path, sizeof(path), "%s/%s", directory, name) < (int) sizeof(path) && lstat(path, &status) == 0;
}

static int complete(void * context, const struct ggs_spool_facts * facts, struct ggs_error * error) {
    struct ggs_experiment_json * experiment = context;
    // A ggscope that was killed between the program's end and the seal has written how it ended.
    if (strcmp(ggs_experiment_state(experiment), "recording") != 0) return 0;
    return ggs_experiment_complete(experiment, GGS_END_UNKNOWN, facts, error);
}

static int recover(struct ggs_experiment_json * experiment, bool quiet, struct ggs_seal_result * result,
                   struct ggs_error * error) {
    const char * directory = experiment->directory;
    int          status    = ggs_experiment_take(experiment, error);
    if (status != 0) return status;
    if (has(directory, "trace.ggs") && !has(directory, "spool")) { // somebody else was faster
        result->already = true;
        return 0;
    }
    status = ggs_spool_place_check(directory, experiment->id, error);
    if (status != 0) return status;
    bool segments = ggs_spool_place_has_segments(directory);
    if (!segments && !has(directory, "trace.ggs"))
        return ggs_fail(error, GGS_ABSENT,
                        "%s holds nothing that was recorded: neither a trace nor a spool with segments", directory);
    return ggs_seal_experiment(experiment, quiet, segments ? complete : NULL, experiment, result, error);
}

int ggs_seal_recover(const char * directory, bool quiet, struct ggs_seal_result * result, struct ggs_error * error) {
    struct ggs_seal_result     ignored;
    struct ggs_experiment_json experiment;
    struct stat                info;
    if (result == NULL) result = &ignored;
    *result = (struct ggs_seal_result){0};
    if (stat(directory, &info) != 0) return ggs_fail_errno(error, "cannot open the experiment %s", directory);
    if (!S_ISDIR(info.st_mode)) return ggs_fail(error, GGS_USAGE, "%s is not an experiment's directory", directory);
    if (has(directory, "trace.ggs") && !has(directory, "spool")) {
        result->already = true;
        return 0;
    }
    int status = ggs_experiment_open(&experiment, directory, error);
    if (status == 0) status = recover(&experiment, quiet, result, error);
    // Of a ggscope that was killed.
    char socket[PATH_MAX];
    if (status == 0 && snprintf(socket, sizeof(socket), "%s/%s", directory, GGS_CONTROL_SOCKET) < (int) sizeof(socket))
        unlink(socket);
    ggs_experiment_release(&experiment);
    return status;
}

void ggs_seal_followed(const char * directory, bool quiet) {
    char   pattern[PATH_MAX];
    glob_t found;
    if (snprintf(pattern, sizeof(pattern), "%s/process-*", directory) >= (int) sizeof(pattern)) return;
    if (glob(pattern, GLOB_ONLYDIR, NULL, &found) != 0) return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct ggs_error error;
        if (ggs_seal_recover(found.gl_pathv[i], quiet, NULL, &error) != 0) fprintf(stderr, "ggscope: %s\n", error.text);
    }
    globfree(&found);
}
