// How fast can this machine's memory be read? The limit that ops are compared with.
#pragma once

#include <stdint.h>

// Reads memory far larger than any cache for about a second, with `threads` threads. Bytes per second; 0 if there is no memory for it.
uint64_t ggs_probe_bandwidth(unsigned threads);
