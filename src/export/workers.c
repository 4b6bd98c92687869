#include "export/workers.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "export/export.h"

enum {
    MOST_WORKERS = 16,
    RANGES       = 4, // of token steps, for each worker: steps take unequal time, and all workers should end together
};

struct outcome {
    int                      status;
    struct ggs_error         error;
    struct ggs_export_result result;
};

struct job {
    unsigned n;
    int (*write)(struct ggs_export * export, unsigned piece, void * context, struct ggs_error * error);
    void * context;
};

struct shared {
    _Atomic unsigned next;
    _Atomic uint64_t done; // steps of all walks
    struct outcome   outcomes[MOST_WORKERS];
};

static unsigned count_cores(void) {
    cpu_set_t set;
    int       n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    return n < 1 ? 1 : n > MOST_WORKERS ? MOST_WORKERS : (unsigned) n;
}

static int work(struct ggs_export * export, struct shared * shared, const struct job * job, struct ggs_error * error) {
    int      status = 0;
    unsigned piece;
    while (status >= 0 && (piece = atomic_fetch_add(&shared->next, 1)) < job->n)
        status = job->write(export, piece, job->context, error);
    if (status < 0) atomic_store(&shared->next, job->n); // no worker begins another piece
    return status;
}

static _Noreturn void be_worker(struct ggs_export * export, struct shared * shared, unsigned number,
                                const struct job * job) {
    struct outcome * outcome = &shared->outcomes[number];
    export->silent           = true;
    export->result           = (struct ggs_export_result){0};
    outcome->status          = work(export, shared, job, &outcome->error);
    outcome->result          = export->result;
    _exit(0);
}

// A killed worker has left out files.
static int collect(struct ggs_export * export, const pid_t * workers, const struct shared * shared, unsigned n,
                   int status, struct ggs_error * error) {
    for (unsigned i = 1; i < n; i++) {
        const struct outcome * outcome = &shared->outcomes[i];
        int                    end;
        if (workers[i] <= 0) continue;
        bool ended = waitpid(workers[i], &end, 0) == workers[i] && WIFEXITED(end) && WEXITSTATUS(end) == 0;
        export->result.files += outcome->result.files;
        export->result.unchanged += outcome->result.unchanged;
        export->result.bytes += outcome->result.bytes;
        if (status < 0) continue;
        if (!ended) status = ggs_fail(error, GGS_UNSUPPORTED, "a process that writes files of the export was killed");
        if (ended && outcome->status < 0) status = ggs_fail(error, outcome->status, "%s", outcome->error.text);
    }
    return status;
}

int ggs_workers_run(struct ggs_export * export, unsigned n,
                    int (*write)(struct ggs_export * export, unsigned piece, void * context, struct ggs_error * error),
                    void * context, struct ggs_error * error) {
    struct job      job                   = {n, write, context};
    unsigned        n_workers             = count_cores() < n ? count_cores() : n;
    pid_t           workers[MOST_WORKERS] = {0}, parent = getpid();
    struct shared * shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return ggs_fail_errno(error, "cannot share memory with processes that write");
    fflush(NULL); // else a child would write it again
    export->done_by_all = &shared->done;
    for (unsigned i = 1; i < n_workers; i++) {
        workers[i] = fork(); // on failure the other workers do its share
        if (workers[i] != 0) continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);
        be_worker(export, shared, i, &job);
    }
    int status          = work(export, shared, &job, error);
    status              = collect(export, workers, shared, n_workers, status, error);
    export->done_by_all = NULL;
    munmap(shared, sizeof(*shared));
    return status;
}

// ---- token steps ----

// The requested steps in ranges of equal width, by number.
struct ranges {
    uint64_t n, first, last, width;
    int (*write)(struct ggs_export * export, void * context, struct ggs_error * error);
    void * context;
};

static int find_ranges(struct ggs_export * export, struct ranges * ranges, struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_step     step;
    int                 status = ggs_export_steps(export, &cursor, error);
    while (status >= 0 && (status = ggs_export_next_step(export, cursor, &step, error)) > 0) {
        uint64_t number = (uint64_t) step.step;
        if (ranges->n == 0 || number < ranges->first) ranges->first = number;
        if (ranges->n == 0 || number > ranges->last) ranges->last = number;
        ranges->n++;
    }
    ggs_cursor_close(cursor);
    // A range begins in the middle of a chunk of the trace, which is decoded again for it.
    unsigned cores = count_cores(), most = cores == 1 ? 1 : RANGES * cores;
    if (ranges->n > most) ranges->n = most;
    if (ranges->n > 0) ranges->width = (ranges->last - ranges->first) / ranges->n + 1;
    return status;
}

static int write_range(struct ggs_export * export, unsigned i, void * context, struct ggs_error * error) {
    const struct ranges *             ranges    = context;
    const struct ggs_export_options * requested = export->options;
    struct ggs_export_options         part      = *requested;
    uint64_t                          first     = ranges->first + i * ranges->width;
    if (first > ranges->last) return 0;
    uint64_t last   = ranges->last - first < ranges->width ? ranges->last : first + ranges->width - 1;
    part.steps      = true;
    part.first_step = (int64_t) first;
    part.last_step  = (int64_t) last;
    export->options = &part;
    int status      = ranges->write(export, ranges->context, error);
    export->options = requested;
    return status;
}

int ggs_workers_steps(struct ggs_export * export,
                      int (*write)(struct ggs_export * export, void * context, struct ggs_error * error),
                      void * context, struct ggs_error * error) {
    struct ranges ranges = {.write = write, .context = context};
    int           status = find_ranges(export, &ranges, error);
    return status < 0 ? status : ggs_workers_run(export, (unsigned) ranges.n, write_range, &ranges, error);
}
