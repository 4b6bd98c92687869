#include "trace/sequences-private.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { CELLS_MAX = 1 << 12 }; // of one sequence; more is damage and ignored

int64_t ggs_cells_last(const struct ggs_sequence * q) {
    return q->n_cells == 0 ? -1 : q->cells[q->n_cells - 1].end - 1;
}

uint64_t ggs_sequence_cells(const struct ggs_sequence * q) {
    uint64_t sum = 0;
    for (size_t i = 0; i < q->n_cells; i++) sum += (uint64_t) (q->cells[i].end - q->cells[i].begin);
    return sum;
}

static bool put_cells(struct ggs_sequence * q, size_t at, struct ggs_cells cells) {
    if (cells.begin >= cells.end) return true;
    if (q->n_cells >= CELLS_MAX) return true; // damaged: not counted
    if (!ggs_array_reserve(q->cells, q->capacity, q->n_cells + 1)) return false;
    memmove(q->cells + at + 1, q->cells + at, (q->n_cells - at) * sizeof(*q->cells));
    q->cells[at] = cells;
    q->n_cells++;
    return true;
}

// Merges adjacent pieces.
static void join_cells(struct ggs_sequence * q) {
    size_t n = 0;
    for (size_t i = 0; i < q->n_cells; i++) {
        struct ggs_cells * last = n == 0 ? NULL : &q->cells[n - 1];
        struct ggs_cells * next = &q->cells[i];
        if (last != NULL && last->end == next->begin && last->life == next->life &&
            last->origin - last->begin == next->origin - next->begin)
            last->end = next->end;
        else
            q->cells[n++] = *next;
    }
    q->n_cells = n;
}

bool ggs_cells_remove(struct ggs_sequence * q, int64_t from, int64_t to) {
    for (size_t i = 0; i < q->n_cells;) {
        struct ggs_cells * c = &q->cells[i];
        if (c->end <= from || c->begin >= to) {
            i++;
        } else if (c->begin < from && c->end > to) {
            struct ggs_cells rest = {to, c->end, c->life, c->origin + (to - c->begin)};
            c->end                = from;
            return put_cells(q, i + 1, rest);
        } else if (c->begin < from) {
            c->end = from, i++;
        } else if (c->end > to) {
            c->origin += to - c->begin;
            c->begin = to, i++;
        } else {
            memmove(c, c + 1, (--q->n_cells - i) * sizeof(*c));
        }
    }
    return true;
}

bool ggs_cells_insert(struct ggs_sequence * q, struct ggs_cells cells) {
    size_t at = q->n_cells;
    while (at > 0 && q->cells[at - 1].begin > cells.begin) at--;
    if (!put_cells(q, at, cells)) return false;
    join_cells(q);
    return true;
}

bool ggs_cells_move(struct ggs_sequence * q, int64_t from, int64_t to, int64_t delta, bool divide) {
    struct ggs_sequence taken = {0};
    bool                good  = true;
    q->life                   = 0; // cells computed here later are other ones
    for (size_t i = 0; good && i < q->n_cells; i++) {
        struct ggs_cells c = q->cells[i];
        if (c.begin < from) c.origin += from - c.begin, c.begin = from;
        if (c.end > to) c.end = to;
        if (c.begin < c.end) good = put_cells(&taken, taken.n_cells, c);
    }
    if (good) good = ggs_cells_remove(q, from, to);
    for (size_t i = 0; good && i < taken.n_cells; i++) {
        struct ggs_cells c      = taken.cells[i];
        int64_t          length = c.end - c.begin;
        c.begin                 = divide ? c.begin / delta : c.begin + delta;
        if (c.begin < 0) length += c.begin, c.origin -= c.begin, c.begin = 0; // dropped below 0
        c.end = c.begin + length; // divided: as many cells, shared positions
        if (length > 0) good = ggs_cells_insert(q, c);
    }
    free(taken.cells);
    return good;
}

static int by_cell(const void * a, const void * b) {
    const struct ggs_cells *x = a, *y = b;
    if (x->life != y->life) return x->life < y->life ? -1 : 1;
    return x->origin < y->origin ? -1 : x->origin > y->origin;
}

bool ggs_sequences_cells(const struct ggs_sequence_context * context, uint64_t * cells) {
    size_t n = 0, k = 0;
    *cells = 0;
    for (size_t i = 0; context->apart && i < context->n_sequences; i++)
        *cells += ggs_sequence_cells(&context->sequences[i]);
    if (context->apart) return true;
    for (size_t i = 0; i < context->n_sequences; i++) n += context->sequences[i].n_cells;
    struct ggs_cells * all = calloc(n + 1, sizeof(*all));
    if (all == NULL) return false;
    for (size_t i = 0; i < context->n_sequences; i++) {
        const struct ggs_sequence * q = &context->sequences[i];
        if (q->n_cells > 0) memcpy(all + k, q->cells, q->n_cells * sizeof(*all));
        k += q->n_cells;
    }
    qsort(all, n, sizeof(*all), by_cell);
    int64_t end = 0; // of the counted part of this life
    for (size_t i = 0; i < n; i++) {
        int64_t begin = all[i].origin, stop = begin + (all[i].end - all[i].begin);
        if (i == 0 || all[i].life != all[i - 1].life || begin > end) end = begin;
        if (stop > end) *cells += (uint64_t) (stop - end), end = stop;
    }
    free(all);
    return true;
}

uint64_t ggs_cells_between(const struct ggs_sequence * q, int64_t from, int64_t to) {
    uint64_t sum = 0;
    for (size_t i = 0; q != NULL && i < q->n_cells; i++) {
        int64_t begin = q->cells[i].begin > from ? q->cells[i].begin : from;
        int64_t end   = q->cells[i].end < to ? q->cells[i].end : to;
        if (begin < end) sum += (uint64_t) (end - begin);
    }
    return sum;
}

bool ggs_cells_shared(const struct ggs_sequence * q, const struct ggs_sequence * other) {
    const struct ggs_cells * mine = q->n_cells == 0 ? NULL : &q->cells[q->n_cells - 1];
    for (size_t i = other->n_cells; mine != NULL && i-- > 0;) {
        const struct ggs_cells * c = &other->cells[i];
        if (c->begin < mine->end && mine->end <= c->end)
            return c->life == mine->life && c->origin - c->begin == mine->origin - mine->begin;
    }
    return false;
}
