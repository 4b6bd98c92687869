#include "record/sealer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/system/lock.h"
#include "record/control.h"
#include "record/observation.h"
#include "trace/seal/background.h"
#include "trace/seal/part.h"

// What is younger is left alone: threads may be late to leave the last barrier of a graph run, and others read along (ggscope top).
static const uint64_t AGE_NS = 3000000000;

enum { PATIENCE_MS = 500 };
enum {
    MOST = 64
}; // recordings at a time, for the sake of descriptors and memory: others have their turn when one of them has ended

// A recording on its way. The program's own comes first; those of programs that it started lie in folders below (DIR/process-N).
struct recording {
    struct ggs_background * background; // NULL: that failed, and all is done at the end
    char                    name[32];   // of the folder; "" for the program's own
    int                     directory;  // that folder
    int spool; // and the one of its segments, which its program has marked for as long as it lives; -1 for the program's own
};

struct ggs_sealer {
    struct ggs_sealer_settings settings;
    int                        directory; // of the experiment, which may be renamed
    int                        stop;      // eventfd
    pthread_t                  thread;
    struct recording           recordings[MOST];
    size_t                     n;
};

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t) time.tv_sec * 1000000000u + (uint64_t) time.tv_nsec;
}

// ---- which recordings there are ----

static void begin(struct ggs_sealer * sealer, struct recording recording, const char * folder, uint64_t start_ns) {
    char part[64];
    snprintf(part, sizeof(part), "/proc/self/fd/%d/%s", recording.directory, GGS_PART_NAME);
    if (ggs_background_open(&recording.background, folder, part, start_ns, NULL) != 0) recording.background = NULL;
    sealer->recordings[sealer->n++] = recording;
}

static void end(struct ggs_sealer * sealer, size_t i) {
    struct recording * recording = &sealer->recordings[i];
    ggs_background_close(recording->background);
    if (recording->spool >= 0) close(recording->directory), close(recording->spool);
    *recording = sealer->recordings[--sealer->n];
}

static bool is_known(const struct ggs_sealer * sealer, const char * name) {
    for (size_t i = 0; i < sealer->n; i++)
        if (strcmp(sealer->recordings[i].name, name) == 0) return true;
    return false;
}

// A program that has ended, or does not record yet, has not marked its spool.
static void take(struct ggs_sealer * sealer, const char * name) {
    const int        how       = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    struct recording recording = {.directory = openat(sealer->directory, name, how), .spool = -1};
    char             folder[64];
    if (recording.directory >= 0) recording.spool = openat(recording.directory, "spool", how);
    if (recording.spool >= 0 && ggs_lock_is_written(recording.spool)) {
        snprintf(recording.name, sizeof(recording.name), "%s", name);
        snprintf(folder, sizeof(folder), "/proc/self/fd/%d", recording.spool);
        begin(sealer, recording, folder, 0);
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
    while (folder != NULL && sealer->n < MOST && (entry = readdir(folder)) != NULL)
        if (strncmp(entry->d_name, "process-", 8) == 0 &&
            strlen(entry->d_name) < sizeof(((struct recording *) 0)->name) && !is_known(sealer, entry->d_name))
            take(sealer, entry->d_name);
    if (folder != NULL) closedir(folder);
}

// ---- their turns ----

static int step_own(struct ggs_sealer * sealer, struct ggs_background * background) {
    uint64_t told = ggs_observation_told(sealer->settings.observation), old = now() - AGE_NS;
    int      status = ggs_background_step(background, told < old ? told : old, NULL);
    ggs_control_freed(sealer->settings.control, ggs_background_freed(background));
    return status;
}

// The folder is locked as by everybody who seals: anybody may from the moment when its program ends, and then waits for what has begun here.
static int step_followed(struct recording * recording, bool * lives) {
    int status = 0;
    if (flock(recording->directory, LOCK_EX | LOCK_NB) != 0) return 0;
    *lives = ggs_lock_is_written(recording->spool);
    if (*lives && recording->background != NULL)
        status = ggs_background_step(recording->background, now() - AGE_NS, NULL);
    flock(recording->directory, LOCK_UN);
    return status;
}

// Lets each of them have its turn. True if there is more to do at once. A failure is none of the recording: what is not sealed here is sealed at
// the end, where it is told if it fails again.
static bool go_round(struct ggs_sealer * sealer, struct pollfd * stop) {
    bool more = false;
    for (size_t i = 0; i < sealer->n;) {
        struct recording * recording = &sealer->recordings[i];
        bool               own = recording->spool < 0, lives = true;
        int                status = 0;
        if (poll(stop, 1, 0) > 0) return true;
        if (own && recording->background != NULL) status = step_own(sealer, recording->background);
        if (!own) status = step_followed(recording, &lives);
        if (status < 0) {
            ggs_background_close(recording->background);
            recording->background = NULL;
        }
        more |= status > 0;
        if (lives)
            i++;
        else
            end(sealer, i);
    }
    return more;
}

static void * seal(void * context) {
    struct ggs_sealer * sealer = context;
    struct pollfd       stop   = {.fd = sealer->stop, .events = POLLIN};
    bool                more   = false;
    pthread_setschedparam(pthread_self(), SCHED_IDLE, &(struct sched_param){0}); // and that of the threads that pack
    begin(sealer, (struct recording){.directory = sealer->directory, .spool = -1}, sealer->settings.folder,
          sealer->settings.start_ns);
    for (;;) {
        int events = poll(&stop, 1, more ? 0 : PATIENCE_MS);
        if (events > 0 || (events < 0 && errno != EINTR)) break;
        if (sealer->settings.follow) find_followed(sealer);
        more = go_round(sealer, &stop);
    }
    while (sealer->n > 0) end(sealer, sealer->n - 1);
    return NULL;
}

static void release(struct ggs_sealer * sealer) {
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
        sealer->directory >= 0 && sealer->stop >= 0 && pthread_create(&sealer->thread, NULL, seal, sealer) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) return sealer;
    release(sealer);
    return NULL;
}

void ggs_sealer_stop(struct ggs_sealer * sealer) {
    uint64_t one = 1;
    if (sealer == NULL) return;
    // What it has begun is waited for, and no longer idle where we may say so.
    pthread_setschedparam(sealer->thread, SCHED_OTHER, &(struct sched_param){0});
    if (write(sealer->stop, &one, sizeof(one)) == (ssize_t) sizeof(one)) pthread_join(sealer->thread, NULL);
    release(sealer);
}
