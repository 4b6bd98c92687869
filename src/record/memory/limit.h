// Holds a program to an amount of memory, its page cache included, and watches how much it uses.
//
//     make    a control group of its own: version 2, else 1, else a scope of systemd
//     join    moves the program into it, while the program waits to begin
//     end     reads what was used, and removes the group
//
// The group is removed even if ggscope is killed: a guardian process waits for our end and for the
// group to be empty. systemd removes its scopes itself.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "record/memory/limit-group.h"

enum { GGS_LIMIT_PREFIX = 16 };

struct ggs_limit {
    uint64_t     bytes;                    // 0 for no limit
    const char * mechanism;                // "cgroup v2", "cgroup v1", "systemd-run --user", ...
    const char * prefix[GGS_LIMIT_PREFIX]; // words before the command, for systemd only
    // What was used; anonymous and shared are maxima.
    struct ggs_limit_use use;

    struct ggs_limit_place group; // version 0 if unknown
    bool                   made;  // the group is ours to remove
    char                   properties[2][64];
    pid_t                  guardian;
    int                    leash; // closing it wakes the guardian
    pid_t                  program;
    pthread_t              watcher;
    bool                   watching;
    int                    stop; // eventfd
};

// Fails with a sentence, and leaves nothing behind, if nothing permits it. `bytes` 0: no limit.
int ggs_limit_make(struct ggs_limit * limit, uint64_t bytes, struct ggs_error * error);
// If systemd makes the group, `program` is the process with the prefix.
int ggs_limit_join(struct ggs_limit * limit, pid_t program, struct ggs_error * error);
// Limits this process to `bytes`, and the program that it becomes: nothing watches it, and the
// group goes when all have left it. Returns the words before the command in `prefix`, of
// GGS_LIMIT_PREFIX, with NULL at the end.
int ggs_limit_enter(uint64_t bytes, const char ** prefix, struct ggs_error * error);
// Call it once the program has ended. May be called again, and without a limit. `use` stays.
void ggs_limit_end(struct ggs_limit * limit);
