// Computes and caches answers in threads other than the one that talks to clients.
//
// A job is identified by its key. Clients wait for quick jobs. Slow jobs have threads of their own:
// a client gets the progress after a moment and asks again. A slow job that is not asked for again
// before its turn is dropped.
//
//     struct ggs_reply * reply = ggs_jobs_find(jobs, key);        // cached?
//     if (reply == NULL) ggs_jobs_wait(jobs, key, slow, &waiter);  // jobs->wake(&waiter) follows
//                                                                  // once, maybe within the call
//     ...
//     reply = ggs_jobs_collect(jobs, &waiter, &progress);          // NULL if unfinished
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/trace.h"
#include "serve/reply.h"

struct ggs_job;
struct ggs_jobs;

struct ggs_waiter {
    struct ggs_job *    job;
    struct ggs_waiter * next;
    uint64_t            deadline_ns;
    void *              owner;
};

// Progress of a job in op runs.
struct ggs_job_progress {
    struct ggs_watch watch;
    _Atomic uint64_t total;
};

struct ggs_jobs_options {
    // Computes the answer. Called by several threads.
    void (*work)(void * context, const char * key, struct ggs_job_progress * progress, struct ggs_reply * reply);
    // Called with no lock held.
    void (*wake)(void * context, struct ggs_waiter * waiter);
    void *   context;
    unsigned quick_threads, slow_threads;
};

int ggs_jobs_new(struct ggs_jobs ** out, const struct ggs_jobs_options * options, struct ggs_error * error);
// Stops the current work, wakes all waiters, and ends the threads. Only collect may be called
// afterwards.
void ggs_jobs_stop(struct ggs_jobs * jobs);
void ggs_jobs_free(struct ggs_jobs * jobs); // NULL is fine; stops first

struct ggs_reply * ggs_jobs_find(struct ggs_jobs * jobs,
                                 const char *      key); // acquired for the caller; NULL if it is not cached
void               ggs_jobs_wait(struct ggs_jobs * jobs, const char * key, bool slow, struct ggs_waiter * waiter);
struct ggs_reply * ggs_jobs_collect(struct ggs_jobs * jobs, struct ggs_waiter * waiter, double * progress);

// Wakes waiters whose time is up. Call it several times a second.
void ggs_jobs_tick(struct ggs_jobs * jobs);
