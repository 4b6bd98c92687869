#include "analyze/walk/access.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
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

// Returns the next index entry; memory of its values is reused between runs.
static struct ggs_access_index * new_index(struct ggs_access_list * list) {
    uint64_t before = list->index_capacity;
    if (!ggs_array_reserve(list->index, list->index_capacity, list->n_index + 1)) return NULL;
    if (list->index_capacity > before)
        memset(list->index + before, 0, (list->index_capacity - before) * sizeof(*list->index));
    return &list->index[list->n_index];
}

// True if it has as many values as its shape says.
static bool is_whole(const struct ggs_index * row) {
    uint64_t n = 1;
    for (int i = 0; i < 4; i++) {
        if (!ggs_mul(n, row->ne[i], &n)) return false;
    }
    return (row->width == 4 || row->width == 8) && row->length / row->width == n && (row->flags & GGS_INDEX_CUT) == 0;
}

static int keep_index(struct ggs_access_list * list, const struct ggs_index * row, uint64_t tensor,
                      struct ggs_error * error) {
    if (!is_whole(row)) return 0;
    struct ggs_access_index * index = new_index(list);
    uint64_t                  n     = row->length / row->width;
    if (index == NULL || !ggs_array_reserve(index->values, index->capacity, n + 1)) return ggs_fail_memory(error);
    for (uint64_t i = 0; i < n; i++) index->values[i] = value_at(row->data, row->width, i);
    index->tensor = tensor;
    index->width  = row->width;
    index->n      = n;
    memcpy(index->ne, row->ne, sizeof(index->ne));
    list->n_index++;
    return 0;
}

int ggs_access_begin_run(struct ggs_access_list * list, struct ggs_trace * trace, const struct ggs_run * run,
                         const struct ggs_graph * graph, struct ggs_error * error) {
    int status    = 0;
    list->n_index = 0;
    if (list->cursor == NULL) status = ggs_cursor_open(&list->cursor, trace->reader, GGS_TABLE_INDEX, error);
    if (status < 0) return status;
    if (list->run == 0 || run->run <= list->run) { // the first run, or a step back: start here
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
        uint64_t tensor = list->ahead.run < run->run ? 0 : ggs_trace_source(graph, list->ahead.node, list->ahead.slot);
        if (tensor != 0) status = keep_index(list, &list->ahead, tensor, error);
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
        if (last->offset + last->length == offset) { // continues the previous range
            last->length += length;
            access->bytes += length;
            return true;
        }
    }
    if (!ggs_array_push(list->ranges, list->n_ranges, list->capacity, (struct ggs_range){offset, length})) return false;
    access->n_ranges++;
    access->bytes += length;
    return true;
}

struct dimension {
    uint64_t n, stride;
};

// Lists the dimensions of a tensor beyond its rows, innermost stride first, with contiguous ones
// joined. Returns the number left, and in *block the contiguous bytes at the bottom.
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
        if (d[i].stride == 0) continue; // broadcast, takes no space
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

enum { MOST_RANGES = 1 << 20 }; // of one operand: above it, its extent is one range

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
    bool ok = blocks > MOST_RANGES ? add_range(list, access, 0, extent) : add_blocks(list, access, d, n, 0, block);
    if (access->tensor->packed_bytes > 0) access->bytes = access->tensor->packed_bytes;
    return ok;
}

static int by_value(const void * a, const void * b) {
    int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;
    return x < y ? -1 : x > y;
}

// Adds the pieces [id * stride, + length) for each distinct id below `n`.
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

// The index of an operand's rows or matrices: a tensor, and its values if recorded.
struct index {
    const struct ggs_tensor *       tensor;
    const struct ggs_access_index * values;
};

static struct index find_index(const struct ggs_access_list * list, const struct ggs_trace * trace,
                               const struct ggs_graph * graph, uint64_t node, uint64_t slot) {
    uint64_t tensor = ggs_trace_source(graph, node, slot);
    return (struct index){ggs_trace_tensor(trace, tensor), tensor == 0 ? NULL : ggs_access_values(list, tensor)};
}

// Without values the touched pieces are unknown, but at most one per element of the index.
static bool add_some(struct ggs_access_list * list, const struct ggs_trace * trace, struct ggs_access * access,
                     const struct ggs_tensor * index, uint64_t length) {
    uint64_t most = length;
    if (!add_whole(list, trace, access)) return false;
    access->some = true;
    for (int i = 0; index != NULL && i < 4; i++) {
        if (index->ne[i] < 0 || !ggs_mul(most, (uint64_t) index->ne[i], &most)) most = UINT64_MAX;
    }
    if (index != NULL && length > 0 && most < access->bytes) access->bytes = most;
    return true;
}

// Adds rows by id: for a tensor with several matrices, each matrix has its own part of the index.
static bool add_rows(struct ggs_access_list * list, const struct ggs_trace * trace, struct ggs_access * access,
                     struct index index) {
    const struct ggs_tensor * t   = access->tensor;
    uint64_t                  row = ggs_trace_row_bytes(trace, t);
    if (index.values == NULL || row == 0 || t->ne[2] > 1 || t->ne[3] > 1)
        return add_some(list, trace, access, index.tensor, row);
    return add_pieces(list, access, index.values->values, index.values->n, t->nb[1], row, (uint64_t) t->ne[1]);
}

static bool add_matrices(struct ggs_access_list * list, const struct ggs_trace * trace, struct ggs_access * access,
                         struct index index) {
    const struct ggs_tensor * t   = access->tensor;
    uint64_t                  row = ggs_trace_row_bytes(trace, t), matrix = row * (uint64_t) t->ne[1];
    if (index.values == NULL || row == 0 || t->nb[1] != row) return add_some(list, trace, access, index.tensor, matrix);
    return add_pieces(list, access, index.values->values, index.values->n, t->nb[2], matrix, (uint64_t) t->ne[2]);
}

// ---- ops ----

static bool add_source(struct ggs_access_list * list, const struct ggs_trace * trace, struct ggs_access * access,
                       enum ggs_op_kind kind, struct index rows, struct index ids) {
    if (kind == GGS_KIND_GET_ROWS && access->slot == 0) return add_rows(list, trace, access, rows);
    if (kind == GGS_KIND_MUL_MAT_ID && access->slot == 0) return add_matrices(list, trace, access, ids);
    if (kind == GGS_KIND_ADD_ID && access->slot == 1) return add_rows(list, trace, access, ids);
    return add_whole(list, trace, access);
}

// True if the source is read. A copy's second source and the target of SET_ROWS are only written.
static bool is_read(enum ggs_op_kind kind, uint64_t slot) {
    if (kind == GGS_KIND_CPY) return slot == 0;
    if (kind == GGS_KIND_IM2COL) return slot != 0;
    if (kind == GGS_KIND_SET_ROWS) return slot < 2;
    return true;
}

// True for sources that are also written. The result of an in-place op is a view of its source and
// counts as the result.
static bool is_written(enum ggs_op_kind kind, uint64_t slot) {
    return kind == GGS_KIND_ADAMW && (slot == 2 || slot == 3);
}

static struct ggs_access * new_access(struct ggs_access_list * list, const struct ggs_tensor * tensor, uint64_t slot,
                                      bool write) {
    struct ggs_access * access = &list->access[list->n++];
    *access                    = (struct ggs_access){.tensor = tensor, .slot = (uint32_t) slot, .write = write};
    return access;
}

// Adds the accesses of one node. `inside`: the result passed on by an earlier node of the same op,
// 0 for none.
static bool add_node(struct ggs_access_list * list, const struct ggs_trace * trace, const struct ggs_graph * graph,
                     uint64_t node, uint64_t inside, bool writes) {
    enum ggs_op_kind kind = ggs_trace_op_kind(trace, graph->nodes[node].op);
    struct index     rows = find_index(list, trace, graph, node, 1), ids = find_index(list, trace, graph, node, 2);
    bool             ok = true;
    for (uint64_t e = graph->first_edge[node]; ok && e < graph->first_edge[node + 1] && list->n + 1 < GGS_ACCESS_MOST;
         e++) {
        const struct ggs_tensor * tensor = ggs_trace_tensor(trace, graph->edges[e].tensor);
        if (tensor == NULL || tensor->tensor == inside || !is_read(kind, graph->edges[e].slot)) continue;
        uint64_t slot = graph->edges[e].slot;
        ok            = add_source(list, trace, new_access(list, tensor, slot, false), kind, rows, ids);
        if (ok && is_written(kind, slot) && list->n + 1 < GGS_ACCESS_MOST)
            ok = add_whole(list, trace, new_access(list, tensor, slot, true));
    }
    const struct ggs_tensor * result = ggs_trace_tensor(trace, graph->nodes[node].tensor);
    if (ok && writes && result != NULL && list->n < GGS_ACCESS_MOST) {
        struct ggs_access * access = new_access(list, result, GGS_ACCESS_RESULT, true);
        ok = kind == GGS_KIND_SET_ROWS ? add_rows(list, trace, access, rows) : add_whole(list, trace, access);
    }
    return ok;
}

// Sets the range pointers once all are present, because the array may move while it grows.
static void hand_out(struct ggs_access_list * list) {
    struct ggs_range * next = list->ranges;
    for (unsigned i = 0; i < list->n; i++) {
        list->access[i].ranges = next;
        if (list->access[i].n_ranges > 0) next += list->access[i].n_ranges;
    }
}

int ggs_access_of(struct ggs_access_list * list, const struct ggs_trace * trace, const struct ggs_graph * graph,
                  uint64_t node, uint64_t absorbed, struct ggs_error * error) {
    uint64_t inside = 0;
    list->n = 0, list->n_ranges = 0;
    if (ggs_trace_op_kind(trace, graph->nodes[node].op) == GGS_KIND_EMPTY) return 0;
    for (; node < graph->n_nodes; node = ggs_trace_next_node(trace, graph, node)) {
        if (!add_node(list, trace, graph, node, inside, absorbed == 0)) return ggs_fail_memory(error);
        inside = graph->nodes[node].tensor;
        if (absorbed-- == 0) break;
    }
    hand_out(list);
    return 0;
}

int ggs_access_of_part(struct ggs_access_list * list, const struct ggs_trace * trace, const struct ggs_graph * graph,
                       uint64_t node, uint64_t absorbed, uint64_t part, struct ggs_error * error) {
    uint64_t inside = 0;
    list->n = 0, list->n_ranges = 0;
    for (uint64_t i = 0; i < part && node < graph->n_nodes; i++) {
        inside = graph->nodes[node].tensor;
        node   = ggs_trace_next_node(trace, graph, node);
    }
    if (node == graph->n_nodes || ggs_trace_op_kind(trace, graph->nodes[node].op) == GGS_KIND_EMPTY) return 0;
    if (!add_node(list, trace, graph, node, inside, part == absorbed)) return ggs_fail_memory(error);
    hand_out(list);
    return 0;
}

struct ggs_access_bytes ggs_access_sum(const struct ggs_access_list * list) {
    struct ggs_access_bytes sum = {0};
    for (unsigned i = 0; i < list->n; i++) {
        const struct ggs_access * access = &list->access[i];
        *(access->write ? &sum.written : &sum.read) += access->bytes;
        if (access->tensor->source == GGS_SOURCE_DISK) sum.disk += access->bytes;
        if (access->tensor->source == GGS_SOURCE_VRAM) sum.vram += access->bytes;
    }
    return sum;
}
