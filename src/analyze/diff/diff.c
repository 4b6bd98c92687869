#include "analyze/diff/diff.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diff/diff-causes.h"
#include "analyze/diff/diff-warnings.h"
#include "analyze/walk/names.h"
#include "analyze/walk/walk.h"
#include "base/array.h"
#include "base/error.h"
#include "base/map.h"

// ---- names ----

static bool all_digits(const char * text) {
    if (*text == '\0') return false;
    while (*text >= '0' && *text <= '9') text++;
    return *text == '\0';
}

// "node_25" and "leaf_3" are made from a number and do not count as names.
static bool is_made_up(const char * name) {
    return (strncmp(name, "node_", 5) == 0 || strncmp(name, "leaf_", 5) == 0) && all_digits(name + 5);
}

// Removes the layer's number from a name: "Qcur-7 (view)" becomes "Qcur (view)", "cache_k_l7"
// becomes "cache_k_l".
static size_t strip_layer(char * to, size_t size, const char * name, int layer) {
    char   number[16];
    size_t used   = 0;
    int    length = snprintf(number, sizeof(number), "%d", layer);
    for (const char * p = name; *p != '\0' && used + 1 < size;) {
        bool starts = p == name || p[-1] < '0' || p[-1] > '9';
        if (layer >= 0 && starts && strncmp(p, number, (size_t) length) == 0 && (p[length] < '0' || p[length] > '9')) {
            if (used > 0 && to[used - 1] == '-') used--;
            p += length;
            layer = -1; // only the first one
            continue;
        }
        to[used++] = *p++;
    }
    return used;
}

// ---- comparison ----

struct key {
    uint32_t op, tensor; // names
    int32_t  layer;
    uint32_t order : 31;
    uint32_t prompt : 1;
};

// One side of equal ops.
struct half {
    int64_t           step;  // latest token step with it
    uint32_t          times; // number of occurrences in that step, if `order` is 0
    uint64_t          wall, read, written, choice;
    uint64_t          into; // entry + 1 of the op that it was fused into in that step; 0: not fused
    uint64_t          ops, only, sum_wall, sum_read, sum_written;
    struct ggs_spread spread;
};

struct entry {
    struct key  key;
    struct half half[2];
    uint64_t    bytes_differ;
    uint64_t    together; // entry for all layers
    bool        touched;
    bool        merged; // in this step its time is part of the entry that it was fused into
};

struct side {
    struct ggs_trace * trace;
    struct ggs_walk *  walk;
    uint32_t *         exact;    // by tensor - 1: name
    uint32_t *         stripped; // by tensor - 1
    uint32_t *         ops;      // by op
    int                more;     // the walk is at a run of the step
    // Steps of concurrent contexts interleave in the table of runs; these are walked one by one.
    int64_t * steps; // ascending; NULL if the runs are in the order of their steps
    uint64_t  n_steps, steps_capacity, next;
};

struct comparison {
    struct ggs_diff *  diff;
    struct ggs_names * names;
    struct side        sides[2];
    struct entry *     entries;
    uint64_t           n, capacity;
    struct ggs_map     by_key;  // entry + 1
    uint64_t *         touched; // entries of the step
    uint64_t           n_touched, touched_capacity;
};

static struct ggs_map_key map_key(const struct key * key) {
    return (struct ggs_map_key){(uint64_t) key->op << 32 | key->tensor,
                                (uint64_t) (uint32_t) key->layer << 32 | (uint64_t) key->order << 1 | key->prompt};
}

// Returns the number of an entry, made if new; UINT64_MAX if out of memory.
static uint64_t find_entry(struct comparison * c, const struct key * key) {
    uint64_t * place = ggs_map_put(&c->by_key, map_key(key));
    if (place == NULL) return UINT64_MAX;
    if (*place != 0) return *place - 1;
    struct entry entry = {.key = *key, .half = {{.step = -1}, {.step = -1}}, .together = UINT64_MAX};
    if (!ggs_array_push(c->entries, c->n, c->capacity, entry)) return UINT64_MAX;
    *place = c->n;
    return c->n - 1;
}

// ---- one op ----

// A hash of the experts that an op uses: equal if each token uses the same ones in any order.
static uint64_t choice_of(const struct ggs_walk * walk, const struct ggs_access_list * list) {
    const struct ggs_access_index * index = ggs_access_values(list, ggs_trace_source(walk->graph, walk->op.node, 2));
    if (index == NULL || index->n == 0) return 0;
    uint64_t hash = 1, sum = 0;
    for (uint64_t i = 0; i < index->n; i++) {
        uint64_t value = (uint64_t) index->values[i] + 1;
        sum += (value * value + 12345) * 0x9e3779b97f4a7c15u;
        if ((i + 1) % index->ne[0] == 0) hash = (hash ^ sum) * 1099511628211u, sum = 0;
    }
    return hash | 1;
}

static void fill_half(struct half * half, const struct ggs_walk * walk, const struct ggs_access_list * list) {
    const struct ggs_op_seen * op    = &walk->op;
    struct ggs_access_bytes    bytes = ggs_access_sum(list);
    half->into                       = 0;
    half->wall                       = op->wall_ns;
    half->read = bytes.read, half->written = bytes.written;
    half->choice = ggs_trace_op_kind(walk->trace, op->op) == GGS_KIND_MUL_MAT_ID ? choice_of(walk, list) : 0;
}

static bool touch(struct comparison * c, uint64_t number) {
    if (c->entries[number].touched) return true;
    c->entries[number].touched = true;
    return ggs_array_push(c->touched, c->n_touched, c->touched_capacity, number);
}

// Returns the entry of a node of the current op, marked for this step.
static int add_node(struct comparison * c, int which, bool prompt, const struct ggs_op_seen * op, uint64_t * out,
                    struct ggs_error * error) {
    struct side *           side   = &c->sides[which];
    const struct ggs_walk * walk   = side->walk;
    uint64_t                tensor = walk->graph->nodes[op->node].tensor;
    struct key key = {.op = side->ops[op->op], .tensor = side->exact[tensor - 1], .layer = op->layer, .prompt = prompt};
    uint64_t   number = find_entry(c, &key);
    if (number == UINT64_MAX) return ggs_fail_memory(error);
    struct half * first = &c->entries[number].half[which];
    if (first->step != walk->run.step) first->times = 0;
    key.order = first->times++;
    if (key.order > 0) number = find_entry(c, &key); // may move the entries
    if (number == UINT64_MAX) return ggs_fail_memory(error);
    if (c->entries[number].together == UINT64_MAX) {
        struct key all = {
            .op = key.op, .tensor = side->stripped[tensor - 1], .layer = GGS_DIFF_LAYERS, .prompt = prompt};
        uint64_t together = find_entry(c, &all);
        if (together == UINT64_MAX) return ggs_fail_memory(error);
        c->entries[number].together = together;
    }
    c->entries[number].half[which].step = walk->run.step;
    *out                                = number;
    return touch(c, number) ? 0 : ggs_fail_memory(error);
}

static int add_op(struct comparison * c, int which, bool prompt, struct ggs_error * error) {
    struct side *                  side = &c->sides[which];
    struct ggs_walk *              walk = side->walk;
    const struct ggs_access_list * list;
    struct ggs_op_seen             part;
    uint64_t                       number, head;
    if (walk->op.op >= side->trace->n_ops) return 0;
    int status = ggs_walk_accesses(walk, &list, error);
    if (status == 0) status = add_node(c, which, prompt, &walk->op, &head, error);
    if (status != 0) return status;
    fill_half(&c->entries[head].half[which], walk, list);
    for (uint64_t i = 1; status == 0 && i <= walk->op.absorbed && ggs_walk_part(walk, i, &part); i++) {
        if (part.op >= side->trace->n_ops) continue;
        status = add_node(c, which, prompt, &part, &number, error);
        if (status == 0) c->entries[number].half[which].into = head + 1;
    }
    return status;
}

// ---- one token step ----

static bool add_sample(struct half * sum, const struct half * half) {
    sum->ops++;
    sum->sum_wall += half->wall;
    sum->sum_read += half->read;
    sum->sum_written += half->written;
    return ggs_spread_add(&sum->spread, half->wall) == 0;
}

static bool is_op(const struct half * half, int64_t step) {
    return half->step == step && half->into == 0;
}

// An op of one side that the other side fused into a preceding node is compared as part of that
// node.
static void merge_entry(struct comparison * c, struct entry * entry, int64_t step) {
    entry->merged = false;
    for (int i = 0; i < 2; i++) {
        struct half *half = &entry->half[i], *other = &entry->half[1 - i];
        if (!is_op(half, step) || other->step != step || other->into == 0) continue;
        struct half * head = &c->entries[other->into - 1].half[i];
        if (!is_op(head, step)) continue;
        head->wall += half->wall, head->read += half->read, head->written += half->written;
        entry->merged = true;
        c->diff->fused++;
    }
}

static bool settle_entry(struct comparison * c, struct entry * entry, int64_t step) {
    struct half *  halves[2] = {&entry->half[0], &entry->half[1]};
    struct entry * all       = &c->entries[entry->together];
    entry->touched           = false;
    if (entry->merged || (!is_op(halves[0], step) && !is_op(halves[1], step))) return true;
    for (int i = 0; i < 2; i++) {
        if (is_op(halves[i], step)) continue;
        halves[1 - i]->only++;
        all->half[1 - i].only++;
        *(i == 1 ? &c->diff->only_a : &c->diff->only_b) += 1;
        return true;
    }
    bool bytes = halves[0]->read != halves[1]->read || halves[0]->written != halves[1]->written;
    entry->bytes_differ += bytes;
    all->bytes_differ += bytes;
    c->diff->bytes_differ += bytes;
    c->diff->ops++;
    if (halves[0]->choice != 0 && halves[1]->choice != 0) {
        c->diff->choices++;
        c->diff->choices_differ += halves[0]->choice != halves[1]->choice;
    }
    bool ok = true;
    for (int i = 0; i < 2; i++) ok &= add_sample(halves[i], halves[i]) && add_sample(&all->half[i], halves[i]);
    return ok;
}

static int by_step(const void * a, const void * b) {
    int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;
    return x < y ? -1 : x > y;
}

// Lists the steps of a recording whose runs are not in their order.
static int list_steps(struct side * side, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_run      run;
    int64_t             last    = -1;
    bool                ordered = true;
    int                 status  = ggs_cursor_open(&cursor, side->trace->reader, GGS_TABLE_RUNS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &run, error)) > 0) {
        if (run.step < 0 || run.step == last) continue;
        ordered &= run.step > last;
        last = run.step;
        if (!ggs_array_push(side->steps, side->n_steps, side->steps_capacity, last)) status = ggs_fail_memory(error);
    }
    ggs_cursor_close(cursor);
    if (ordered || status < 0) {
        free(side->steps);
        side->steps = NULL;
        return status < 0 ? status : 0;
    }
    qsort(side->steps, side->n_steps, sizeof(*side->steps), by_step);
    uint64_t n = 0;
    for (uint64_t i = 0; i < side->n_steps; i++)
        if (n == 0 || side->steps[n - 1] != side->steps[i]) side->steps[n++] = side->steps[i];
    side->n_steps = n;
    return 0;
}

// Moves to the next run in the order of steps.
static int next_run(struct side * side, struct ggs_error * error) {
    for (;;) {
        if (side->steps == NULL || side->next > 0) {
            side->more = ggs_walk_run(side->walk, error);
            if (side->more != 0 || side->steps == NULL) return side->more;
        }
        if (side->next == side->n_steps) return side->more = 0;
        int64_t step = side->steps[side->next++];
        ggs_walk_close(side->walk);
        side->more = ggs_walk_open(&side->walk, side->trace, step, step, error);
        if (side->more < 0) return side->more;
    }
}

static int add_step(struct comparison * c, int64_t step, bool prompt, struct ggs_error * error) {
    int status = 0;
    for (int which = 0; status == 0 && which < 2; which++) {
        struct side * side = &c->sides[which];
        while (status == 0 && side->more > 0 && side->walk->run.step == step) {
            while (status == 0 && ggs_walk_op(side->walk)) status = add_op(c, which, prompt, error);
            if (status == 0 && next_run(side, error) < 0) status = side->more;
        }
    }
    for (uint64_t i = 0; status == 0 && i < c->n_touched; i++) merge_entry(c, &c->entries[c->touched[i]], step);
    for (uint64_t i = 0; status == 0 && i < c->n_touched; i++) {
        if (!settle_entry(c, &c->entries[c->touched[i]], step)) status = ggs_fail_memory(error);
    }
    c->n_touched = 0;
    c->diff->tokens++;
    return status;
}

static int skip_step(struct side * side, uint64_t * counter, struct ggs_error * error) {
    int64_t step = side->walk->run.step;
    while (side->more > 0 && side->walk->run.step == step) next_run(side, error);
    ++*counter;
    return side->more < 0 ? side->more : 0;
}

static int add_all(struct comparison * c, struct ggs_error * error) {
    struct side *a = &c->sides[0], *b = &c->sides[1];
    int          status = 0;
    if (next_run(a, error) >= 0) next_run(b, error);
    if (a->more < 0 || b->more < 0) return a->more < 0 ? a->more : b->more;
    while (status == 0 && (a->more > 0 || b->more > 0)) {
        int64_t x = a->more > 0 ? a->walk->run.step : INT64_MAX, y = b->more > 0 ? b->walk->run.step : INT64_MAX;
        if (x == y) {
            status = add_step(c, x, a->walk->run.phase == GGS_PHASE_PROMPT, error);
        } else if (x < y) {
            status = skip_step(a, &c->diff->tokens_only_a, error);
        } else {
            status = skip_step(b, &c->diff->tokens_only_b, error);
        }
    }
    return status;
}

// ---- verdicts ----

static enum ggs_verdict judge_item(const struct ggs_diff_item * item, const uint64_t whole_ns[2]) {
    struct ggs_measured a = {item->a.time, item->a.wall_ns}, b = {item->b.time, item->b.wall_ns};
    return ggs_verdict_of(&a, &b, whole_ns[item->prompt]);
}

// Total time of the compared ops in the faster recording.
static void find_whole(const struct comparison * c, uint64_t whole_ns[2]) {
    uint64_t sums[2][2] = {{0}};
    for (uint64_t i = 0; i < c->n; i++) {
        const struct entry * entry = &c->entries[i];
        if (entry->key.layer != GGS_DIFF_LAYERS) continue;
        for (int k = 0; k < 2; k++) sums[entry->key.prompt][k] += entry->half[k].sum_wall;
    }
    for (int i = 0; i < 2; i++) whole_ns[i] = sums[i][0] < sums[i][1] ? sums[i][0] : sums[i][1];
}

static struct ggs_diff_side side_of(const struct half * half) {
    return (struct ggs_diff_side){.ops     = half->ops,
                                  .only    = half->only,
                                  .wall_ns = half->sum_wall,
                                  .read    = half->sum_read,
                                  .written = half->sum_written,
                                  .time    = ggs_spread_quartiles(&half->spread)};
}

static double weight(const struct ggs_diff_item * item) {
    return fabs((double) item->b.wall_ns - (double) item->a.wall_ns);
}

static int by_weight(const void * a, const void * b) {
    const struct ggs_diff_item *x = a, *y = b;
    double                      v = weight(x), w = weight(y);
    if (v != w) return v > w ? -1 : 1;
    if (x->layer != y->layer) return x->layer < y->layer ? -1 : 1;
    int order = strcmp(x->op, y->op);
    return order != 0 ? order : strcmp(x->tensor, y->tensor);
}

static int by_number(const void * a, const void * b) {
    double x = *(const double *) a, y = *(const double *) b;
    return x < y ? -1 : x > y;
}

// Median slowdown over all kinds of ops: a busier machine affects all of them.
static int find_shift(struct comparison * c, struct ggs_error * error) {
    double * ratios = malloc((c->n + 1) * sizeof(*ratios));
    uint64_t n      = 0;
    if (ratios == NULL) return ggs_fail_memory(error);
    for (uint64_t i = 0; i < c->n; i++) {
        if (c->entries[i].key.layer != GGS_DIFF_LAYERS) continue;
        struct ggs_quartiles a = ggs_spread_quartiles(&c->entries[i].half[0].spread);
        struct ggs_quartiles b = ggs_spread_quartiles(&c->entries[i].half[1].spread);
        if (a.median > 0 && b.median > 0) ratios[n++] = b.median / a.median;
    }
    if (n > 0) qsort(ratios, n, sizeof(*ratios), by_number);
    c->diff->shift = n == 0 ? 1 : ratios[n / 2];
    free(ratios);
    return 0;
}

static int collect(struct comparison * c, struct ggs_error * error) {
    struct ggs_diff * diff = c->diff;
    diff->items            = malloc((c->n + 1) * sizeof(*diff->items));
    if (diff->items == NULL) return ggs_fail_memory(error);
    diff->identical = true;
    uint64_t whole_ns[2];
    find_whole(c, whole_ns);
    for (uint64_t i = 0; i < c->n; i++) {
        const struct entry * entry = &c->entries[i];
        struct ggs_diff_item item  = {.prompt       = entry->key.prompt,
                                      .layer        = entry->key.layer,
                                      .op           = ggs_names_text(c->names, entry->key.op),
                                      .tensor       = ggs_names_text(c->names, entry->key.tensor),
                                      .a            = side_of(&entry->half[0]),
                                      .b            = side_of(&entry->half[1]),
                                      .bytes_differ = entry->bytes_differ};
        item.verdict               = judge_item(&item, whole_ns);
        bool changed = item.verdict >= GGS_SLOWER || item.bytes_differ > 0 || item.a.only > 0 || item.b.only > 0;
        diff->identical &= !changed && item.verdict == GGS_SAME;
        if (changed) diff->items[diff->n_items++] = item;
    }
    if (diff->n_items > 1) qsort(diff->items, diff->n_items, sizeof(*diff->items), by_weight);
    return 0;
}

// ---- whole token steps ----

static int time_steps(struct ggs_trace * trace, struct ggs_measured measured[2], struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_step     row;
    struct ggs_spread   spreads[2] = {{0}, {0}};
    int                 status     = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_STEPS, error);
    if (status < 0) return status;
    while (status >= 0 && (status = ggs_cursor_next(cursor, &row, error)) > 0) {
        if (row.step < 0 || row.end_ns < row.begin_ns) continue;
        uint64_t ns   = (uint64_t) (row.end_ns - row.begin_ns);
        int      kind = row.phase != GGS_PHASE_PROMPT;
        measured[kind].sum_ns += ns;
        if (ggs_spread_add(&spreads[kind], ns) != 0) status = ggs_fail_memory(error);
    }
    ggs_cursor_close(cursor);
    for (int i = 0; i < 2; i++) {
        measured[i].time = ggs_spread_quartiles(&spreads[i]);
        ggs_spread_release(&spreads[i]);
    }
    return status;
}

static int time_tokens(struct ggs_diff * diff, struct ggs_trace * a, struct ggs_trace * b, struct ggs_error * error) {
    struct ggs_measured x[2] = {{{0}, 0}, {{0}, 0}}, y[2] = {{{0}, 0}, {{0}, 0}};
    int                 status = time_steps(a, x, error);
    if (status == 0) status = time_steps(b, y, error);
    for (int i = 0; i < 2; i++)
        *(i == 0 ? &diff->prompt : &diff->generate) =
            (struct ggs_diff_times){x[i].time, y[i].time, x[i].sum_ns, y[i].sum_ns, ggs_verdict_of(&x[i], &y[i], 0)};
    return status;
}

// ---- interface ----

static int open_side(struct side * side, struct ggs_names * names, struct ggs_trace * trace, struct ggs_error * error) {
    char stripped[512];
    side->trace    = trace;
    side->exact    = malloc((trace->n_tensors + 1) * sizeof(*side->exact));
    side->stripped = malloc((trace->n_tensors + 1) * sizeof(*side->stripped));
    side->ops      = malloc((trace->n_ops + 1) * sizeof(*side->ops));
    if (side->exact == NULL || side->stripped == NULL || side->ops == NULL) return ggs_fail_memory(error);
    for (uint64_t i = 0; i < trace->n_tensors; i++) {
        const char * name = ggs_reader_string(trace->reader, trace->tensors[i].name);
        if (is_made_up(name)) name = "";
        side->exact[i] = ggs_names_number(names, name, strlen(name));
        side->stripped[i] =
            ggs_names_number(names, stripped, strip_layer(stripped, sizeof(stripped), name, trace->layers[i]));
        if (side->exact[i] == UINT32_MAX || side->stripped[i] == UINT32_MAX) return ggs_fail_memory(error);
    }
    for (uint64_t i = 0; i < trace->n_ops; i++) {
        side->ops[i] = ggs_names_number(names, trace->op_names[i], strlen(trace->op_names[i]));
        if (side->ops[i] == UINT32_MAX) return ggs_fail_memory(error);
    }
    int status = list_steps(side, error);
    return status < 0 ? status : ggs_walk_open(&side->walk, trace, 0, INT64_MAX, error);
}

static void release_comparison(struct comparison * c) {
    for (int i = 0; i < 2; i++) {
        ggs_walk_close(c->sides[i].walk);
        free(c->sides[i].exact);
        free(c->sides[i].stripped);
        free(c->sides[i].ops);
        free(c->sides[i].steps);
    }
    for (uint64_t i = 0; i < c->n; i++) {
        ggs_spread_release(&c->entries[i].half[0].spread);
        ggs_spread_release(&c->entries[i].half[1].spread);
    }
    free(c->entries);
    ggs_map_release(&c->by_key);
    free(c->touched);
}

static bool same_totals(const struct ggs_totals * a, const struct ggs_totals * b) {
    return a->steps == b->steps && a->ops == b->ops && a->op_runs == b->op_runs && a->read == b->read &&
           a->written == b->written && a->disk == b->disk && a->touched_bytes == b->touched_bytes &&
           a->peak_bytes == b->peak_bytes && a->buffers == b->buffers && a->nodes == b->nodes &&
           a->executed == b->executed && a->dropped == b->dropped;
}

int ggs_diff_compute(struct ggs_diff * diff, struct ggs_trace * a, struct ggs_trace * b, struct ggs_error * error) {
    struct comparison c = {.diff = diff};
    *diff               = (struct ggs_diff){0};
    c.names = diff->names = ggs_names_new();
    int status = c.names == NULL ? ggs_fail_memory(error) : ggs_totals_compute(&diff->a, a, &ggs_totals_all, error);
    if (status == 0) status = ggs_totals_compute(&diff->b, b, &ggs_totals_all, error);
    if (status == 0) status = ggs_diff_warn(diff, a, b, error);
    if (status == 0) status = ggs_diff_causes(diff, a, b, error);
    if (status == 0) status = time_tokens(diff, a, b, error);
    if (status == 0) status = open_side(&c.sides[0], c.names, a, error);
    if (status == 0) status = open_side(&c.sides[1], c.names, b, error);
    if (status == 0) status = add_all(&c, error);
    if (status == 0) status = collect(&c, error);
    if (status == 0) status = find_shift(&c, error);
    release_comparison(&c);
    if (status < 0) {
        ggs_diff_release(diff);
        return status;
    }
    diff->identical &= diff->n_warnings == 0 && diff->tokens_only_a + diff->tokens_only_b == 0 &&
                       same_totals(&diff->a, &diff->b) && diff->prompt.verdict == GGS_SAME &&
                       diff->generate.verdict == GGS_SAME;
    return 0;
}

void ggs_diff_release(struct ggs_diff * diff) {
    if (diff->names != NULL) ggs_names_free(diff->names);
    ggs_totals_release(&diff->a);
    ggs_totals_release(&diff->b);
    free(diff->items);
    *diff = (struct ggs_diff){0};
}
