// Mapped files: they turn an address into a place in a file. Thread-safe.
#pragma once

#include <stdint.h>

// Writes the mappings of files to the journal if they have changed.
void ggs_mapped_files_emit(void);

// For the end of a recording: the next one gets all mappings.
void ggs_mapped_files_reset(void);

// Announces a model load, which lasts until the next graph: weights are copied from mappings that
// go away soon after.
void ggs_mapped_files_expect_load(void);
// During a load: emits the mappings if `address` lies in no known one.
void ggs_mapped_files_check_source(uint64_t address);
