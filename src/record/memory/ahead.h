// Segments of the spool that are made before the capture library needs them (trace/spool.h).
//
// The first touch of a page costs a process about two microseconds, and memory if that is limited.
// So pages are made here, and the library uses a finished file. Under a limit all of them must be,
// or the recording takes memory from the engine and changes what is measured. Without one it only
// saves time, and is done when a processor is idle.
#pragma once

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct ggs_error;

struct ggs_ahead {
    char      folder[PATH_MAX];
    unsigned  segments; // kept ready, 0 if not started
    bool      idle;     // only when a processor is idle
    unsigned  made;     // so far
    int       watch;    // inotify: a segment was renamed or changed, and so is taken
    int       stop;     // eventfd
    pthread_t thread;
};

// The number of segments to keep ready if the whole recording may take `max_bytes`, which must
// leave room for them.
unsigned ggs_ahead_segments(uint64_t max_bytes);
// The same without a memory limit: none if the folder is on a disk, which would have more to write,
// or if there is little room.
unsigned ggs_ahead_idle_segments(const char * folder, uint64_t max_bytes);

// Makes this many in the spool's folder, and a thread that replaces each one that is taken. `idle`:
// the thread makes all of them.
int ggs_ahead_start(struct ggs_ahead * ahead, const char * folder, unsigned segments, bool idle,
                    struct ggs_error * error);
// ggs_spool_remove removes the rest with the spool. May be called again, and on a zeroed struct.
void ggs_ahead_stop(struct ggs_ahead * ahead);
