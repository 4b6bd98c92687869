// Holds a program to an amount of memory, its page cache included, and watches how much it uses.
//
//     make    a control group of its own: version 2, else version 1; if we may make none, a scope of systemd
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
    uint64_t     bytes;                    // 0: there is no limit
    const char * mechanism;                // "cgroup v2", "cgroup v1", "systemd-run --user", "systemd-run"
    const char * prefix[GGS_LIMIT_PREFIX]; // words to put before the command, NULL at the end; none without systemd
    // What was used. anonymous and shared are the most that was seen at any time.
    struct ggs_limit_use use;

    struct ggs_limit_place group; // version 0: not known (yet)
    bool                   made;  // the group is ours to remove
    char                   properties[2][64];
    pid_t                  guardian;
    int                    leash; // the guardian acts when it is closed
    pid_t                  program;
    pthread_t              watcher;
    bool                   watching;
    int                    stop; // eventfd
};

// Fails with a sentence if nothing permits it; nothing is left behind then. `bytes` of 0 gives no
// limit.
int ggs_limit_make(struct ggs_limit * limit, uint64_t bytes, struct ggs_error * error);
// If systemd makes the group, `program` is the one with the prefix.
int ggs_limit_join(struct ggs_limit * limit, pid_t program, struct ggs_error * error);
// Holds this process to `bytes`, and the program that it becomes: nobody watches, and the group
// goes when all have left it. Returns the words to put before the command in `prefix`, of
// GGS_LIMIT_PREFIX, NULL at the end.
int ggs_limit_enter(uint64_t bytes, const char ** prefix, struct ggs_error * error);
// Once the program has ended. May be called again, and for a limit that was never made. `use`
// stays.
void ggs_limit_end(struct ggs_limit * limit);
