// Answers are computed by other threads than the one that talks to clients, and cached.
//
// A job is named by its key. Quick jobs are waited for; slow ones have threads of their own, and a
// client that asks for one gets its progress after a moment and asks again. A slow job that no
// client asks for any more before its turn comes is dropped.
//
//     struct ggs_reply * reply = ggs_jobs_find(jobs, key);              // known already?
//     if (reply == NULL) ggs_jobs_wait(jobs, key, slow, &waiter);        // jobs->wake(&waiter) follows, exactly once, maybe at once
//     ...
//     reply = ggs_jobs_collect(jobs, &waiter, &progress);                // after the wake: NULL if it is not done yet
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

// How far a job is: what is done of how many op runs.
struct ggs_job_progress {
    struct ggs_watch watch;
    _Atomic uint64_t total;
};

struct ggs_jobs_options {
    // Does the work: fills the answer. Called by several threads.
    void (*work)(void * context, const char * key, struct ggs_job_progress * progress, struct ggs_reply * reply);
    // Called without any lock held.
    void (*wake)(void * context, struct ggs_waiter * waiter);
    void *   context;
    unsigned quick_threads, slow_threads;
};

int ggs_jobs_new(struct ggs_jobs ** out, const struct ggs_jobs_options * options, struct ggs_error * error);
// Stops the work that is under way, wakes all who wait, and ends the threads. Nothing may be asked
// afterwards but collect.
void ggs_jobs_stop(struct ggs_jobs * jobs);
void ggs_jobs_free(struct ggs_jobs * jobs); // NULL is fine; stops first

struct ggs_reply * ggs_jobs_find(struct ggs_jobs * jobs,
                                 const char *      key); // held for the caller; NULL if it is not known
void               ggs_jobs_wait(struct ggs_jobs * jobs, const char * key, bool slow, struct ggs_waiter * waiter);
struct ggs_reply * ggs_jobs_collect(struct ggs_jobs * jobs, struct ggs_waiter * waiter, double * progress);

// To be called several times a second: wakes those who have waited long enough.
void ggs_jobs_tick(struct ggs_jobs * jobs);
