// Seals while the program runs: what its threads wrote becomes chunks of op runs in a part
// (part.h), and its segments are removed.
//
// It is pass 2 over a growing journal, with a writer that keeps only op runs. The trace is the same
// as if everything were sealed at the end, because nothing that is written depends on later
// records: times use anchors that stay (tick-clock.h), levels of detail the first chunk (lods.h),
// and a graph run is written when the journal has its end. What needs the whole journal (warm-ups,
// steps) is left to the end, which reads the journal twice and no op run.
#pragma once

#include <stdint.h>

struct ggs_error;
struct ggs_incremental;

// `spool` is the folder, `part` the file to make. `start_ns`: CLOCK_MONOTONIC at time 0, as in
// struct ggs_seal_options.
int ggs_incremental_open(struct ggs_incremental ** out, const char * spool, const char * part, uint64_t start_ns,
                         struct ggs_error * error);
// Seals what ended before `until_ns` (CLOCK_MONOTONIC; all earlier records of the machine are in
// the spool), no decode after `until_decode`, and stops after the first block. Returns 1 if there
// was one, 0 if there is nothing to do, or a failure, after which only close may be called.
int ggs_incremental_step(struct ggs_incremental * seal, uint64_t until_ns, uint64_t until_decode,
                         struct ggs_error * error);
// Bytes of removed segments minus those of the part.
uint64_t ggs_incremental_freed(const struct ggs_incremental * seal);
void     ggs_incremental_close(struct ggs_incremental * seal);
