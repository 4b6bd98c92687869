// Available memory: limits of control groups, free memory below them, the machine's free memory,
// and pressure.
//
// `proc` and `groups` are "/proc" and "/sys/fs/cgroup", or test trees.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Bytes that this process may use: the smallest limit of its control groups (version 1 and 2, with
// parents), else the machine's free memory. UINT64_MAX if unknown.
uint64_t ggs_memory_limit(const char * proc, const char * groups);

// Bytes left below the tightest of these limits, with all members of the group counted. Page cache
// counts as free, because it can be dropped. UINT64_MAX without a limit.
uint64_t ggs_memory_left(const char * proc, const char * groups);

// Memory of this process that cannot be dropped.
uint64_t ggs_memory_anonymous(const char * proc);

// The machine's free memory.
uint64_t ggs_memory_available(const char * proc);

// Percent of the last 10 s in which all tasks in the group, or on the machine, waited for memory
// (PSI); 0 if the kernel does not report it.
double ggs_memory_stalled(const char * proc, const char * groups);

// Parts of the above, also for callers that keep these files open.

// Calls `visit` for each memory control group of this process and each parent, with or without a
// limit.
typedef void (*ggs_memory_group_function)(const char * folder, bool version_2, bool own, void * context);
void ggs_memory_groups(const char * proc, const char * groups, ggs_memory_group_function visit, void * context);

// The limit of one group, UINT64_MAX if it has none. Of version 2 also memory.high.
uint64_t ggs_memory_group_limit(const char * folder, bool version_2);

// Bytes of page cache, from a group's memory.stat; available bytes, from the text of /proc/meminfo.
uint64_t ggs_memory_group_cache(const char * stat, bool version_2);
uint64_t ggs_memory_available_in(const char * meminfo);
