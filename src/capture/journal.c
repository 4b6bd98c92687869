#include "capture/journal.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/system/ticks.h"
#include "capture/segment.h"

static pthread_mutex_t    lock = PTHREAD_MUTEX_INITIALIZER;
static struct ggs_segment segment;
static uint64_t           used;
static uint32_t           sequence;
static bool               full;

// Makes sure that `bytes` fit, and a zero type behind them.
static int make_room(uint64_t bytes) {
    if (segment.data != NULL && used + bytes + sizeof(uint64_t) <= segment.size) return 0;
    struct ggs_segment next;
    if (ggs_segment_create(&next, GGS_SPOOL_JOURNAL, sequence, 0, 0, bytes + sizeof(uint64_t)) != 0) return -1;
    ggs_segment_leave(&segment);
    segment = next;
    used    = sizeof(struct ggs_spool_header);
    sequence++;
    return 0;
}

int ggs_journal_begin(void) {
    pthread_mutex_lock(&lock);
    int result = make_room(0);
    pthread_mutex_unlock(&lock);
    return result;
}

void ggs_journal_prepare(unsigned n) {
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < n; i++)
        if (ggs_segment_prepare(GGS_SPOOL_JOURNAL, sequence + i, 0, 0) != 0) break;
    pthread_mutex_unlock(&lock);
}

int ggs_journal_append(uint32_t type, const struct ggs_piece * pieces, unsigned n_pieces) {
    return ggs_journal_append_next(type, pieces, n_pieces, NULL, NULL);
}

int ggs_journal_append_next(uint32_t type, const struct ggs_piece * pieces, unsigned n_pieces, uint64_t * number,
                            uint64_t * counter) {
    uint64_t bytes = sizeof(struct ggs_journal_record);
    for (unsigned i = 0; i < n_pieces; i++) bytes += pieces[i].bytes;
    bytes = (bytes + 7) / 8 * 8;
    if (bytes > UINT32_MAX) return -1;

    pthread_mutex_lock(&lock);
    if (full || make_room(bytes) != 0) {
        full = true;
        pthread_mutex_unlock(&lock);
        return -1;
    }
    if (number != NULL) *number = ++*counter;
    uint8_t *                   at     = segment.data + used;
    struct ggs_journal_record * record = (struct ggs_journal_record *) at;
    record->bytes                      = (uint32_t) bytes;
    record->ticks                      = ggs_ticks_now();
    at += sizeof(*record);
    for (unsigned i = 0; i < n_pieces; i++) {
        if (pieces[i].bytes > 0) memcpy(at, pieces[i].data, pieces[i].bytes);
        at += pieces[i].bytes;
    }
    __atomic_store_n(&record->type, type, __ATOMIC_RELEASE);
    used += bytes;
    pthread_mutex_unlock(&lock);
    return 0;
}

int ggs_journal_numbers(uint32_t type, uint64_t a, uint64_t b, uint64_t c, uint64_t d, const char * text) {
    struct ggs_journal_number numbers  = {{a, b, c, d}};
    struct ggs_piece          pieces[] = {{&numbers, sizeof(numbers)}, {text, text == NULL ? 0 : strlen(text) + 1}};
    return ggs_journal_append(type, pieces, 2);
}

int ggs_journal_write_loss(uint64_t reason, uint64_t count, uint64_t run, uint64_t begin, uint64_t end) {
    struct ggs_journal_loss loss = {
        .reason = reason, .lane = GGS_SPOOL_JOURNAL, .count = count, .run = run, .begin = begin, .end = end};
    struct ggs_piece piece = {&loss, sizeof(loss)};
    return ggs_journal_append(GGS_JOURNAL_LOSS, &piece, 1);
}

int ggs_journal_text(uint32_t type, const char * text) {
    struct ggs_piece piece = {text, strlen(text) + 1};
    return ggs_journal_append(type, &piece, 1);
}
