#include "engine/synth/synth-weights.h"

#include "base/error.h"
#include "engine/synth/synth-blocks.h"
#include "engine/synth/synth-plan.h"

#include "ggml.h"

#include <stdlib.h>
#include <string.h>

enum {
    POOL_BLOCKS = 4096,
    SHORT_BLOCK = 32, // types with shorter blocks (f16 has 1) are tiled by this many values if the row length allows it
};

// Blocks of one type and scale. A block here may be several blocks of the type.
struct ggs_synth_pool {
    struct ggs_synth_pool * next;
    int                     type;
    unsigned                values; // per block
    double                  deviation;
    float                   constant;
    size_t                  size; // bytes per block
    size_t                  count;
    uint8_t                 data[];
};

// splitmix64
static uint64_t random_next(uint64_t * state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z          = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z          = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// The state of an independent stream: FNV-1a over `name`, mixed with the seed.
static uint64_t random_stream(uint64_t seed, const char * name, uint64_t salt) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char * c = name; *c != '\0'; c++) hash = (hash ^ (uint8_t) *c) * 0x100000001b3u;
    uint64_t state = seed;
    state          = random_next(&state) ^ hash;
    state          = random_next(&state) ^ salt;
    return random_next(&state);
}

// The sum of four uniform numbers is close to normal and needs no function of libm, whose last bit
// differs between CPUs. Its deviation is 65536 / sqrt(3).
static void random_values(float * values, size_t count, double deviation, uint64_t state) {
    const float scale = (float) (deviation / 37837.227);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = random_next(&state);
        int32_t  sum  = (int32_t) (bits & 0xffff) + (int32_t) (bits >> 16 & 0xffff) + (int32_t) (bits >> 32 & 0xffff) +
                      (int32_t) (bits >> 48);
        values[i] = (float) (sum - 131070) * scale;
    }
}

void ggs_synth_weights_init(struct ggs_synth_weights * weights, uint64_t seed) {
    *weights = (struct ggs_synth_weights){.seed = seed};
}

void ggs_synth_weights_release(struct ggs_synth_weights * weights) {
    while (weights->pools != NULL) {
        struct ggs_synth_pool * next = weights->pools->next;
        free(weights->pools);
        weights->pools = next;
    }
}

static uint64_t pool_stream(const struct ggs_synth_pool * pool, uint64_t seed) {
    uint64_t salt;
    memcpy(&salt, &pool->deviation, sizeof salt);
    return random_stream(seed, ggml_type_name((enum ggml_type) pool->type), salt);
}

static void fill_with_blocks(struct ggs_synth_pool * pool, uint64_t seed) {
    uint64_t state = pool_stream(pool, seed);
    size_t   size  = pool->count * pool->size;
    for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
        uint64_t bits = random_next(&state);
        for (size_t i = at; i < size && i < at + sizeof(bits); i++, bits >>= 8) pool->data[i] = (uint8_t) bits;
    }
    for (size_t i = 0; i < pool->count; i++) ggs_synth_block(pool->type, pool->data + i * pool->size, pool->deviation);
}

// For floats and newer types. Types below three bits need an importance per column, which is
// uniform here.
static int fill_pool(struct ggs_synth_pool * pool, uint64_t seed, struct ggs_error * error) {
    enum ggml_type type = (enum ggml_type) pool->type;
    if (ggs_synth_block_supported(pool->type)) {
        fill_with_blocks(pool, seed);
        return 0;
    }
    size_t  count      = pool->count * pool->values;
    float * values     = malloc(count * sizeof *values);
    float * importance = malloc(pool->values * sizeof *importance);
    int     status     = 0;

    if (values == NULL || importance == NULL) {
        status = ggs_fail_memory(error);
        goto out;
    }
    for (unsigned i = 0; i < pool->values; i++) importance[i] = 1.0f;
    random_values(values, count, pool->deviation, pool_stream(pool, seed));
    ggml_quantize_chunk(type, values, pool->data, 0, (int64_t) pool->count, pool->values,
                        ggml_quantize_requires_imatrix(type) ? importance : NULL);
out:
    free(importance);
    free(values);
    return status;
}

// A tensor of deviation 0 repeats one value: a pool of one block.
static int make_pool(struct ggs_synth_weights * weights, const struct ggs_synth_tensor * tensor, unsigned values,
                     struct ggs_error * error) {
    bool                    repeated = tensor->deviation == 0;
    size_t                  size     = ggml_row_size((enum ggml_type) tensor->type, values);
    size_t                  count    = repeated ? 1 : POOL_BLOCKS;
    struct ggs_synth_pool * pool     = malloc(sizeof *pool + size * count);
    if (pool == NULL) return ggs_fail_memory(error);
    *pool = (struct ggs_synth_pool){
        .next      = weights->pools,
        .type      = tensor->type,
        .values    = values,
        .deviation = tensor->deviation,
        .constant  = tensor->constant,
        .size      = size,
        .count     = count,
    };
    if (repeated) {
        memcpy(pool->data, &tensor->constant, sizeof tensor->constant);
    } else if (fill_pool(pool, weights->seed, error) < 0) {
        free(pool);
        return GGS_MEMORY;
    }
    weights->pools = pool;
    return 0;
}

static unsigned values_per_block(const struct ggs_synth_tensor * tensor) {
    unsigned block = (unsigned) ggml_blck_size((enum ggml_type) tensor->type);
    if (tensor->deviation == 0) return 1;
    return block < SHORT_BLOCK && tensor->shape[0] % SHORT_BLOCK == 0 ? SHORT_BLOCK : block;
}

static struct ggs_synth_pool * find_pool(const struct ggs_synth_weights * weights,
                                         const struct ggs_synth_tensor * tensor, unsigned values) {
    struct ggs_synth_pool * pool = weights->pools;
    while (pool != NULL && (pool->type != tensor->type || pool->values != values ||
                            pool->deviation != tensor->deviation || pool->constant != tensor->constant)) {
        pool = pool->next;
    }
    return pool;
}

int ggs_synth_stream_open(struct ggs_synth_stream * stream, struct ggs_synth_weights * weights,
                          const struct ggs_synth_tensor * tensor, struct ggs_error * error) {
    unsigned values = values_per_block(tensor);
    if (find_pool(weights, tensor, values) == NULL && make_pool(weights, tensor, values, error) < 0) return GGS_MEMORY;
    *stream = (struct ggs_synth_stream){
        .pool  = find_pool(weights, tensor, values),
        .state = random_stream(weights->seed, tensor->name, 0),
        .left  = tensor->size,
    };
    return 0;
}

size_t ggs_synth_stream_read(struct ggs_synth_stream * stream, void * buffer, size_t size) {
    const struct ggs_synth_pool * pool = stream->pool;
    size_t                        done = 0;
    while (stream->left > 0 && size - done >= pool->size) {
        uint64_t block = (random_next(&stream->state) >> 32) * pool->count >> 32;
        memcpy((uint8_t *) buffer + done, pool->data + block * pool->size, pool->size);
        done += pool->size;
        stream->left -= pool->size;
    }
    return done;
}
