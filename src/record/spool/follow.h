// Reads a recording while it is made, only what is new each time: what the program does just now,
// for ggscope top. Costs the program nothing: the segments are shared memory that it writes anyway.
//
//     struct ggs_follow * follow;
//     ggs_follow_open(&follow, directory, &error);
//     while (ggs_follow_read(follow, &error) == 0) show(&follow->now, &follow->before);
//     ggs_follow_close(follow);
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_error;

enum { GGS_FOLLOW_OPS = 512 };

// Sums since the program's begin, without segments that the ring policy removed before.
struct ggs_follow_sums {
    uint64_t ns;      // CLOCK_MONOTONIC of the reading
    uint64_t decodes; // ended ones
    uint64_t tokens;  // inputs of these
    uint64_t outputs; // requested of these
    uint64_t graph_runs;
    uint64_t busy_ns, wait_ns; // of all threads
    struct {
        uint64_t op_runs, busy_ns, wait_ns;
    } op[GGS_FOLLOW_OPS]; // by op number
    uint64_t spool_bytes;
    // Of the process, from the kernel:
    bool     alive;
    bool     has_io;                    // false if not permitted
    uint64_t read_bytes, written_bytes; // from and to storage
    uint64_t minor_faults, major_faults;
    uint64_t resident_bytes;
};

struct ggs_follow {
    struct ggs_follow_sums      now, before;         // `before`: the previous reading
    uint32_t                    pid;                 // 0 if the program has written nothing
    bool                        paused;              // no window is open
    char *                      ops[GGS_FOLLOW_OPS]; // names, NULL if unknown
    struct ggs_follow_private * own;
};

// Returns GGS_ABSENT if nothing is being recorded into the directory.
int ggs_follow_open(struct ggs_follow ** follow, const char * directory, struct ggs_error * error);
// Reads what is new. Returns GGS_ABSENT once the recording has ended.
int  ggs_follow_read(struct ggs_follow * follow, struct ggs_error * error);
void ggs_follow_close(struct ggs_follow * follow); // NULL is allowed
