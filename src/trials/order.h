// The order of variants in a round. Changes of the machine over time (heat, other load) must affect
// all variants equally.
//
// Every round tries each variant once. Rounds come in pairs, the second in reverse order of the
// first: a linear drift cancels out over a pair. The next pair starts elsewhere in the list, so no
// variant keeps its position or its neighbour.
#pragma once

#include <stdint.h>

// `order` gets 0 to n - 1, determined by n, round and seed.
void ggs_order_of_round(unsigned * order, unsigned n, unsigned round, uint64_t seed);
