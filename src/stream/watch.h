// A thread that looks after memory while graphs run, and gives back what others need.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct ggs_stream;

struct ggs_memory_watch {
    bool      started, ending;
    pthread_t thread;
    uint64_t  reserve;  // bytes to stay free
    uint64_t  division; // counts them: with each, limits are looked at anew
    uint64_t  gave_at;  // when something was given back last, 0: never
};

// From here on `reserve` bytes are to stay free in the groups of this process and on the machine.
// Called with each division of memory, with the lock held; the thread is made by the first.
void ggs_memory_watch_start(struct ggs_stream * stream, uint64_t reserve);

// Ends the thread. Without the lock.
void ggs_memory_watch_end(struct ggs_stream * stream);
