#include "capture/losses.h"

#include <stdatomic.h>

#include "base/system/ticks.h"

static struct { _Atomic uint64_t count, begin, end; } losses[GGS_LOSS_COUNT];

void ggs_losses_count(unsigned reason, uint64_t count) {
    uint64_t now = ggs_ticks_now(), never = 0;
    losses[reason].count += count;
    atomic_compare_exchange_strong(&losses[reason].begin, &never, now);
    losses[reason].end = now;
}

struct ggs_losses ggs_losses_get(unsigned reason) {
    return (struct ggs_losses){losses[reason].count, losses[reason].begin, losses[reason].end};
}
