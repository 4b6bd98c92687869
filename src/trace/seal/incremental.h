// Sealing while the program runs: what its threads wrote becomes chunks of op runs in a part
// (part.h), and the segments that held it go.
//
// It is pass 2 over a journal that grows, with a writer that keeps op runs only. The trace is the
// same as if all was sealed at the end, because nothing that is written depends on what comes
// later: times go by anchors that stay (clock.h), levels of detail by the first chunk (lods.h), and
// a graph run is written when the journal has its end. What only the whole journal can say
// (warm-ups, steps) is left to the end, which reads the journal twice and no op run.
#pragma once

#include <stdint.h>

struct ggs_error;
struct ggs_incremental;

// `spool` is the folder, `part` the file that is to be made. `start_ns`: CLOCK_MONOTONIC that
// counts as 0, as in struct ggs_seal_options.
int ggs_incremental_open(struct ggs_incremental ** out, const char * spool, const char * part, uint64_t start_ns,
                         struct ggs_error * error);
// Seals what was over at `until_ns` (CLOCK_MONOTONIC), by when all records of the machine are in
// the spool, no decode behind `until_decode`, and stops after the first block: 1 if there was one,
// 0 if there is nothing to do for now, or a failure, after which only close may be called.
int ggs_incremental_step(struct ggs_incremental * seal, uint64_t until_ns, uint64_t until_decode,
                         struct ggs_error * error);
// Bytes of segments that are gone, less those of the part.
uint64_t ggs_incremental_freed(const struct ggs_incremental * seal);
void     ggs_incremental_close(struct ggs_incremental * seal);
