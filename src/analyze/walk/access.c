#include "analyze/walk/access.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"

void ggs_access_release(struct ggs_access_list * list) {
    for (uint64_t i = 0; i < list->index_capacity; i++) free(list->index[i].values);
    free(list->index);
    free(list->ranges);
    ggs_cursor_close(list->cursor);
    *list = (struct ggs_access_list){0};
}

// ---- index data ----

static int64_t value_at(const char * data, uint64_t width, uint64_t i) {
    if (width == 8) {
        int64_t value;
        memcpy(&value, data + 8 * i, 8);
        return value;
    }
    int32_t value;
    memcpy(&value, data + 4 * i, 4);
    return value;
}

static struct ggs_access_index * new_index(struct ggs_access_list * list) {
    if (list->n_index == list->index_capacity) {
        uint64_t                  capacity = list->index_capacity == 0 ? 64 : 2 * list->index_capacity;
        struct ggs_access_index * index    = realloc(list->index, capacity * sizeof(*index));
        if (index == NULL) return NULL;
        memset(index + list->index_capacity, 0, (capacity - list->index_capacity) * sizeof(*index));
        list->index          = index;
        list->index_capacity = capacity;
    }
    return &list->index[list->n_index];
}

static int keep_index(struct ggs_access_list * list, const struct ggs_index * row, uint64_t tensor,
                      struct ggs_error * error) {
    if ((row->width != 4 && row->width != 8) || (row->flags & GGS_INDEX_CUT) != 0) return 0;
    struct ggs_access_index * index = new_index(list);
    if (index == NULL) return ggs_fail_memory(error);
    uint64_t  n      = row->length / row->width;
    int64_t * values = realloc(index->values, (n + 1) * sizeof(*values));
    if (values == NULL) return ggs_fail_memory(error);
    index->values = values;
    for (uint64_t i = 0; i < n; i++) values[i] = value_at(row->data, row->width, i);
    index->tensor = tensor;
    index->width  = row->width;
    index->n      = n;
    memcpy(index->ne, row->ne, sizeof(index->ne));
    list->n_index++;
    return 0;
}

static const struct ggs_edge * edge_of(const struct ggs_graph * graph, uint64_t node, uint64_t slot) {
    if (node >= graph->n_nodes) return NULL;
    for (uint64_t e = graph->first_edge[node]; e < graph->first_edge[node + 1]; e++) {
        if (graph->edges[e].slot == slot) return &graph->edges[e];
    }
    return NULL;
}

int ggs_access_begin_run(struct ggs_access_list * list, struct ggs_trace * trace, const struct ggs_run * run,
                         const struct ggs_graph * graph, struct ggs_error * error) {
    int status    = 0;
    list->n_index = 0;
    if (list->cursor == NULL) status = ggs_cursor_open(&list->cursor, trace->reader, GGS_TABLE_INDEX, error);
    if (status < 0) return status;
    if (list->run == 0 || run->run <= list->run) { // the first one, or back: start from here
        ggs_cursor_keys(list->cursor, (int64_t) run->run, INT64_MAX);
        list->waiting = false;
    }
    list->run = run->run;
    for (;;) {
        if (!list->waiting) {
            status = ggs_cursor_next(list->cursor, &list->ahead, error);
            if (status <= 0) return status;
        }
        list->waiting = list->ahead.run > run->run;
        if (list->waiting) return 0;
        const struct ggs_edge * edge =
            list->ahead.run < run->run ? NULL : edge_of(graph, list->ahead.node, list->ahead.slot);
        if (edge != NULL) status = keep_index(list, &list->ahead, edge->tensor, error);
        if (status < 0) return status;
    }
}

const struct ggs_access_index * ggs_access_values(const struct ggs_access_list * list, uint64_t tensor) {
    for (uint64_t i = 0; i < list->n_index; i++) {
        if (list->index[i].tensor == tensor) return &list->index[i];
    }
    return NULL;
}

// ---- ranges ----

static bool add_range(struct ggs_access_list * list, struct ggs_access * access, uint64_t offset, uint64_t length) {
    if (length == 0) return true;
    if (access->n_ranges > 0) {
        struct ggs_range * last = &list->ranges[list->n_ranges - 1];
        if (last->offset + last->length == offset) { // continues the one before
            last->length += length;
            access->bytes += length;
            return true;
        }
    }
    if (list->n_ranges == list->capacity) {
        uint64_t           capacity = list->capacity == 0 ? 256 : 2 * list->capacity;
        struct ggs_range * ranges   = realloc(list->ranges, capacity * sizeof(*ranges));
        if (ranges == NULL) return false;
        list->ranges   = ranges;
        list->capacity = capacity;
    }
    list->ranges[list->n_ranges++] = (struct ggs_range){offset, length};
    access->n_ranges++;
    access->bytes += length;
    return true;
}

struct dimension {
    uint64_t n, stride;
};

// The dimensions of a tensor beyond its rows, innermost stride first, neighbours that continue each other joined. Returns how
// many are left, and in *block the contiguous bytes at the bottom.
static unsigned fold_dimensions(const struct ggs_trace * trace, const struct ggs_tensor * t, struct dimension out[4],
                                uint64_t * block) {
    struct dimension        d[4];
    unsigned                n    = 0;
    const struct ggs_type * type = t->type < trace->n_types ? &trace->types[t->type] : NULL;
    uint64_t                cell = type == NULL ? 0 : type->block_bytes;
    uint64_t cells = type == NULL || type->block_elements == 0 ? 0 : (uint64_t) t->ne[0] / type->block_elements;
    *block         = cell;
    if (cells > 1) d[n++] = (struct dimension){cells, t->nb[0]};
    for (int i = 1; i < 4; i++) {
        if (t->ne[i] > 1) d[n++] = (struct dimension){(uint64_t) t->ne[i], t->nb[i]};
    }
    for (unsigned i = 1; i < n; i++) { // sorted by stride: a permuted tensor covers the same bytes
        for (unsigned k = i; k > 0 && d[k].stride < d[k - 1].stride; k--) {
            struct dimension swap = d[k];
            d[k] = d[k - 1], d[k - 1] = swap;
        }
    }
    unsigned left = 0;
    for (unsigned i = 0; i < n; i++) {
        if (d[i].stride == 0) continue; // repeated, not laid out
        if (left == 0 && d[i].stride == *block) {
            *block *= d[i].n;
        } else if (left > 0 && out[left - 1].stride * out[left - 1].n == d[i].stride) {
            out[left - 1].n *= d[i].n;
        } else {
            out[left++] = d[i];
        }
    }
    return left;
}

enum { MOST_RANGES = 1 << 20 }; // of one operand: beyond that its extent is given as one range

static bool add_blocks(struct ggs_access_list * list, struct ggs_access * access, const struct dimension * d,
                       unsigned n, uint64_t offset, uint64_t block) {
    if (n == 0) return add_range(list, access, offset, block);
    for (uint64_t i = 0; i < d[n - 1].n; i++) {
        if (!add_blocks(list, access, d, n - 1, offset + i * d[n - 1].stride, block)) return false;
    }
    return true;
}

static bool has_elements(const struct ggs_tensor * t) {
    return t->ne[0] > 0 && t->ne[1] > 0 && t->ne[2] > 0 && t->ne[3] > 0;
}

static bool add_whole(struct ggs_access_list * list, const struct ggs_trace * trace, struct ggs_access * access) {
    if (!has_elements(access->tensor)) return true;
    struct dimension d[4];
    uint64_t         block, blocks = 1, extent;
    unsigned         n = fold_dimensions(trace, access->tensor, d, &block);
    extent             = block;
    for (unsigned i = 0; i < n; i++) {
        if (!ggs_mul(blocks, d[i].n, &blocks)) blocks = UINT64_MAX;
        uint64_t reach;
        if (ggs_mul(d[i].n - 1, d[i].stride, &reach)) extent += reach;
    }
    if (blocks > MOST_RANGES) return add_range(list, access, 0, extent);
    return add_blocks(list, access, d, n, 0, block);
}

static int by_value(const void * a, const void * b) {
    int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;
    return x < y ? -1 : x > y;
}

// The pieces [id * stride, + length) for each distinct id below `n`.
static bool add_pieces(struct ggs_access_list * list, struct ggs_access * access, const int64_t * ids, uint64_t n_ids,
                       uint64_t stride, uint64_t length, uint64_t n) {
    access->exact = true;
    if (n_ids == 1)
        return ids[0] < 0 || (uint64_t) ids[0] >= n || add_range(list, access, (uint64_t) ids[0] * stride, length);
    int64_t * sorted = malloc((n_ids + 1) * sizeof(*sorted));
    if (sorted == NULL) return false;
    memcpy(sorted, ids, n_ids * sizeof(*sorted));
    qsort(sorted, n_ids, sizeof(*sorted), by_value);
    bool ok = true;
    for (uint64_t i = 0; ok && i < n_ids; i++) {
        if (sorted[i] < 0 || (uint64_t) sorted[i] >= n || (i > 0 && sorted[i] == sorted[i - 1])) continue;
        ok = add_range(list, access, (uint64_t) sorted[i] * stride, length);
    }
    free(sorted);
    return ok;
}

// Rows by their ids: for a tensor with more than one matrix the ids of each matrix stand in their own part of the index.
static bool add_rows(struct ggs_access_list * list, const struct ggs_trace * trace, struct ggs_access * access,
                     const struct ggs_access_index * index) {
    const struct ggs_tensor * t   = access->tensor;
    uint64_t                  row = ggs_trace_row_bytes(trace, t);
    if (index == NULL || row == 0 || t->ne[2] > 1 || t->ne[3] > 1) return add_whole(list, trace, access);
    return add_pieces(list, access, index->values, index->n, t->nb[1], row, (uint64_t) t->ne[1]);
}

static bool add_matrices(struct ggs_access_list * list, const struct ggs_trace * trace, struct ggs_access * access,
                         const struct ggs_access_index * index) {
    const struct ggs_tensor * t   = access->tensor;
    uint64_t                  row = ggs_trace_row_bytes(trace, t);
    if (index == NULL || row == 0 || t->nb[1] != row) return add_whole(list, trace, access);
    return add_pieces(list, access, index->values, index->n, t->nb[2], row * (uint64_t) t->ne[1], (uint64_t) t->ne[2]);
}

// ---- ops ----

static bool add_source(struct ggs_access_list * list, const struct ggs_trace * trace, struct ggs_access * access,
                       enum ggs_op_kind kind, const struct ggs_access_index * rows,
                       const struct ggs_access_index * ids) {
    if (kind == GGS_KIND_GET_ROWS && access->slot == 0) return add_rows(list, trace, access, rows);
    if (kind == GGS_KIND_MUL_MAT_ID && access->slot == 0) return add_matrices(list, trace, access, ids);
    if (kind == GGS_KIND_ADD_ID && access->slot == 1) return add_rows(list, trace, access, ids);
    return add_whole(list, trace, access);
}

// Which sources are read? A copy's second source, and the target of SET_ROWS, are only written.
static bool is_read(enum ggs_op_kind kind, uint64_t slot) {
    if (kind == GGS_KIND_CPY) return slot == 0;
    if (kind == GGS_KIND_SET_ROWS) return slot < 2;
    return true;
}

// The accesses of one node. `inside`: the result that an earlier node of the same op hands on, 0 for none.
static bool add_node(struct ggs_access_list * list, const struct ggs_trace * trace, const struct ggs_graph * graph,
                     uint64_t node, uint64_t inside, bool writes) {
    enum ggs_op_kind                kind   = ggs_trace_op_kind(trace, graph->nodes[node].op);
    const struct ggs_edge *         second = edge_of(graph, node, 1), *third = edge_of(graph, node, 2);
    const struct ggs_access_index * rows = second == NULL ? NULL : ggs_access_values(list, second->tensor);
    const struct ggs_access_index * ids  = third == NULL ? NULL : ggs_access_values(list, third->tensor);
    bool                            ok   = true;
    for (uint64_t e = graph->first_edge[node]; ok && e < graph->first_edge[node + 1] && list->n + 1 < GGS_ACCESS_MOST;
         e++) {
        const struct ggs_tensor * tensor = ggs_trace_tensor(trace, graph->edges[e].tensor);
        if (tensor == NULL || tensor->tensor == inside || !is_read(kind, graph->edges[e].slot)) continue;
        struct ggs_access * access = &list->access[list->n++];
        *access                    = (struct ggs_access){.tensor = tensor, .slot = (uint32_t) graph->edges[e].slot};
        ok                         = add_source(list, trace, access, kind, rows, ids);
    }
    const struct ggs_tensor * result = ggs_trace_tensor(trace, graph->nodes[node].tensor);
    if (ok && writes && result != NULL && list->n < GGS_ACCESS_MOST) {
        struct ggs_access * access = &list->access[list->n++];
        *access                    = (struct ggs_access){.tensor = result, .slot = GGS_ACCESS_RESULT, .write = true};
        ok = kind == GGS_KIND_SET_ROWS ? add_rows(list, trace, access, rows) : add_whole(list, trace, access);
    }
    return ok;
}

int ggs_access_of(struct ggs_access_list * list, const struct ggs_trace * trace, const struct ggs_graph * graph,
                  uint64_t node, uint64_t absorbed, struct ggs_error * error) {
    list->n = 0, list->n_ranges = 0;
    uint64_t inside = 0;
    for (uint64_t i = node; i < graph->n_nodes; i++) {
        if (ggs_trace_op_kind(trace, graph->nodes[i].op) == GGS_KIND_EMPTY) {
            if (i == node) return 0;
            continue;
        }
        if (!add_node(list, trace, graph, i, inside, absorbed == 0)) return ggs_fail_memory(error);
        inside = graph->nodes[i].tensor;
        if (absorbed-- == 0) break;
    }
    // The array may have moved while it grew: ranges are handed out now.
    struct ggs_range * next = list->ranges;
    for (unsigned i = 0; i < list->n; i++) {
        list->access[i].ranges = next;
        if (list->access[i].n_ranges > 0) next += list->access[i].n_ranges;
    }
    return 0;
}
