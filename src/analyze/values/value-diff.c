#include "analyze/values/value-diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/values/value-align.h"
#include "analyze/values/value-grid.h"
#include "analyze/values/value-tally.h"
#include "base/array.h"
#include "base/error.h"

// The error of an op's output for one token of the pass.
struct cell {
    float   error; // of the output; estimated from its inputs if it cannot be compared
    float   reach; // of a cache: the largest error up to this token
    float   norm;  // length of A's output, -1 if unknown
    float   real;  // the measured error, -1 if none
    uint8_t bits;
};
enum { KNOWN = 1, EXACT = 2, NAN_SEEN = 4, INF_SEEN = 8, SUSPECT = 16, REACH_EXACT = 32, REACH_NAN = 64, CHOSEN = 128 };

// The error of what earlier passes of a text wrote into a cache.
struct history {
    float   error;
    uint8_t bits;
};

struct work {
    struct ggs_value_diff *        diff;
    struct ggs_value_passes *      reader; // of A
    struct ggs_value_align *       align;
    struct ggs_value_pass          pass;   // of A
    struct ggs_map                 caches; // (op, lane) -> index in history + 1
    struct history *               history;
    uint64_t                       n_history, history_capacity;
    struct ggs_value_tally *       tally;
    uint64_t                       n_tally, tally_capacity;
    struct cell *                  cells; // by (op, token)
    uint64_t                       cells_capacity;
    const struct ggs_value_found * found; // by token: where B has it
    bool *                         apart; // by token: its choices or NaN differ from A's
    uint64_t                       apart_capacity;
    uint64_t                       order;
    double                         allowed; // error allowed for the output that was compared last
    struct ggs_value_grid *        grid;    // NULL for none
    int64_t *                      numbers; // by token: its number in the grid, -1 for none
    uint64_t                       numbers_capacity;
};

// ---- ops of B ----

static bool is_comparable(const struct ggs_value_ops * ops, const struct ggs_value_ops * others, uint64_t op) {
    return ops->nodes[op].has_values &&
           (ggs_value_ops_match(others, ops, op) != 0 || ggs_value_ops_find(others, ops, op) == 0);
}

// Returns the nearest op, from this one upwards, that the other recording can have values of: index
// + 1, or 0.
static uint64_t climb(const struct ggs_value_ops * ops, const struct ggs_value_ops * others, uint64_t op) {
    for (unsigned depth = 0; depth < 16; depth++) {
        uint64_t only = 0;
        if (is_comparable(ops, others, op)) return op + 1;
        for (unsigned i = 0; i < ops->nodes[op].n_sources; i++) {
            uint64_t source = ops->nodes[op].sources[i].op;
            if (source != 0 && only != 0 && only != source) return 0;
            if (source != 0) only = source;
        }
        if (only == 0) return 0;
        op = only - 1;
    }
    return 0;
}

// True if the op reads something that the other recording does not have.
static bool reads_otherwise(const struct ggs_value_diff * d, uint64_t a, uint64_t b) {
    const struct ggs_value_node *x = &d->a.nodes[a], *y = &d->b.nodes[b];
    if (strcmp(x->op, y->op) != 0 || x->n_sources != y->n_sources) return true;
    for (unsigned i = 0; i < x->n_sources; i++) {
        if (x->sources[i].op == 0 || y->sources[i].op == 0) {
            if (x->sources[i].op != y->sources[i].op) return true;
            continue;
        }
        uint64_t p = climb(&d->a, &d->b, x->sources[i].op - 1), q = climb(&d->b, &d->a, y->sources[i].op - 1);
        if (p != 0 && q != 0 && ggs_value_ops_match(&d->b, &d->a, p - 1) != q) return true;
    }
    return false;
}

// An op may have values in later graphs only: the last layer computes nothing for a part of a
// prompt whose outputs nobody wants.
static void match(struct work * w, uint64_t op) {
    struct ggs_value_tally * tally = &w->tally[op];
    struct ggs_value_diff *  d     = w->diff;
    uint64_t                 known = d->a.n + d->a.n_read + d->b.n + d->b.n_read;
    if (tally->match == 0 && tally->tried != known) {
        tally->match = ggs_value_ops_match(&d->b, &d->a, op);
        tally->tried = known;
    }
    if (tally->match == 0 || tally->checked == known) return;
    tally->checked = known;
    tally->differs = reads_otherwise(d, op, tally->match - 1);
}

// ---- errors ----

struct inputs {
    double in, absolute;
    double unsized; // sum of the errors of inputs whose lengths are not known
    bool   exact, nan, inf;
    bool   chosen; // the selected rows or experts differ, or are unknown
    // The weight that differs by more than its types explain:
    uint32_t leaf; // index + 1, 0 for none
    double   leaf_error, leaf_allowed;
    uint64_t leaf_nan; // elements that are finite in A alone
};

static const struct cell * cell_at(const struct work * w, uint64_t op, uint64_t token) {
    return &w->cells[op * w->pass.n_tokens + token];
}

static double distance_of(const struct ggs_value_leaf * a, const struct ggs_value_leaf * b) {
    double sum = 0;
    for (unsigned i = 0; i < GGS_OP_VALUE_SKETCH; i++) {
        double d = a->sketch[i] - b->sketch[i];
        sum += d * d;
    }
    return sqrt(sum);
}

// Adds a weight to the inputs. Two weights of the same type must be equal.
static void add_copy(const struct ggs_value_leaf * a, const struct ggs_value_leaf * b, uint32_t index,
                     struct inputs * in) {
    if (a->hash == b->hash && a->rows == b->rows) return;
    double   norm = sqrt(a->squares), error = norm > 0 ? distance_of(a, b) / norm : 1, allowed = 0;
    uint64_t lost = a->nan + a->inf, b_lost = b->nan + b->inf;
    if (strcmp(a->type, b->type) != 0)
        allowed = ggs_value_rules.slack * (ggs_value_type_error(a->type) + ggs_value_type_error(b->type));
    in->exact = false;
    if (error > in->in) in->in = error;
    if (error <= allowed && b_lost <= lost) return;
    in->leaf         = index;
    in->leaf_error   = error;
    in->leaf_allowed = allowed;
    in->leaf_nan     = b_lost > lost ? b_lost - lost : 0;
}

static void add_leaf(const struct work * w, uint32_t index, struct inputs * in) {
    const struct ggs_value_ops *  others = &w->diff->b;
    const struct ggs_value_leaf * a      = &w->diff->a.leafs[index - 1];
    const struct ggs_value_leaf * b      = a->weight ? ggs_value_ops_leaf(others, a) : NULL;
    for (; b != NULL; b = b->copy == 0 ? NULL : &others->leafs[b->copy - 1]) add_copy(a, b, index, in);
}

static struct inputs inputs_of(const struct work * w, const struct ggs_value_node * node, uint64_t t) {
    struct inputs in = {.exact = true};
    for (unsigned i = 0; i < node->n_sources; i++) {
        const struct ggs_value_source * source = &node->sources[i];
        if (source->leaf != 0) add_leaf(w, source->leaf, &in);
        if (source->op == 0) continue;
        const struct cell * c     = cell_at(w, source->op - 1, t);
        double              error = (double) (source->cache ? c->reach : c->error);
        in.exact &= (c->bits & (source->cache ? REACH_EXACT : EXACT)) != 0;
        in.nan |= (c->bits & (source->cache ? REACH_NAN : NAN_SEEN)) != 0;
        in.inf |= (c->bits & INF_SEEN) != 0;
        in.chosen |= (c->bits & CHOSEN) != 0;
        if (w->diff->a.nodes[source->op - 1].choice) {
            in.chosen |= (c->bits & EXACT) == 0;
            continue;
        }
        if (error > in.in) in.in = error;
        in.absolute += error * (c->norm >= 0 ? (double) c->norm : 0);
        in.unsized += c->norm >= 0 ? 0 : error;
    }
    return in;
}

static double distance(const struct ggs_value_row * a, const struct ggs_value_row * b) {
    double sum = 0;
    for (unsigned i = 0; i < GGS_OP_VALUE_SKETCH; i++) {
        double d = (double) a->sketch[i] - (double) b->sketch[i];
        sum += d * d;
    }
    return sqrt(sum);
}

static double length_of(const struct ggs_value_row * row) {
    return row->rms * sqrt((double) (row->elements - row->nan - row->inf));
}

// Finds the rows of A and B for token `t`, or for all tokens together (`t` is the last one).
// Returns false if no rows can be compared.
static bool rows_of(const struct work * w, uint64_t op, uint64_t t, bool whole, const struct ggs_value_row ** a,
                    const struct ggs_value_row ** b) {
    uint64_t                      m     = w->tally[op].match;
    const struct ggs_value_pass * other = w->found[t].pass;
    *a                                  = ggs_value_pass_row(&w->pass, op, whole ? -1 : (int32_t) t);
    if (*a == NULL || m == 0 || other == NULL) return false;
    *b = ggs_value_pass_row(other, m - 1, whole ? -1 : w->found[t].token);
    // A pass of one token has one row, whether or not its shape is divided by tokens.
    if (*b == NULL && whole && w->pass.n_tokens == 1) *b = ggs_value_pass_row(other, m - 1, w->found[t].token);
    if (*b == NULL && !whole && other->n_tokens == 1) *b = ggs_value_pass_row(other, m - 1, -1);
    return *b != NULL && (*a)->elements == (*b)->elements;
}

// True if B computes exactly these tokens in one pass.
static bool is_same_batch(const struct work * w) {
    uint64_t n    = w->pass.n_tokens;
    bool     same = w->found[0].pass != NULL && w->found[0].pass->n_tokens == n;
    for (uint64_t t = 0; same && t < n; t++)
        same = w->found[t].pass == w->found[0].pass && w->found[t].token == (int32_t) t;
    return same;
}

static void flag(struct work * w, uint64_t op, enum ggs_value_rule rule, const struct ggs_value_event * event) {
    ggs_value_event_add(&w->tally[op].rules[rule], event);
}

// Returns the op above a wrong one that differs and has other inputs in B, which is the cause:
// index + 1, or 0.
static uint64_t find_suspect(const struct work * w, uint64_t op, uint64_t t, unsigned depth) {
    const struct ggs_value_node * node = &w->diff->a.nodes[op];
    for (unsigned i = 0; depth > 0 && i < node->n_sources; i++) {
        if (node->sources[i].op == 0) continue;
        uint64_t            source = node->sources[i].op - 1;
        const struct cell * c      = cell_at(w, source, t);
        if ((c->bits & KNOWN) != 0 && (c->bits & SUSPECT) == 0) continue;
        uint64_t above = find_suspect(w, source, t, depth - 1);
        if (above != 0) return above;
        if (c->bits & SUSPECT) return source + 1;
    }
    return 0;
}

static void judge_error(struct work * w, uint64_t op, uint64_t t, struct cell * c, struct ggs_value_event * event) {
    enum { DEPTH = 12 };
    if (event->error <= event->allowed) return;
    if (w->tally[op].differs) {
        c->bits |= SUSPECT;
        c->error = (float) (event->allowed / ggs_value_rules.slack);
        w->tally[op].suspects++;
        return;
    }
    uint64_t suspect = find_suspect(w, op, t, DEPTH);
    if (suspect != 0) {
        op           = suspect - 1;
        event->error = (double) cell_at(w, op, t)->real;
        event->order = (event->order >> 32 << 32) | op;
    }
    flag(w, op, GGS_RULE_ERROR, event);
}

static void add_up(struct ggs_value_tally * tally, const struct inputs * in, const struct ggs_value_row * a,
                   const struct ggs_value_row * b, const struct ggs_value_event * event) {
    double norm = length_of(a), other = length_of(b);
    tally->error2 += event->error * event->error * norm * norm;
    tally->inputs2 += in->in * in->in * norm * norm;
    tally->norm2 += norm * norm;
    tally->b_norm2 += other * other;
    tally->elements += (double) a->elements;
    if (event->error > tally->worst) tally->worst = event->error;
    if (event->allowed > 0 && isfinite(event->allowed) && event->error / event->allowed > tally->ratio)
        tally->ratio = event->error / event->allowed;
    if (event->error > 0) ggs_value_event_add(&tally->levels[ggs_value_level(event->error)], event);
}

// An op that reads a wrong weight is not wrong itself.
static void judge_weight(struct work * w, uint64_t op, uint64_t t, const struct inputs * in, const struct cell * c,
                         struct ggs_value_event * event) {
    event->error      = in->leaf_error;
    event->allowed    = in->leaf_allowed;
    event->nan        = in->leaf_nan;
    w->tally[op].leaf = in->leaf;
    w->apart[t] |= (c->bits & (NAN_SEEN | INF_SEEN)) != 0;
    flag(w, op, GGS_RULE_WEIGHT, event);
}

static void compare(struct work * w, uint64_t op, uint64_t t, const struct inputs * in, struct cell * c,
                    const struct ggs_value_row * a, const struct ggs_value_row * b) {
    struct ggs_value_diff *        d     = w->diff;
    const struct ggs_value_node *  node  = &d->a.nodes[op];
    struct ggs_value_tally *       tally = &w->tally[op];
    const struct ggs_value_where * where = &w->pass.tokens[t];
    struct ggs_value_limit         limit = node->limit;
    bool                           equal = a->hash == b->hash && a->nan == b->nan;
    double                         norm  = length_of(a);
    struct ggs_value_event         event = {.order     = w->order,
                                            .position  = where->position,
                                            .sequence  = where->sequence,
                                            .step      = w->pass.step,
                                            .inputs    = in->in,
                                            .run       = b->run,
                                            .node      = b->node,
                                            .generated = where->generated};
    if (d->b.nodes[tally->match - 1].limit.own > limit.own) limit.own = d->b.nodes[tally->match - 1].limit.own;
    event.error = equal ? 0 : norm > 0 ? distance(a, b) / norm : distance(a, b) > 0 ? 1 : 0;
    // An input that was not read may be as long as the output.
    event.allowed = ggs_value_rules.slack * ggs_value_allowed(&limit, in->in, in->absolute + in->unsized * norm, norm);
    if (in->chosen) event.allowed = INFINITY;
    w->allowed = event.allowed;
    *c         = (struct cell){.error = (float) event.error,
                               .real  = (float) event.error,
                               .norm  = (float) norm,
                               .bits  = (uint8_t) (KNOWN | (equal ? EXACT : 0) | (b->nan > a->nan ? NAN_SEEN : 0) |
                                          (b->inf > a->inf ? INF_SEEN : 0))};
    tally->tokens++;
    tally->equal += equal;
    if (in->leaf != 0) {
        if (b->nan <= a->nan && b->inf <= a->inf && !w->apart[t]) add_up(tally, in, a, b, &event);
        judge_weight(w, op, t, in, c, &event);
        return;
    }
    if (b->nan > a->nan || b->inf > a->inf) {
        bool nan  = b->nan > a->nan;
        event.nan = nan ? b->nan - a->nan : b->inf - a->inf;
        if (!in->nan && !in->inf && !w->apart[t]) flag(w, op, nan ? GGS_RULE_NAN : GGS_RULE_INF, &event);
        w->apart[t] = true;
        return;
    }
    if (in->nan || in->inf) {
        w->apart[t] = true;
        return;
    }
    if (node->choice) {
        if (!equal && in->exact) flag(w, op, GGS_RULE_CHOICE, &event);
        if (!equal && !w->apart[t]) d->other_choices++;
        w->apart[t] |= !equal;
        return;
    }
    if (in->chosen && event.error > 0.25 && !w->apart[t]) w->apart[t] = true, d->other_choices++;
    judge_error(w, op, t, c, &event);
    if (w->apart[t] || (c->bits & SUSPECT) != 0) return;
    add_up(tally, in, a, b, &event);
    // Other batch sizes use other kernels.
    if (!in->exact || tally->differs || w->found[t].pass->n_tokens != w->pass.n_tokens) return;
    tally->same += equal;
    tally->other += !equal;
    if (!equal) flag(w, op, GGS_RULE_SAME, &event); // evaluated once all ops of the kind are known
}

static bool has_row(const struct ggs_value_pass * pass, uint64_t op, int32_t token) {
    return ggs_value_pass_row(pass, op, token) != NULL || ggs_value_pass_row(pass, op, -1) != NULL;
}

// True if a device computed the op without an output of its own while the other recording has one:
// the device may have fused it into the next op, so equal inputs need not give equal outputs from
// there on. A CPU computes the same whether or not an output is read.
static bool is_fused_in_one(const struct work * w, uint64_t op, uint64_t t) {
    const struct ggs_value_diff * d     = w->diff;
    const struct ggs_value_pass * other = w->found[t].pass;
    uint64_t                      b     = ggs_value_ops_find(&d->b, &d->a, op);
    if (b == 0 || other == NULL) return false;
    bool in_a = has_row(&w->pass, op, (int32_t) t), in_b = has_row(other, b - 1, w->found[t].token);
    return in_a != in_b && (in_a ? d->b.nodes[b - 1].on_device : d->a.nodes[op].on_device);
}

// Estimates the error of an output that was not read, or that B does not have.
static void guess(const struct work * w, uint64_t op, uint64_t t, const struct inputs * in, struct cell * c) {
    const struct ggs_value_node * node = &w->diff->a.nodes[op];
    const struct ggs_value_row *  row  = ggs_value_pass_row(&w->pass, op, (int32_t) t);
    double                        norm = row == NULL ? -1 : length_of(row);
    if (node->empty && node->n_sources > 0 && node->sources[0].op != 0)
        norm = (double) cell_at(w, node->sources[0].op - 1, t)->norm;
    double error = node->empty ? in->in : ggs_value_allowed(&node->limit, in->in, in->absolute, norm > 0 ? norm : 1);
    if (node->limit.growth != GGS_GROWTH_RELATIVE && norm < 0 && !node->empty) error = 1.5 * in->in + node->limit.own;
    if (node->choice) error = 0;
    bool exact = in->exact && !in->chosen && (node->empty || !is_fused_in_one(w, op, t));
    *c         = (struct cell){.error = (float) error,
                               .norm  = (float) norm,
                               .real  = -1,
                               .bits  = (uint8_t) ((exact ? EXACT : 0) | (in->nan ? NAN_SEEN : 0) | (in->inf ? INF_SEEN : 0) |
                                          (in->chosen && !node->choice ? CHOSEN : 0))};
}

// Returns the history of a lane, 0 for that of all lanes. A new one is `fresh`. NULL if out of
// memory.
static struct history * history_of(struct work * w, uint64_t op, uint64_t lane, struct history fresh) {
    uint64_t * index = ggs_map_put(&w->caches, (struct ggs_map_key){lane, op + 1});
    if (index == NULL || (*index == 0 && !ggs_array_push(w->history, w->n_history, w->history_capacity, fresh)))
        return NULL;
    if (*index == 0) *index = w->n_history;
    return &w->history[*index - 1];
}

static void add_to_history(struct history * h, const struct cell * c) {
    if (c->error > h->error) h->error = c->error;
    if ((c->bits & EXACT) == 0) h->bits &= (uint8_t) ~REACH_EXACT;
    if (c->bits & NAN_SEEN) h->bits |= REACH_NAN;
}

// Adds the errors that earlier tokens left in a cache to those of later tokens. What is ahead of a
// text that does not begin at position 0 was written by another one: a shared or cached prefix.
static int add_history(struct work * w, uint64_t op, struct ggs_error * error) {
    for (uint64_t t = 0; t < w->pass.n_tokens; t++) {
        const struct ggs_value_where * where = &w->pass.tokens[t];
        struct cell *                  c     = &w->cells[op * w->pass.n_tokens + t];
        struct history                 fresh = {.bits = REACH_EXACT};
        struct history *               all   = history_of(w, op, 0, fresh);
        if (all == NULL) return ggs_fail_memory(error);
        add_to_history(all, c);
        if (where->position > 0) fresh = *all;
        struct history * h = history_of(w, op, where->lane | 1, fresh);
        if (h == NULL) return ggs_fail_memory(error);
        add_to_history(h, c);
        c->reach = h->error;
        c->bits |= h->bits;
    }
    return 0;
}

// Adds a comparison to the grid. An op with another meaning in B is not marked as wrong.
static int draw(struct work * w, uint64_t op, uint64_t t, const struct inputs * in, bool whole,
                const struct ggs_value_row * a, const struct ggs_value_row * b, struct ggs_error * error) {
    const struct cell *   c     = cell_at(w, op, t);
    bool                  equal = (c->bits & EXACT) != 0, wrong = (double) c->real > w->allowed;
    struct ggs_value_cell cell   = {.value = (double) c->real, .allowed = w->allowed, .run = b->run, .node = b->node};
    int                   status = 0;
    if (w->grid == NULL || !w->diff->b.nodes[w->tally[op].match - 1].asked) return 0;
    if (w->diff->a.nodes[op].choice) wrong = !equal && in->exact;
    if (b->nan > a->nan) cell.marks |= GGS_CELL_NAN;
    if (b->inf > a->inf) cell.marks |= GGS_CELL_INF;
    if (wrong && (c->bits & SUSPECT) == 0) cell.marks |= GGS_CELL_WRONG;
    for (uint64_t i = whole ? 0 : t; status == 0 && i <= t; i++)
        status = ggs_value_grid_add(w->grid, &w->diff->a, op, w->numbers[i], &cell, error);
    return status;
}

static int compare_token(struct work * w, uint64_t op, uint64_t t, const struct inputs * in, bool whole,
                         struct ggs_error * error) {
    const struct ggs_value_row *a = NULL, *b = NULL;
    struct cell *               c = &w->cells[op * w->pass.n_tokens + t];
    if (!rows_of(w, op, t, whole, &a, &b)) {
        guess(w, op, t, in, c);
        return 0;
    }
    w->diff->outputs++;
    w->diff->equal += a->hash == b->hash && a->nan == b->nan;
    compare(w, op, t, in, c, a, b);
    return draw(w, op, t, in, whole, a, b, error);
}

// Compares an output that is not divided by tokens. Its inputs are those of all tokens.
static int compare_whole(struct work * w, uint64_t op, struct ggs_error * error) {
    uint64_t      n   = w->pass.n_tokens;
    struct cell * c   = &w->cells[op * n];
    struct inputs all = {.exact = true};
    for (uint64_t t = 0; t < n; t++) {
        struct inputs in = inputs_of(w, &w->diff->a.nodes[op], t);
        if (in.in > all.in) all.in = in.in;
        all.absolute += in.absolute;
        all.unsized += in.unsized;
        all.exact &= in.exact;
        all.nan |= in.nan;
        all.inf |= in.inf;
        all.chosen |= in.chosen;
        if (in.leaf != 0)
            all.leaf = in.leaf, all.leaf_error = in.leaf_error, all.leaf_allowed = in.leaf_allowed,
            all.leaf_nan = in.leaf_nan;
    }
    int status = compare_token(w, op, n - 1, &all, true, error);
    for (uint64_t t = 0; t + 1 < n; t++) c[t] = c[n - 1];
    return status;
}

static int compare_op(struct work * w, uint64_t op, struct ggs_error * error) {
    const struct ggs_value_node * node   = &w->diff->a.nodes[op];
    int                           status = 0;
    match(w, op);
    if (w->pass.n_tokens > 0 && ggs_value_pass_row(&w->pass, op, -1) != NULL &&
        (w->pass.n_tokens == 1 || is_same_batch(w))) {
        status = compare_whole(w, op, error);
    } else {
        for (uint64_t t = 0; status == 0 && t < w->pass.n_tokens; t++) {
            struct inputs in = inputs_of(w, node, t);
            status           = compare_token(w, op, t, &in, false, error);
        }
    }
    return status == 0 && node->cache ? add_history(w, op, error) : status;
}

static int number_tokens(struct work * w, struct ggs_error * error) {
    int status = 0;
    if (w->grid == NULL) return 0;
    if (!ggs_array_reserve(w->numbers, w->numbers_capacity, w->pass.n_tokens + 1)) return ggs_fail_memory(error);
    for (uint64_t t = 0; status == 0 && t < w->pass.n_tokens; t++) {
        const struct ggs_value_pass * other = w->found[t].pass;
        w->numbers[t]                       = -1;
        if (other != NULL)
            status = ggs_value_grid_token(w->grid, other->step, w->pass.tokens[t].position, &w->numbers[t], error);
    }
    return status;
}

static int compare_pass(struct work * w, struct ggs_error * error) {
    uint64_t n_ops = w->diff->a.n, had = w->n_tally;
    int      status = ggs_value_align_next(w->align, &w->pass, &w->found, error);
    if (status == 0) status = number_tokens(w, error);
    if (status != 0) return status;
    if (!ggs_array_reserve(w->apart, w->apart_capacity, w->pass.n_tokens + 1) ||
        !ggs_array_reserve(w->tally, w->tally_capacity, n_ops) ||
        !ggs_array_reserve(w->cells, w->cells_capacity, n_ops * w->pass.n_tokens + 1))
        return ggs_fail_memory(error);
    if (n_ops > had) memset(w->tally + had, 0, (n_ops - had) * sizeof(*w->tally));
    w->n_tally = n_ops;
    memset(w->apart, 0, w->pass.n_tokens + 1);
    memset(w->cells, 0, n_ops * w->pass.n_tokens * sizeof(*w->cells));
    w->order = (w->order >> 32 << 32) + (1ull << 32);
    for (uint64_t i = 0; status == 0 && i < w->pass.n_order; i++) {
        w->order = (w->order >> 32 << 32) | w->pass.order[i];
        status   = compare_op(w, w->pass.order[i], error);
    }
    ggs_value_align_done(w->align);
    return status;
}

static int check_values(const struct ggs_trace * trace, const char * which, struct ggs_error * error) {
    if (ggs_reader_rows(trace->reader, GGS_TABLE_OP_VALUES) > 0) return 0;
    return ggs_fail(error, GGS_ABSENT,
                    "%s has no values of ops: record it again with --values (ggscope record --values -- PROGRAM)",
                    which);
}

static void release_work(struct work * w) {
    ggs_value_passes_close(w->reader);
    ggs_value_align_free(w->align);
    ggs_value_pass_release(&w->pass);
    ggs_map_release(&w->caches);
    free(w->history);
    free(w->tally);
    free(w->cells);
    free(w->apart);
    free(w->numbers);
}

int ggs_value_diff_compute(struct ggs_value_diff * diff, struct ggs_trace * a, struct ggs_trace * b,
                           struct ggs_value_grid * grid, struct ggs_error * error) {
    struct work w = {.diff = diff, .grid = grid};
    *diff         = (struct ggs_value_diff){.parted = -1, .parted_sequence = -1};
    int status    = check_values(a, "A", error);
    if (status == 0) status = check_values(b, "B", error);
    if (status == 0) status = ggs_value_passes_open(&w.reader, a, &diff->a, error);
    if (status == 0) status = ggs_value_align_new(&w.align, diff, b, error);
    while (status == 0 && (status = ggs_value_passes_next(w.reader, &w.pass, error)) > 0) {
        status = compare_pass(&w, error);
        ggs_value_pass_release(&w.pass);
    }
    if (status == 0 && diff->tokens == 0)
        status =
            ggs_fail(error, GGS_ABSENT, "the two recordings have no token in common: record the same prompt with both");
    if (status == 0) status = ggs_value_judge(diff, w.tally, error);
    if (status == 0 && grid != NULL) status = ggs_value_grid_finish(grid, &diff->a, diff, error);
    release_work(&w);
    return status;
}

void ggs_value_diff_release(struct ggs_value_diff * diff) {
    ggs_value_ops_release(&diff->a);
    ggs_value_ops_release(&diff->b);
    free(diff->ops);
    free(diff->wrong);
    *diff = (struct ggs_value_diff){0};
}
