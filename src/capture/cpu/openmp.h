// Engines whose threads meet in a barrier of OpenMP that compilers put into the loop over a graph's
// nodes, in place of ggml_barrier: it is called through a slot.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ggs_loaded;

// True if the object calls such a barrier.
bool ggs_openmp_is_called(const struct ggs_loaded * object);
// The object's calls lead here from now on. One thread at a time.
void ggs_openmp_redirect(const struct ggs_loaded * object);
// The same for the object at this base of a program that runs, until ggs_redirect_end.
void ggs_openmp_redirect_attached(uintptr_t object);
