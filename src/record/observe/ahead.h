// Segments of the spool that are ready before the capture library needs them (trace/spool.h).
//
// A page counts as memory of the process that touches it first. Under a memory limit the recording would take room from the engine
// and be part of what is measured; so the pages are made here, and the library takes a file by renaming it.
#pragma once

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct ggs_error;

struct ggs_ahead {
    char      folder[PATH_MAX];
    unsigned  segments; // that are kept ready, 0: not started
    unsigned  made;     // so far
    int       watch;    // inotify: one was taken
    int       stop;     // eventfd
    pthread_t thread;
};

// How many segments are kept ready where the whole recording may take `max_bytes`. What they take is to be left free of it.
unsigned ggs_ahead_segments(uint64_t max_bytes);

// Makes so many in the spool's folder, and a thread that makes another one whenever one is taken.
int ggs_ahead_start(struct ggs_ahead * ahead, const char * folder, unsigned segments, struct ggs_error * error);
// What is left goes with the spool (ggs_spool_remove). Again is fine, and so is one that was never started (zeroed).
void ggs_ahead_stop(struct ggs_ahead * ahead);
