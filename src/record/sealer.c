#include "record/sealer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/system/clock.h"
#include "base/system/lock.h"
#include "base/system/progress.h"
#include "record/control.h"
#include "record/experiment-files.h"
#include "record/experiment.h"
#include "record/model-files.h"
#include "record/observation.h"
#include "record/observe/disks.h"
#include "record/spool/place.h"
#include "trace/seal/incremental.h"
#include "trace/seal/part.h"

// ---- live recordings ----

// Younger records are left alone: threads may be late to leave the last barrier of a graph run, and
// others read along (ggscope top).
static const uint64_t AGE_NS = 3000000000;

// A limit on open descriptors and memory: further recordings wait until one has ended.
enum { RECORDINGS_MOST = 64, PERIOD_MS = 500 };

// A live recording. The program's own comes first; those of programs that it started are in folders
// below (DIR/process-N).
struct recording {
    struct ggs_incremental * seal;      // NULL if that failed: all is done at the end
    char                     name[32];  // of the folder; "" for the program's own
    int                      directory; // that folder
    // The folder of its segments, which its program has locked while it lives; -1 for the program's
    // own.
    int spool;
};

struct ggs_sealer {
    struct ggs_sealer_settings settings;
    int                        directory; // of the experiment, which may be renamed
    int                        stop;      // eventfd
    pthread_t                  thread;
    struct recording           recordings[RECORDINGS_MOST];
    size_t                     n;
};

static void begin_recording(struct ggs_sealer * sealer, struct recording recording, const char * folder,
                            uint64_t start_ns) {
    char part[64];
    snprintf(part, sizeof(part), "/proc/self/fd/%d/%s", recording.directory, GGS_PART_NAME);
    if (ggs_incremental_open(&recording.seal, folder, part, start_ns, NULL) != 0) recording.seal = NULL;
    sealer->recordings[sealer->n++] = recording;
}

static void end_recording(struct ggs_sealer * sealer, size_t i) {
    struct recording * recording = &sealer->recordings[i];
    ggs_incremental_close(recording->seal);
    if (recording->spool >= 0) close(recording->directory), close(recording->spool);
    *recording = sealer->recordings[--sealer->n];
}

static bool is_open(const struct ggs_sealer * sealer, const char * name) {
    for (size_t i = 0; i < sealer->n; i++)
        if (strcmp(sealer->recordings[i].name, name) == 0) return true;
    return false;
}

// A program that has ended, or does not record yet, has not locked its spool.
static void open_followed(struct ggs_sealer * sealer, const char * name) {
    const int        how       = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    struct recording recording = {.directory = openat(sealer->directory, name, how), .spool = -1};
    char             folder[64];
    if (recording.directory >= 0) recording.spool = openat(recording.directory, "spool", how);
    if (recording.spool >= 0 && ggs_lock_is_written(recording.spool)) {
        snprintf(recording.name, sizeof(recording.name), "%s", name);
        snprintf(folder, sizeof(folder), "/proc/self/fd/%d", recording.spool);
        begin_recording(sealer, recording, folder, 0);
        return;
    }
    if (recording.spool >= 0) close(recording.spool);
    if (recording.directory >= 0) close(recording.directory);
}

static void find_followed(struct ggs_sealer * sealer) {
    int                   fd     = openat(sealer->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *                 folder = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent * entry;
    if (folder == NULL && fd >= 0) close(fd);
    while (folder != NULL && sealer->n < RECORDINGS_MOST && (entry = readdir(folder)) != NULL)
        if (strncmp(entry->d_name, "process-", 8) == 0 &&
            strlen(entry->d_name) < sizeof(((struct recording *) 0)->name) && !is_open(sealer, entry->d_name))
            open_followed(sealer, entry->d_name);
    if (folder != NULL) closedir(folder);
}

// ---- turns ----

static int step_recording(struct ggs_sealer * sealer, struct ggs_incremental * seal) {
    uint64_t known = ggs_observation_written_until(sealer->settings.observation), old = ggs_clock_now() - AGE_NS;
    uint64_t certain = ggs_control_certain(sealer->settings.control);
    int      status  = ggs_incremental_step(seal, known < old ? known : old, certain, NULL);
    ggs_control_freed(sealer->settings.control, ggs_incremental_freed(seal));
    return status;
}

// Locks the folder, as everyone who seals does. Others may seal from the program's end on, and wait
// for what has begun here.
static int step_followed(struct recording * recording, bool * lives) {
    int status = 0;
    if (flock(recording->directory, LOCK_EX | LOCK_NB) != 0) return 0;
    *lives = ggs_lock_is_written(recording->spool);
    if (*lives && recording->seal != NULL)
        status = ggs_incremental_step(recording->seal, ggs_clock_now() - AGE_NS, UINT64_MAX, NULL);
    flock(recording->directory, LOCK_UN);
    return status;
}

// Gives each recording a turn. Returns true if there is more to do at once. Failures are not
// reported: what is left is sealed at the end, and reported if that fails.
static bool go_round(struct ggs_sealer * sealer, struct pollfd * stop) {
    bool more = false;
    for (size_t i = 0; i < sealer->n;) {
        struct recording * recording = &sealer->recordings[i];
        bool               own = recording->spool < 0, lives = true;
        int                status = 0;
        if (poll(stop, 1, 0) > 0) return true;
        if (own && recording->seal != NULL) status = step_recording(sealer, recording->seal);
        if (!own) status = step_followed(recording, &lives);
        if (status < 0) {
            ggs_incremental_close(recording->seal);
            recording->seal = NULL;
        }
        more |= status > 0;
        if (lives)
            i++;
        else
            end_recording(sealer, i);
    }
    return more;
}

static void * run(void * context) {
    struct ggs_sealer * sealer = context;
    struct pollfd       stop   = {.fd = sealer->stop, .events = POLLIN};
    bool                more   = false;
    // Threads that pack chunks inherit it.
    pthread_setschedparam(pthread_self(), SCHED_IDLE, &(struct sched_param){0});
    begin_recording(sealer, (struct recording){.directory = sealer->directory, .spool = -1}, sealer->settings.folder,
                    sealer->settings.start_ns);
    for (;;) {
        int events = poll(&stop, 1, more ? 0 : PERIOD_MS);
        if (events > 0 || (events < 0 && errno != EINTR)) break;
        if (sealer->settings.follow) find_followed(sealer);
        more = go_round(sealer, &stop);
    }
    while (sealer->n > 0) end_recording(sealer, sealer->n - 1);
    return NULL;
}

static void free_sealer(struct ggs_sealer * sealer) {
    if (sealer->directory >= 0) close(sealer->directory);
    if (sealer->stop >= 0) close(sealer->stop);
    free(sealer);
}

struct ggs_sealer * ggs_sealer_start(const struct ggs_sealer_settings * settings) {
    struct ggs_sealer * sealer = calloc(1, sizeof(*sealer));
    sigset_t            all, before;
    if (sealer == NULL) return NULL;
    *sealer = (struct ggs_sealer){.settings  = *settings,
                                  .directory = open(settings->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                                  .stop      = eventfd(0, EFD_CLOEXEC)};
    sigfillset(&all); // signals are for the thread that waits for the program
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started =
        sealer->directory >= 0 && sealer->stop >= 0 && pthread_create(&sealer->thread, NULL, run, sealer) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) return sealer;
    free_sealer(sealer);
    return NULL;
}

void ggs_sealer_stop(struct ggs_sealer * sealer) {
    uint64_t one = 1;
    if (sealer == NULL) return;
    // Waits for the current step, at normal priority if permitted.
    pthread_setschedparam(sealer->thread, SCHED_OTHER, &(struct sched_param){0});
    if (write(sealer->stop, &one, sizeof(one)) == (ssize_t) sizeof(one)) pthread_join(sealer->thread, NULL);
    free_sealer(sealer);
}

// ---- ended recordings ----

static void show_progress(void * context, uint64_t done, uint64_t total) {
    struct ggs_progress * progress = context;
    progress->total                = total;
    ggs_progress_update(progress, done);
}

int ggs_sealer_finish(const struct ggs_experiment_json * experiment, bool quiet, ggs_facts_function facts,
                      void * context, struct ggs_seal_result * result, struct ggs_error * error) {
    struct ggs_model_files  files = {0};
    struct ggs_disks        disks = {0};
    struct ggs_progress     progress;
    struct ggs_seal_options options = {
        .size               = sizeof(options),
        .start_monotonic_ns = ggs_experiment_start_ns(experiment),
        .weights            = true,
        .origin             = ggs_model_files_find,
        .origin_context     = &files,
        .token_text         = ggs_model_files_token,
        .text_ends          = ggs_model_files_ends,
        .token_text_context = &files,
        .disk               = ggs_disks_find,
        .disk_context       = &disks,
        .facts              = facts,
        .facts_context      = context,
        .progress           = quiet ? NULL : show_progress,
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

static bool has_file(const char * directory, const char * name) {
    char        path[PATH_MAX];
    struct stat status;
    return snprintf(path, sizeof(path), "%s/%s", directory, name) < (int) sizeof(path) && lstat(path, &status) == 0;
}

static int complete(void * context, const struct ggs_spool_facts * facts, struct ggs_error * error) {
    struct ggs_experiment_json * experiment = context;
    // A ggscope that was killed between the program's end and sealing has recorded the end.
    if (strcmp(ggs_experiment_state(experiment), "recording") != 0) return 0;
    return ggs_experiment_complete(experiment, GGS_END_UNKNOWN, facts, error);
}

// GGS_ABSENT with *restored: nothing was recorded, and the replaced experiment is back.
static int recover(struct ggs_experiment_json * experiment, bool quiet, struct ggs_seal_result * result,
                   bool * restored, struct ggs_error * error) {
    const char * directory = experiment->directory;
    int          status    = ggs_experiment_claim(experiment, error);
    if (status != 0) return status;
    if (has_file(directory, "trace.ggs") && !has_file(directory, "spool")) { // sealed by another
        result->already = true;
        return 0;
    }
    status = ggs_spool_place_check(directory, experiment->id, error);
    if (status != 0) return status;
    bool segments = ggs_spool_place_has_segments(directory);
    *restored     = !segments && !has_file(directory, "trace.ggs") && ggs_experiment_files_put_back(directory);
    if (*restored || (!segments && !has_file(directory, "trace.ggs")))
        return ggs_fail(error, GGS_ABSENT,
                        "%s holds nothing that was recorded: neither a trace nor a spool with segments", directory);
    status = ggs_sealer_finish(experiment, quiet, segments ? complete : NULL, experiment, result, error);
    if (status == 0) ggs_experiment_files_remove_aside(directory);
    return status;
}

int ggs_sealer_recover(const char * directory, bool quiet, struct ggs_seal_result * result, struct ggs_error * error) {
    struct ggs_seal_result     ignored;
    struct ggs_experiment_json experiment;
    struct stat                info;
    if (result == NULL) result = &ignored;
    *result = (struct ggs_seal_result){0};
    if (stat(directory, &info) != 0) return ggs_fail_errno(error, "cannot open the experiment %s", directory);
    if (!S_ISDIR(info.st_mode)) return ggs_fail(error, GGS_USAGE, "%s is not an experiment's directory", directory);
    if (has_file(directory, "trace.ggs") && !has_file(directory, "spool")) {
        result->already = true;
        return 0;
    }
    int  status   = ggs_experiment_open(&experiment, directory, error);
    bool restored = false;
    if (status == 0) status = recover(&experiment, quiet, result, &restored, error);
    // Left by a killed ggscope.
    char socket[PATH_MAX];
    if ((status == 0 || restored) &&
        snprintf(socket, sizeof(socket), "%s/%s", directory, GGS_CONTROL_SOCKET) < (int) sizeof(socket))
        unlink(socket);
    ggs_experiment_release(&experiment);
    return restored ? ggs_sealer_recover(directory, quiet, result, error) : status;
}

void ggs_sealer_recover_followed(const char * directory, bool quiet) {
    char   pattern[PATH_MAX];
    glob_t found;
    if (snprintf(pattern, sizeof(pattern), "%s/process-*", directory) >= (int) sizeof(pattern)) return;
    if (glob(pattern, GLOB_ONLYDIR, NULL, &found) != 0) return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct ggs_error error;
        if (ggs_sealer_recover(found.gl_pathv[i], quiet, NULL, &error) != 0)
            fprintf(stderr, "ggscope: %s\n", error.text);
    }
    globfree(&found);
}
