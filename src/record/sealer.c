#include "record/sealer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "record/control.h"
#include "record/observation.h"
#include "trace/seal/background.h"
#include "trace/seal/part.h"

// What is younger is left alone: threads may be late to leave the last barrier of a graph run, and others read along (ggscope top).
static const uint64_t AGE_NS = 3000000000;

enum { PATIENCE_MS = 500 };

struct ggs_sealer {
    struct ggs_sealer_settings settings;
    int                        directory; // of the experiment, which may be renamed
    int                        stop;      // eventfd
    pthread_t                  thread;
};

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t) time.tv_sec * 1000000000u + (uint64_t) time.tv_nsec;
}

static uint64_t sealable(const struct ggs_sealer * sealer) {
    uint64_t told = ggs_observation_told(sealer->settings.observation), old = now() - AGE_NS;
    return told < old ? told : old;
}

// A failure is none of the recording: what is not sealed here is sealed at the end, where it is told if it fails again.
static void * seal(void * context) {
    struct ggs_sealer *     sealer = context;
    struct ggs_background * background;
    char                    part[64];
    struct pollfd           ready = {.fd = sealer->stop, .events = POLLIN};
    pthread_setschedparam(pthread_self(), SCHED_IDLE, &(struct sched_param){0}); // and that of the thread that packs
    snprintf(part, sizeof(part), "/proc/self/fd/%d/%s", sealer->directory, GGS_PART_NAME);
    if (ggs_background_open(&background, sealer->settings.folder, part, sealer->settings.start_ns, NULL) != 0)
        return NULL;
    int status = 0;
    while (status >= 0) {
        int events = poll(&ready, 1, status > 0 ? 0 : PATIENCE_MS);
        if (events > 0 || (events < 0 && errno != EINTR)) break;
        status = ggs_background_step(background, sealable(sealer), NULL);
        ggs_control_freed(sealer->settings.control, ggs_background_freed(background));
    }
    ggs_background_close(background);
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
