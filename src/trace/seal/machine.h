// What the machine did: pages that ops touched, reads, residency, faults, block requests. Part of
// sealing.
#pragma once

#include "trace/seal/places.h"
#include "trace/seal/tick-clock.h"
#include "trace/spool.h"
#include "trace/writer.h"

struct ggs_machine {
    struct ggs_writer * writer;
    struct ggs_clock *  clock;
    struct ggs_places * places;
    uint64_t            page_size;
    int64_t             step; // of the newest graph run, -1 for none
    uint64_t            damaged;
};

// Records of the journal; `body` has `length` bytes, including the fixed part.
void ggs_machine_pages(struct ggs_machine * machine, const struct ggs_journal_pages * body, size_t length);
void ggs_machine_read(struct ggs_machine * machine, const struct ggs_journal_read * body, size_t length);
void ggs_machine_resident(struct ggs_machine * machine, const struct ggs_journal_resident * body, size_t length,
                          int64_t ns);
