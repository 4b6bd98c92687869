// Hears of memory becoming short in the control groups of the process, before somebody is killed.
//
// Of version 1 a group tells when its use passes a threshold, and when the kernel works hard to
// find memory in it; of version 2 when it met a limit, and when its members wait for memory (PSI).
// Where none of that may be had, who asks has to look often enough. Everything is opened
// beforehand: looking allocates nothing, neither here nor, where the kernel keeps the buffer of an
// open file, there. One thread at a time.
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

enum { GGS_PRESSURE_GROUPS = 8, GGS_PRESSURE_EVENTS = 2 * GGS_PRESSURE_GROUPS };

struct ggs_pressure {
    struct {
        int      usage, stat;
        uint64_t limit;
        bool     version_2;
    } groups[GGS_PRESSURE_GROUPS];
    unsigned      n_groups;
    int           meminfo;
    struct pollfd events[GGS_PRESSURE_EVENTS];
    unsigned      n_events;
    unsigned      n_thresholds; // groups that tell when less than `margin` is left
    uint64_t      margin;
};

// Opens what there is to look at. `margin`: it is told when a group has less left than this, page
// cache not counted as left.
void ggs_pressure_open(struct ggs_pressure * pressure, const char * proc, const char * groups, uint64_t margin);
void ggs_pressure_close(struct ggs_pressure * pressure);

// Waits until something is told, `ms` at most. Returns whether it was.
bool ggs_pressure_wait(struct ggs_pressure * pressure, int ms);

// Bytes that are left in the tightest group and on the machine; what the page cache holds counts as
// left. `told`: a threshold will tell when they become less than the margin; else somebody has to
// look.
uint64_t ggs_pressure_left(struct ggs_pressure * pressure, bool * told);
