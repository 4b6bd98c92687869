#include "stream/weights/predict.h"

#include <float.h>

#include "stream/core.h"

enum { MOST_TOKENS = 4 };

// Recent disk utilisation by reads. Above the first the disk is the bottleneck and no read may be
// wasted; below the second there is time to predict one layer further.
static const double SATURATED = 0.9, AT_LEISURE = 0.6;

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

// Reads the experts early that the group's router chooses for the state in `now`.
static void predict_group(struct ggs_stream * s, const struct ggs_routing * now, struct ggs_expert_group * g) {
    const struct ggs_weight * r    = g->router;
    const struct abi_tensor * h    = now->hidden;
    int                       most = s->settings.predict;
    uint32_t                  room = g->slots == NULL ? 0 : g->n_slots - g->n_given + ggs_spares_slots(s, g);
    if (most == 0 || r == NULL || h == NULL || room <= g->n_used || now->n_tokens > MOST_TOKENS || now->n_tokens < 1 ||
        r->where != GGS_WEIGHT_KEPT || r->arrival.state != GGS_ARRIVAL_READY ||
        r->bytes != g->n_experts * (uint64_t) h->ne[0] * sizeof(float) || !is_worth_it(s) || !ggs_experts_reserve(s, g))
        return;
    uint32_t n = most < 0 ? g->n_used : (uint32_t) most;
    if (n * (uint32_t) now->n_tokens > room - 1) n = (room - 1) / (uint32_t) now->n_tokens;
    if (n > g->n_experts) n = g->n_experts;
    const float * matrix = (const void *) (r->kept + ggs_weight_span(r).delta);
    g->clock++;
    for (int64_t t = 0; t < now->n_tokens; t++) {
        const float * state = (const void *) ((const char *) h->data + (size_t) t * now->step);
        for (uint32_t e = 0; e < g->n_experts; e++)
            s->scratch.score[e] = dot(matrix + e * (uint64_t) h->ne[0], state, h->ne[0]);
        uint32_t found = choose(g, s->scratch.score, n, s->scratch.experts);
        ggs_experts_read_early(s, g, s->scratch.experts, found, GGS_READ_SOON);
    }
}

void ggs_predict(struct ggs_stream * s, const struct ggs_routing * now, struct ggs_expert_group * next) {
    predict_group(s, now, next);
    if (s->load.busy >= AT_LEISURE) return;
    struct ggs_expert_group * second = ggs_weight_table_group_after(&s->weights, next);
    if (second != NULL) predict_group(s, now, second);
}
