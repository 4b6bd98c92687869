// How much memory there is: limits of control groups, what is left below them, what the machine has, and whether it is short of it.
//
// `proc` and `groups` are "/proc" and "/sys/fs/cgroup", or made-up trees.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Bytes that this process may take: the smallest limit of its control groups (version 1 and 2, parents too), else what the machine has
// left. UINT64_MAX if nothing is known.
uint64_t ggs_memory_limit(const char * proc, const char * groups);

// Bytes that are left below the tightest of these limits, whoever else lives in the group. What the page cache holds counts as free: it can be
// dropped. UINT64_MAX without a limit.
uint64_t ggs_memory_left(const char * proc, const char * groups);

// What the machine has left.
uint64_t ggs_memory_available(const char * proc);

// Percent of the last 10 s in which everybody in the group, or on the machine, waited for memory (PSI); 0 where the kernel does not tell.
double ggs_memory_stalled(const char * proc, const char * groups);
