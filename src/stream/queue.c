#include "stream/queue.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stream/disk/files.h"
#include "stream/memory/memory.h"
#include "stream/run.h"

enum { ENTRIES = 4096, AHEAD = 64 << 20, LAPS = 64, WHOLE = 3 };

struct entry {
    struct ggs_weight * weight;
    uint64_t            lap;        // of the run it is for
    uint64_t            begin, end; // in the ring; the same where the weight will be kept
    uint64_t            bytes;
    struct ggs_arrival  load;
};

static struct entry entries[ENTRIES];
static uint64_t     first, next, end; // oldest in use, next to be used, behind the newest
static char *       memory;
static uint64_t     size, head, tail; // of the ring: the oldest byte in use, the next free one; both count on
static struct {
    char *   memory;
    uint64_t size;
    bool     away; // something borrowed is in its place
} own;
static uint64_t                     ahead; // bytes asked for and not used
static uint64_t                     lap, cursor_lap;
static struct ggs_weight_sequence * assumed[LAPS];    // by lap: the sequence that reading ahead took for it
static struct ggs_weight_sequence * running, *cursor; // of the run, and where reading ahead is
static uint32_t                     cursor_at;

struct known {
    struct ggs_weight_sequence sequence;
    struct known *             before;
};
static struct known * known;

// ---- sequences ----

struct ggs_weight_sequence * ggs_weight_sequence_of(struct ggs_weight ** weights, uint32_t n) {
    uint64_t hash = n;
    for (uint32_t i = 0; i < n; i++) hash = (hash ^ (uint64_t) weights[i]) * 0x9e3779b97f4a7c15u, hash ^= hash >> 29;
    for (struct known * k = known; k != NULL; k = k->before) {
        if (k->sequence.hash == hash && k->sequence.n == n &&
            memcmp(k->sequence.weights, weights, n * sizeof(*weights)) == 0)
            return &k->sequence;
    }
    struct known * k = calloc(1, sizeof(*k));
    if (k == NULL) return NULL;
    k->sequence.weights = malloc((n + 1) * sizeof(*weights));
    if (k->sequence.weights == NULL) {
        free(k);
        return NULL;
    }
    memcpy(k->sequence.weights, weights, n * sizeof(*weights));
    k->sequence.hash = hash;
    k->sequence.n    = n;
    k->sequence.next =
        n < WHOLE ? NULL : &k->sequence; // until it is known better: a graph comes again, a piece of one does not
    k->before = known;
    known     = k;
    return &k->sequence;
}

// ---- the ring ----

bool ggs_queue_resize(uint64_t bytes) {
    ggs_memory_give_back(own.memory, own.size);
    own.away   = false;
    own.memory = memory = bytes == 0 ? NULL : ggs_memory_take(bytes, bytes);
    own.size = size = memory == NULL ? 0 : bytes / 4096 * 4096;
    head = tail = 0;
    return memory != NULL || bytes == 0;
}

bool ggs_queue_holds(const struct ggs_weight * weight) {
    return ggs_weight_span(weight).bytes <= size;
}

// Room for `bytes` in one piece: the end of the ring is left empty if they do not fit there.
static bool take_room(uint64_t bytes, uint64_t * begin, uint64_t * behind) {
    uint64_t rounded = (bytes + 4095) / 4096 * 4096, at = tail;
    if (size == 0 || rounded > size) return false;
    if (head == tail) head = tail = at = (tail + size - 1) / size * size; // nothing is in it: all of it is free
    if (at % size + rounded > size) at += size - at % size;
    if (at + rounded - head > size) return false;
    *begin  = at;
    *behind = at + rounded;
    tail    = *behind;
    return true;
}

static void drop_entries(uint64_t until) {
    for (; first < until; first++) {
        struct entry * e = &entries[first % ENTRIES];
        if (e->end > e->begin) head = e->end;
    }
    if (first == end) head = tail; // also what was left empty at the end
}

// Waits for what is under way for entries that nobody will use, and forgets them.
static void abandon(uint64_t until) {
    for (; next < until; next++) {
        struct entry * e = &entries[next % ENTRIES];
        ggs_reader_wait(e->end > e->begin ? &e->load : &e->weight->load, NULL);
        if (e->end == e->begin) e->weight->ready = !e->weight->load.failed;
        ahead -= e->bytes;
    }
}

void ggs_queue_reset(void) {
    ggs_reader_drain();
    abandon(end);
    drop_entries(end);
    while (known != NULL) {
        struct known * before = known->before;
        free(known->sequence.weights);
        free(known);
        known = before;
    }
    running = cursor = NULL;
    cursor_at        = 0;
}

void ggs_queue_borrow(char * other, uint64_t bytes) {
    if (other == NULL && !own.away) return;
    if (other == memory && own.away) return;
    abandon(end);
    drop_entries(end);
    own.away = other != NULL;
    memory   = own.away ? other : own.memory;
    size     = own.away ? bytes / 4096 * 4096 : own.size;
    head = tail = 0;
    cursor      = NULL;
}

bool ggs_queue_borrows(void) {
    return own.away;
}

static void cursor_to(struct ggs_weight_sequence * sequence, uint64_t of_lap) {
    cursor                 = sequence;
    cursor_at              = 0;
    cursor_lap             = of_lap;
    assumed[of_lap % LAPS] = sequence;
}

void ggs_queue_begin(struct ggs_weight_sequence * sequence) {
    if (running != NULL) running->next = sequence;
    running = sequence;
    lap++;
    if (cursor != NULL && cursor_lap >= lap && assumed[lap % LAPS] == sequence) return;
    abandon(end);
    drop_entries(end);
    cursor_to(sequence, lap);
}

void ggs_queue_end(void) {
    uint64_t until = next;
    while (until < end && entries[until % ENTRIES].lap <= lap) until++;
    abandon(until);
    drop_entries(next);
}

// ---- reading ahead ----

static void ask(struct ggs_arrival * load, const struct ggs_weight * weight, char * to) {
    struct ggs_span span = ggs_weight_span(weight);
    *load                = (struct ggs_arrival){0, false};
    ggs_reader_ask(load, ggs_files_get(weight->file)->direct, span.offset, span.bytes, span.needed, to, false);
}

// Asks for one weight. False if there is no room for it now.
static bool push(struct ggs_weight * w) {
    if (end - first == ENTRIES) return false;
    struct entry e = {.weight = w, .lap = cursor_lap, .bytes = w->bytes};
    if (w->place == GGS_PLACE_KEPT && w->asked && !w->gone) return true;
    bool kept = w->place == GGS_PLACE_KEPT;
    if (kept && ahead > AHEAD) return false;
    if (kept && ggs_weight_ask(w, size)) {
        ask(&w->load, w, w->kept);
        ggs_stream_counts.bytes_kept += w->bytes;
        entries[end++ % ENTRIES] = e;
    } else if (w->place != GGS_PLACE_MAPPED) {
        if (!ggs_queue_holds(w)) return true;
        if (!take_room(ggs_weight_span(w).bytes, &e.begin, &e.end)) return false;
        entries[end % ENTRIES] = e;
        ask(&entries[end % ENTRIES].load, w, memory + e.begin % size);
        ggs_stream_counts.bytes_streamed += w->bytes;
        end++;
    } else {
        return true;
    }
    ahead += w->bytes;
    return true;
}

void ggs_queue_fill(void) {
    if (cursor == NULL) return;
    for (;;) {
        if (cursor_at == cursor->n) {
            if (cursor_lap + 2 > lap + LAPS || cursor->next == NULL) break;
            cursor_to(cursor->next, cursor_lap + 1);
        } else {
            if (!push(cursor->weights[cursor_at])) break;
            cursor_at++;
        }
    }
    ggs_reader_submit();
}

bool ggs_queue_verify(int file, uint64_t offset, const char * data, uint64_t bytes) {
    if (!ggs_stream_settings.verify) return true;
    char buffer[65536];
    int  fd = ggs_files_get(file)->plain;
    for (uint64_t at = 0; at < bytes;) {
        size_t             want = bytes - at < sizeof(buffer) ? (size_t) (bytes - at) : sizeof(buffer);
        unsigned long long from = offset + at;
        ssize_t            got  = pread(fd, buffer, want, (off_t) from);
        if (got <= 0 || memcmp(buffer, data + at, (size_t) got) != 0) {
            ggs_stream_give_up("what was read at byte %llu of the model differs from the file: weights come from the "
                               "mapping from here on",
                               from);
            return false;
        }
        at += (uint64_t) got;
    }
    ggs_stream_counts.verified += bytes;
    return true;
}

static bool wait_for(struct ggs_arrival * load) {
    if (!ggs_arrival_done(load)) {
        uint64_t begin = ggs_stream_clock();
        if (ggs_reader_wait(load, ggs_run_soon)) {
            ggs_stream_counts.waits++;
            ggs_stream_counts.wait_ns += ggs_stream_clock() - begin;
        }
    }
    if (load->failed) ggs_stream_note_failure();
    return !load->failed;
}

static bool wait_for_kept(struct ggs_weight * w) {
    bool ok  = wait_for(&w->load) && ggs_queue_verify(w->file, w->offset, w->kept + ggs_weight_span(w).delta, w->bytes);
    w->ready = ok;
    if (!ok) w->place = GGS_PLACE_MAPPED;
    return ok;
}

void ggs_queue_load(struct ggs_weight * w) {
    if (w->place != GGS_PLACE_KEPT || w->asked) return;
    w->asked = true;
    ask(&w->load, w, w->kept);
    ggs_stream_counts.bytes_kept += w->bytes;
    wait_for_kept(w);
}

// The entry for this weight in this run, or `end`.
static uint64_t find(const struct ggs_weight * w) {
    for (uint64_t at = next; at < end && entries[at % ENTRIES].lap == lap; at++) {
        if (entries[at % ENTRIES].weight == w) return at;
    }
    return end;
}

char * ggs_queue_take(struct ggs_weight * w) {
    if (w->place == GGS_PLACE_KEPT && w->ready)
        return ggs_weight_use(w, size) ? w->kept + ggs_weight_span(w).delta : NULL;
    if (w->place == GGS_PLACE_MAPPED || !(w->place == GGS_PLACE_KEPT || ggs_queue_holds(w))) return NULL;
    uint64_t at = find(w);
    if (at == end && cursor_lap == lap && first == next) { // what was to be used before was not, and is in the way
        abandon(end);
        drop_entries(end);
        ggs_queue_fill();
        at = find(w);
    }
    if (at == end) return NULL;
    abandon(at);
    struct entry * e = &entries[next++ % ENTRIES];
    ahead -= e->bytes;
    uint32_t delta = ggs_weight_span(w).delta;
    if (e->end == e->begin) return wait_for_kept(w) && ggs_weight_use(w, size) ? w->kept + delta : NULL;
    if (!wait_for(&e->load)) return NULL;
    char * data = memory + e->begin % size + delta;
    return ggs_queue_verify(w->file, w->offset, data, w->bytes) ? data : NULL;
}

void ggs_queue_release(void) {
    if (first != next) drop_entries(next);
}
