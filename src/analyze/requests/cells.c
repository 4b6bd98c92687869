#include "analyze/requests/cells.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/requests/cell-numbers.h"
#include "analyze/requests/requests.h"
#include "base/array.h"
#include "base/error.h"
#include "base/map.h"

void ggs_cell_uses_release(struct ggs_cell_uses * uses) {
    for (uint64_t i = 0; i < uses->n; i++) free(uses->use[i].by_sequence);
    free(uses->use);
    free(uses->peak);
    free(uses->change);
    *uses = (struct ggs_cell_uses){0};
}

// ---- cell contents ----

// The cells of a context's memory by number, with the last write to each: a position in a life of a
// sequence (trace/sequences.h). A cell is in use as long as a sequence has it.
struct memory {
    struct holder {
        uint64_t life; // 0: no write was seen
        int64_t  origin;
    } * holders;
    uint64_t       n, capacity; // the engine's number, once seen
    struct ggs_map places;      // life, origin and stream -> cell + 1
    uint64_t *     up_to;       // by stream: end of the used cells, within the stream
    uint64_t       streams, streams_capacity;
    bool           unseen; // some cells in use are of unknown number
};

struct gathering {
    struct ggs_cell_uses *  uses;
    struct ggs_cell_numbers numbers;
    struct ggs_map          memory_of; // context -> index + 1, for memories and peaks
    struct memory *         memories;
    uint64_t                n_memories, memories_capacity;
    uint64_t                most;
    uint64_t                together_ns; // calls this close in time share a row
    bool                    again;
};

// Cells per stream, at least 1.
static uint64_t each_of(const struct memory * m) {
    return m->streams == 0 || m->n < m->streams ? 1 : m->n / m->streams;
}

static struct ggs_map_key place_key(uint64_t life, int64_t origin, uint64_t stream) {
    return (struct ggs_map_key){life, (uint64_t) origin << 16 | stream};
}

static void forget(struct memory * m) {
    for (uint64_t i = 0; i < m->n; i++) m->holders[i].life = 0;
    for (uint64_t i = 0; i < m->streams; i++) m->up_to[i] = 0;
    ggs_map_release(&m->places);
}

static void release_memories(struct gathering * g) {
    for (uint64_t i = 0; i < g->n_memories; i++) {
        free(g->memories[i].holders);
        free(g->memories[i].up_to);
        ggs_map_release(&g->memories[i].places);
    }
    free(g->memories);
    ggs_map_release(&g->memory_of);
    g->memories   = NULL;
    g->n_memories = g->memories_capacity = 0;
}

static struct memory * memory_of(struct gathering * g, uint64_t context) {
    uint64_t * index = ggs_map_put(&g->memory_of, ggs_map_key_number(context));
    if (index == NULL) return NULL;
    if (*index == 0) {
        struct ggs_cell_peak peak = {.context = context, .up_to = -1, .holes = -1, .holes_ns = -1};
        if (!ggs_array_push(g->memories, g->n_memories, g->memories_capacity, (struct memory){0}) ||
            (!g->again && !ggs_array_push(g->uses->peak, g->uses->n_peaks, g->uses->peaks_capacity, peak)))
            return NULL;
        *index = g->n_memories;
    }
    return &g->memories[*index - 1];
}

// Sets the size reported by the engine.
static bool set_size(struct memory * m, uint64_t cells, uint64_t streams) {
    enum { CELLS_MOST = 1 << 26, STREAMS_MOST = 1 << 12 }; // larger numbers mean a damaged trace
    if (cells == m->n && streams == m->streams) return true;
    if (cells > CELLS_MOST || streams > STREAMS_MOST || streams == 0 || cells < streams || cells % streams != 0) {
        m->unseen = true;
        return true;
    }
    if (m->n > 0) m->unseen = true; // the size changed
    if (!ggs_array_reserve(m->holders, m->capacity, cells + 1) ||
        !ggs_array_reserve(m->up_to, m->streams_capacity, streams + 1))
        return false;
    m->n = cells, m->streams = streams;
    forget(m);
    return true;
}

static const struct ggs_cells * cells_at(const struct ggs_sequence * q, int64_t position) {
    for (size_t i = q->n_cells; i-- > 0;)
        if (q->cells[i].begin <= position && position < q->cells[i].end) return &q->cells[i];
    return NULL;
}

// True if the sequence has what was last written to the cell.
static bool holds(const struct memory * m, const struct ggs_sequence * q, uint64_t cell) {
    const struct holder * holder = &m->holders[cell];
    uint64_t              stream = cell / each_of(m);
    if (holder->life == 0 || (m->streams > 1 && q->number != (int64_t) stream)) return false;
    for (size_t i = 0; i < q->n_cells; i++) {
        const struct ggs_cells * c = &q->cells[i];
        if (c->life == holder->life && c->origin <= holder->origin && holder->origin < c->origin + (c->end - c->begin))
            return ggs_map_get(&m->places, place_key(holder->life, holder->origin, stream)) == cell + 1;
    }
    return false;
}

static bool in_use(const struct memory * m, const struct ggs_sequence_context * state, uint64_t cell) {
    for (size_t i = 0; i < state->n_sequences; i++)
        if (holds(m, &state->sequences[i], cell)) return true;
    return false;
}

// Map entries are never removed: the map is rebuilt when most are obsolete.
static bool put_place(struct memory * m, uint64_t cell, struct holder holder) {
    if (m->places.used > 2 * m->n + 64) {
        struct ggs_map now = {0};
        for (uint64_t i = 0; i < m->n; i++) {
            struct ggs_map_key key = place_key(m->holders[i].life, m->holders[i].origin, i / each_of(m));
            if (m->holders[i].life == 0 || ggs_map_get(&m->places, key) != i + 1) continue;
            uint64_t * kept = ggs_map_put(&now, key);
            if (kept == NULL) {
                ggs_map_release(&now);
                return false;
            }
            *kept = i + 1;
        }
        ggs_map_release(&m->places);
        m->places = now;
    }
    uint64_t * place = ggs_map_put(&m->places, place_key(holder.life, holder.origin, cell / each_of(m)));
    if (place == NULL) return false;
    *place           = cell + 1;
    m->holders[cell] = holder;
    uint64_t stream = cell / each_of(m), within = cell % each_of(m);
    if (within >= m->up_to[stream]) m->up_to[stream] = within + 1;
    return true;
}

static const struct ggs_sequence * sequence_of(const struct ggs_sequence_context * state, int64_t number) {
    uint64_t index = ggs_map_get(&state->numbers, ggs_map_key_number((uint64_t) number));
    return index == 0 ? NULL : &state->sequences[index - 1];
}

// Places every token of the batch where the engine wrote it.
static bool place_batch(struct gathering * g, struct memory * m, const struct ggs_sequence_context * state,
                        const struct ggs_sequence_batch * batch) {
    if (g->numbers.moved || g->numbers.cells == 0) m->unseen = true;
    if (g->numbers.cells == 0) return true;
    if (!set_size(m, g->numbers.cells, g->numbers.streams)) return false;
    for (uint64_t i = 0; i < batch->n && m->n == g->numbers.cells; i++) {
        const struct ggs_sequence * q    = sequence_of(state, batch->sequence[i]);
        const struct ggs_cells *    c    = q == NULL ? NULL : cells_at(q, batch->position[i]);
        int64_t                     cell = g->numbers.cell[i];
        if (cell < 0 || c == NULL) {
            m->unseen = true;
        } else if (!put_place(m, (uint64_t) cell,
                              (struct holder){c->life, c->origin + (batch->position[i] - c->begin)})) {
            return false;
        }
    }
    return true;
}

// ---- changes ----

// Merges it into a recent row of the same kind that is close in time, if there is one.
static bool join_change(struct ggs_cell_uses * uses, struct ggs_cell_change one, uint64_t together_ns) {
    int64_t width = (int64_t) together_ns;
    for (uint64_t i = uses->n_changes; width > 0 && i-- > 0;) {
        struct ggs_cell_change * row = &uses->change[i];
        if (row->begin_ns / width != one.begin_ns / width) return false;
        if (row->context != one.context || row->kind != one.kind) continue;
        if (row->sequence != one.sequence) row->sequence = -1;
        if (row->other != one.other) row->other = -1;
        row->end_ns = one.end_ns;
        row->calls += one.calls, row->cells += one.cells;
        return true;
    }
    return false;
}

static int keep_change(struct gathering * g, struct ggs_cell_change one, struct ggs_error * error) {
    struct ggs_cell_uses * uses = g->uses;
    while (uses->n_changes >= 2 * g->most && g->together_ns < INT64_MAX / 4) {
        uint64_t n      = uses->n_changes;
        g->together_ns  = g->together_ns == 0 ? 1024 : 2 * g->together_ns;
        uses->n_changes = 0;
        for (uint64_t i = 0; i < n; i++) {
            struct ggs_cell_change row = uses->change[i];
            if (!join_change(uses, row, g->together_ns)) uses->change[uses->n_changes++] = row;
        }
    }
    if (join_change(uses, one, g->together_ns)) return 0;
    return ggs_array_push(uses->change, uses->n_changes, uses->changes_capacity, one) ? 0 : ggs_fail_memory(error);
}

static int add_calls(struct gathering * g, const struct ggs_memory_change * change,
                     const struct ggs_sequences * sequences, struct ggs_error * error) {
    uint64_t               index = ggs_map_get(&sequences->numbers, ggs_map_key_number(change->context));
    struct ggs_cell_change one   = {.begin_ns = change->begin_ns,
                                    .end_ns   = change->begin_ns,
                                    .context  = change->context,
                                    .kind     = change->kind,
                                    .sequence = change->sequence < 0 ? -1 : change->sequence,
                                    .other    = change->other < 0 ? -1 : change->other,
                                    .calls    = 1};
    if (change->kind == GGS_MEMORY_SAMPLER) return 0; // changes no cells
    if (index != 0) one.cells = sequences->contexts[index - 1]->changed_cells;
    return g->again ? 0 : keep_change(g, one, error);
}

// The engine copies a stream cell by cell.
static int add_change(void * owner, const struct ggs_memory_change * change, const struct ggs_sequences * sequences,
                      struct ggs_error * error) {
    struct gathering * g = owner;
    struct memory *    m = memory_of(g, change->context);
    if (m == NULL) return ggs_fail_memory(error);
    int status = add_calls(g, change, sequences, error);
    if (status < 0) return status;
    if (change->kind == GGS_MEMORY_CLEAR) {
        forget(m);
        m->unseen = false;
    }
    uint64_t each = each_of(m), from = (uint64_t) change->sequence, to = (uint64_t) change->other;
    if (change->kind != GGS_MEMORY_COPY || m->streams < 2 || from >= m->streams || to >= m->streams || from == to)
        return 0;
    for (uint64_t i = 0; i < each; i++) {
        struct holder holder = m->holders[from * each + i];
        if (holder.life != 0 && !put_place(m, to * each + i, holder)) return ggs_fail_memory(error);
    }
    return 0;
}

// ---- usage ----

// Halves the list: of two neighbours of one context the fuller one stays.
static void thin(struct ggs_cell_uses * uses) {
    uint64_t kept = 0;
    for (uint64_t i = 0; i < uses->n; i++) {
        struct ggs_cell_use * use = &uses->use[i];
        if (i + 1 < uses->n && use[1].context == use->context) {
            uses->use[kept++] = use[1].cells > use->cells ? use[1] : *use;
            i++;
        } else {
            uses->use[kept++] = *use;
        }
    }
    uses->n = kept;
}

// Returns the end of the used cells; -1 if unknown.
static int64_t reach(struct memory * m, const struct ggs_sequence_context * state) {
    uint64_t sum = 0, each = each_of(m);
    for (uint64_t s = 0; s < m->streams; s++) {
        while (m->up_to[s] > 0 && !in_use(m, state, s * each + m->up_to[s] - 1)) m->up_to[s]--;
        sum += m->up_to[s];
    }
    return m->unseen || m->n == 0 ? -1 : (int64_t) sum;
}

// Of the cells covered by attention, counts those in use. With separate streams only those of the
// batch's sequences count.
static int64_t attended_in_use(const struct gathering * g, const struct ggs_request_step * step,
                               const struct ggs_cell_use * use) {
    uint64_t sum = 0;
    if (use->attended == 0) return -1;
    if (g->numbers.streams <= 1) return use->cells <= use->attended ? (int64_t) use->cells : -1;
    for (size_t i = 0; i < step->sequences->n_parts; i++) sum += step->sequences->parts[i].cells;
    return step->sequences->n_parts == g->numbers.attended_streams && sum <= use->attended ? (int64_t) sum : -1;
}

static void add_peak(struct ggs_cell_peak * peak, const struct memory * m, const struct ggs_cell_use * use) {
    peak->capacity = m->n, peak->streams = m->streams;
    if (use->cells > peak->cells) peak->cells = use->cells;
    if (use->up_to > peak->up_to) peak->up_to = use->up_to;
    if (use->holes > peak->holes) peak->holes = use->holes, peak->holes_ns = use->time_ns;
}

static int keep_use(struct gathering * g, struct ggs_cell_use use, struct ggs_error * error) {
    uint64_t before = g->uses->n;
    while (g->uses->n >= 2 * g->most) {
        thin(g->uses);
        if (g->uses->n == before) break; // contexts alternate: nothing can be merged
        before = g->uses->n;
    }
    return ggs_array_push(g->uses->use, g->uses->n, g->uses->capacity, use) ? 0 : ggs_fail_memory(error);
}

// ---- second pass: owners of cells at the shown times ----

static char mark_of(int64_t sequence) {
    static const char marks[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    return sequence >= 0 && sequence < 36 ? marks[sequence] : '*';
}

static void draw_strip(struct ggs_cell_use * use, const struct memory * m, const struct ggs_sequence_context * state,
                       uint64_t cells) {
    uint64_t each = (cells + GGS_CELL_STRIP - 1) / GGS_CELL_STRIP;
    for (uint64_t column = 0; each > 0 && column * each < cells && column < GGS_CELL_STRIP; column++) {
        char mark = '.';
        for (size_t i = 0; i < state->n_sequences; i++)
            for (uint64_t c = column * each; c < (column + 1) * each && c < m->n; c++)
                if (holds(m, &state->sequences[i], c)) {
                    mark = mark == '.' ? mark_of(state->sequences[i].number) : '+';
                    break;
                }
        use->strip[column]     = mark;
        use->strip[column + 1] = '\0';
    }
}

static bool fill_in(struct ggs_cell_use * use, const struct memory * m, const struct ggs_sequence_context * state,
                    const struct ggs_cell_peak * peak) {
    for (size_t i = 0; i < state->n_sequences; i++) {
        const struct ggs_sequence * q   = &state->sequences[i];
        struct ggs_sequence_use     row = {q->number, ggs_sequence_cells(q), -1, -1, 0};
        uint64_t                    n   = use->up_to < 0 ? 0 : m->n;
        if (q->n_cells == 0) continue;
        for (uint64_t c = 0; c < n; c++) {
            if (!holds(m, q, c)) continue;
            if (row.first_cell < 0) row.first_cell = (int64_t) c;
            row.pieces += row.last_cell < 0 || row.last_cell + 1 != (int64_t) c;
            row.last_cell = (int64_t) c;
        }
        if (!ggs_array_push(use->by_sequence, use->n_sequences, use->sequences_capacity, row)) return false;
    }
    if (use->up_to >= 0 && m->streams == 1) draw_strip(use, m, state, (uint64_t) peak->up_to);
    return true;
}

// ---- walking ----

static int add_step(void * owner, const struct ggs_request_step * step, struct ggs_error * error) {
    struct gathering *               g     = owner;
    const struct ggs_sequence_part * part  = step->part;
    uint64_t                         index = ggs_map_get(&step->sequences->numbers, ggs_map_key_number(step->context));
    struct memory *                  m     = memory_of(g, step->context);
    if (m == NULL) return ggs_fail_memory(error);
    if (step->batch == NULL) return 0;
    // Tokens that were present but not computed in the recording: a loaded state, or a pause.
    if (step->sequences->gaps || (part->begins && part->cached + part->tokens > part->cells)) m->unseen = true;
    if (index == 0 || part != step->sequences->parts || step->batch->encode) return 0; // once per batch
    const struct ggs_sequence_context * state  = step->sequences->contexts[index - 1];
    int                                 status = ggs_cell_numbers_find(&g->numbers, step->batch, error);
    if (status < 0) return status;
    if (!place_batch(g, m, state, step->batch)) return ggs_fail_memory(error);
    struct ggs_cell_use use = {.time_ns  = step->end_ns,
                               .token    = step->step,
                               .decode   = step->decode,
                               .context  = step->context,
                               .attended = g->numbers.attended};
    use.up_to               = reach(m, state);
    if (!ggs_sequences_cells(state, &use.cells)) return ggs_fail_memory(error);
    for (size_t i = 0; i < state->n_sequences; i++) use.sequences += state->sequences[i].n_cells > 0;
    use.holes           = use.up_to < (int64_t) use.cells ? -1 : use.up_to - (int64_t) use.cells;
    use.attended_in_use = attended_in_use(g, step, &use);
    index               = ggs_map_get(&g->memory_of, ggs_map_key_number(step->context));
    if (!g->again) {
        add_peak(&g->uses->peak[index - 1], m, &use);
        return keep_use(g, use, error);
    }
    for (uint64_t i = 0; i < g->uses->n; i++) {
        struct ggs_cell_use * kept = &g->uses->use[i];
        if (kept->context == use.context && kept->time_ns == use.time_ns && kept->decode == use.decode &&
            kept->token == use.token && kept->n_sequences == 0)
            return fill_in(kept, m, state, &g->uses->peak[index - 1]) ? 0 : ggs_fail_memory(error);
    }
    return 0;
}

static int by_context(const void * a, const void * b) {
    const struct ggs_cell_use *x = a, *y = b;
    if (x->context != y->context) return x->context < y->context ? -1 : 1;
    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

int ggs_cell_uses_compute(struct ggs_cell_uses * uses, struct ggs_trace * trace, uint64_t most,
                          struct ggs_error * error) {
    struct gathering           g       = {.uses = uses, .most = most};
    struct ggs_request_visitor visitor = {.step = add_step, .change = add_change, .owner = &g};
    *uses                              = (struct ggs_cell_uses){0};
    int status                         = ggs_cell_numbers_open(&g.numbers, trace, error);
    if (status == 0) status = ggs_requests_walk(trace, &visitor, error);
    if (status == 0 && uses->n > 1) qsort(uses->use, uses->n, sizeof(*uses->use), by_context);
    for (uint64_t before = uses->n + 1; status == 0 && uses->n > most && uses->n < before;)
        before = uses->n, thin(uses);
    release_memories(&g);
    g.again = true;
    if (status == 0) status = ggs_requests_walk(trace, &visitor, error);
    release_memories(&g);
    ggs_cell_numbers_close(&g.numbers);
    if (status < 0) ggs_cell_uses_release(uses);
    return status;
}
