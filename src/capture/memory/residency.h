// Which pages of the mapped model files are in memory, at moments that matter: told only if it is wanted.
#pragma once

#include <stdbool.h>
#include <stdint.h>

extern bool ggs_residency_wanted; // set once, before recording begins

// Takes a snapshot; `moment` is one of enum ggs_moment of trace/spool.h. Nothing is told of files that are not mapped, and never were.
void ggs_residency_tell(uint32_t moment);
