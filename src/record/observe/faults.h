// Page faults of a program, as the kernel's software events tell them: address, thread, begin and
// end. Context switches stand in the same rings (switches.h), if the kernel grants them.
//
// Needs no privilege if kernel.perf_event_paranoid is at most 2. What it does not see: faults that
// the kernel takes itself while it copies for a system call, and pages that are mapped ahead
// (MAP_POPULATE, MADV_POPULATE_READ).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "record/observe/events.h"
#include "record/observe/outbox.h"
#include "record/observe/rings.h"
#include "record/observe/switches.h"

struct ggs_open_fault {
    struct ggs_journal_fault row;
    uint32_t                 source;
};

struct ggs_faults {
    struct ggs_rings        rings;
    struct ggs_open_fault * open; // that have begun, one per thread at most
    size_t                  n_open, capacity;
    struct ggs_switches     switches;
};

// Opens the events on a process that has not become its program yet: they start when it does (or
// with ggs_rings_start), and its threads and children have them too. The sentence of a failure
// names the setting that stands in the way.
int ggs_faults_open(struct ggs_faults * faults, pid_t process, bool at_exec, struct ggs_error * error);
// For a process that runs: opens them on its other threads, too. Those that they make have them by
// inheritance. Nothing is missing and nothing is counted twice, also where threads come and go
// meanwhile.
int  ggs_faults_open_threads(struct ggs_faults * faults, pid_t process, struct ggs_error * error);
void ggs_faults_close(struct ggs_faults * faults); // a zeroed struct is fine
// True if faults can be observed here; tries it on this process.
int ggs_faults_probe(struct ggs_error * error);

void ggs_faults_drain(struct ggs_faults * faults, struct ggs_events * events);
// Pairs begins with ends; events in order of time.
void ggs_faults_add(struct ggs_faults * faults, const struct ggs_event * event, struct ggs_outbox * outbox);
// When the oldest fault that is under way began, UINT64_MAX if none is.
uint64_t ggs_faults_oldest(const struct ggs_faults * faults);
// Call at the end: faults in progress will not be completed. Returns how many were lost.
uint64_t ggs_faults_finish(struct ggs_faults * faults, struct ggs_outbox * outbox);
