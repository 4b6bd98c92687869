// Which files are mapped where: what makes an address a place in a file. Thread-safe.
#pragma once

#include <stdint.h>

// Writes the mappings of files to the journal if they have changed since the last time.
void ggs_mapped_files_emit(void);

// The recording is over: the next one gets all mappings.
void ggs_mapped_files_reset(void);

// A model is being loaded, until the next graph: weights are copied out of mappings that are gone
// soon after.
void ggs_mapped_files_expect_load(void);
// During a load: emits the mappings if `address` lies in none that is known.
void ggs_mapped_files_check_source(uint64_t address);
