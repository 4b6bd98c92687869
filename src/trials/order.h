// In which order the variants of a round are tried. What the machine does over time (it warms up,
// others come and go) must fall on all variants alike.
//
// Every round tries each variant once. Rounds come in pairs, the second in the reverse order of the
// first: a drift that is linear in time cancels out over a pair. The next pair begins elsewhere in
// the list, so that no variant keeps its place or its neighbour.
#pragma once

#include <stdint.h>

// `order` gets 0 to n - 1. The same for the same n, round and seed.
void ggs_order_of_round(unsigned * order, unsigned n, unsigned round, uint64_t seed);
