#include "stream/weights/predict.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "stream/core.h"
#include "stream/turns.h"

// Reads in flight that keep the disk busy. An expert that waits for them has no slot yet: if it
// turns out wrong, it has cost neither a read nor the expert whose slot it would have taken.
enum { ENOUGH = 8 };

// Disk utilisation above which the disk is the bottleneck and no read may be wasted.
static const double SATURATED = 0.9;

static uint64_t bytes_read(const struct ggs_stream_counts * c) {
    return c->bytes_streamed + c->bytes_kept + c->bytes_experts + c->bytes_predicted;
}

void ggs_predict_end_run(struct ggs_stream * s, uint64_t wait_ns, uint64_t run_ns) {
    struct ggs_predict_load * load = &s->load;
    uint64_t                  now = s->world.clock(), bytes = bytes_read(&s->counts);
    uint64_t                  ns    = load->at_ns == 0 ? run_ns : now - load->at_ns;
    double                    speed = (double) s->speed.random / 1e9; // bytes per ns
    if (ns > 0) {
        double share =
            speed > 0 ? (double) (bytes - load->bytes) / ((double) ns * speed) : (double) wait_ns / (double) ns;
        load->busy = 0.9 * load->busy + 0.1 * (share < 1 ? share : 1);
    }
    load->at_ns = now;
    load->bytes = bytes;
}

static bool is_worth_it(const struct ggs_stream * s) {
    const struct ggs_stream_counts * c = &s->counts;
    return s->load.busy <= SATURATED && (c->predicted < 512 || 3 * c->predicted_used > c->predicted);
}

static float dot(const float * a, const float * b, int64_t n) {
    float sum[8] = {0}, total = 0;
    for (int64_t i = 0; i + 8 <= n; i += 8) {
        for (int k = 0; k < 8; k++) sum[k] += a[i + k] * b[i + k];
    }
    for (int k = 0; k < 8; k++) total += sum[k];
    return total;
}

// Appends the `most` experts with the highest scores.
static uint32_t choose(const struct ggs_expert_group * g, float * score, uint32_t most, int32_t * experts) {
    uint32_t n = 0;
    for (; n < most; n++) {
        uint32_t best = 0;
        for (uint32_t e = 1; e < g->n_experts; e++) best = score[e] > score[best] ? e : best;
        score[best] = -FLT_MAX;
        experts[n]  = (int32_t) best;
    }
    return n;
}

// True if the group's router can be applied to this state.
static bool is_predictable(const struct ggs_stream * s, const struct ggs_expert_group * g, uint64_t n_inputs) {
    const struct ggs_weight * r = g->router;
    return g->slots != NULL && r != NULL && r->where == GGS_WEIGHT_KEPT && r->arrival.state == GGS_ARRIVAL_READY &&
           r->bytes == g->n_experts * n_inputs * sizeof(float) && is_worth_it(s);
}

// Number of experts to predict for each token, 0: there are no slots for them.
static uint32_t experts_per_token(const struct ggs_stream * s, const struct ggs_expert_group * g, uint64_t n_tokens,
                                  bool overflow) {
    uint32_t room = g->n_slots - g->n_given + (overflow ? ggs_spares_slots(s, g) : 0);
    uint32_t n    = s->settings.predict < 0 ? g->n_used : (uint32_t) s->settings.predict;
    if (room <= g->n_used) return 0;
    if (n * n_tokens > room - 1) n = (room - 1) / (uint32_t) n_tokens;
    return n < g->n_experts ? n : g->n_experts;
}

// Overflow slots belong to the thread that runs the graph: it may be waiting while it moves their
// memory.
static bool needs_overflow(const struct ggs_expert_group * g) {
    return g->n_slots - g->n_given <= g->n_used;
}

static void score_all(const struct ggs_expert_group * g, const float * state, uint64_t n_inputs, uint64_t n_tokens,
                      float * score) {
    const float * matrix = (const void *) (g->router->kept + ggs_weight_span(g->router).delta);
    for (uint64_t t = 0; t < n_tokens; t++) {
        for (uint32_t e = 0; e < g->n_experts; e++)
            *score++ = dot(matrix + e * n_inputs, state + t * n_inputs, (int64_t) n_inputs);
    }
}

// Reads the experts with the highest scores early.
static void read_best(struct ggs_stream * s, struct ggs_expert_group * g, uint64_t n_tokens) {
    struct ggs_predictor * p = &s->predictor;
    uint32_t               n = experts_per_token(s, g, n_tokens, true);
    g->clock++;
    for (uint64_t t = 0; t < n_tokens; t++) {
        uint32_t found = choose(g, p->score + t * g->n_experts, n, p->experts);
        ggs_expert_slots_read_early(s, g, p->experts, found, GGS_READ_SOON, true);
    }
}

// Lists the experts with the highest scores that are not in memory; the others stay there.
static void list_best(struct ggs_stream * s, struct ggs_expert_group * g, uint64_t n_tokens) {
    struct ggs_predictor * p = &s->predictor;
    uint32_t               n = experts_per_token(s, g, n_tokens, false);
    g->clock++;
    for (uint64_t t = 0; t < n_tokens; t++) {
        uint32_t found = choose(g, p->score + t * g->n_experts, n, p->experts);
        for (uint32_t i = 0; i < found; i++) {
            int32_t e = p->experts[i], slot = g->slot_of[e];
            if (slot >= 0) g->slots[slot].used = g->clock;
            if (slot < 0)
                (void) ggs_array_push(p->likely, p->n_likely, p->likely_capacity,
                                      ((struct ggs_likely){g, g->choices, e}));
        }
    }
}

void ggs_predict_read(struct ggs_stream * s) {
    struct ggs_predictor * p = &s->predictor;
    while (p->likely_at < p->n_likely && s->reading < ENOUGH && !s->draining && s->state == GGS_STREAM_ON) {
        struct ggs_likely * l = &p->likely[p->likely_at++];
        if (l->group->choices == l->choices && l->group->slots != NULL)
            ggs_expert_slots_read_early(s, l->group, &l->expert, 1, GGS_READ_SOON, false);
    }
}

static bool reserve(struct ggs_predictor * p, const struct ggs_expert_group * g, uint64_t n_tokens) {
    return ggs_array_reserve(p->score, p->score_capacity, g->n_experts * n_tokens) &&
           ggs_array_reserve(p->experts, p->experts_capacity, g->n_experts);
}

// ---- the thread ----

// Predicts one group. Releases the lock while it applies the router.
static void predict_next(struct ggs_stream * s, uint32_t i) {
    struct ggs_predictor *        p   = &s->predictor;
    const struct ggs_prediction * now = &p->current;
    struct ggs_expert_group *     g   = now->next[i].group;
    if (s->draining || g->choices != now->next[i].choices || !is_predictable(s, g, now->n_inputs) ||
        !reserve(p, g, now->n_tokens))
        return;
    ggs_stream_unlock(s);
    score_all(g, now->state, now->n_inputs, now->n_tokens, p->score);
    ggs_stream_lock(s);
    if (i == 0) p->n_likely = p->likely_at = 0; // this prediction replaces the one of the layer before
    if (!s->draining && s->state == GGS_STREAM_ON && g->choices == now->next[i].choices && !needs_overflow(g))
        list_best(s, g, now->n_tokens);
}

static void * work(void * argument) {
    struct ggs_stream *    s = argument;
    struct ggs_predictor * p = &s->predictor;
    ggs_turns_short();
    ggs_stream_lock(s);
    while (!p->ending) {
        if (p->wanted.n == 0) {
            s->held = false;
            pthread_cond_wait(&p->asked, &s->lock);
            s->holder = pthread_self();
            s->held   = true;
            continue;
        }
        struct ggs_prediction wanted = p->wanted;
        p->wanted                    = p->current;
        p->current                   = wanted;
        p->wanted.n                  = 0;
        p->busy                      = true;
        for (uint32_t i = 0; i < p->current.n; i++) {
            predict_next(s, i);
            ggs_predict_read(s);
        }
        p->busy = false;
        if (s->awaits_any > 0) pthread_cond_broadcast(&s->arrived);
    }
    ggs_stream_unlock(s);
    return NULL;
}

void ggs_predict_end(struct ggs_stream * s) {
    struct ggs_predictor * p = &s->predictor;
    ggs_stream_lock(s);
    bool started = p->started;
    p->ending    = true;
    if (started) pthread_cond_signal(&p->asked);
    ggs_stream_unlock(s);
    if (started) pthread_join(p->thread, NULL);
    if (started) pthread_cond_destroy(&p->asked);
    free(p->wanted.state);
    free(p->current.state);
    free(p->score);
    free(p->experts);
    free(p->likely);
}

static bool start(struct ggs_stream * s) {
    struct ggs_predictor * p = &s->predictor;
    if (p->started) return true;
    pthread_cond_init(&p->asked, NULL);
    p->started = s->world.start_thread(&p->thread, work, s);
    if (!p->started) pthread_cond_destroy(&p->asked);
    return p->started;
}

// ---- interface ----

static bool copy_state(struct ggs_prediction * p, const struct ggs_routing * now) {
    const struct abi_tensor * h = now->hidden;
    p->n_inputs                 = (uint64_t) h->ne[0];
    p->n_tokens                 = (uint64_t) now->n_tokens;
    if (!ggs_array_reserve(p->state, p->capacity, p->n_inputs * p->n_tokens)) return false;
    for (uint64_t t = 0; t < p->n_tokens; t++)
        memcpy(p->state + t * p->n_inputs, (const char *) h->data + t * now->step, p->n_inputs * sizeof(float));
    return true;
}

void ggs_predict(struct ggs_stream * s, const struct ggs_routing * now, struct ggs_expert_group * next) {
    struct ggs_predictor *  p = &s->predictor;
    struct ggs_prediction * w = &p->wanted;
    if (s->settings.predict == 0 || now->hidden == NULL || now->n_tokens > GGS_PREDICT_TOKENS || now->n_tokens < 1)
        return;
    w->n = 0;
    if (!is_worth_it(s) || !copy_state(w, now)) return;
    if (needs_overflow(next)) {
        if (!p->busy && is_predictable(s, next, w->n_inputs) && experts_per_token(s, next, w->n_tokens, true) > 0 &&
            reserve(p, next, w->n_tokens)) {
            score_all(next, w->state, w->n_inputs, w->n_tokens, p->score);
            read_best(s, next, w->n_tokens);
        }
        return;
    }
    if (!start(s)) return;
    // Slots of `now` are being used: a graph may come back to a layer.
    while (w->n < GGS_PREDICT_LAYERS && next != NULL && next != now->group) {
        w->next[w->n].group     = next;
        w->next[w->n++].choices = next->choices;
        next                    = ggs_weight_table_group_after(&s->weights, next);
    }
    pthread_cond_signal(&p->asked);
}
