// Rules that need all tokens, the verdicts, and what the wrong ops have in common.
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/values/value-tally.h"
#include "base/array.h"
#include "base/error.h"

unsigned ggs_value_level(double error) {
    int exponent = 0;
    frexp(error, &exponent);
    exponent += GGS_TALLY_LEVELS - 8;
    return exponent < 0 ? 0 : exponent >= GGS_TALLY_LEVELS ? GGS_TALLY_LEVELS - 1 : (unsigned) exponent;
}

static void join(struct ggs_value_events * to, const struct ggs_value_events * from) {
    if (from->n == 0) return;
    if (to->n == 0) {
        *to = *from;
        return;
    }
    to->n += from->n;
    if (from->first.order < to->first.order) to->first = from->first;
    if (from->least < to->least) to->least = from->least;
    if (from->most > to->most) to->most = from->most;
    to->all_generated &= from->all_generated;
}

void ggs_value_event_add(struct ggs_value_events * events, const struct ggs_value_event * event) {
    struct ggs_value_events one = {1, *event, event->position, event->position, event->generated};
    join(events, &one);
}

struct work {
    struct ggs_value_diff *        diff;
    const struct ggs_value_tally * tally;
    double *                       gain; // by op: log(error / (inputs + rounding)), NAN for none
    char (*peer)[GGS_VALUE_NAME];        // by op: its name without the number of the layer
    double * sorted;
};

enum { DEPTH = 8 }; // how far inputs are followed

// ---- sums ----

static double error_of(const struct ggs_value_tally * t) {
    return t->norm2 > 0 ? sqrt(t->error2 / t->norm2) : 0;
}

static double inputs_of(const struct ggs_value_tally * t) {
    return t->norm2 > 0 ? sqrt(t->inputs2 / t->norm2) : 0;
}

static double bias_of(const struct ggs_value_tally * t) {
    return t->norm2 > 0 && t->b_norm2 > 0 ? sqrt(t->b_norm2 / t->norm2) - 1 : 0;
}

// The change of length of the inputs. Inputs without values are replaced by their own inputs.
static double bias_above(const struct work * w, uint64_t op, unsigned depth) {
    const struct ggs_value_node * node = &w->diff->a.nodes[op];
    double                        sum  = 0;
    for (unsigned i = 0; depth > 0 && i < node->n_sources; i++) {
        if (node->sources[i].op == 0) continue;
        uint64_t                       source = node->sources[i].op - 1;
        const struct ggs_value_tally * t      = &w->tally[source];
        if (w->diff->a.nodes[source].choice) continue;
        sum += t->tokens > 0 && t->suspects == 0 ? fabs(bias_of(t)) : bias_above(w, source, depth - 1);
    }
    return sum;
}

// True if the op is computed from an output that cannot be compared.
static bool reads_suspect(const struct work * w, uint64_t op, unsigned depth) {
    const struct ggs_value_node * node = &w->diff->a.nodes[op];
    for (unsigned i = 0; depth > 0 && i < node->n_sources; i++) {
        if (node->sources[i].op == 0) continue;
        uint64_t                       source = node->sources[i].op - 1;
        const struct ggs_value_tally * t      = &w->tally[source];
        if (t->suspects > 0 || (t->tokens == 0 && reads_suspect(w, source, depth - 1))) return true;
    }
    return false;
}

static bool is_other_kind(const struct ggs_value_diff * d, const struct ggs_value_node * a, uint64_t b) {
    const char * x = ggs_reader_string(d->a.trace->reader, a->device);
    const char * y = ggs_reader_string(d->b.trace->reader, d->b.nodes[b].device);
    return strcspn(x, "0123456789") != strcspn(y, "0123456789") || strncmp(x, y, strcspn(x, "0123456789")) != 0;
}

// Returns the number of independent directions of a token's error: that of the op, or of a product
// above it whose output was not read.
static double directions_of(const struct work * w, uint64_t op, unsigned depth) {
    const struct ggs_value_node * node   = &w->diff->a.nodes[op];
    double                        result = node->limit.directions;
    for (unsigned i = 0; depth > 0 && i < node->n_sources; i++) {
        uint32_t source = node->sources[i].op;
        if (source == 0 || w->tally[source - 1].tokens > 0) continue;
        result = fmin(result, directions_of(w, source - 1, depth - 1));
    }
    return result;
}

static double bias_allowed(const struct work * w, uint64_t op) {
    const struct ggs_value_rules * rules   = &ggs_value_rules;
    const struct ggs_value_tally * t       = &w->tally[op];
    const struct ggs_value_node *  node    = &w->diff->a.nodes[op];
    double                         e       = error_of(t);
    double                         n       = fmin(t->elements, (double) t->tokens * directions_of(w, op, DEPTH));
    double                         allowed = rules->bias_inputs * bias_above(w, op, DEPTH) + e * e + rules->bias_least +
                     rules->bias_noise * e / sqrt(n > 1 ? n : 1);
    if (t->match != 0 && is_other_kind(w->diff, node, t->match - 1)) allowed += node->limit.bias;
    return rules->bias_slack * allowed;
}

// ---- other layers ----

// "Qcur-3" becomes "Qcur-", "cache_k_l3" becomes "cache_k_l".
static void name_without_layer(char out[GGS_VALUE_NAME], const char * name) {
    char * o = out;
    for (const char * s = name; *s != '\0'; s++) {
        *o++ = *s;
        if (*s != '-' && (*s != 'l' || s == name || s[-1] != '_')) continue;
        while (s[1] >= '0' && s[1] <= '9') s++;
    }
    *o = '\0';
}

static int by_value(const void * a, const void * b) {
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

// The tokens for which the op's own inputs have values. For the others they were fused, and the
// error of what these were made from stands for theirs.
static uint64_t tokens_with_inputs(const struct work * w, uint64_t op) {
    const struct ggs_value_node * node = &w->diff->a.nodes[op];
    uint64_t                      n    = w->tally[op].tokens;
    for (unsigned i = 0; i < node->n_sources; i++) {
        uint32_t source = node->sources[i].op;
        if (source != 0 && w->tally[source - 1].tokens < n) n = w->tally[source - 1].tokens;
    }
    return n;
}

static bool is_peer(const struct work * w, uint64_t a, uint64_t b) {
    const struct ggs_value_node *x = &w->diff->a.nodes[a], *y = &w->diff->a.nodes[b];
    return a != b && isfinite(w->gain[b]) && strcmp(x->op, y->op) == 0 && x->count == y->count &&
           strcmp(w->peer[a], w->peer[b]) == 0 &&
           tokens_with_inputs(w, a) * w->tally[b].tokens == tokens_with_inputs(w, b) * w->tally[a].tokens;
}

// Robust standard deviations above the median of the other layers; 0 if another layer is higher.
// The last layer computes fewer tokens than the others: the deviation of a mean of fewer is larger.
static double sigmas_of(const struct work * w, uint64_t op) {
    uint64_t n = 0, tokens = 0;
    // A sum mixes errors of many sources and can cancel them, so layers do not compare.
    if (!isfinite(w->gain[op]) || w->diff->a.nodes[op].limit.growth == GGS_GROWTH_ABSOLUTE) return 0;
    for (uint64_t i = 0; i < w->diff->a.n; i++)
        if (is_peer(w, op, i)) {
            w->sorted[n++] = w->gain[i];
            tokens += w->tally[i].tokens;
        }
    if (n < ggs_value_rules.peers) return 0;
    qsort(w->sorted, n, sizeof(*w->sorted), by_value);
    double median = w->sorted[n / 2], most = w->sorted[n - 1];
    for (uint64_t i = 0; i < n; i++) w->sorted[i] = fabs(w->sorted[i] - median);
    qsort(w->sorted, n, sizeof(*w->sorted), by_value);
    double sigma = 1.4826 * w->sorted[n / 2];
    if (sigma < ggs_value_rules.peer_least) sigma = ggs_value_rules.peer_least;
    double fewer = (double) tokens / (double) n / (double) w->tally[op].tokens;
    if (fewer > 1) sigma *= sqrt(fewer);
    return w->gain[op] > most ? (w->gain[op] - median) / sigma : 0;
}

// True if enough other ops of the kind are equal wherever their inputs are.
static bool has_equal_peers(const struct work * w, uint64_t op) {
    const struct ggs_value_node * node = &w->diff->a.nodes[op];
    unsigned                      n    = 0;
    for (uint64_t i = 0; i < w->diff->a.n; i++) {
        const struct ggs_value_node *  other = &w->diff->a.nodes[i];
        const struct ggs_value_tally * t     = &w->tally[i];
        n += i != op && t->other == 0 && t->same >= ggs_value_rules.same_tokens && strcmp(other->op, node->op) == 0 &&
             strcmp(other->input, node->input) == 0;
    }
    return n >= ggs_value_rules.same_peers;
}

// ---- verdicts ----

// The tokens with the larger errors.
static struct ggs_value_events worst_events(const struct ggs_value_tally * t) {
    struct ggs_value_events all = {0};
    if (t->worst <= 0) return all;
    for (unsigned i = ggs_value_level(ggs_value_rules.share_of_worst * t->worst); i < GGS_TALLY_LEVELS; i++)
        join(&all, &t->levels[i]);
    return all;
}

static void judge(const struct work * w, uint64_t op, struct ggs_value_compared * out) {
    const struct ggs_value_tally * t = &w->tally[op];
    out->verdict                     = t->equal == t->tokens ? GGS_VALUE_EQUAL : GGS_VALUE_ROUNDING;
    if (t->suspects > 0) out->verdict = GGS_VALUE_OTHER_MEANING;
    for (unsigned rule = 0; rule < GGS_RULES; rule++) {
        struct ggs_value_events found = t->rules[rule];
        if (rule == GGS_RULE_SAME && found.n > 0 && !has_equal_peers(w, op)) found.n = 0;
        if (rule == GGS_RULE_BIAS && isfinite(w->gain[op]) && fabs(out->bias) > out->bias_allowed)
            found = worst_events(t);
        if (rule == GGS_RULE_PEERS && t->ratio >= ggs_value_rules.peer_ratio &&
            out->sigmas > ggs_value_rules.peer_sigmas)
            found = worst_events(t);
        if (found.n == 0) continue;
        out->verdict = GGS_VALUE_WRONG;
        out->rule    = (enum ggs_value_rule) rule;
        out->found   = found;
        if (rule == GGS_RULE_WEIGHT && t->leaf != 0) out->weight = &w->diff->a.leafs[t->leaf - 1];
        return;
    }
}

static int by_order(const void * a, const void * b) {
    const struct ggs_value_compared * x = *(const struct ggs_value_compared * const *) a;
    const struct ggs_value_compared * y = *(const struct ggs_value_compared * const *) b;
    return (x->found.first.order > y->found.first.order) - (x->found.first.order < y->found.first.order);
}

static void prepare(struct work * w) {
    for (uint64_t i = 0; i < w->diff->a.n; i++) {
        const struct ggs_value_tally * t   = &w->tally[i];
        double                         own = w->diff->a.nodes[i].limit.own / 2.5, e = error_of(t), in = inputs_of(t);
        bool                           known = e > 0 && t->suspects == 0 && !reads_suspect(w, i, DEPTH);
        w->gain[i]                           = known ? log(e / sqrt(in * in + own * own)) : NAN;
        name_without_layer(w->peer[i], w->diff->a.nodes[i].name);
    }
}

// True if the op is a part of one without values, as RMS_NORM is a part of RMS_NORM + MUL.
static bool is_fused(const struct ggs_value_ops * ops, uint64_t op) {
    const struct ggs_value_node * node = &ops->nodes[op];
    for (unsigned i = 0; i < node->n_sources; i++) {
        if (node->sources[i].op == 0) continue;
        const struct ggs_value_node * source = &ops->nodes[node->sources[i].op - 1];
        if (!source->has_values && !source->empty && source->name[0] != '\0') return true;
    }
    return false;
}

static int fill(struct work * w, struct ggs_error * error) {
    struct ggs_value_diff * d = w->diff;
    uint64_t                b = 0;
    for (uint64_t i = 0; i < d->a.n; i++) {
        struct ggs_value_node *        node = &d->a.nodes[i];
        const struct ggs_value_tally * t    = &w->tally[i];
        node->fused                         = is_fused(&d->a, i) || (t->match != 0 && is_fused(&d->b, t->match - 1));
        if (!node->has_values) continue;
        struct ggs_value_compared op = {.node = node, .b = t->match, .tokens = t->tokens, .equal = t->equal};
        d->matched += t->match != 0;
        d->only_a += t->match == 0;
        if (t->tokens > 0) {
            op.error        = error_of(t);
            op.inputs       = inputs_of(t);
            op.worst        = t->worst;
            op.ratio        = t->ratio;
            op.bias         = bias_of(t);
            op.bias_allowed = bias_allowed(w, i);
            op.sigmas       = sigmas_of(w, i);
            judge(w, i, &op);
        }
        d->other_meaning += op.verdict == GGS_VALUE_OTHER_MEANING;
        if (!ggs_array_push(d->ops, d->n_ops, d->ops_capacity, op)) return ggs_fail_memory(error);
    }
    for (uint64_t i = 0; i < d->b.n; i++) b += d->b.nodes[i].has_values;
    d->only_b = b > d->matched ? b - d->matched : 0;
    for (uint64_t i = 0; i < d->n_ops; i++)
        if (d->ops[i].verdict == GGS_VALUE_WRONG &&
            !ggs_array_push(d->wrong, d->n_wrong, d->wrong_capacity, &d->ops[i]))
            return ggs_fail_memory(error);
    if (d->n_wrong > 1) qsort(d->wrong, d->n_wrong, sizeof(*d->wrong), by_order);
    return 0;
}

// ---- what they have in common ----

__attribute__((format(printf, 2, 3))) static void say(struct ggs_value_diff * d, const char * format, ...) {
    va_list list;
    if (d->n_common == GGS_VALUE_COMMON) return;
    va_start(list, format);
    vsnprintf(d->common[d->n_common++], GGS_VALUE_SENTENCE, format, list);
    va_end(list);
}

static void find_common(const struct work * w) {
    struct ggs_value_diff *           d     = w->diff;
    const struct ggs_value_compared * first = d->n_wrong > 0 ? d->wrong[0] : NULL;
    if (first == NULL) return;
    char     peer[GGS_VALUE_NAME], other[GGS_VALUE_NAME];
    bool     same_op = true, same_name = true, same_layer = first->node->layer >= 0, fused = true, generated = true;
    int64_t  least = INT64_MAX;
    uint64_t most  = 0;
    name_without_layer(peer, first->node->name);
    for (uint64_t i = 0; i < d->n_wrong; i++) {
        const struct ggs_value_compared * op = d->wrong[i];
        name_without_layer(other, op->node->name);
        same_op &= strcmp(op->node->op, first->node->op) == 0;
        same_name &= strcmp(peer, other) == 0;
        same_layer &= op->node->layer == first->node->layer;
        fused &= op->node->fused;
        generated &= op->found.all_generated;
        if (op->found.least < least) least = op->found.least;
        if (op->tokens > most) most = op->tokens;
    }
    if (d->n_wrong > 1 && same_name && same_op) say(d, "all are %s %s of their layers", first->node->op, peer);
    if (d->n_wrong > 1 && same_op && !same_name) say(d, "all are %s", first->node->op);
    if (d->n_wrong > 1 && same_layer) say(d, "all are in layer %d", first->node->layer);
    if (fused) say(d, "%s fused with the op before", d->n_wrong > 1 ? "all are" : "it is");
    if (generated && most > 0) say(d, "only generated tokens");
    if (!generated && least > 0 && least < INT64_MAX) say(d, "only tokens from position %" PRId64 " on", least);
    if (first->found.n * 2 < first->tokens && first->found.n > 0)
        say(d, "only %" PRIu64 " of %" PRIu64 " tokens of the first one", first->found.n, first->tokens);
}

int ggs_value_judge(struct ggs_value_diff * diff, const struct ggs_value_tally * tally, struct ggs_error * error) {
    struct work w      = {.diff = diff, .tally = tally};
    uint64_t    n      = diff->a.n + 1;
    int         status = 0;
    w.gain             = calloc(n, sizeof(*w.gain));
    w.sorted           = calloc(n, sizeof(*w.sorted));
    w.peer             = calloc(n, sizeof(*w.peer));
    if (w.gain == NULL || w.sorted == NULL || w.peer == NULL) status = ggs_fail_memory(error);
    if (status == 0) {
        prepare(&w);
        status = fill(&w, error);
    }
    if (status == 0) find_common(&w);
    free(w.gain);
    free(w.sorted);
    free(w.peer);
    return status;
}
