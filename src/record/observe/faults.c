#include "record/observe/faults.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "record/observe/process-numbers.h"

enum { BEGIN, MAJOR, MINOR, EVENTS, SWITCH = EVENTS, NEXT, ALL_EVENTS };
enum { RING_BYTES = 4 << 20, MOST_OPEN = 4096 };

// The contents of a sample after its identifier, in the kernel's order.
struct sample {
    uint32_t pid, os_thread;
    uint64_t ns;
    uint64_t address;
};

static void describe(const struct ggs_faults * faults, struct perf_event_attr attributes[ALL_EVENTS], bool at_exec) {
    static const uint64_t kinds[EVENTS] = {[BEGIN] = PERF_COUNT_SW_PAGE_FAULTS,
                                           [MAJOR] = PERF_COUNT_SW_PAGE_FAULTS_MAJ,
                                           [MINOR] = PERF_COUNT_SW_PAGE_FAULTS_MIN};
    for (int i = 0; i < EVENTS; i++) {
        attributes[i] = (struct perf_event_attr){
            .type           = PERF_TYPE_SOFTWARE,
            .size           = sizeof(attributes[i]),
            .config         = kinds[i],
            .sample_period  = 1,
            .sample_type    = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR,
            .disabled       = 1,
            .inherit        = 1,
            .exclude_kernel = 1,
            .exclude_hv     = 1,
            .enable_on_exec = at_exec,
            .use_clockid    = 1,
            .clockid        = CLOCK_MONOTONIC,
            // The reader wakes when a portion has accumulated, not for each sample.
            .watermark        = 1,
            .wakeup_watermark = 64 << 10,
        };
    }
    ggs_switches_describe(&faults->switches, &attributes[BEGIN], &attributes[SWITCH]);
}

static int paranoia(void) {
    char   line[16] = "";
    FILE * file     = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    if (file == NULL) return -2;
    if (fgets(line, sizeof(line), file) == NULL) line[0] = '\0';
    fclose(file);
    return (int) strtol(line, NULL, 10);
}

// Explains the failure by settings that can be changed.
static int explain(int reason, struct ggs_error * error) {
    int level = paranoia();
    if (level == -2) return ggs_fail(error, GGS_UNSUPPORTED, "this kernel has no perf events");
    if ((reason == EACCES || reason == EPERM) && level > 2)
        return ggs_fail(error, GGS_UNSUPPORTED, "kernel.perf_event_paranoid is %d: sysctl kernel.perf_event_paranoid=2",
                        level);
    if (reason == EACCES || reason == EPERM || reason == ENOSYS)
        return ggs_fail(
            error, GGS_UNSUPPORTED,
            "the system call perf_event_open is forbidden here, as containers do: allow it, or run outside");
    errno = reason;
    return ggs_fail_errno(error, "perf_event_open failed");
}

int ggs_faults_open(struct ggs_faults * faults, pid_t process, bool at_exec, struct ggs_error * error) {
    struct perf_event_attr attributes[ALL_EVENTS];
    *faults = (struct ggs_faults){0};
    if (!ggs_switches_init(&faults->switches)) return ggs_fail_memory(error);
    describe(faults, attributes, at_exec);
    // Kernels and permissions differ in the events beside faults.
    for (unsigned n = faults->switches.point != 0 ? ALL_EVENTS : NEXT; n >= EVENTS; n--) {
        if (ggs_rings_open(&faults->rings, attributes, n, process, RING_BYTES, NULL) != 0) continue;
        if (n == EVENTS) ggs_switches_release(&faults->switches);
        return 0;
    }
    int reason = errno;
    ggs_switches_release(&faults->switches);
    return explain(reason, error);
}

// ---- threads of a running process ----

struct threads {
    pid_t * list;
    size_t  n, capacity;
};

static bool is_known(const struct threads * threads, pid_t thread) {
    for (size_t i = 0; i < threads->n; i++)
        if (threads->list[i] == thread) return true;
    return false;
}

// Opens the events on new threads. Returns their number, or -1 with errno.
static int open_new(struct ggs_faults * faults, struct threads * known, pid_t process,
                    const struct perf_event_attr * attributes) {
    char                  path[64];
    const struct dirent * entry;
    int                   found = 0;
    snprintf(path, sizeof(path), "/proc/%d/task", (int) process);
    DIR * folder = opendir(path);
    if (folder == NULL) return errno == ENOENT ? 0 : -1;
    while (found >= 0 && (entry = readdir(folder)) != NULL) {
        pid_t thread = (pid_t) strtol(entry->d_name, NULL, 10), number;
        if (thread <= 0 || is_known(known, thread)) continue;
        found++;
        if (!ggs_array_push(known->list, known->n, known->capacity, thread)) found = -1;
        number = ggs_process_number_inside(process, thread);
        if (found > 0 && number > 0 && !ggs_rings_add(&faults->rings, attributes, number) && errno != ESRCH) found = -1;
    }
    int reason = errno;
    closedir(folder);
    errno = reason;
    return found;
}

// A thread that is made between the listing of threads and the opening of its maker's events would
// be missed, so the list is read until it has no new threads. For a program that makes threads all
// the time, all makers have events after some rounds.
int ggs_faults_open_threads(struct ggs_faults * faults, pid_t process, struct ggs_error * error) {
    enum { ROUNDS = 8 };
    struct perf_event_attr attributes[ALL_EVENTS];
    struct threads         known = {0};
    describe(faults, attributes, false);
    int found = ggs_array_push(known.list, known.n, known.capacity, process) ? 1 : -1;
    for (int i = 0; i < ROUNDS && found > 0; i++) found = open_new(faults, &known, process, attributes);
    int reason = errno;
    free(known.list);
    if (found >= 0) return 0;
    if (reason == EMFILE)
        return ggs_fail(error, GGS_UNSUPPORTED,
                        "the process has so many threads that watching them takes more files than are permitted: "
                        "ulimit -n 65536");
    return explain(reason, error);
}

void ggs_faults_close(struct ggs_faults * faults) {
    ggs_rings_close(&faults->rings);
    ggs_switches_release(&faults->switches);
    free(faults->open);
    *faults = (struct ggs_faults){0};
}

int ggs_faults_probe(struct ggs_error * error) {
    struct ggs_faults faults;
    int               status = ggs_faults_open(&faults, getpid(), true, error);
    if (status == 0) ggs_faults_close(&faults);
    return status;
}

struct drain {
    struct ggs_faults * faults;
    struct ggs_events * events;
};

static void add_record(void * context, const struct ggs_ring_record * record) {
    static const uint32_t kinds[EVENTS] = {
        [BEGIN] = GGS_EVENT_FAULT, [MAJOR] = GGS_EVENT_MAJOR, [MINOR] = GGS_EVENT_MINOR};
    const struct drain * drain  = context;
    uint32_t             source = record->event->source;
    struct sample        sample;
    if (record->event->kind == SWITCH)
        ggs_switches_decode(drain->events, record->misc, source, record->body, record->bytes);
    if (record->event->kind == NEXT)
        ggs_switches_decode_point(&drain->faults->switches, drain->events, source, record->body, record->bytes);
    if (record->event->kind >= EVENTS || record->bytes < sizeof(sample)) return;
    memcpy(&sample, record->body, sizeof(sample));
    struct ggs_event found = {.ns        = sample.ns,
                              .kind      = kinds[record->event->kind],
                              .pid       = sample.pid,
                              .os_thread = sample.os_thread,
                              .source    = source,
                              .address   = sample.address};
    ggs_events_add(drain->events, &found);
}

void ggs_faults_drain(struct ggs_faults * faults, struct ggs_events * events) {
    struct drain drain = {faults, events};
    ggs_rings_drain(&faults->rings, add_record, &drain);
}

// ---- pairing ----

static void let_go(struct ggs_faults * faults, size_t i, struct ggs_outbox * outbox) {
    ggs_outbox_fault(outbox, &faults->open[i].row);
    faults->open[i] = faults->open[--faults->n_open];
}

static size_t oldest(const struct ggs_faults * faults) {
    size_t first = 0;
    for (size_t i = 1; i < faults->n_open; i++)
        if (faults->open[i].row.begin_ns < faults->open[first].row.begin_ns) first = i;
    return first;
}

static void begin(struct ggs_faults * faults, const struct ggs_event * event, struct ggs_outbox * outbox) {
    if (faults->n_open == MOST_OPEN) let_go(faults, oldest(faults), outbox); // its thread died
    struct ggs_open_fault fault = {
        .row    = {.begin_ns = event->ns, .address = event->address, .pid = event->pid, .os_thread = event->os_thread},
        .source = event->source};
    if (!ggs_array_push(faults->open, faults->n_open, faults->capacity, fault)) ggs_outbox_fault(outbox, &fault.row);
}

void ggs_faults_add(struct ggs_faults * faults, const struct ggs_event * event, struct ggs_outbox * outbox) {
    enum { PAGE_SHIFT = 12 }; // minimum: the kernel may round the address at the end
    size_t i = 0;
    while (i < faults->n_open && faults->open[i].row.os_thread != event->os_thread) i++;
    struct ggs_open_fault * fault = i < faults->n_open ? &faults->open[i] : NULL;
    if (event->kind == GGS_EVENT_FAULT) {
        // A thread may have events of its own and inherited ones: both report its faults.
        if (fault != NULL && fault->source != event->source && fault->row.address == event->address) return;
        if (fault != NULL) let_go(faults, i, outbox); // it ended by a signal, or its end was lost
        begin(faults, event, outbox);
    } else if (fault != NULL && fault->row.address >> PAGE_SHIFT == event->address >> PAGE_SHIFT) {
        fault->row.end_ns = event->ns;
        fault->row.kind   = event->kind == GGS_EVENT_MAJOR ? GGS_FAULT_MAJOR : GGS_FAULT_MINOR;
        let_go(faults, i, outbox);
    } // else its begin was lost, and is counted
}

uint64_t ggs_faults_oldest(const struct ggs_faults * faults) {
    return faults->n_open == 0 ? UINT64_MAX : faults->open[oldest(faults)].row.begin_ns;
}

uint64_t ggs_faults_finish(struct ggs_faults * faults, struct ggs_outbox * outbox) {
    while (faults->n_open > 0) let_go(faults, faults->n_open - 1, outbox);
    return ggs_rings_lost(&faults->rings, BEGIN);
}
