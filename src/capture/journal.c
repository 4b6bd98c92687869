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
static uint64_t           counters[GGS_COUNTERS];

enum {
    KEPT_FOR_ENDS = 32 << 10
}; // 64 runs and what contains them end with less than 200 bytes
    // each

// True for records that may use the room reserved in every segment, so that what began is recorded
// to its end.
static bool is_end(uint32_t type) {
    return type == GGS_JOURNAL_RUN_THREADS || type == GGS_JOURNAL_RUN_END || type == GGS_JOURNAL_DECODE_END ||
           type == GGS_JOURNAL_SCHEDULE_END || type == GGS_JOURNAL_LOSS || type == GGS_JOURNAL_END;
}

// Makes room for `bytes`, followed by `kept` more and a zero type.
static int make_room(uint64_t bytes, uint64_t kept) {
    if (segment.data != NULL && used + bytes + kept + sizeof(uint64_t) <= segment.size) return 0;
    struct ggs_segment next;
    if (full ||
        ggs_segment_create(&next, GGS_SPOOL_JOURNAL, sequence, 0, 0, bytes + KEPT_FOR_ENDS + sizeof(uint64_t)) != 0)
        return -1;
    ggs_segment_leave(&segment);
    segment = next;
    used    = sizeof(struct ggs_spool_header);
    sequence++;
    return 0;
}

int ggs_journal_begin(void) {
    pthread_mutex_lock(&lock);
    full       = false;
    int result = make_room(0, KEPT_FOR_ENDS);
    pthread_mutex_unlock(&lock);
    return result;
}

// In a forked child a thread that does not exist may hold the lock.
void ggs_journal_reset(void) {
    lock    = (pthread_mutex_t) PTHREAD_MUTEX_INITIALIZER;
    segment = (struct ggs_segment){0};
    used = sequence = 0;
    full            = true;
    memset(counters, 0, sizeof(counters));
}

// Returns the body of the record, or NULL.
static void * append(uint32_t type, const struct ggs_piece * pieces, unsigned n_pieces, uint64_t * number,
                     uint64_t * counter) {
    uint64_t bytes = sizeof(struct ggs_journal_record);
    for (unsigned i = 0; i < n_pieces; i++) bytes += pieces[i].bytes;
    bytes = (bytes + 7) / 8 * 8;
    if (bytes > UINT32_MAX) return NULL;

    pthread_mutex_lock(&lock);
    bool end = is_end(type), first = segment.data == NULL;
    // In the reserved room an end needs no new segment, which others can use.
    if ((end ? first : full) || (make_room(bytes, KEPT_FOR_ENDS) != 0 && (!end || make_room(bytes, 0) != 0))) {
        full |= !first;
        pthread_mutex_unlock(&lock);
        return NULL;
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
    return record + 1;
}

int ggs_journal_append(uint32_t type, const struct ggs_piece * pieces, unsigned n_pieces) {
    return append(type, pieces, n_pieces, NULL, NULL) == NULL ? -1 : 0;
}

int ggs_journal_append_next(uint32_t type, const struct ggs_piece * pieces, unsigned n_pieces, uint64_t * number,
                            enum ggs_journal_counter counter) {
    return append(type, pieces, n_pieces, number, &counters[counter]) == NULL ? -1 : 0;
}

int ggs_journal_numbers(uint32_t type, uint64_t a, uint64_t b, uint64_t c, uint64_t d, const char * text) {
    struct ggs_journal_number numbers  = {{a, b, c, d}};
    struct ggs_piece          pieces[] = {{&numbers, sizeof(numbers)}, {text, text == NULL ? 0 : strlen(text) + 1}};
    return ggs_journal_append(type, pieces, 2);
}

struct ggs_journal_loss * ggs_journal_append_loss(uint64_t reason, uint64_t count, uint64_t run, uint64_t begin,
                                                  uint64_t end) {
    struct ggs_journal_loss loss = {
        .reason = reason, .lane = GGS_SPOOL_JOURNAL, .count = count, .run = run, .begin = begin, .end = end};
    struct ggs_piece piece = {&loss, sizeof(loss)};
    return append(GGS_JOURNAL_LOSS, &piece, 1, NULL, NULL);
}

int ggs_journal_text(uint32_t type, const char * text) {
    struct ggs_piece piece = {text, strlen(text) + 1};
    return ggs_journal_append(type, &piece, 1);
}
