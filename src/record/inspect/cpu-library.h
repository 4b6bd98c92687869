// Which CPU library an engine loads on this machine, and its weight layouts.
#pragma once

#include <stdbool.h>

// Layouts that a library converts weights to.
struct ggs_cpu_layouts {
    bool repack; // interleaved rows, for AVX2 and for ARM
    bool wide;   // further types of these, for AVX-512
    bool tiles;  // for AMX
};

// The layouts of a library built for exactly this processor.
struct ggs_cpu_layouts ggs_cpu_layouts_here(void);
// Asks the engine in `directory` (NULL: the default one) for the library that it loads here.
// Returns false if it does not answer.
bool ggs_cpu_layouts_ask(struct ggs_cpu_layouts * layouts, const char * directory);
