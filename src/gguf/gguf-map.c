#include "gguf/gguf-map.h"

#include "base/checked.h"
#include "base/error.h"
#include "gguf/gguf-slice.h"
#include "gguf/gguf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char * const kind_names[GGS_REGION_KINDS] = {
    [GGS_REGION_HEADER]       = "header",
    [GGS_REGION_KEY_VALUES]   = "key-values",
    [GGS_REGION_TENSOR_INFOS] = "tensor infos",
    [GGS_REGION_PADDING]      = "padding",
    [GGS_REGION_TENSOR]       = "tensor",
    [GGS_REGION_TRAILING]     = "trailing",
};

const char * ggs_region_name(uint64_t kind) {
    return kind < GGS_REGION_KINDS ? kind_names[kind] : "?";
}

static void add(struct ggs_gguf_map * map, enum ggs_region_kind kind, uint64_t offset, uint64_t end, size_t tensor) {
    if (offset == end && kind != GGS_REGION_TENSOR) return;
    map->regions[map->n_regions++] = (struct ggs_region){kind, offset, end - offset, tensor};
    map->bytes[kind] += end - offset;
}

// Describes a neighbour: `tensor "x"`, or the tensor infos.
static const char * describe(char * buffer, size_t size, const struct ggs_gguf * gguf, const size_t * tensor) {
    if (tensor == NULL) return "the tensor infos";
    char                           name[GGS_PRINTABLE_LENGTH];
    const struct ggs_gguf_tensor * entry = &gguf->tensors[*tensor];
    snprintf(buffer, size, "tensor \"%s\"", ggs_printable(name, sizeof name, entry->name, entry->name_length));
    return buffer;
}

// `end` is the end of the previous region (of tensor `previous`, NULL for the tensor infos),
// `padded` its end with padding.
static int check_neighbours(const struct ggs_gguf * gguf, const size_t * previous, const size_t * next, uint64_t end,
                            uint64_t padded, struct ggs_error * error) {
    char         before[GGS_PRINTABLE_LENGTH + 16];
    char         after[GGS_PRINTABLE_LENGTH + 16];
    uint64_t     begin = gguf->tensors[*next].offset;
    const char * left  = describe(before, sizeof before, gguf, previous);
    const char * right = describe(after, sizeof after, gguf, next);
    if (begin < end) {
        return ggs_fail(error, GGS_FORMAT,
                        "%s: damaged: %s, which ends at offset %" PRIu64 ", and %s, which begins at offset %" PRIu64
                        ", overlap by %" PRIu64 " bytes",
                        gguf->path, left, end, right, begin, end - begin);
    }
    if (begin % gguf->alignment != 0) {
        return ggs_fail(error, GGS_FORMAT,
                        "%s: damaged: %s begins at offset %" PRIu64
                        ", which is not a multiple of the file's alignment %" PRIu32,
                        gguf->path, right, begin, gguf->alignment);
    }
    if (begin > padded) {
        return ggs_fail(error, GGS_FORMAT,
                        "%s: damaged: the %" PRIu64 " bytes from offset %" PRIu64 " to offset %" PRIu64
                        " between %s and %s belong to nothing",
                        gguf->path, begin - padded, padded, begin, left, right);
    }
    return 0;
}

// Returns the end of the padding that follows `end`. A file may end inside its last padding.
static uint64_t padded_end(const struct ggs_gguf * gguf, uint64_t end) {
    uint64_t padded;
    if (!ggs_align(end, gguf->alignment, &padded) || padded > gguf->size) padded = gguf->size;
    return padded;
}

static int add_tensors(struct ggs_gguf_map * map, const struct ggs_gguf * gguf, const size_t * order,
                       struct ggs_error * error) {
    const size_t * previous = NULL;
    uint64_t       end      = gguf->infos_end;
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        const struct ggs_gguf_tensor * tensor = &gguf->tensors[order[i]];
        int status = check_neighbours(gguf, previous, &order[i], end, padded_end(gguf, end), error);
        if (status < 0) return status;
        add(map, GGS_REGION_PADDING, end, tensor->offset, 0);
        end = tensor->offset + tensor->size;
        add(map, GGS_REGION_TENSOR, tensor->offset, end, order[i]);
        previous = &order[i];
    }
    add(map, GGS_REGION_PADDING, end, padded_end(gguf, end), 0);
    add(map, GGS_REGION_TRAILING, padded_end(gguf, end), gguf->size, 0);
    return 0;
}

int ggs_gguf_map_init(struct ggs_gguf_map * map, const struct ggs_gguf * gguf, struct ggs_error * error) {
    *map           = (struct ggs_gguf_map){0};
    size_t * order = ggs_gguf_by_offset(gguf);
    map->regions   = calloc(2 * gguf->n_tensors + 5, sizeof *map->regions);
    int status     = 0;
    if (order == NULL || map->regions == NULL) {
        status = ggs_fail_memory(error);
    } else {
        add(map, GGS_REGION_HEADER, 0, GGS_GGUF_HEADER_SIZE, 0);
        add(map, GGS_REGION_KEY_VALUES, GGS_GGUF_HEADER_SIZE, gguf->infos_offset, 0);
        add(map, GGS_REGION_TENSOR_INFOS, gguf->infos_offset, gguf->infos_end, 0);
        status = add_tensors(map, gguf, order, error);
    }
    free(order);
    if (status < 0) ggs_gguf_map_release(map);
    return status;
}

void ggs_gguf_map_release(struct ggs_gguf_map * map) {
    free(map->regions);
    *map = (struct ggs_gguf_map){0};
}
