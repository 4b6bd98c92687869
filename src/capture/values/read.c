#include "capture/values/read.h"

#include <pthread.h>
#include <string.h>

#include "trace/values/block-floats.h"
#include "trace/values/half-floats.h"

// Numbers of the GGUF format.
enum { F32 = 0, F16 = 1, I8 = 24, I16 = 25, I32 = 26, I64 = 27, BF16 = 30, MOST_TYPES = 256 };

// The beginning of the engine's struct.
struct type_traits {
    const char * name;
    int64_t      block_size, interleaved;
    size_t       type_size;
    _Bool        quantized;
    void (*to_float)(const void * from, float * to, int64_t n);
};

struct type {
    uint32_t block, bytes; // elements and bytes of a block; 0 if it cannot be read
    void (*to_float)(const void * from, float * to, int64_t n);
};
static struct type    types[MOST_TYPES];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const struct type_traits * traits_of(int type) {
    static const struct type_traits * (*get)(int);
    if (get == NULL) get = (const struct type_traits * (*) (int) ) ggs_abi_find("ggml_get_type_traits");
    return get == NULL ? NULL : get(type);
}

// True if F16's entry has the expected contents, so the layout is that of this release.
static bool is_as_expected(const struct type_traits * traits) {
    const uint16_t half = 0x3e00; // 1.5
    float          value;
    if (traits == NULL || traits->block_size != 1 || traits->type_size != 2 || traits->quantized ||
        traits->to_float == NULL || strcmp(traits->name, ggs_engine.type_name(F16)) != 0)
        return false;
    traits->to_float(&half, &value, 1);
    return value == 1.5f;
}

static bool traits_known; // the release's table of types has the expected layout

static void find_types(void) {
    types[F32] = (struct type){1, 4, NULL};
    types[F16] = (struct type){1, 2, ggs_values_from_f16}, types[BF16] = (struct type){1, 2, ggs_values_from_bf16};
    types[I8] = (struct type){1, 1, NULL}, types[I16] = (struct type){1, 2, NULL};
    types[I32] = (struct type){1, 4, NULL}, types[I64] = (struct type){1, 8, NULL};
    traits_known = is_as_expected(traits_of(F16));
}

// `number` must be the type of a tensor. For other numbers some releases abort, and others read
// beyond their table.
static void find_type(int number) {
    const struct type_traits * traits = traits_of(number);
    if (traits == NULL || traits->to_float == NULL || traits->block_size <= 0 ||
        traits->block_size > GGS_VALUES_PIECE || GGS_VALUES_PIECE % traits->block_size != 0)
        return;
    types[number] = (struct type){(uint32_t) traits->block_size, (uint32_t) traits->type_size, traits->to_float};
}

bool ggs_values_can_read(int type) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool            asked[MOST_TYPES];
    pthread_once(&once, find_types);
    if (type < 0 || type >= MOST_TYPES) return false;
    pthread_mutex_lock(&lock);
    if (!asked[type] && types[type].bytes == 0 && traits_known) find_type(type);
    asked[type] = true;
    pthread_mutex_unlock(&lock);
    return types[type].bytes != 0;
}

// Compares both conversions of blocks with any bits. Builds of an engine may round otherwise.
static bool converts_alike(const struct type * engine, const struct ggs_block_type * ours) {
    enum { BLOCKS = 16, MOST_BLOCK = 256, MOST_BYTES = 256 };
    uint8_t  blocks[BLOCKS * MOST_BYTES];
    float    a[BLOCKS * MOST_BLOCK], b[BLOCKS * MOST_BLOCK];
    int64_t  n    = BLOCKS * (int64_t) ours->block;
    uint64_t seed = 1;
    if (ours->block != engine->block || ours->bytes != engine->bytes || ours->block > MOST_BLOCK) return false;
    for (size_t i = 0; i < sizeof(blocks); i++) {
        seed      = seed * 6364136223846793005u + 1442695040888963407u;
        blocks[i] = (uint8_t) (seed >> 56);
    }
    engine->to_float(blocks, a, n);
    ours->to_float(blocks, b, n);
    return ggs_floats_alike(a, b, (size_t) n);
}

bool ggs_values_can_defer(int type) {
    enum { UNKNOWN, YES, NO };
    static uint8_t                known[MOST_TYPES];
    const struct ggs_block_type * ours = ggs_block_type(type);
    if (ours == NULL) return false;
    uint8_t answer = __atomic_load_n(&known[type], __ATOMIC_RELAXED);
    if (answer == UNKNOWN) {
        answer = types[type].block == 1 || converts_alike(&types[type], ours) ? YES : NO;
        __atomic_store_n(&known[type], answer, __ATOMIC_RELAXED);
    }
    return answer == YES;
}

size_t ggs_values_bytes_of(int type, uint64_t n) {
    return n / types[type].block * types[type].bytes;
}

static bool is_index(int type) {
    return type == I32 || type == I64;
}

bool ggs_values_can_set(const struct abi_tensor * node) {
    const struct abi_tensor *rows = node->src[0], *index = node->src[1];
    if (rows == NULL || index == NULL || !is_index(index->type)) return false;
    // One index per row, the same for all heads or streams: as engines write their caches.
    return rows->ne[0] == node->ne[0] && index->ne[0] == rows->ne[1] && rows->ne[2] == 1 && rows->ne[3] == 1 &&
           index->nb[0] == (index->type == I64 ? 8 : 4) && index->ne[1] == 1 && index->ne[2] == 1;
}

static void convert_integers(int type, const char * from, float * to, uint32_t n, size_t stride) {
    for (uint32_t i = 0; i < n; i++, from += stride) {
        int64_t wide;
        int32_t number;
        int16_t narrow;
        switch (type) {
            case I64:
                memcpy(&wide, from, sizeof(wide));
                to[i] = (float) wide;
                break;
            case I32:
                memcpy(&number, from, sizeof(number));
                to[i] = (float) number;
                break;
            case I16:
                memcpy(&narrow, from, sizeof(narrow));
                to[i] = narrow;
                break;
            default:
                to[i] = *(const int8_t *) from;
        }
    }
}

// Converts `n` elements from the beginning of a block, `stride` bytes apart.
static void convert(int type, const char * from, float * to, uint32_t n, size_t stride) {
    const struct type * known = &types[type];
    if (type >= I8 && type <= I64) {
        convert_integers(type, from, to, n, stride);
    } else if (known->block > 1 || stride == known->bytes) {
        if (type == F32)
            memcpy(to, from, (size_t) n * 4);
        else
            known->to_float(from, to, n);
    } else {
        for (uint32_t i = 0; i < n; i++, from += stride) {
            if (type == F32)
                memcpy(&to[i], from, 4);
            else
                known->to_float(from, &to[i], 1);
        }
    }
}

// Returns the address of element `at` of a row, and how many follow at the same distance from each
// other. Most outputs are one run of elements per token: no division for these.
static const char * locate(const struct abi_tensor * t, int dim, uint32_t row, uint64_t at, uint64_t * left) {
    uint64_t width = (uint64_t) t->ne[0], block = types[t->type].block;
    int      d = 1;
    for (; d < ABI_DIMS && d != dim && (t->ne[d] == 1 || t->nb[d] * block == width * t->nb[0]); d++)
        width *= (uint64_t) t->ne[d];
    uint64_t rest = at < width ? 0 : at / width, column = at - rest * width;
    size_t   offset = (block == 1 ? column : column / block) * t->nb[0];
    *left           = width - column;
    if (dim > 0 && row < t->ne[dim])
        offset += row * t->nb[dim];
    else if (dim > 0) // tokens of several sequences, each with a cache of its own
        offset += row % (uint64_t) t->ne[dim] * t->nb[dim] + row / (uint64_t) t->ne[dim] * t->nb[3];
    for (; rest > 0 && d < ABI_DIMS; d++) {
        if (d == dim) continue;
        offset += rest % (uint64_t) t->ne[d] * t->nb[d];
        rest /= (uint64_t) t->ne[d];
    }
    return (const char *) t->data + offset;
}

// The same for the output of a SET_ROWS: `row` has its share of the rows of source 0, in order.
static const char * locate_set(const struct abi_tensor * t, const struct ggs_values_node * node, uint32_t row,
                               uint64_t at, uint64_t * left) {
    const struct abi_tensor * index = t->src[1];
    uint64_t                  width = (uint64_t) t->ne[0], column = at % width;
    uint64_t                  which  = row * (node->elements / width) + at / width;
    int64_t                   target = 0;
    if (index->type == I64) {
        memcpy(&target, (const char *) index->data + 8 * which, 8);
    } else {
        int32_t narrow;
        memcpy(&narrow, (const char *) index->data + 4 * which, 4);
        target = narrow;
    }
    *left = width - column;
    if (target < 0 || target >= t->ne[1]) return NULL; // not a row of the tensor
    return (const char *) t->data + (size_t) target * t->nb[1] + column / types[t->type].block * t->nb[0];
}

// Returns elements [at, at + n) of a row: where they lie, or converted into `copy`.
static const float * gather(const struct abi_tensor * tensor, const struct ggs_values_node * node, uint32_t row,
                            uint64_t at, uint32_t n, float * copy) {
    uint64_t left;
    for (uint32_t done = 0; done < n;) {
        const char * from = node->kind == GGS_VALUES_SET ? locate_set(tensor, node, row, at + done, &left)
                                                         : locate(tensor, node->dim, row, at + done, &left);
        if (done == 0 && left >= n && tensor->type == F32 && tensor->nb[0] == 4 && from != NULL &&
            (uintptr_t) from % 4 == 0)
            return (const float *) from;
        uint32_t length = (uint32_t) (left < n - done ? left : n - done);
        if (from == NULL)
            memset(copy + done, 0, length * sizeof(*copy));
        else
            convert(tensor->type, from, copy + done, length, tensor->nb[0]);
        done += length;
    }
    return copy;
}

void ggs_values_read(struct ggs_values_sum * sum, const struct abi_tensor * tensor, const struct ggs_values_node * node,
                     uint32_t row, uint64_t at) {
    float    copy[GGS_VALUES_PIECE];
    uint32_t n = (uint32_t) (node->elements - at < GGS_VALUES_PIECE ? node->elements - at : GGS_VALUES_PIECE);
    ggs_values_sum(sum, gather(tensor, node, row, at, n, copy), n, at);
}

const float * ggs_values_rows_at(const struct abi_tensor * tensor, const struct ggs_values_node * node,
                                 size_t * stride) {
    uint64_t left;
    if (node->kind != GGS_VALUES_ROWS || tensor->type != F32 || tensor->nb[0] != 4) return NULL;
    if (node->dim < 0 ? node->rows > 1 : node->rows > tensor->ne[node->dim]) return NULL;
    const char * first = locate(tensor, node->dim, 0, 0, &left);
    *stride            = node->dim < 0 ? 0 : tensor->nb[node->dim];
    return left < node->elements || ((uintptr_t) first | *stride) % 4 != 0 ? NULL : (const float *) first;
}

static void read_long_row(struct ggs_spool_value * out, const struct abi_tensor * tensor,
                          const struct ggs_values_node * node, uint32_t row, uint32_t token) {
    struct ggs_values_sum sum, next;
    ggs_values_read(&sum, tensor, node, row, 0);
    for (uint64_t at = GGS_VALUES_PIECE; at < node->elements; at += GGS_VALUES_PIECE) {
        ggs_values_read(&next, tensor, node, row, at);
        ggs_values_join(&sum, &next);
    }
    ggs_values_finish(&sum, token, out);
}

void ggs_values_read_row(struct ggs_spool_value * out, const struct abi_tensor * tensor,
                         const struct ggs_values_node * node, uint32_t row, uint32_t token) {
    float    copy[GGS_VALUES_PIECE];
    uint32_t n = (uint32_t) node->elements;
    if (node->elements > GGS_VALUES_PIECE) {
        read_long_row(out, tensor, node, row, token);
        return;
    }
    ggs_values_rows(out, gather(tensor, node, row, 0, n, copy), 0, n, 1);
    out->token = token;
}
