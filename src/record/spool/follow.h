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

// Sums since the program began, but for what the ring policy had given up when we came.
struct ggs_follow_sums {
    uint64_t ns;      // CLOCK_MONOTONIC, when they were read
    uint64_t decodes; // that have ended
    uint64_t tokens;  // that were fed to them
    uint64_t outputs; // that they were asked for
    uint64_t graph_runs;
    uint64_t busy_ns, wait_ns; // of all threads
    struct {
        uint64_t op_runs, busy_ns, wait_ns;
    } op[GGS_FOLLOW_OPS]; // by op number
    uint64_t spool_bytes;
    // of the process, as the kernel tells it
    bool     alive;
    bool     has_io;                    // else it does not tell us
    uint64_t read_bytes, written_bytes; // from and to storage
    uint64_t minor_faults, major_faults;
    uint64_t resident_bytes;
};

struct ggs_follow {
    struct ggs_follow_sums      now, before;         // before: of the reading before
    uint32_t                    pid;                 // 0: nothing of the program was seen yet
    bool                        paused;              // no window is open
    char *                      ops[GGS_FOLLOW_OPS]; // names, NULL if not known
    struct ggs_follow_private * own;
};

// GGS_ABSENT if nothing is being recorded into the directory.
int ggs_follow_open(struct ggs_follow ** follow, const char * directory, struct ggs_error * error);
// Reads what is new. GGS_ABSENT once the recording has ended.
int  ggs_follow_read(struct ggs_follow * follow, struct ggs_error * error);
void ggs_follow_close(struct ggs_follow * follow); // NULL is fine
