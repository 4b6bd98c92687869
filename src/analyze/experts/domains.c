#include "analyze/experts/domains.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"

static double share_of(const struct ggs_domains_layer * layer, unsigned domain, uint64_t expert) {
    return layer->shares[domain * layer->experts + expert];
}

static double entropy_of(const struct ggs_domains_layer * layer, unsigned domain) {
    double bits = 0;
    if (layer->choices[domain] == 0) return NAN;
    for (uint64_t x = 0; x < layer->experts; x++) {
        double p = share_of(layer, domain, x);
        if (p > 0) bits -= p * log2(p);
    }
    return bits;
}

static double overlap_of(const struct ggs_domains_layer * layer, unsigned a, unsigned b) {
    double sum = 0;
    if (layer->choices[a] == 0 || layer->choices[b] == 0) return NAN;
    for (uint64_t x = 0; x < layer->experts; x++) sum += fmin(share_of(layer, a, x), share_of(layer, b, x));
    return sum;
}

// ---- filling ----

static int make_layers(struct ggs_domains * domains, const struct ggs_experts * first, struct ggs_error * error) {
    domains->layers = calloc(first->n_layers + 1, sizeof(*domains->layers));
    if (domains->layers == NULL) return ggs_fail_memory(error);
    for (uint64_t i = 0; i < first->n_layers; i++) {
        struct ggs_domains_layer * layer = &domains->layers[i];
        *layer                           = (struct ggs_domains_layer){
                                      .layer = first->layers[i].layer, .n = domains->n, .experts = first->layers[i].experts};
        layer->shares = calloc(domains->n * layer->experts + 1, sizeof(*layer->shares));
        domains->n_layers++;
        if (layer->shares == NULL) return ggs_fail_memory(error);
    }
    return 0;
}

static int add_domain(struct ggs_domains * domains, unsigned d, const struct ggs_experts * experts,
                      struct ggs_error * error) {
    if (!experts->any || experts->n_layers == 0)
        return ggs_fail(error, GGS_UNSUPPORTED,
                        "recording %u has no choices of experts: name recordings of models with experts", d + 1);
    int status = d == 0 ? make_layers(domains, experts, error) : 0;
    if (status != 0) return status;
    bool same = experts->n_layers == domains->n_layers;
    for (uint64_t i = 0; i < domains->n_layers && same; i++) {
        struct ggs_domains_layer *       layer = &domains->layers[i];
        const struct ggs_experts_layer * found = &experts->layers[i];
        same                                   = found->layer == layer->layer && found->experts == layer->experts;
        for (uint64_t x = 0; x < layer->experts && same; x++) layer->choices[d] += found->counts[x];
        for (uint64_t x = 0; x < layer->experts && same && layer->choices[d] > 0; x++)
            layer->shares[d * layer->experts + x] = (double) found->counts[x] / (double) layer->choices[d];
    }
    domains->tokens[d] = experts->tokens;
    return same
               ? 0
               : ggs_fail(
                     error, GGS_UNSUPPORTED,
                     "recordings 1 and %u are of models with different layers or numbers of experts: name recordings of one model",
                     d + 1);
}

// ---- comparing ----

static int find_specialists(struct ggs_domains * domains, struct ggs_domains_layer * layer, struct ggs_error * error) {
    for (uint64_t x = 0; x < layer->experts; x++) {
        struct ggs_specialist best = {.layer = layer->layer, .expert = x};
        for (unsigned d = 0; d < domains->n; d++) {
            double share = share_of(layer, d, x);
            if (share > best.share)
                best.next = best.share, best.share = share, best.domain = d;
            else if (share > best.next)
                best.next = share;
        }
        if (best.share < 2 * best.next || best.share * (double) layer->experts <= 1) continue;
        layer->specialists++;
        domains->specialists[best.domain]++;
        if (!ggs_array_push(domains->list, domains->n_list, domains->list_capacity, best))
            return ggs_fail_memory(error);
    }
    return 0;
}

static int by_share(const void * left, const void * right) {
    const struct ggs_specialist *a = left, *b = right;
    if (a->share != b->share) return a->share < b->share ? 1 : -1;
    if (a->layer != b->layer) return a->layer < b->layer ? -1 : 1;
    return a->expert < b->expert ? -1 : 1;
}

// Adds to a mean over known values.
static void add_mean(double value, double * sum, unsigned * n) {
    if (isnan(value)) return;
    *sum += value;
    (*n)++;
}

static void compare_pairs(struct ggs_domains * domains) {
    for (unsigned a = 0; a < domains->n; a++) {
        for (unsigned b = a + 1; b < domains->n; b++) {
            double   sum = 0;
            unsigned n   = 0;
            for (uint64_t i = 0; i < domains->n_layers; i++) add_mean(overlap_of(&domains->layers[i], a, b), &sum, &n);
            domains->pairs[domains->n_pairs++] = (struct ggs_domains_pair){a, b, n == 0 ? NAN : sum / n};
        }
    }
}

static int compare(struct ggs_domains * domains, struct ggs_error * error) {
    int status = 0;
    for (uint64_t i = 0; i < domains->n_layers && status == 0; i++) {
        struct ggs_domains_layer * layer = &domains->layers[i];
        double                     sum   = 0;
        unsigned                   n     = 0;
        for (unsigned a = 0; a < domains->n; a++) {
            layer->entropy[a] = entropy_of(layer, a);
            for (unsigned b = a + 1; b < domains->n; b++) add_mean(overlap_of(layer, a, b), &sum, &n);
        }
        layer->overlap = n == 0 ? NAN : sum / n;
        status         = find_specialists(domains, layer, error);
    }
    for (unsigned d = 0; d < domains->n; d++) {
        double   sum = 0;
        unsigned n   = 0;
        for (uint64_t i = 0; i < domains->n_layers; i++) add_mean(domains->layers[i].entropy[d], &sum, &n);
        domains->entropy[d] = n == 0 ? NAN : sum / n;
    }
    compare_pairs(domains);
    if (domains->n_list > 1) qsort(domains->list, domains->n_list, sizeof(*domains->list), by_share);
    return status;
}

int ggs_domains_compute(struct ggs_domains * domains, struct ggs_trace * traces, unsigned n,
                        const struct ggs_experts_options * options, struct ggs_error * error) {
    int status = 0;
    *domains   = (struct ggs_domains){.n = n};
    if (n > GGS_DOMAINS_MOST) return ggs_fail(error, GGS_USAGE, "at most %d domains are compared", GGS_DOMAINS_MOST);
    for (unsigned d = 0; d < n && status == 0; d++) {
        struct ggs_experts experts;
        status = ggs_experts_compute(&experts, &traces[d], options, error);
        if (status < 0) break;
        status = add_domain(domains, d, &experts, error);
        ggs_experts_release(&experts);
    }
    if (status == 0) status = compare(domains, error);
    if (status < 0) ggs_domains_release(domains);
    return status;
}

void ggs_domains_release(struct ggs_domains * domains) {
    for (uint64_t i = 0; i < domains->n_layers; i++) free(domains->layers[i].shares);
    free(domains->layers);
    free(domains->list);
    *domains = (struct ggs_domains){0};
}
