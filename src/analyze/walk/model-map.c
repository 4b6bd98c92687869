#include "analyze/walk/model-map.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/search.h"
#include "gguf/gguf-map.h"
#include "gguf/gguf-name.h"
#include "gguf/gguf-type.h"
#include "gguf/gguf.h"

void ggs_model_map_release(struct ggs_model_map * map) {
    ggs_names_free(map->names);
    free(map->places);
    *map = (struct ggs_model_map){0};
}

// "Q4_K"
static void type_name(char buffer[GGS_TYPE_NAME_LENGTH], uint32_t type) {
    ggs_type_name(buffer, GGS_TYPE_NAME_LENGTH, type);
    for (char * c = buffer; *c != '\0'; c++) *c = (char) toupper((unsigned char) *c);
}

static const char * keep(struct ggs_model_map * map, const char * text, size_t length) {
    uint32_t number = ggs_names_number(map->names, text, length);
    return number == UINT32_MAX ? NULL : ggs_names_text(map->names, number);
}

static int add(struct ggs_model_map * map, const struct ggs_model_place * place, struct ggs_error * error) {
    if (place->name == NULL || place->type == NULL || place->component == NULL) return ggs_fail_memory(error);
    return ggs_array_push(map->places, map->n, map->capacity, *place) ? 0 : ggs_fail_memory(error);
}

// ---- from the file ----

static struct ggs_model_place tensor_place(struct ggs_model_map * map, uint64_t file,
                                           const struct ggs_gguf_tensor * tensor) {
    char                   component[GGS_COMPONENT_LENGTH], type[GGS_TYPE_NAME_LENGTH];
    struct ggs_name        name  = ggs_name_parse(tensor->name, tensor->name_length);
    struct ggs_model_place place = {.name     = keep(map, tensor->name, tensor->name_length),
                                    .kind     = "tensor",
                                    .category = ggs_category_name(name.category),
                                    .file     = file,
                                    .offset   = tensor->offset,
                                    .bytes    = tensor->size,
                                    .n_dims   = tensor->n_dims,
                                    .layer    = name.layer,
                                    .experts  = ggs_name_experts(&name, tensor)};
    ggs_name_component(component, sizeof(component), &name, -1);
    type_name(type, tensor->type);
    place.component = keep(map, component, strlen(component));
    place.type      = keep(map, type, strlen(type));
    memcpy(place.ne, tensor->ne, sizeof(place.ne));
    return place;
}

static void read_facts(struct ggs_model_map * map, const struct ggs_gguf * gguf) {
    const char * text;
    size_t       length;
    if (map->architecture[0] != '\0') return;
    if (ggs_gguf_get_string(gguf, "general.architecture", &text, &length)) {
        const char * kept = keep(map, text, length);
        if (kept != NULL) map->architecture = kept;
    }
    if (ggs_gguf_get_string(gguf, "general.name", &text, &length)) {
        const char * kept = keep(map, text, length);
        if (kept != NULL) map->model = kept;
    }
    ggs_gguf_get_hparam(gguf, "block_count", &map->layers);
    ggs_gguf_get_hparam(gguf, "expert_count", &map->experts);
    ggs_gguf_get_hparam(gguf, "expert_used_count", &map->experts_used);
}

static int add_regions(struct ggs_model_map * map, uint64_t file, const struct ggs_gguf * gguf,
                       const struct ggs_gguf_map * regions, struct ggs_error * error) {
    int status = 0;
    for (size_t i = 0; status == 0 && i < regions->n_regions; i++) {
        const struct ggs_region * region = &regions->regions[i];
        struct ggs_model_place    place  = {.name      = "",
                                            .kind      = ggs_region_name(region->kind),
                                            .type      = "",
                                            .component = "",
                                            .category  = "",
                                            .file      = file,
                                            .offset    = region->offset,
                                            .bytes     = region->size,
                                            .layer     = -1};
        if (region->kind == GGS_REGION_TENSOR) place = tensor_place(map, file, &gguf->tensors[region->tensor]);
        status = add(map, &place, error);
    }
    return status;
}

// Returns 1 if read from the file; 0 if it is missing, changed, or not a GGUF file.
static int add_file(struct ggs_model_map * map, struct ggs_trace * trace, uint64_t i, struct ggs_error * error) {
    struct ggs_gguf *   gguf;
    struct ggs_gguf_map regions = {0};
    int                 status  = 0;
    if (ggs_gguf_open(&gguf, ggs_reader_string(trace->reader, trace->files[i].path), NULL) < 0) return 0;
    if (gguf->size == trace->files[i].size && ggs_gguf_map_init(&regions, gguf, NULL) == 0) {
        read_facts(map, gguf);
        status = add_regions(map, i + 1, gguf, &regions, error);
        if (status == 0) status = 1;
    }
    ggs_gguf_map_release(&regions);
    ggs_gguf_free(gguf);
    return status;
}

// ---- from the trace ----

static struct ggs_model_place recorded_place(struct ggs_model_map * map, struct ggs_trace * trace,
                                             const struct ggs_tensor * t) {
    char            component[GGS_COMPONENT_LENGTH];
    const char *    name = ggs_reader_string(trace->reader, t->name);
    char            type[GGS_TYPE_NAME_LENGTH];
    struct ggs_name parsed = ggs_name_parse(name, strlen(name));
    type_name(type, t->type > UINT32_MAX ? UINT32_MAX : (uint32_t) t->type);
    struct ggs_model_place place = {.name     = keep(map, name, strlen(name)),
                                    .kind     = "tensor",
                                    .type     = keep(map, type, strlen(type)),
                                    .category = ggs_category_name(parsed.category),
                                    .bytes    = ggs_trace_extent(trace, t),
                                    .layer    = parsed.layer,
                                    .n_dims   = 4};
    ggs_name_component(component, sizeof(component), &parsed, -1);
    place.component = keep(map, component, strlen(component));
    for (int i = 0; i < 4; i++) place.ne[i] = (uint64_t) t->ne[i];
    while (place.n_dims > 1 && place.ne[place.n_dims - 1] == 1) place.n_dims--;
    uint64_t experts = parsed.experts && parsed.expert_dimension < 4 ? place.ne[parsed.expert_dimension] : 0;
    if (experts > 0 && experts <= GGS_EXPERTS_MAX && place.bytes % experts == 0) place.experts = (uint32_t) experts;
    return place;
}

static int by_place(const void * a, const void * b) {
    const struct ggs_model_place *x = a, *y = b;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

static int add_seen(struct ggs_model_map * map, struct ggs_trace * trace, const bool * from_file,
                    struct ggs_error * error) {
    int status = 0;
    for (uint64_t i = 0; status == 0 && i < trace->n_tensors; i++) {
        const struct ggs_tensor * t = &trace->tensors[i];
        uint64_t                  file, offset;
        if (!ggs_trace_origin(t, &file, &offset) || t->view != 0) continue;
        if (from_file[file - 1] || !trace->models[file - 1]) continue;
        struct ggs_model_place place = recorded_place(map, trace, t);
        place.file = file, place.offset = offset;
        status = add(map, &place, error);
    }
    if (map->n > 1) qsort(map->places, map->n, sizeof(*map->places), by_place);
    // A weight of several graphs, and whatever overlaps, is listed once.
    uint64_t kept = 0;
    for (uint64_t i = 0; i < map->n; i++) {
        const struct ggs_model_place *place = &map->places[i], *last = kept == 0 ? NULL : &map->places[kept - 1];
        if (last != NULL && last->file == place->file && place->offset < last->offset + last->bytes) continue;
        map->places[kept++] = *place;
    }
    map->n = kept;
    return status;
}

// ---- interface ----

static void mark_copied(struct ggs_model_map * map, const struct ggs_trace * trace) {
    for (uint64_t i = 0; i < trace->n_tensors; i++) {
        const struct ggs_tensor * t = &trace->tensors[i];
        if (t->source == GGS_SOURCE_DISK || t->origin_file == 0) continue;
        int64_t place = ggs_model_map_find(map, t->origin_file, t->origin_offset);
        if (place >= 0) map->places[place].copied = true;
    }
}

int64_t ggs_model_map_find(const struct ggs_model_map * map, uint64_t file, uint64_t offset) {
    const struct ggs_model_place * p = map->places;
    uint64_t behind = ggs_search(map->n, at, p[at].file < file || (p[at].file == file && p[at].offset <= offset));
    if (behind == 0) return -1;
    p += behind - 1;
    return p->file == file && offset - p->offset < p->bytes ? (int64_t) (behind - 1) : -1;
}

int ggs_model_map_make(struct ggs_model_map * map, struct ggs_trace * trace, struct ggs_error * error) {
    *map             = (struct ggs_model_map){.names = ggs_names_new(), .model = "", .architecture = ""};
    bool * from_file = calloc(trace->n_files + 1, sizeof(*from_file));
    int    status    = map->names == NULL || from_file == NULL ? ggs_fail_memory(error) : 0;
    for (uint64_t i = 0; status == 0 && i < trace->n_files; i++) {
        if (trace->files[i].gguf == 0) continue;
        status       = add_file(map, trace, i, error);
        from_file[i] = status > 0;
        if (status == 0) map->from_trace++;
        if (status > 0) status = 0;
    }
    if (status == 0) status = add_seen(map, trace, from_file, error);
    free(from_file);
    if (status < 0) {
        ggs_model_map_release(map);
        return status;
    }
    mark_copied(map, trace);
    return 0;
}
