#include "capture/losses.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/system/ticks.h"
#include "capture/journal.h"

static pthread_mutex_t           lock = PTHREAD_MUTEX_INITIALIZER;
static struct ggs_journal_loss * records[GGS_LOSS_COUNT]; // in the journal
static bool                      forgotten;

// Returns the record. Writes it with this count if there is none.
static struct ggs_journal_loss * find_or_write(unsigned reason, uint64_t count, uint64_t now) {
    pthread_mutex_lock(&lock);
    struct ggs_journal_loss * record = records[reason];
    if (record == NULL)
        __atomic_store_n(&records[reason], ggs_journal_append_loss(reason, count, 0, now, now), __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    return record;
}

void ggs_losses_count(unsigned reason, uint64_t count) {
    if (forgotten) return;
    uint64_t                  now    = ggs_ticks_now();
    struct ggs_journal_loss * record = __atomic_load_n(&records[reason], __ATOMIC_ACQUIRE);
    if (record == NULL && (record = find_or_write(reason, count, now)) == NULL) return;
    __atomic_fetch_add(&record->count, count, __ATOMIC_RELAXED);
    __atomic_store_n(&record->end, now, __ATOMIC_RELAXED);
}

void ggs_losses_forget(void) {
    forgotten = true;
}

void ggs_losses_reset(void) {
    lock      = (pthread_mutex_t) PTHREAD_MUTEX_INITIALIZER;
    forgotten = false;
    memset(records, 0, sizeof(records));
}
