#include "serve/jobs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/system/clock.h"

enum { KEPT_MOST = 256, QUEUED_MOST = 1024 };
static const uint64_t KEPT_BYTES = 192ull << 20, MILLISECOND = 1000000;
static const uint64_t PATIENCE_QUICK_MS = 20000, PATIENCE_SLOW_MS = 150, ABANDONED_MS = 5000;

enum state { QUEUED, RUNNING, DONE };

struct ggs_job {
    char *                  key;
    enum state              state;
    bool                    slow;
    bool                    listed; // it is in `jobs->list`
    unsigned                holders;
    struct ggs_reply *      reply;
    struct ggs_waiter *     waiters;
    struct ggs_job_progress progress;
    uint64_t                asked_ns; // last request for it
    struct ggs_job *        next;     // in the queue
};

struct queue {
    struct ggs_job *first, *last;
    pthread_cond_t  filled;
    unsigned        length;
};

struct ggs_jobs {
    struct ggs_jobs_options options;
    pthread_mutex_t         lock;
    struct queue            queues[2];                          // quick, slow
    struct ggs_job *        list[KEPT_MOST + QUEUED_MOST + 64]; // including those in progress
    unsigned                n;
    uint64_t                bytes; // of cached answers
    bool                    stopping;
    unsigned                n_threads;
    pthread_t               threads[16];
    struct worker {
        struct ggs_jobs * jobs;
        bool              slow;
    } workers[16];
};

// ---- the list: all functions need the lock ----

static void let_go(struct ggs_job * job) {
    if (--job->holders > 0) return;
    ggs_reply_drop(job->reply);
    free(job->key);
    free(job);
}

static void unlist(struct ggs_jobs * jobs, unsigned i) {
    struct ggs_job * job = jobs->list[i];
    if (job->state == DONE && job->reply != NULL) jobs->bytes -= job->reply->body.length;
    job->listed   = false;
    jobs->list[i] = jobs->list[--jobs->n];
    let_go(job);
}

static void forget(struct ggs_jobs * jobs, const struct ggs_job * job) {
    for (unsigned i = 0; i < jobs->n; i++) {
        if (jobs->list[i] == job) {
            unlist(jobs, i);
            return;
        }
    }
}

// Makes room by removing finished jobs, the least recently requested first.
static void tidy(struct ggs_jobs * jobs) {
    for (;;) {
        unsigned oldest = jobs->n, done = 0;
        for (unsigned i = 0; i < jobs->n; i++) {
            if (jobs->list[i]->state != DONE) continue;
            done++;
            if (oldest == jobs->n || jobs->list[i]->asked_ns < jobs->list[oldest]->asked_ns) oldest = i;
        }
        if (oldest == jobs->n || (done <= KEPT_MOST && (jobs->bytes <= KEPT_BYTES || done == 1))) return;
        unlist(jobs, oldest);
    }
}

static struct ggs_job * find(struct ggs_jobs * jobs, const char * key) {
    for (unsigned i = 0; i < jobs->n; i++) {
        if (strcmp(jobs->list[i]->key, key) == 0) return jobs->list[i];
    }
    return NULL;
}

// Appends a new job to its queue; NULL if there are too many.
static struct ggs_job * enqueue(struct ggs_jobs * jobs, const char * key, bool slow) {
    struct queue * queue = &jobs->queues[slow];
    if (queue->length >= QUEUED_MOST / 2 || jobs->stopping) return NULL;
    struct ggs_job * job = calloc(1, sizeof(*job));
    if (job != NULL) job->key = strdup(key);
    if (job == NULL || job->key == NULL) {
        free(job);
        return NULL;
    }
    job->slow = slow, job->holders = 2, job->listed = true; // held by the list and the queue
    jobs->list[jobs->n++] = job;
    if (queue->last != NULL)
        queue->last->next = job;
    else
        queue->first = job;
    queue->last = job;
    queue->length++;
    pthread_cond_signal(&queue->filled);
    return job;
}

// ---- the workers ----

// Returns the next job that is still wanted; NULL at shutdown. Needs the lock.
static struct ggs_job * dequeue(struct ggs_jobs * jobs, bool slow) {
    struct queue * queue = &jobs->queues[slow];
    for (;;) {
        while (queue->first == NULL && !jobs->stopping) pthread_cond_wait(&queue->filled, &jobs->lock);
        if (jobs->stopping) return NULL;
        struct ggs_job * job = queue->first;
        queue->first         = job->next;
        if (queue->first == NULL) queue->last = NULL;
        queue->length--;
        if (job->waiters != NULL || ggs_clock_now() - job->asked_ns < ABANDONED_MS * MILLISECOND) return job;
        if (job->listed) forget(jobs, job);
        let_go(job);
    }
}

static void wake_all(struct ggs_jobs * jobs, struct ggs_waiter * waiters) {
    while (waiters != NULL) {
        struct ggs_waiter * next = waiters->next; // the waiter may be freed as soon as it is woken
        jobs->options.wake(jobs->options.context, waiters);
        waiters = next;
    }
}

static void finish(struct ggs_jobs * jobs, struct ggs_job * job, struct ggs_reply * reply) {
    job->reply = reply;
    job->state = DONE;
    if (job->listed && reply != NULL) jobs->bytes += reply->body.length;
    struct ggs_waiter * waiters = job->waiters;
    job->waiters                = NULL;
    // A failure goes to the current waiters, or to the next client, and is then computed again.
    if (job->listed && (reply == NULL || (reply->status != 200 && waiters != NULL))) forget(jobs, job);
    tidy(jobs);
    let_go(job);
    pthread_mutex_unlock(&jobs->lock);
    wake_all(jobs, waiters);
    pthread_mutex_lock(&jobs->lock);
}

static void * serve_queue(void * argument) {
    const struct worker * worker = argument;
    struct ggs_jobs *     jobs   = worker->jobs;
    struct ggs_job *      job;
    pthread_mutex_lock(&jobs->lock);
    while ((job = dequeue(jobs, worker->slow)) != NULL) {
        job->state = RUNNING;
        pthread_mutex_unlock(&jobs->lock);
        struct ggs_reply * reply = ggs_reply_new();
        if (reply != NULL) {
            jobs->options.work(jobs->options.context, job->key, &job->progress, reply);
            ggs_reply_compress(reply);
        }
        pthread_mutex_lock(&jobs->lock);
        finish(jobs, job, reply);
    }
    pthread_mutex_unlock(&jobs->lock);
    return NULL;
}

// ---- requests ----

struct ggs_reply * ggs_jobs_find(struct ggs_jobs * jobs, const char * key) {
    struct ggs_reply * reply = NULL;
    pthread_mutex_lock(&jobs->lock);
    struct ggs_job * job = find(jobs, key);
    if (job != NULL && job->state == DONE) {
        job->asked_ns = ggs_clock_now();
        reply         = ggs_reply_hold(job->reply);
        if (reply->status != 200) forget(jobs, job);
    }
    pthread_mutex_unlock(&jobs->lock);
    return reply;
}

void ggs_jobs_wait(struct ggs_jobs * jobs, const char * key, bool slow, struct ggs_waiter * waiter) {
    uint64_t now = ggs_clock_now();
    pthread_mutex_lock(&jobs->lock);
    struct ggs_job * job = find(jobs, key);
    if (job == NULL) job = enqueue(jobs, key, slow);
    waiter->job = job;
    bool awake  = job == NULL || job->state == DONE;
    if (job != NULL) {
        job->holders++;
        job->asked_ns = now;
    }
    if (!awake) {
        waiter->deadline_ns = now + (slow ? PATIENCE_SLOW_MS : PATIENCE_QUICK_MS) * MILLISECOND;
        waiter->next        = job->waiters;
        job->waiters        = waiter;
    }
    pthread_mutex_unlock(&jobs->lock);
    if (awake) jobs->options.wake(jobs->options.context, waiter);
}

static double share_of(const struct ggs_job * job) {
    uint64_t total = atomic_load(&job->progress.total), done = atomic_load(&job->progress.watch.done);
    return total == 0 ? 0 : done >= total ? 0.99 : (double) done / (double) total;
}

struct ggs_reply * ggs_jobs_collect(struct ggs_jobs * jobs, struct ggs_waiter * waiter, double * progress) {
    struct ggs_reply * reply = NULL;
    *progress                = -1; // the queue was full
    if (waiter->job == NULL) return NULL;
    pthread_mutex_lock(&jobs->lock);
    *progress = share_of(waiter->job);
    if (waiter->job->state == DONE && waiter->job->reply != NULL) reply = ggs_reply_hold(waiter->job->reply);
    if (waiter->job->state == DONE && reply == NULL) *progress = -1;
    let_go(waiter->job);
    pthread_mutex_unlock(&jobs->lock);
    waiter->job = NULL;
    return reply;
}

// Removes waiters whose time is up from a job's list; all of them if `everybody`.
static struct ggs_waiter * remove_expired(struct ggs_job * job, uint64_t now, bool everybody,
                                          struct ggs_waiter * expired) {
    for (struct ggs_waiter ** at = &job->waiters; *at != NULL;) {
        struct ggs_waiter * waiter = *at;
        if (!everybody && waiter->deadline_ns > now) {
            at = &waiter->next;
            continue;
        }
        *at          = waiter->next;
        waiter->next = expired;
        expired      = waiter;
    }
    return expired;
}

static void wake_tired(struct ggs_jobs * jobs, bool everybody) {
    struct ggs_waiter * expired = NULL;
    uint64_t            now     = ggs_clock_now();
    pthread_mutex_lock(&jobs->lock);
    for (unsigned i = 0; i < jobs->n; i++) expired = remove_expired(jobs->list[i], now, everybody, expired);
    pthread_mutex_unlock(&jobs->lock);
    wake_all(jobs, expired);
}

void ggs_jobs_tick(struct ggs_jobs * jobs) {
    wake_tired(jobs, false);
}

// ---- creation and release ----

int ggs_jobs_new(struct ggs_jobs ** out, const struct ggs_jobs_options * options, struct ggs_error * error) {
    struct ggs_jobs * jobs = calloc(1, sizeof(*jobs));
    *out                   = NULL;
    if (jobs == NULL) return ggs_fail_memory(error);
    jobs->options = *options;
    pthread_mutex_init(&jobs->lock, NULL);
    for (int i = 0; i < 2; i++) pthread_cond_init(&jobs->queues[i].filled, NULL);
    unsigned wanted = options->quick_threads + options->slow_threads;
    for (unsigned i = 0; i < wanted && i < sizeof(jobs->threads) / sizeof(jobs->threads[0]); i++) {
        jobs->workers[i] = (struct worker){jobs, i >= options->quick_threads};
        if (pthread_create(&jobs->threads[i], NULL, serve_queue, &jobs->workers[i]) != 0) {
            ggs_jobs_free(jobs);
            return ggs_fail(error, GGS_MEMORY, "cannot start a thread");
        }
        jobs->n_threads++;
    }
    *out = jobs;
    return 0;
}

void ggs_jobs_stop(struct ggs_jobs * jobs) {
    pthread_mutex_lock(&jobs->lock);
    jobs->stopping = true;
    for (unsigned i = 0; i < jobs->n; i++) atomic_store(&jobs->list[i]->progress.watch.stop, true);
    for (int i = 0; i < 2; i++) pthread_cond_broadcast(&jobs->queues[i].filled);
    pthread_mutex_unlock(&jobs->lock);
    for (unsigned i = 0; i < jobs->n_threads; i++) pthread_join(jobs->threads[i], NULL);
    jobs->n_threads = 0;
    wake_tired(jobs, true);
}

void ggs_jobs_free(struct ggs_jobs * jobs) {
    if (jobs == NULL) return;
    ggs_jobs_stop(jobs);
    for (int i = 0; i < 2; i++) {
        while (jobs->queues[i].first != NULL) {
            struct ggs_job * job  = jobs->queues[i].first;
            jobs->queues[i].first = job->next;
            let_go(job);
        }
        pthread_cond_destroy(&jobs->queues[i].filled);
    }
    while (jobs->n > 0) unlist(jobs, 0);
    pthread_mutex_destroy(&jobs->lock);
    free(jobs);
}
