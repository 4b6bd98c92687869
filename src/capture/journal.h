// The journal: everything but op runs. One stream per process, appended under a lock.
//
// Rates are per graph run, not per op. A record is complete or absent: its type is stored last.
#pragma once

#include <stdint.h>

#include "trace/spool.h"

// A piece of a record's body.
struct ggs_piece {
    const void * data;
    uint64_t     bytes;
};

// Opens the first segment. Returns 0, or -1 with errno.
int ggs_journal_begin(void);
// Forgets everything, numbers included. Nothing is appended until another recording begins.
void ggs_journal_reset(void);

// Appends one record: its pieces in order, padded with zeros. Returns 0, or -1 if there is no room.
// After that only ends are appended, for which room is reserved: of runs, decodes, schedules and
// the process, and losses.
int ggs_journal_append(uint32_t type, const struct ggs_piece * pieces, unsigned n_pieces);

// The same for a numbered record: sets `number`, which lies in the first piece, to the next value
// of its counter under the lock, so numbers ascend in the journal. They begin at 1.
enum ggs_journal_counter {
    GGS_COUNT_RUNS,
    GGS_COUNT_SCHEDULES,
    GGS_COUNT_DECODES,
    GGS_COUNT_LOADS,
    GGS_COUNT_BUFFERS,
    GGS_COUNTERS
};
int ggs_journal_append_next(uint32_t type, const struct ggs_piece * pieces, unsigned n_pieces, uint64_t * number,
                            enum ggs_journal_counter counter);

// The common form: up to four numbers and a text (NULL for none).
int ggs_journal_numbers(uint32_t type, uint64_t a, uint64_t b, uint64_t c, uint64_t d, const char * text);
int ggs_journal_text(uint32_t type, const char * text);
// Records op runs that all threads lost; run 0 if unknown. `begin` and `end` are ticks. Returns the
// record, which stays in place and may be incremented; NULL if there is no room.
struct ggs_journal_loss * ggs_journal_append_loss(uint64_t reason, uint64_t count, uint64_t run, uint64_t begin,
                                                  uint64_t end);
