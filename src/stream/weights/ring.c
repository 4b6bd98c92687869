#include "stream/weights/ring.h"

#include <stdlib.h>
#include <string.h>

#include "stream/core.h"

enum { MOST_READING = 96, WHOLE = 3 };

// ---- sequences ----

static struct ggs_weight_sequence * sequence_of(struct ggs_weight_ring * ring, struct ggs_weight ** weights, size_t n) {
    uint64_t hash = n;
    for (size_t i = 0; i < n; i++) hash = (hash ^ (uint64_t) weights[i]) * 0x9e3779b97f4a7c15u, hash ^= hash >> 29;
    for (struct ggs_weight_sequence * q = ring->known; q != NULL; q = q->older) {
        if (q->hash == hash && q->n == n && memcmp(q->weights, weights, n * sizeof(*weights)) == 0) return q;
    }
    struct ggs_weight_sequence * q = calloc(1, sizeof(*q));
    if (q == NULL || (q->weights = malloc((n + 1) * sizeof(*weights))) == NULL) {
        free(q);
        return NULL;
    }
    memcpy(q->weights, weights, n * sizeof(*weights));
    q->hash = hash;
    q->n    = n;
    // The first guess: a whole graph repeats, a part of one does not.
    q->next     = n < WHOLE ? NULL : q;
    q->older    = ring->known;
    ring->known = q;
    return q;
}

// ---- room ----

static struct ggs_weight_ring_entry * entry_at(const struct ggs_weight_ring * ring, uint64_t number) {
    return &ring->entries[number % GGS_RING_ENTRIES];
}

bool ggs_weight_ring_resize(struct ggs_stream * s, uint64_t bytes) {
    struct ggs_weight_ring * ring = &s->ring;
    if (ring->memory != NULL) ggs_stream_free(s, ring->memory, ring->bytes);
    ring->bytes  = bytes / 4096 * 4096;
    ring->memory = ring->bytes == 0 ? NULL : ggs_stream_acquire(s, ring->bytes, true);
    ring->head = ring->tail = 0;
    if (ring->memory == NULL) ring->bytes = 0;
    if (ring->entries == NULL) ring->entries = calloc(GGS_RING_ENTRIES, sizeof(*ring->entries));
    return ring->entries != NULL && (ring->memory != NULL || bytes == 0);
}

bool ggs_weight_ring_holds(const struct ggs_stream * s, const struct ggs_weight * w) {
    return ggs_weight_room(w) <= s->ring.bytes;
}

// Allocates `bytes` in one piece: the end of the ring stays empty if they do not fit there.
static bool take_room(struct ggs_weight_ring * ring, uint64_t bytes, struct ggs_weight_ring_entry * e) {
    uint64_t at = ring->tail;
    if (bytes > ring->bytes) return false;
    if (ring->first == ring->end) ring->head = ring->tail = at = (at + ring->bytes - 1) / ring->bytes * ring->bytes;
    if (at % ring->bytes + bytes > ring->bytes) at += ring->bytes - at % ring->bytes;
    if (at + bytes - ring->head > ring->bytes) return false;
    e->begin = at;
    e->end = ring->tail = at + bytes;
    return true;
}

// Frees the oldest entries, up to those of the running op.
static void free_oldest(struct ggs_weight_ring * ring) {
    for (; ring->first < ring->next - ring->n_held; ring->first++) {
        struct ggs_weight_ring_entry * e = entry_at(ring, ring->first);
        if (ggs_arrival_is_reading(&e->arrival)) return; // no one waits for it, but it is in flight
        ggs_arrival_clear(&e->arrival);
        ring->head = e->end;
    }
}

void ggs_weight_ring_release(struct ggs_stream * s) {
    s->ring.n_held = 0;
    free_oldest(&s->ring);
}

// Drops the entries before `until`.
static void abandon(struct ggs_weight_ring * ring, uint64_t until) {
    for (; ring->next < until; ring->next++) ggs_arrival_cancel(&entry_at(ring, ring->next)->arrival);
}

void ggs_weight_ring_forget(struct ggs_weight_ring * ring) {
    for (uint64_t i = ring->first; i < ring->end; i++) ggs_arrival_clear(&entry_at(ring, i)->arrival);
    ring->first = ring->next = ring->end;
    ring->head               = ring->tail;
    while (ring->known != NULL) {
        struct ggs_weight_sequence * older = ring->known->older;
        free(ring->known->weights);
        free(ring->known);
        ring->known = older;
    }
    ring->running = ring->cursor = NULL;
}

// ---- reading ahead ----

static void cursor_to(struct ggs_weight_ring * ring, struct ggs_weight_sequence * sequence, uint64_t lap) {
    ring->cursor                       = sequence;
    ring->cursor_at                    = 0;
    ring->cursor_lap                   = lap;
    ring->assumed[lap % GGS_RING_LAPS] = sequence;
}

void ggs_weight_ring_begin(struct ggs_stream * s, struct ggs_weight ** weights, size_t n) {
    struct ggs_weight_ring *     ring     = &s->ring;
    struct ggs_weight_sequence * sequence = n == 0 ? NULL : sequence_of(ring, weights, n);
    if (sequence == NULL) return;
    if (ring->running != NULL) ring->running->next = sequence;
    ring->running = sequence;
    ring->lap++;
    bool assumed = ring->cursor != NULL && ring->cursor_lap >= ring->lap;
    if (!assumed || ring->assumed[ring->lap % GGS_RING_LAPS] != sequence) {
        abandon(ring, ring->end);
        free_oldest(ring);
        cursor_to(ring, sequence, ring->lap);
    }
    ggs_weight_ring_fill(s);
}

void ggs_weight_ring_end(struct ggs_stream * s) {
    struct ggs_weight_ring * ring  = &s->ring;
    uint64_t                 until = ring->next;
    while (until < ring->end && entry_at(ring, until)->lap <= ring->lap) until++;
    abandon(ring, until);
    free_oldest(ring);
    ggs_weight_ring_fill(s);
}

static void load(struct ggs_stream * s, struct ggs_weight * w, enum ggs_urgency urgency) {
    struct ggs_span span = ggs_weight_span(w);
    ggs_arrival_read(s, &w->arrival, w->file->direct, &span, w->kept, false, urgency);
    s->counts.bytes_kept += w->bytes;
}

// Requests one weight. False if there is no room.
static bool ask(struct ggs_stream * s, struct ggs_weight * w) {
    struct ggs_weight_ring * ring = &s->ring;
    if (w->where == GGS_WEIGHT_KEPT) {
        if (w->arrival.state != GGS_ARRIVAL_EMPTY) return true;
        if (s->reading >= MOST_READING) return false;
        load(s, w, GGS_READ_SOON);
    } else if (w->where == GGS_WEIGHT_STREAMED && ggs_weight_ring_holds(s, w)) {
        struct ggs_weight_ring_entry * e = entry_at(ring, ring->end);
        if (ring->end - ring->first == GGS_RING_ENTRIES || !take_room(ring, ggs_weight_room(w), e)) return false;
        struct ggs_span span = ggs_weight_span(w);
        e->weight            = w;
        e->lap               = ring->cursor_lap;
        ring->end++;
        ggs_arrival_read(s, &e->arrival, w->file->direct, &span, ring->memory + e->begin % ring->bytes, false,
                         GGS_READ_SOON);
        s->counts.bytes_streamed += w->bytes;
    }
    return true;
}

void ggs_weight_ring_fill(struct ggs_stream * s) {
    struct ggs_weight_ring * ring = &s->ring;
    while (ring->cursor != NULL) {
        if (ring->cursor_at < ring->cursor->n) {
            if (!ask(s, ring->cursor->weights[ring->cursor_at])) return;
            ring->cursor_at++;
        } else {
            if (ring->cursor_lap + 2 > ring->lap + GGS_RING_LAPS || ring->cursor->next == NULL) return;
            cursor_to(ring, ring->cursor->next, ring->cursor_lap + 1);
        }
    }
}

// ---- using ----

bool ggs_weight_ring_load(struct ggs_stream * s, struct ggs_weight * w) {
    if (w->where != GGS_WEIGHT_KEPT) return false;
    if (w->arrival.state == GGS_ARRIVAL_EMPTY) load(s, w, GGS_READ_NOW);
    bool ok = ggs_stream_await(s, &w->arrival);
    ok      = ok && ggs_stream_verify(s, w->file, w->offset, w->kept + ggs_weight_span(w).delta, w->bytes);
    // If its memory was given back meanwhile, it is streamed from here on.
    if (!ok && w->where == GGS_WEIGHT_KEPT) w->where = GGS_WEIGHT_MAPPED;
    return ok;
}

// Returns the entry of this weight in this run, or `end`.
static uint64_t find(const struct ggs_weight_ring * ring, const struct ggs_weight * w) {
    for (uint64_t at = ring->next; at < ring->end && entry_at(ring, at)->lap == ring->lap; at++) {
        if (entry_at(ring, at)->weight == w) return at;
    }
    return ring->end;
}

// Drops entries that were expected earlier and are in the way.
static void make_way(struct ggs_stream * s, const struct ggs_weight * w) {
    struct ggs_weight_ring * ring = &s->ring;
    size_t                   at   = ring->cursor_at;
    if (ring->cursor == NULL || ring->cursor_lap != ring->lap || ring->n_held > 0) return;
    while (at < ring->cursor->n && ring->cursor->weights[at] != w) at++;
    if (at == ring->cursor->n) return; // it is not expected
    abandon(ring, ring->end);
    free_oldest(ring);
    ring->cursor_at = at;
    ggs_weight_ring_fill(s);
}

static char * take_streamed(struct ggs_stream * s, struct ggs_weight * w) {
    struct ggs_weight_ring * ring = &s->ring;
    uint64_t                 at   = find(ring, w);
    if (at == ring->end) {
        make_way(s, w);
        at = find(ring, w);
    }
    if (at == ring->end) return NULL;
    if (ring->n_held > 0) ring->n_held += at - ring->next;
    abandon(ring, at);
    struct ggs_weight_ring_entry * e = entry_at(ring, ring->next++);
    ring->n_held++;
    if (!ggs_stream_await(s, &e->arrival)) return NULL;
    char * data = ring->memory + e->begin % ring->bytes + ggs_weight_span(w).delta;
    return ggs_stream_verify(s, w->file, w->offset, data, w->bytes) ? data : NULL;
}

char * ggs_weight_ring_acquire(struct ggs_stream * s, struct ggs_weight * w) {
    if (w->where == GGS_WEIGHT_STREAMED) return take_streamed(s, w);
    if (w->where != GGS_WEIGHT_KEPT || !ggs_weight_ring_load(s, w)) return NULL;
    w->in_use = true;
    return w->kept + ggs_weight_span(w).delta;
}
