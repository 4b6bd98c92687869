// Sealing while the program runs: what its threads wrote becomes chunks of op runs in a part (part.h), and the segments that held it go.
//
// It is pass 2 over a journal that grows, with a writer that keeps op runs only. What comes out is the same as at the end, because nothing that is
// written depends on what comes later: times go by anchors that are kept for good (clock.h), levels of detail by the first chunk (lods.h), and a
// graph run is taken when the journal tells its end. What only the whole journal can say (warm-ups, steps) is left to the end, which reads the
// journal twice and not a single op run.
#pragma once

#include <stdint.h>

struct ggs_background;
struct ggs_error;

// `spool` is the folder, `part` the file that is to be made. `start_ns`: CLOCK_MONOTONIC that counts as 0, as in struct ggs_seal_options.
int ggs_background_open(struct ggs_background ** out, const char * spool, const char * part, uint64_t start_ns,
                        struct ggs_error * error);
// Seals what was over at `until_ns` (CLOCK_MONOTONIC), by when all records of the machine are in the spool, and stops after the first block:
// 1 if there was one, 0 if there is nothing to do for now, or a failure, after which there is nothing more to be called but close.
int ggs_background_step(struct ggs_background * background, uint64_t until_ns, struct ggs_error * error);
// Bytes of segments that are gone, less those of the part.
uint64_t ggs_background_freed(const struct ggs_background * background);
void     ggs_background_close(struct ggs_background * background);
