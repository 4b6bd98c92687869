#include "analyze/requests/batches.h"

#include <stdlib.h>

#include "analyze/requests/requests.h"
#include "base/array.h"
#include "base/error.h"

void ggs_compositions_release(struct ggs_compositions * compositions) {
    free(compositions->batch);
    *compositions = (struct ggs_compositions){0};
}

struct gathering {
    struct ggs_compositions *    all;
    const struct ggs_selection * selection;
    uint64_t                     most;
};

static void join(struct ggs_composition * a, const struct ggs_composition * b) {
    if (b->begin_ns < a->begin_ns) a->begin_ns = b->begin_ns;
    if (b->end_ns > a->end_ns) a->end_ns = b->end_ns;
    a->decodes += b->decodes;
    a->prompt_tokens += b->prompt_tokens;
    a->generate_tokens += b->generate_tokens;
    a->verify_tokens += b->verify_tokens;
    if (b->requests > a->requests) a->requests = b->requests;
}

// Merges pairs of neighbours of one context.
static void thin(struct ggs_compositions * all) {
    uint64_t kept = 0;
    for (uint64_t i = 0; i < all->n; i++) {
        struct ggs_composition batch = all->batch[i];
        if (i + 1 < all->n && all->batch[i + 1].context == batch.context) join(&batch, &all->batch[++i]);
        all->batch[kept++] = batch;
    }
    all->n = kept;
}

static int add_step(void * owner, const struct ggs_request_step * step, struct ggs_error * error) {
    struct gathering *        g   = owner;
    struct ggs_compositions * all = g->all;
    if (step->step < 0 || step->batch == NULL || step->part != step->sequences->parts) return 0; // once per batch
    struct ggs_composition batch = {.begin_ns = step->begin_ns,
                                    .end_ns   = step->end_ns,
                                    .token    = step->step,
                                    .context  = step->context,
                                    .decodes  = 1};
    if (g->selection != NULL && g->selection->context > 0 && g->selection->context - 1 != step->context) return 0;
    for (size_t i = 0; i < step->sequences->n_parts; i++) {
        const struct ggs_sequence_part * part = &step->sequences->parts[i];
        batch.requests += !part->branch;
        batch.prompt_tokens += part->prompt;
        *(part->phase == GGS_PHASE_VERIFY ? &batch.verify_tokens : &batch.generate_tokens) +=
            part->tokens - part->prompt;
    }
    for (uint64_t before = all->n + 1; all->n >= 2 * g->most && all->n < before;) before = all->n, thin(all);
    return ggs_array_push(all->batch, all->n, all->capacity, batch) ? 0 : ggs_fail_memory(error);
}

static int by_context(const void * a, const void * b) {
    const struct ggs_composition *x = a, *y = b;
    if (x->context != y->context) return x->context < y->context ? -1 : 1;
    return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

int ggs_compositions_compute(struct ggs_compositions * compositions, struct ggs_trace * trace, uint64_t most,
                             struct ggs_error * error) {
    struct gathering           g       = {.all = compositions, .selection = trace->selection, .most = most};
    struct ggs_request_visitor visitor = {.step = add_step, .owner = &g};
    *compositions                      = (struct ggs_compositions){0};
    int status                         = ggs_requests_walk(trace, &visitor, error);
    if (status < 0) {
        ggs_compositions_release(compositions);
        return status;
    }
    if (compositions->n > 1) qsort(compositions->batch, compositions->n, sizeof(*compositions->batch), by_context);
    for (uint64_t before = compositions->n + 1; compositions->n > most && compositions->n < before;)
        before = compositions->n, thin(compositions);
    return 0;
}
