#include "attach/quiesce.h"

#include "attach/bootstrap.h"
#include "base/error.h"

#if defined(__x86_64__)

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <unistd.h>

#include "attach/borrow.h"
#include "attach/tracee.h"
#include "base/code/entry.h"
#include "base/system/clock.h"

enum { THREADS_MOST = 4096, STACK_BYTES = 64 << 10, LENGTH_MOST = 32 };
static const uint64_t patience_ns = 2000000000;

// ---- threads ----

struct stopped {
    pid_t  threads[THREADS_MOST];
    size_t n;
};

static bool is_stopped(const struct stopped * stopped, pid_t thread) {
    for (size_t i = 0; i < stopped->n; i++)
        if (stopped->threads[i] == thread) return true;
    return false;
}

static void let_go(struct stopped * stopped) {
    while (stopped->n > 0) ptrace(PTRACE_DETACH, stopped->threads[--stopped->n], 0, 0);
}

// Interrupts the threads that are not stopped yet, all of them ahead of the first wait: a thread
// that waits for a processor stops as soon as it has one, and leaves it to the next. Returns how
// many there are; -1 with errno if one cannot be stopped.
static int stop_new(struct stopped * stopped, const struct ggs_tracee * tracee) {
    static struct ggs_tracee_thread threads[THREADS_MOST]; // one thread attaches
    size_t                          n = ggs_tracee_threads(tracee, threads, THREADS_MOST), first = stopped->n;
    if (n == THREADS_MOST) errno = E2BIG;
    if (n == 0 || n == THREADS_MOST) return -1;
    for (size_t i = 0; i < n; i++) {
        if (is_stopped(stopped, threads[i].id) || threads[i].state == 'Z' || threads[i].state == 'X') continue;
        if (ggs_trace_interrupt(threads[i].id) == 0)
            stopped->threads[stopped->n++] = threads[i].id;
        else if (errno != ESRCH) // it has ended
            return -1;
    }
    size_t seized = stopped->n;
    stopped->n    = first;
    for (size_t i = first; i < seized; i++) {
        pid_t thread = stopped->threads[i];
        if (ggs_trace_await_stop(thread, patience_ns) == 0)
            stopped->threads[stopped->n++] = thread;
        else if (errno != ESRCH)
            return -1;
    }
    return (int) (seized - first);
}

// Running threads make new ones, so it repeats until there are no others.
static bool stop_all(struct stopped * stopped, const struct ggs_tracee * tracee) {
    int n;
    do n = stop_new(stopped, tracee);
    while (n > 0);
    return n == 0;
}

// ---- positions of threads ----

static bool is_between(uint64_t address, const struct ggs_code_place * places, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (address > places[i].at && address < places[i].at + places[i].length) return true;
    return false;
}

// A thread in a signal handler has the interrupted address on its stack. Any word that looks like
// one counts.
static bool stands_between(const struct ggs_tracee * tracee, pid_t thread, const struct ggs_code_place * places,
                           size_t n) {
    static uint64_t         words[STACK_BYTES / sizeof(uint64_t)];
    struct user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, thread, 0, &registers) != 0) return false; // it has ended
    if (is_between(registers.rip, places, n)) return true;
    uint64_t from = registers.rsp & ~7ull;
    size_t   size = sizeof(words);
    while (size > 0 && !ggs_tracee_read(tracee, from, words, size)) size /= 2; // stack end
    for (size_t i = 0; i < size / sizeof(*words); i++)
        if (is_between(words[i], places, n)) return true;
    return false;
}

static bool any_between(const struct ggs_tracee * tracee, const struct stopped * stopped,
                        const struct ggs_code_place * places, size_t n) {
    for (size_t i = 0; i < stopped->n; i++)
        if (stands_between(tracee, stopped->threads[i], places, n)) return true;
    return false;
}

// ---- places ----

static bool is_code(const struct ggs_tracee * tracee, const struct ggs_code_place * place) {
    const struct ggs_tracee_map * map = ggs_tracee_map_at(tracee, place->at);
    return map != NULL && map->executable && !map->writable && map->inode != 0 && place->length >= GGS_JUMP_MOST &&
           place->length <= LENGTH_MOST && place->length <= map->end - place->at;
}

static size_t write_all(const struct ggs_tracee * tracee, const struct ggs_code_place * places, size_t n, bool back) {
    size_t written = 0;
    for (size_t i = 0; i < n; i++) {
        const uint8_t *from = back ? places[i].after : places[i].before,
                      *to   = back ? places[i].before : places[i].after;
        uint8_t there[GGS_JUMP_MOST];
        if (!ggs_tracee_read(tracee, places[i].at, there, sizeof(there))) continue;
        if (memcmp(there, to, sizeof(there)) == 0)
            written++;
        else if (memcmp(there, from, sizeof(there)) == 0)
            written += ggs_tracee_write(tracee, places[i].at, to, sizeof(there));
    }
    return written;
}

static const char * explain_stop(int why) {
    switch (why) {
        case EBUSY:
            return "it is being stopped by others";
        case E2BIG:
            return "there are more than 4,096";
        case ETIMEDOUT:
            return "one waits in the kernel";
        case EAGAIN:
            return "one is always in the code that is to be changed";
        default:
            return strerror(why);
    }
}

static int fail_stop(const struct ggs_tracee * tracee, struct ggs_error * error) {
    return ggs_fail(error, GGS_IO,
                    "the threads of process %d (%s) cannot be stopped for a moment (%s), so the ggml inside it is not "
                    "recorded",
                    (int) tracee->pid, tracee->name, explain_stop(errno));
}

struct work {
    struct ggs_quiesced *         result;
    struct ggs_tracee *           tracee;
    const struct ggs_code_place * places;
    size_t                        n;
    bool                          back;
    struct ggs_error *            error;
    int                           status;
};

static int change(const struct work * work) {
    enum { TRIES = 100, NAP_US = 2000 };
    static struct stopped stopped;
    bool                  done = false;
    for (int i = 0; i < TRIES && !done; i++) {
        if (i > 0) usleep(NAP_US);
        uint64_t begin = ggs_clock_now();
        stopped.n      = 0;
        if (!stop_all(&stopped, work->tracee)) return fail_stop(work->tracee, work->error);
        // When restoring, a thread is before the jump or has left it.
        done = work->back || !any_between(work->tracee, &stopped, work->places, work->n);
        if (done) work->result->written = write_all(work->tracee, work->places, work->n, work->back);
        let_go(&stopped);
        uint64_t stood = ggs_clock_now() - begin;
        if (stood > work->result->stood_ns) work->result->stood_ns = stood;
    }
    errno = EAGAIN;
    return done ? 0 : fail_stop(work->tracee, work->error);
}

// The kernel releases all tracees of a thread that ends, including those that did not stop in time.
static void * change_and_end(void * data) {
    struct work * work = data;
    work->status       = change(work);
    return NULL;
}

int ggs_quiesce(struct ggs_quiesced * result, struct ggs_tracee * tracee, const struct ggs_code_place * places,
                size_t n, bool back, struct ggs_error * error) {
    struct work work = {.result = result, .tracee = tracee, .places = places, .n = n, .back = back, .error = error};
    pthread_t   thread;
    *result    = (struct ggs_quiesced){0};
    int status = ggs_tracee_read_maps(tracee, error);
    if (status != 0) return status;
    for (size_t i = 0; i < n; i++)
        if (!is_code(tracee, &places[i]))
            return ggs_fail(error, GGS_FORMAT, "process %d (%s) names code that it does not have", (int) tracee->pid,
                            tracee->name);
    if (pthread_create(&thread, NULL, change_and_end, &work) != 0)
        return ggs_fail(error, GGS_IO, "cannot make a thread: %s", strerror(errno));
    pthread_join(thread, NULL);
    return work.status;
}

#else

int ggs_quiesce(struct ggs_quiesced * result, struct ggs_tracee * tracee, const struct ggs_code_place * places,
                size_t n, bool back, struct ggs_error * error) {
    (void) tracee, (void) places, (void) n, (void) back;
    *result = (struct ggs_quiesced){0};
    return ggs_bootstrap_check(error);
}

#endif
