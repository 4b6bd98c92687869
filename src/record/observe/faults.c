#include "record/observe/faults.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"

enum { BEGIN, MAJOR, MINOR, EVENTS };
enum { RING_BYTES = 4 << 20, MOST_OPEN = 4096 };

// What a sample holds behind its identifier, in the kernel's order.
struct sample {
    uint32_t pid, os_thread;
    uint64_t ns;
    uint64_t address;
};

static void describe(struct perf_event_attr attributes[EVENTS], bool at_exec) {
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
            // The reader wakes when a piece has gathered, not for each sample.
            .watermark        = 1,
            .wakeup_watermark = 64 << 10,
        };
    }
}

static int paranoia(void) {
    char   line[16] = "";
    FILE * file     = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    if (file == NULL) return -2;
    if (fgets(line, sizeof(line), file) == NULL) line[0] = '\0';
    fclose(file);
    return (int) strtol(line, NULL, 10);
}

// Says why, in terms of what can be changed.
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
    struct perf_event_attr attributes[EVENTS];
    *faults = (struct ggs_faults){0};
    describe(attributes, at_exec);
    if (ggs_rings_open(&faults->rings, attributes, EVENTS, process, RING_BYTES, NULL) == 0) return 0;
    return explain(errno, error);
}

void ggs_faults_close(struct ggs_faults * faults) {
    ggs_rings_close(&faults->rings);
    free(faults->open);
    *faults = (struct ggs_faults){0};
}

int ggs_faults_probe(struct ggs_error * error) {
    struct ggs_faults faults;
    int               status = ggs_faults_open(&faults, getpid(), true, error);
    if (status == 0) ggs_faults_close(&faults);
    return status;
}

static void see_sample(void * context, unsigned event, const void * body, size_t bytes) {
    static const uint32_t kinds[EVENTS] = {
        [BEGIN] = GGS_EVENT_FAULT, [MAJOR] = GGS_EVENT_MAJOR, [MINOR] = GGS_EVENT_MINOR};
    struct sample sample;
    if (bytes < sizeof(sample)) return;
    memcpy(&sample, body, sizeof(sample));
    struct ggs_event found = {.ns        = sample.ns,
                              .kind      = kinds[event],
                              .pid       = sample.pid,
                              .os_thread = sample.os_thread,
                              .address   = sample.address};
    ggs_events_add(context, &found);
}

void ggs_faults_drain(struct ggs_faults * faults, struct ggs_events * events) {
    ggs_rings_drain(&faults->rings, see_sample, events);
}

// ---- pairing ----

static void let_go(struct ggs_faults * faults, size_t i, struct ggs_outbox * outbox) {
    ggs_outbox_fault(outbox, &faults->open[i]);
    faults->open[i] = faults->open[--faults->n_open];
}

static size_t oldest(const struct ggs_faults * faults) {
    size_t first = 0;
    for (size_t i = 1; i < faults->n_open; i++)
        if (faults->open[i].begin_ns < faults->open[first].begin_ns) first = i;
    return first;
}

static void begin(struct ggs_faults * faults, const struct ggs_event * event, struct ggs_outbox * outbox) {
    if (faults->n_open == MOST_OPEN) let_go(faults, oldest(faults), outbox); // threads that died in a fault
    struct ggs_journal_fault fault = {
        .begin_ns = event->ns, .address = event->address, .pid = event->pid, .os_thread = event->os_thread};
    if (!ggs_array_push(faults->open, faults->n_open, faults->capacity, fault)) ggs_outbox_fault(outbox, &fault);
}

void ggs_faults_see(struct ggs_faults * faults, const struct ggs_event * event, struct ggs_outbox * outbox) {
    enum { PAGE_SHIFT = 12 }; // the least there is: the kernel may round the address at the end
    size_t i = 0;
    while (i < faults->n_open && faults->open[i].os_thread != event->os_thread) i++;
    struct ggs_journal_fault * fault = i < faults->n_open ? &faults->open[i] : NULL;
    if (event->kind == GGS_EVENT_FAULT) {
        if (fault != NULL) let_go(faults, i, outbox); // it ended in a signal, or the sample of its end was lost
        begin(faults, event, outbox);
    } else if (fault != NULL && fault->address >> PAGE_SHIFT == event->address >> PAGE_SHIFT) {
        fault->end_ns = event->ns;
        fault->kind   = event->kind == GGS_EVENT_MAJOR ? GGS_FAULT_MAJOR : GGS_FAULT_MINOR;
        let_go(faults, i, outbox);
    } // else the sample of its begin was lost, and is counted
}

uint64_t ggs_faults_oldest(const struct ggs_faults * faults) {
    return faults->n_open == 0 ? UINT64_MAX : faults->open[oldest(faults)].begin_ns;
}

uint64_t ggs_faults_finish(struct ggs_faults * faults, struct ggs_outbox * outbox) {
    while (faults->n_open > 0) let_go(faults, faults->n_open - 1, outbox);
    return ggs_rings_lost(&faults->rings, BEGIN);
}
