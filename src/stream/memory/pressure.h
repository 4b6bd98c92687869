// Signals memory pressure in the control groups of the process before the kernel kills it.
//
// Version 1 groups signal when their use passes a threshold and when the kernel struggles to
// reclaim; version 2 groups signal when they met a limit and when members wait for memory (PSI).
// Without either the caller must check often. All files are opened in advance, so a check allocates
// nothing here, nor in the kernel where it keeps an open file's buffer. Not thread-safe.
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

enum { GGS_PRESSURE_GROUPS = 8, GGS_PRESSURE_EVENTS = 2 * GGS_PRESSURE_GROUPS };

struct ggs_pressure {
    struct {
        int      usage, stat, limits[2];
        uint64_t limit; // at first, which thresholds are for
        bool     version_2;
    } groups[GGS_PRESSURE_GROUPS];
    unsigned      n_groups;
    int           meminfo;
    struct pollfd events[GGS_PRESSURE_EVENTS];
    unsigned      n_events;
    unsigned      n_thresholds; // groups that signal when less than `margin` is left
    uint64_t      margin;
};

// Opens the files. `margin`: signal when a group has less left than this, not counting page cache
// as left.
void ggs_pressure_open(struct ggs_pressure * pressure, const char * proc, const char * groups, uint64_t margin);
void ggs_pressure_close(struct ggs_pressure * pressure);

// Waits for a signal, at most `ms`. Returns true if there was one.
bool ggs_pressure_wait(struct ggs_pressure * pressure, int ms);

// Bytes left in the tightest group and on the machine, counting page cache as left. `notified`: a
// threshold will signal when they fall below the margin; otherwise the caller must check. Limits
// may change meanwhile; of groups without a limit none is seen.
uint64_t ggs_pressure_left(struct ggs_pressure * pressure, bool * notified);
