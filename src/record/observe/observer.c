#include "record/observe/observer.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "base/system/clock.h"
#include "record/observe/block-requests.h"
#include "record/observe/events.h"
#include "record/observe/faults.h"
#include "record/observe/machine-spool.h"
#include "record/observe/outbox.h"

enum { PATIENCE_MS = 500 };                      // longest interval between readings
#define LONGEST_REQUEST_NS UINT64_C(10000000000) // longer ones are recorded without an end

struct ggs_observer {
    struct ggs_faults         faults;
    struct ggs_block_requests requests;
    struct ggs_events         events;
    struct ggs_outbox         outbox;
    uint64_t                  pass_ns;     // begin of the last pass over the rings
    uint64_t                  complete_ns; // earlier begins are in the spool
    int                       stop;        // eventfd
    pthread_t                 thread;
    bool                      running;
    struct pollfd *           fds;
    unsigned                  n_fds;
};

// CLOCK_MONOTONIC minus the kernel's own, which is 0 outside of time namespaces
// (time_namespaces(7)).
static int64_t ahead_of_kernel(void) {
    char      line[128];
    long long seconds, ns, ahead = 0;
    FILE *    file = fopen("/proc/self/timens_offsets", "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "monotonic %lld %lld", &seconds, &ns) == 2) ahead = seconds * 1000000000 + ns;
    if (file != NULL) fclose(file);
    return ahead;
}

int ggs_observer_new(struct ggs_observer ** out, struct ggs_machine_spool * spool, uint64_t max_bytes,
                     struct ggs_error * error) {
    struct ggs_observer * watch = calloc(1, sizeof(*watch));
    *out                        = watch;
    if (watch == NULL) return ggs_fail_memory(error);
    watch->events.ahead_ns = ahead_of_kernel();
    watch->outbox          = (struct ggs_outbox){.spool = spool, .room = max_bytes};
    watch->stop            = eventfd(0, EFD_CLOEXEC);
    if (watch->stop >= 0) return 0;
    free(watch);
    *out = NULL;
    return ggs_fail_errno(error, "cannot make an event file");
}

int ggs_observer_faults(struct ggs_observer * watch, pid_t process, bool at_exec, struct ggs_error * error) {
    return ggs_faults_open(&watch->faults, process, at_exec, error);
}

int ggs_observer_threads(struct ggs_observer * watch, pid_t process, struct ggs_error * error) {
    int status = ggs_faults_open_threads(&watch->faults, process, error);
    if (status != 0) ggs_faults_close(&watch->faults);
    return status;
}

void ggs_observer_pause(struct ggs_observer * watch, bool paused) {
    void (*set)(const struct ggs_rings *) = paused ? ggs_rings_stop : ggs_rings_start;
    set(&watch->faults.rings);
    set(&watch->requests.rings);
}

bool ggs_observer_has_switches(const struct ggs_observer * watch) {
    return watch->faults.switches.threads != NULL;
}

int ggs_observer_requests(struct ggs_observer * watch, struct ggs_error * error) {
    return ggs_block_requests_open(&watch->requests, error);
}

// ---- the thread ----

static void add_event(void * context, const struct ggs_event * event) {
    struct ggs_observer * watch = context;
    if (event->kind >= GGS_EVENT_NEXT)
        ggs_switches_add(&watch->faults.switches, event, &watch->outbox);
    else if (event->kind >= GGS_EVENT_ISSUE)
        ggs_block_requests_add(&watch->requests, event, &watch->outbox);
    else
        ggs_faults_add(&watch->faults, event, &watch->outbox);
}

static uint64_t sooner(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

// An event gets its time before it is in the ring, so a very recent one may be missing. The next
// pass finds it: everything before the begin of a pass is complete after the next pass.
static void pass(struct ggs_observer * watch) {
    uint64_t begin = ggs_clock_now();
    ggs_faults_drain(&watch->faults, &watch->events);
    ggs_block_requests_drain(&watch->requests, &watch->events);
    ggs_events_drain(&watch->events, watch->pass_ns, add_event, watch);
    if (watch->pass_ns > LONGEST_REQUEST_NS)
        ggs_block_requests_expire(&watch->requests, watch->pass_ns - LONGEST_REQUEST_NS, &watch->outbox);
    uint64_t open  = sooner(ggs_faults_oldest(&watch->faults), ggs_block_requests_oldest(&watch->requests));
    uint64_t floor = sooner(open, watch->pass_ns);
    ggs_outbox_flush(&watch->outbox, floor);
    __atomic_store_n(&watch->complete_ns, floor, __ATOMIC_RELEASE);
    watch->pass_ns = begin;
}

static void * follow(void * context) {
    struct ggs_observer * watch = context;
    struct pollfd *       last  = &watch->fds[watch->n_fds - 1];
    while ((last->revents & POLLIN) == 0) {
        if (poll(watch->fds, watch->n_fds, PATIENCE_MS) < 0 && errno != EINTR) break;
        pass(watch);
        // The ring of an ended program is always ready.
        for (unsigned i = 0; i + 1 < watch->n_fds; i++)
            if (watch->fds[i].revents & (POLLHUP | POLLERR | POLLNVAL)) watch->fds[i].fd = -1;
    }
    return NULL;
}

uint64_t ggs_observer_complete_until(const struct ggs_observer * watch) {
    return __atomic_load_n(&watch->complete_ns, __ATOMIC_ACQUIRE);
}

int ggs_observer_begin(struct ggs_observer * watch, struct ggs_error * error) {
    unsigned n_faults = watch->faults.rings.n_rings, n_requests = watch->requests.rings.n_rings;
    sigset_t all, before;
    watch->n_fds = n_faults + n_requests + 1;
    watch->fds   = calloc(watch->n_fds, sizeof(*watch->fds));
    if (watch->fds == NULL) return ggs_fail_memory(error);
    ggs_rings_poll(&watch->faults.rings, watch->fds);
    ggs_rings_poll(&watch->requests.rings, watch->fds + n_faults);
    watch->fds[watch->n_fds - 1] = (struct pollfd){.fd = watch->stop, .events = POLLIN};
    watch->pass_ns               = ggs_clock_now();
    sigfillset(&all); // signals are for the thread that waits for the program
    pthread_sigmask(SIG_SETMASK, &all, &before);
    errno          = pthread_create(&watch->thread, NULL, follow, watch);
    watch->running = errno == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return watch->running ? 0 : ggs_fail_errno(error, "cannot start a thread");
}

static void emit_loss(struct ggs_observer * watch, uint64_t reason, uint64_t count) {
    struct ggs_journal_loss loss = {.reason = reason, .count = count};
    if (count > 0)
        ggs_machine_spool_append(watch->outbox.spool, GGS_JOURNAL_LOSS, ggs_clock_now(), &loss, sizeof(loss));
}

void ggs_observer_end(struct ggs_observer * watch) {
    if (watch == NULL) return;
    if (watch->running) {
        uint64_t one = 1;
        ssize_t  n;
        do {
            n = write(watch->stop, &one, sizeof(one));
        } while (n < 0 && errno == EINTR);
        pthread_join(watch->thread, NULL);
        ggs_rings_stop(&watch->faults.rings);
        ggs_rings_stop(&watch->requests.rings);
        pass(watch);
        ggs_events_drain(&watch->events, UINT64_MAX, add_event, watch);
        uint64_t faults   = ggs_faults_finish(&watch->faults, &watch->outbox);
        uint64_t requests = ggs_block_requests_finish(&watch->requests, &watch->outbox);
        ggs_outbox_flush(&watch->outbox, UINT64_MAX);
        emit_loss(watch, GGS_LOSS_FAULTS, faults + watch->outbox.refused_faults + watch->events.dropped);
        emit_loss(watch, GGS_LOSS_SWITCHES, watch->faults.switches.lost + watch->outbox.refused_off_cpu);
        emit_loss(watch, GGS_LOSS_BLOCK_REQUESTS, requests + watch->outbox.refused_requests);
    }
    ggs_faults_close(&watch->faults);
    ggs_block_requests_close(&watch->requests);
    ggs_events_release(&watch->events);
    ggs_outbox_release(&watch->outbox);
    close(watch->stop);
    free(watch->fds);
    free(watch);
}
