#include "capture/values/weights.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "capture/memory/mapped-files.h"
#include "capture/values/dump.h"
#include "capture/values/read.h"
#include "trace/values/row-summary.h"

enum { CHUNK = 16 }; // pieces: some 50 us of work

// A chunk that was read before the one ahead of it.
struct chunk {
    struct chunk *        next;
    uint32_t              number, n;
    struct ggs_values_sum pieces[CHUNK];
};

struct row {
    struct ggs_values_sum sum;
    uint32_t              joined; // chunks
    struct chunk *        early;
};

struct ggs_values_weight {
    const struct ggs_values_leaf * leaf;
    const struct abi_tensor *      tensor;
    struct ggs_values_leaf_rows *  rows;
    struct ggs_values_node         node;
    uint64_t                       first;  // its first chunk among those of all weights
    uint32_t                       chunks; // of a row
    bool                           failed; // out of memory
    pthread_mutex_t                lock;   // of `row` and `failed`
    struct row                     row[];
};

bool ggs_values_weight_divide(const struct abi_tensor * t, struct ggs_values_node * out) {
    bool     experts  = t->ne[2] > 1 && t->ne[3] == 1;
    uint64_t elements = (uint64_t) (t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3]);
    *out              = (struct ggs_values_node){.kind   = GGS_VALUES_ROWS,
                                                 .dim    = (int8_t) (experts ? 2 : -1),
                                                 .tokens = experts,
                                                 .rows   = experts ? (uint32_t) t->ne[2] : 1};
    out->elements     = elements / out->rows;
    return out->elements > 0 && out->elements <= UINT32_MAX && ggs_values_can_read(t->type);
}

static uint32_t token_of(const struct ggs_values_node * node, uint32_t row) {
    return node->tokens ? row : GGS_VALUE_NO_TOKEN;
}

static uint32_t pieces_of(const struct ggs_values_node * node) {
    return (uint32_t) ((node->elements + GGS_VALUES_PIECE - 1) / GGS_VALUES_PIECE);
}

// True if elements follow each other without gaps.
static bool is_dense(const struct abi_tensor * t) {
    for (int d = 1; d < ABI_DIMS; d++)
        if (t->nb[d] !=
            (d == 1 ? ggs_values_bytes_of(t->type, (uint64_t) t->ne[0]) : t->nb[d - 1] * (uint64_t) t->ne[d - 1]))
            return false;
    return true;
}

static struct ggs_values_leaf_rows * make_rows(const struct ggs_values_node * node) {
    struct ggs_values_leaf_rows * rows = malloc(sizeof(*rows) + node->rows * sizeof(rows->rows[0]));
    if (rows != NULL) *rows = (struct ggs_values_leaf_rows){.n_rows = node->rows, .elements = node->elements};
    return rows;
}

struct ggs_values_leaf_rows * ggs_values_weight_sum(const struct abi_tensor * t) {
    struct ggs_values_node node;
    if (t->data == NULL || !ggs_values_weight_divide(t, &node)) return NULL;
    struct ggs_values_leaf_rows * rows = make_rows(&node);
    for (uint32_t row = 0; rows != NULL && row < node.rows; row++)
        ggs_values_read_row(&rows->rows[row], t, &node, row, token_of(&node, row));
    return rows;
}

struct ggs_values_leaf_rows * ggs_values_weight_in_file(const struct abi_tensor * t, const void * data) {
    struct ggs_values_node       node;
    struct ggs_mapped_file       file;
    struct ggs_spool_weight_file place = {0};
    char                         path[4096];
    if (data == NULL || !ggs_values_weight_divide(t, &node) || !ggs_values_can_defer(t->type) || !is_dense(t) ||
        !ggs_mapped_files_find(data, ggs_values_bytes(t), &file, &place.offset, path, sizeof(path)))
        return NULL;
    place.device = file.device, place.inode = file.inode, place.size = file.size, place.mtime_ns = file.mtime_ns;
    size_t                        length = strlen(path) + 1;
    struct ggs_values_leaf_rows * rows   = malloc(sizeof(*rows) + sizeof(place) + length);
    if (rows == NULL) return NULL;
    *rows = (struct ggs_values_leaf_rows){.n_rows   = node.rows,
                                          .in_file  = (uint32_t) (sizeof(place) + length),
                                          .type     = t->type,
                                          .elements = node.elements};
    memcpy(rows->rows, &place, sizeof(place));
    memcpy((char *) rows->rows + sizeof(place), path, length);
    return rows;
}

// ---- read together ----

// Returns false if it cannot be read or memory is exhausted.
static bool prepare(struct ggs_values_weight ** made, const struct abi_tensor * t) {
    struct ggs_values_node node;
    if (t->data == NULL || !ggs_values_weight_divide(t, &node)) return false;
    struct ggs_values_weight * weight = calloc(1, sizeof(*weight) + node.rows * sizeof(weight->row[0]));
    if (weight == NULL) return false;
    weight->node   = node;
    weight->chunks = (pieces_of(&node) + CHUNK - 1) / CHUNK;
    weight->rows   = make_rows(&node);
    *made          = weight;
    return true;
}

bool ggs_values_weights_leave(struct ggs_values_weights * weights, const struct ggs_values_leaf * leaf,
                              const struct abi_tensor * t) {
    struct ggs_values_weight * weight = NULL;
    if (!prepare(&weight, t)) return false;
    if (!ggs_array_push(weights->list, weights->n, weights->capacity, weight)) {
        free(weight->rows);
        free(weight);
        return false;
    }
    weight->failed = weight->rows == NULL;
    weight->leaf   = leaf;
    weight->tensor = t;
    weight->first  = weights->chunks;
    weights->chunks += (uint64_t) weight->node.rows * weight->chunks;
    pthread_mutex_init(&weight->lock, NULL);
    return true;
}

static struct ggs_values_weight * weight_of(const struct ggs_values_weights * weights, uint64_t chunk) {
    uint32_t low = 0, high = weights->n; // the last one whose first chunk is not beyond it
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (weights->list[middle]->first <= chunk)
            low = middle;
        else
            high = middle;
    }
    return weights->list[low];
}

static void join_chunk(struct ggs_values_weight * weight, uint32_t number, const struct chunk * chunk) {
    struct row * row = &weight->row[number];
    for (uint32_t i = 0; i < chunk->n; i++) {
        if (chunk->number == 0 && i == 0)
            row->sum = chunk->pieces[0];
        else
            ggs_values_join(&row->sum, &chunk->pieces[i]);
    }
    if (++row->joined == weight->chunks && weight->rows != NULL)
        ggs_values_finish(&row->sum, token_of(&weight->node, number), &weight->rows->rows[number]);
}

static bool keep_early(struct row * row, const struct chunk * chunk) {
    struct chunk * copy = malloc(sizeof(*copy));
    if (copy == NULL) return false;
    *copy      = *chunk;
    copy->next = row->early;
    row->early = copy;
    return true;
}

// Takes the chunk that comes next from the early ones; NULL if it is not there.
static struct chunk * take_early(struct row * row) {
    struct chunk ** place = &row->early;
    while (*place != NULL && (*place)->number != row->joined) place = &(*place)->next;
    struct chunk * found = *place;
    if (found != NULL) *place = found->next;
    return found;
}

static void add_chunk(struct ggs_values_weight * weight, uint32_t number, const struct chunk * chunk) {
    struct row * row = &weight->row[number];
    pthread_mutex_lock(&weight->lock);
    if (chunk->number != row->joined) {
        weight->failed |= !keep_early(row, chunk);
    } else {
        join_chunk(weight, number, chunk);
        for (struct chunk * early; (early = take_early(row)) != NULL; free(early)) join_chunk(weight, number, early);
    }
    pthread_mutex_unlock(&weight->lock);
}

static void read_chunk(struct ggs_values_weight * weight, uint64_t which) {
    uint32_t     row   = (uint32_t) (which / weight->chunks);
    struct chunk chunk = {.number = (uint32_t) (which % weight->chunks)};
    uint32_t     first = chunk.number * CHUNK, left = pieces_of(&weight->node) - first;
    chunk.n = left < CHUNK ? left : CHUNK;
    for (uint32_t i = 0; i < chunk.n; i++)
        ggs_values_read(&chunk.pieces[i], weight->tensor, &weight->node, row,
                        (uint64_t) (first + i) * GGS_VALUES_PIECE);
    add_chunk(weight, row, &chunk);
}

void ggs_values_weights_read(struct ggs_values_weights * weights) {
    uint64_t i;
    while ((i = __atomic_fetch_add(&weights->next, 1, __ATOMIC_RELAXED)) < weights->chunks) {
        struct ggs_values_weight * weight = weight_of(weights, i);
        read_chunk(weight, i - weight->first);
    }
}

static void release(struct ggs_values_weight * weight) {
    for (uint32_t i = 0; i < weight->node.rows; i++)
        for (struct chunk * next; (next = weight->row[i].early) != NULL; free(next)) weight->row[i].early = next->next;
    pthread_mutex_destroy(&weight->lock);
    free(weight);
}

void ggs_values_weights_end(struct ggs_values_weights * weights, void * context,
                            void (*write)(void * context, const struct ggs_values_leaf * leaf,
                                          struct ggs_values_leaf_rows * rows)) {
    for (uint32_t i = 0; i < weights->n; i++) {
        struct ggs_values_weight * weight = weights->list[i];
        if (weight->failed) {
            free(weight->rows);
            weight->rows = NULL;
        }
        write(context, weight->leaf, weight->rows);
        release(weight);
    }
    weights->n      = 0;
    weights->chunks = weights->next = 0;
}
