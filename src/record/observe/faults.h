// Page faults of a program from the kernel's software events: address, thread, begin and end.
// Context switches use the same rings (switches.h) if the kernel permits them.
//
// Needs no privilege if kernel.perf_event_paranoid is at most 2. Not seen: faults that the kernel
// itself takes in a system call, and pages that are mapped ahead (MAP_POPULATE,
// MADV_POPULATE_READ).
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
    struct ggs_open_fault * open; // in progress, at most one per thread
    size_t                  n_open, capacity;
    struct ggs_switches     switches;
};

// Opens the events on a process before its exec: they start with the exec (or with
// ggs_rings_start), and its threads and children inherit them. A failure names the obstructing
// setting.
int ggs_faults_open(struct ggs_faults * faults, pid_t process, bool at_exec, struct ggs_error * error);
// For a running process: opens them on its other threads too, whose new threads inherit them.
// Nothing is missed or counted twice, even if threads come and go.
int  ggs_faults_open_threads(struct ggs_faults * faults, pid_t process, struct ggs_error * error);
void ggs_faults_close(struct ggs_faults * faults); // a zeroed struct is allowed
// True if faults can be observed here; tries it on this process.
int ggs_faults_probe(struct ggs_error * error);

void ggs_faults_drain(struct ggs_faults * faults, struct ggs_events * events);
// Pairs begins with ends; events in order of time.
void ggs_faults_add(struct ggs_faults * faults, const struct ggs_event * event, struct ggs_outbox * outbox);
// Begin of the oldest fault in progress, UINT64_MAX for none.
uint64_t ggs_faults_oldest(const struct ggs_faults * faults);
// Call it at the end: faults in progress will not be completed. Returns how many were lost.
uint64_t ggs_faults_finish(struct ggs_faults * faults, struct ggs_outbox * outbox);
