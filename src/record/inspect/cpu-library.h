// Which CPU library an engine loads on this machine, and what it computes with.
#pragma once

#include <stdbool.h>

// Layouts that it brings weights into.
struct ggs_cpu_layouts {
    bool repack; // rows interleaved, for AVX2 and for ARM
    bool wide;   // more types of that, for AVX-512
    bool tiles;  // for AMX
};

// Of a library made for exactly this processor.
struct ggs_cpu_layouts ggs_cpu_layouts_here(void);
// Of the one that the engine in `directory` (NULL: the default one) loads here: the engine is
// asked. False if it does not answer.
bool ggs_cpu_layouts_ask(struct ggs_cpu_layouts * layouts, const char * directory);
