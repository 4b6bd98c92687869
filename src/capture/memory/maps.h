// Which files are mapped where: what makes an address a place in a file. Thread-safe.
#pragma once

#include <stdint.h>

// Tells the journal, if the mappings have changed since it was told last.
void ggs_maps_tell(void);

// While a model is being loaded (from here until the next graph), weights are copied out of mappings that are gone soon after:
// see_source tells the mappings anew if `address` lies in none that is known.
void ggs_maps_expect_load(void);
void ggs_maps_see_source(uint64_t address);
