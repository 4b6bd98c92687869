// A thread that watches memory while graphs run and gives back what others need.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct ggs_stream;

struct ggs_memory_watch {
    bool      started, ending;
    pthread_t thread;
    uint64_t  reserve;  // bytes to keep free
    uint64_t  division; // counts divisions; each one reads the limits again
    uint64_t  gave_at;  // time of the last release, 0: never
};

// Keeps `reserve` bytes free in the groups of this process and on the machine. Called with each
// division of memory, with the lock held; the first call starts the thread.
void ggs_memory_watch_start(struct ggs_stream * stream, uint64_t reserve);

// Ends the thread. Call it without the lock.
void ggs_memory_watch_end(struct ggs_stream * stream);
