// Segments of the spool that are ready before the capture library needs them (trace/spool.h).
//
// A page costs the process that touches it first: time, some two microseconds, and memory, if that
// is limited. So the pages are made here, and the library takes a file as it is. Under a
// limit all of them must be, or the recording takes room from the engine and is part of what is
// measured; without one it only saves time, and happens when a processor has nothing else to do.
#pragma once

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct ggs_error;

struct ggs_ahead {
    char      folder[PATH_MAX];
    unsigned  segments; // that are kept ready, 0: not started
    bool      idle;     // only while nothing else wants the processor
    unsigned  made;     // so far
    int       watch;    // inotify: one was renamed, or its attributes were set: it is taken
    int       stop;     // eventfd
    pthread_t thread;
};

// How many segments are kept ready if the whole recording may take `max_bytes`, which has to leave
// room for them.
unsigned ggs_ahead_segments(uint64_t max_bytes);
// The same if memory is not limited: none if the folder is on a disk, which would only have more to
// write, or there is little room.
unsigned ggs_ahead_idle_segments(const char * folder, uint64_t max_bytes);

// Makes so many in the spool's folder, and a thread that makes another one whenever one is taken.
// `idle`: the thread makes all of them.
int ggs_ahead_start(struct ggs_ahead * ahead, const char * folder, unsigned segments, bool idle,
                    struct ggs_error * error);
// What is left is removed with the spool (ggs_spool_remove). May be called again, and for one that
// was never started (zeroed).
void ggs_ahead_stop(struct ggs_ahead * ahead);
