// Control groups: where one for a program may be made, and the files of one. Everything is below a
// `root` folder, "" outside of tests.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ggs_error;

struct ggs_limit_place {
    int  version;          // of control groups: 1 or 2
    char folder[PATH_MAX]; // a group in which others may be made
};

// What a group has used.
struct ggs_limit_use {
    uint64_t peak;      // maximum
    uint64_t anonymous; // at this moment: private memory, which cannot be dropped
    uint64_t shared;    // at the end: shared memory that it touched first
    uint64_t hits;      // times that the limit was reached
    uint64_t kills;     // processes that the limit ended
};

// Lists groups that account memory, ours or the nearest parent first. Returns how many of `most`
// were filled in. Only trying shows whether a group can be made in them.
size_t ggs_limit_places(const char * root, struct ggs_limit_place * places, size_t most);

// Limits the group to `bytes`, without swap where the kernel supports that.
int ggs_limit_group_set(const char * group, int version, uint64_t bytes, struct ggs_error * error);
// Moves a process; 0 is the calling one. Returns 0 or an errno.
int ggs_limit_group_join(const char * group, pid_t process);
// Figures that a kernel lacks are 0. Safe to poll: leaves `shared` alone and does not read
// memory.stat, which would flush the group's statistics and change what the kernel evicts.
void ggs_limit_group_read(const char * root, const char * group, int version, struct ggs_limit_use * use);
// Pages of shared memory that members touched first. Reads memory.stat: call it at the end.
uint64_t ggs_limit_group_shared(const char * group);
// Bytes that its members can take ahead of a limit, of this group or one above it; UINT64_MAX: none
// is known. Reads memory.stat.
uint64_t ggs_limit_group_room(const struct ggs_limit_place * place);

// Finds the group that accounts the memory of a process, below the root folder; false if none does.
bool ggs_limit_group_of(const char * root, pid_t process, struct ggs_limit_place * place);
