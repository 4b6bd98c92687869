// Values and lookups of an open file: see gguf.h.
#include "gguf/gguf.h"

#include "base/checked.h"
#include "gguf/gguf-slice.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char * name;
    unsigned     width;
} value_types[] = {
    [GGS_GGUF_U8] = {"u8", 1},       [GGS_GGUF_I8] = {"i8", 1},     [GGS_GGUF_U16] = {"u16", 2},
    [GGS_GGUF_I16] = {"i16", 2},     [GGS_GGUF_U32] = {"u32", 4},   [GGS_GGUF_I32] = {"i32", 4},
    [GGS_GGUF_F32] = {"f32", 4},     [GGS_GGUF_BOOL] = {"bool", 1}, [GGS_GGUF_STRING] = {"string", 0},
    [GGS_GGUF_ARRAY] = {"array", 0}, [GGS_GGUF_U64] = {"u64", 8},   [GGS_GGUF_I64] = {"i64", 8},
    [GGS_GGUF_F64] = {"f64", 8},
};

const char * ggs_gguf_value_type_name(uint64_t type) {
    return type <= GGS_GGUF_F64 ? value_types[type].name : "?";
}

unsigned ggs_gguf_value_width(enum ggs_gguf_value_type type) {
    return (unsigned) type <= GGS_GGUF_F64 ? value_types[type].width : 0;
}

struct ggs_gguf_values ggs_gguf_values(const struct ggs_gguf_kv * kv) {
    return (struct ggs_gguf_values){.kv = kv};
}

static void widen(struct ggs_gguf_value * value, const uint8_t * bytes, unsigned width) {
    uint64_t raw = ggs_little_endian(bytes, width);
    switch (value->type) {
        case GGS_GGUF_I8:
        case GGS_GGUF_I16:
        case GGS_GGUF_I32:
        case GGS_GGUF_I64: // shifting up and down extends the sign
            value->i64 = (int64_t) (raw << (64 - 8 * width)) >> (64 - 8 * width);
            break;
        case GGS_GGUF_BOOL:
            value->u64 = raw != 0;
            break;
        case GGS_GGUF_F32: {
            uint32_t bits = (uint32_t) raw;
            float    narrow;
            memcpy(&narrow, &bits, sizeof narrow);
            value->f64 = narrow;
            break;
        }
        case GGS_GGUF_F64:
            memcpy(&value->f64, &raw, sizeof value->f64);
            break;
        default:
            value->u64 = raw;
            break;
    }
}

bool ggs_gguf_next(struct ggs_gguf_values * values, struct ggs_gguf_value * value) {
    const struct ggs_gguf_kv * kv = values->kv;
    if (values->index >= kv->count) return false;
    *value                = (struct ggs_gguf_value){.type = kv->type};
    const uint8_t * bytes = kv->data + values->position;
    unsigned        width = ggs_gguf_value_width(kv->type);
    if (width > 0) {
        widen(value, bytes, width);
        values->position += width;
    } else { // the parser has validated the lengths of these strings
        value->length = (size_t) ggs_little_endian(bytes, 8);
        value->string = (const char *) bytes + 8;
        values->position += 8 + value->length;
    }
    values->index++;
    return true;
}

const struct ggs_gguf_kv * ggs_gguf_find(const struct ggs_gguf * gguf, const char * key) {
    size_t length = strlen(key);
    for (size_t i = 0; i < gguf->n_kvs; i++) {
        if (gguf->kvs[i].key_length == length && memcmp(gguf->kvs[i].key, key, length) == 0) return &gguf->kvs[i];
    }
    return NULL;
}

static bool as_u64(const struct ggs_gguf_value * value, uint64_t * result) {
    switch (value->type) {
        case GGS_GGUF_U8:
        case GGS_GGUF_U16:
        case GGS_GGUF_U32:
        case GGS_GGUF_U64:
            *result = value->u64;
            return true;
        case GGS_GGUF_I8:
        case GGS_GGUF_I16:
        case GGS_GGUF_I32:
        case GGS_GGUF_I64:
            if (value->i64 < 0) return false;
            *result = (uint64_t) value->i64;
            return true;
        default:
            return false;
    }
}

bool ggs_gguf_get_u64(const struct ggs_gguf * gguf, const char * key, uint64_t * result) {
    const struct ggs_gguf_kv * kv = ggs_gguf_find(gguf, key);
    if (kv == NULL || kv->array) return false;
    struct ggs_gguf_values values = ggs_gguf_values(kv);
    struct ggs_gguf_value  value;
    return ggs_gguf_next(&values, &value) && as_u64(&value, result);
}

bool ggs_gguf_get_string(const struct ggs_gguf * gguf, const char * key, const char ** string, size_t * length) {
    const struct ggs_gguf_kv * kv = ggs_gguf_find(gguf, key);
    if (kv == NULL || kv->array || kv->type != GGS_GGUF_STRING) return false;
    struct ggs_gguf_values values = ggs_gguf_values(kv);
    struct ggs_gguf_value  value;
    if (!ggs_gguf_next(&values, &value) || value.string == NULL) return false;
    *string = value.string;
    *length = value.length;
    return true;
}

static const struct ggs_gguf_kv * find_hparam(const struct ggs_gguf * gguf, const char * key) {
    const char * architecture;
    size_t       prefix;
    size_t       length = strlen(key);
    if (!ggs_gguf_get_string(gguf, "general.architecture", &architecture, &prefix)) return NULL;
    for (size_t i = 0; i < gguf->n_kvs; i++) {
        const struct ggs_gguf_kv * kv = &gguf->kvs[i];
        if (kv->key_length != prefix + 1 + length || kv->key[prefix] != '.') continue;
        if (memcmp(kv->key, architecture, prefix) == 0 && memcmp(kv->key + prefix + 1, key, length) == 0) return kv;
    }
    return NULL;
}

bool ggs_gguf_get_hparam(const struct ggs_gguf * gguf, const char * key, uint64_t * result) {
    const struct ggs_gguf_kv * kv = find_hparam(gguf, key);
    if (kv == NULL) return false;
    struct ggs_gguf_values values = ggs_gguf_values(kv);
    struct ggs_gguf_value  value;
    bool                   found = false;
    while (ggs_gguf_next(&values, &value)) {
        uint64_t number;
        if (!as_u64(&value, &number)) return false;
        if (!found || number > *result) *result = number;
        found = true;
    }
    return found;
}

uint64_t ggs_gguf_elements(const struct ggs_gguf_tensor * tensor) {
    uint64_t elements = 1;
    for (unsigned i = 0; i < GGS_GGUF_DIMS_MAX; i++) {
        if (tensor->ne[i] == 0) return 0;
        if (!ggs_mul(elements, tensor->ne[i], &elements)) elements = UINT64_MAX;
    }
    return elements;
}

// Of equal offsets the shorter tensor comes first, so that an empty one lies ahead of its
// neighbour, not inside it.
static int compare_offset(const void * left, const void * right, void * context) {
    const struct ggs_gguf_tensor * tensors = context;
    const size_t *                 i       = left;
    const size_t *                 j       = right;
    const struct ggs_gguf_tensor * a       = &tensors[*i];
    const struct ggs_gguf_tensor * b       = &tensors[*j];
    if (a->offset != b->offset) return a->offset < b->offset ? -1 : 1;
    if (a->size != b->size) return a->size < b->size ? -1 : 1;
    return (*i > *j) - (*i < *j);
}

size_t * ggs_gguf_by_offset(const struct ggs_gguf * gguf) {
    size_t * order = calloc(gguf->n_tensors + 1, sizeof *order);
    if (order == NULL) return NULL;
    for (size_t i = 0; i < gguf->n_tensors; i++) order[i] = i;
    if (gguf->n_tensors > 1) qsort_r(order, gguf->n_tensors, sizeof *order, compare_offset, gguf->tensors);
    return order;
}
