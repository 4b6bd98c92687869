// What can be proved of the engine's structures in a program without symbols: every pointer is
// looked up in the process's mappings ahead of use.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/code/entry.h"
#include "base/code/view.h"
#include "preload/ggml-abi.h"

// The readable mappings of this process at one moment.
struct ggs_readable {
    struct ggs_code_range * items;
    size_t                  n, capacity;
};

void ggs_readable_read(struct ggs_readable * all); // to be freed
bool ggs_readable_has(const struct ggs_readable * all, const void * at, uint64_t size);
void ggs_readable_free(struct ggs_readable * all);

enum { GGS_BACKEND_WORDS = 24 };

// Returns the index of the word that points to the compute function of a CPU backend, and of the
// one that points to its context; 0 if the words are no such backend. `object` contains the engine.
unsigned ggs_backend_find_compute(const struct ggs_view * object, const uint64_t words[GGS_BACKEND_WORDS],
                                  unsigned * context);
// True if a device, which backends point to, is readable.
bool ggs_backend_has_device(const struct ggs_readable * all, const uint64_t * words, unsigned context);

// True if every pointer of a graph is readable and every tensor has the expected layout.
bool ggs_graph_is_proved(const struct abi_graph * graph);
