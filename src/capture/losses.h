// Losses whose run is not known: counted, and told when the program ends. Those of a known run are told at its end
// (ggs_journal_write_loss). Thread-safe.
#pragma once

#include <stdint.h>

#include "trace/spool.h"

// `reason` is one of enum ggs_loss_reason.
void ggs_losses_count(unsigned reason, uint64_t count);

struct ggs_losses {
    uint64_t count, begin, end; // ticks of the first and the last of them
};
struct ggs_losses ggs_losses_get(unsigned reason);
