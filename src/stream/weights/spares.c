#include "stream/weights/spares.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "stream/core.h"
#include "stream/weights/expert-slots.h"

bool ggs_spares_resize(struct ggs_stream * s, uint64_t chunk, uint32_t n, bool huge) {
    struct ggs_spares * p = &s->spares;
    if (p->home != NULL) ggs_stream_free(s, p->home, p->chunk * p->n);
    free(p->spares);
    p->home     = NULL;
    p->spares   = NULL;
    p->n_wanted = 0;
    p->chunk    = chunk;
    p->n = p->n_free = 0;
    if (n == 0) return true;
    p->spares = calloc(n, sizeof(*p->spares));
    p->home   = p->spares == NULL ? NULL : ggs_stream_acquire(s, chunk * n, huge);
    if (p->home == NULL) return false;
    p->n = p->n_free = n;
    for (uint32_t i = 0; i < n; i++) p->spares[i].at = p->home + i * chunk;
    return true;
}

static char * tail_of(const struct ggs_weight * w) {
    return w->window + w->stride * w->group->n_slots;
}

static uint32_t chunks_for(const struct ggs_spares * p, const struct ggs_weight * w) {
    return (uint32_t) ((w->group->n_overflow * w->stride + p->chunk - 1) / p->chunk);
}

// Returns a free chunk for this address: the one already there, or any. A chunk already there must
// not be overwritten.
static struct ggs_spare * choose(const struct ggs_spares * p, const char * to) {
    struct ggs_spare * any = NULL;
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->spares[i].owner != NULL) continue;
        if (p->spares[i].at == to) return &p->spares[i];
        any = &p->spares[i];
    }
    return any;
}

// Moves free chunks behind the weight's own. False if there are not enough, or the kernel cannot.
static bool move_chunks(struct ggs_stream * s, struct ggs_weight * w) {
    struct ggs_spares * p    = &s->spares;
    uint32_t            need = chunks_for(p, w);
    if (need > w->n_spare + p->n_free) return false;
    while (w->n_spare < need) {
        char *             to    = tail_of(w) + w->n_spare * p->chunk;
        struct ggs_spare * spare = choose(p, to);
        if (spare->at != to && !s->world.memory->move(s->world.memory, spare->at, to, p->chunk)) return false;
        spare->at    = to;
        spare->owner = w;
        w->n_spare++;
        p->n_free--;
    }
    return true;
}

static void forget_wanted(struct ggs_spares * p, const struct ggs_weight * w) {
    size_t kept = 0;
    for (size_t i = 0; i < p->n_wanted; i++) {
        if (p->wanted[i] != w) p->wanted[kept++] = p->wanted[i];
    }
    p->n_wanted = kept;
}

static void serve(struct ggs_stream * s) {
    struct ggs_spares * p = &s->spares;
    while (p->n_wanted > 0 && move_chunks(s, p->wanted[0])) {
        struct ggs_weight * w = p->wanted[0];
        forget_wanted(p, w);
        ggs_expert_slots_read_overflow(s, w, GGS_READ_SOON);
    }
}

void ggs_spares_want(struct ggs_stream * s, struct ggs_weight * w) {
    struct ggs_spares * p = &s->spares;
    for (size_t i = 0; i < p->n_wanted; i++) {
        if (p->wanted[i] == w) return;
    }
    if (ggs_array_push(p->wanted, p->n_wanted, p->wanted_capacity, w)) serve(s);
}

static void take_away(struct ggs_stream * s, struct ggs_weight * w) {
    struct ggs_expert_group * g = w->group;
    struct ggs_spares *       p = &s->spares;
    for (uint32_t i = g->n_slots; i < g->n_experts; i++) {
        struct ggs_arrival * arrival = &w->arrivals[i];
        ggs_arrival_cancel(arrival);
        ggs_arrival_wait(arrival);
        ggs_arrival_clear(arrival);
    }
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->spares[i].owner != w) continue;
        p->spares[i].owner = NULL;
        p->n_free++;
    }
    w->n_spare = 0;
}

void ggs_spares_free(struct ggs_stream * s, struct ggs_weight * w) {
    forget_wanted(&s->spares, w);
    if (w->n_spare == 0) return;
    take_away(s, w);
    serve(s);
}

bool ggs_spares_need(struct ggs_stream * s, struct ggs_weight * w) {
    struct ggs_spares * p = &s->spares;
    forget_wanted(p, w);
    for (uint32_t i = 0; i < p->n && !move_chunks(s, w); i++) {
        struct ggs_weight * other = p->spares[i].owner;
        if (other == NULL || other == w || other->in_use) continue;
        take_away(s, other);
        (void) ggs_array_push(p->wanted, p->n_wanted, p->wanted_capacity, other);
    }
    return move_chunks(s, w);
}

uint32_t ggs_spares_slots(const struct ggs_stream * s, const struct ggs_expert_group * g) {
    uint64_t most = g->n_experts - g->n_slots;
    for (uint32_t k = 0; k < g->n_weights; k++) {
        uint64_t slots = s->spares.chunk * s->spares.n / g->weights[k]->stride;
        if (slots < most) most = slots;
    }
    return (uint32_t) most;
}

uint64_t ggs_spares_away(const struct ggs_stream * s) {
    const struct ggs_spares * p     = &s->spares;
    struct ggs_memory *       m     = s->world.memory;
    uint64_t                  bytes = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->spares[i].at != p->home + i * p->chunk) bytes += p->chunk - m->missing(m, p->spares[i].at, p->chunk);
    }
    return bytes;
}
