// How much memory there is: limits of control groups, what is left below them, what the machine
// has, and whether it is short of it.
//
// `proc` and `groups` are "/proc" and "/sys/fs/cgroup", or made-up trees.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Bytes that this process may take: the smallest limit of its control groups (version 1 and 2,
// parents too), else what the machine has left. UINT64_MAX if nothing is known.
uint64_t ggs_memory_limit(const char * proc, const char * groups);

// Bytes that are left below the tightest of these limits, whoever else lives in the group. What the
// page cache holds counts as free: it can be dropped. UINT64_MAX without a limit.
uint64_t ggs_memory_left(const char * proc, const char * groups);

// What this process holds that cannot be dropped.
uint64_t ggs_memory_anonymous(const char * proc);

// What the machine has left.
uint64_t ggs_memory_available(const char * proc);

// Percent of the last 10 s in which everybody in the group, or on the machine, waited for memory
// (PSI); 0 where the kernel does not tell.
double ggs_memory_stalled(const char * proc, const char * groups);

// What the others are made of, also for who keeps these files open.

// Calls `look` for each memory control group of this process and each of its parents, whether it
// has a limit or not.
typedef void (*ggs_memory_group_function)(const char * folder, bool version_2, bool own, void * context);
void ggs_memory_groups(const char * proc, const char * groups, ggs_memory_group_function look, void * context);

// The limit of one group, UINT64_MAX if it has none. Of version 2 also the one beyond which
// everybody is slowed down.
uint64_t ggs_memory_group_limit(const char * folder, bool version_2);

// Bytes of page cache, by a group's memory.stat; what is available, by the text of /proc/meminfo.
uint64_t ggs_memory_group_cache(const char * stat, bool version_2);
uint64_t ggs_memory_available_in(const char * meminfo);
