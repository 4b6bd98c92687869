// The layout is that of memory-map.json, which readers of it know.
#include "answer/gguf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/answer.h"
#include "base/error.h"
#include "base/system/file.h"
#include "base/text.h"
#include "gguf/extents.h"
#include "gguf/gguf-entry.h"
#include "gguf/gguf-type.h"

const char * ggs_gguf_model_name(const struct ggs_model * model, size_t * length) {
    const char * name;
    if (ggs_gguf_get_string(model->files[0], "general.name", &name, length) && *length > 0) return name;
    name    = ggs_file_name(model->files[0]->path);
    *length = strlen(name);
    return name;
}

double ggs_gguf_float(const struct ggs_gguf_value * value) {
    if (value->type != GGS_GGUF_F32 || !isfinite(value->f64)) return value->f64;
    for (int digits = 1; digits < 9; digits++) {
        char text[32];
        snprintf(text, sizeof text, "%.*g", digits, value->f64);
        if ((double) strtof(text, NULL) == value->f64) return strtod(text, NULL);
    }
    return value->f64;
}

// ---- tensors ----

void ggs_gguf_write_line(struct ggs_json * json, const struct ggs_gguf_line * line) {
    static const struct ggs_field layer[] = {GGS_FIELD_OR_NULL(struct ggs_gguf_line, parts.layer, "layer_id"), {0}};
    char                          component[GGS_COMPONENT_LENGTH];
    ggs_json_object_inline(json, NULL);
    ggs_json_string_n(json, "name", line->name, line->name_length);
    ggs_json_u64(json, "offset_start", line->offset);
    ggs_json_u64(json, "offset_end", line->offset + line->size);
    ggs_json_u64(json, "size_bytes", line->size);
    ggs_json_array_inline(json, "shape");
    for (unsigned i = 0; i < line->n_dims; i++) ggs_json_u64(json, NULL, line->ne[i]);
    ggs_json_end(json);
    ggs_json_string(json, "dtype", line->type);
    ggs_fields_members(json, layer, line);
    ggs_json_string(json, "category", ggs_category_name(line->parts.category));
    ggs_json_string_n(json, "component", line->parts.component, line->parts.component_length);
    ggs_json_string(json, "component_type",
                    ggs_name_component(component, sizeof(component), &line->parts, line->slice));
    // Readers tell experts by whether there is such a key.
    if (line->expert >= 0) ggs_json_i64(json, "expert_id", line->expert);
    ggs_json_string(json, "file", line->file);
    ggs_json_bool(json, "size_known", line->size_known);
    ggs_json_end(json);
}

int ggs_gguf_write_lines(struct ggs_json * json, const struct ggs_gguf * gguf, const struct ggs_gguf_map * map,
                         const char * file, struct ggs_error * error) {
    struct ggs_entries entries = ggs_entries(gguf, map, true);
    struct ggs_entry   entry;
    struct ggs_text    name = {0};
    while (ggs_entries_next(&entries, &entry)) {
        char type[GGS_TYPE_NAME_LENGTH];
        ggs_text_clear(&name);
        ggs_entry_append_name(&name, &entry);
        struct ggs_gguf_line line = {.name        = ggs_text_string(&name),
                                     .name_length = name.length,
                                     .offset      = entry.offset,
                                     .size        = entry.size,
                                     .ne          = entry.ne,
                                     .n_dims      = entry.n_dims,
                                     .type        = ggs_type_name(type, sizeof type, entry.tensor->type),
                                     .parts       = entry.name,
                                     .expert      = ggs_entry_expert(&entry),
                                     .slice       = entry.expert,
                                     .file        = file,
                                     .size_known  = entry.tensor->size_known};
        ggs_gguf_write_line(json, &line);
    }
    bool failed = name.failed;
    ggs_text_release(&name);
    return failed ? ggs_fail_memory(error) : 0;
}

static void put_hparam(struct ggs_json * json, const char * key, const struct ggs_gguf * gguf, const char * hparam) {
    uint64_t value;
    if (gguf != NULL && ggs_gguf_get_hparam(gguf, hparam, &value)) {
        ggs_json_u64(json, key, value);
    } else {
        ggs_json_null(json, key);
    }
}

void ggs_gguf_write_metadata(struct ggs_json * json, const struct ggs_gguf * gguf, uint64_t n_tensors) {
    const struct ggs_gguf_kv * tokens = gguf == NULL ? NULL : ggs_gguf_find(gguf, "tokenizer.ggml.tokens");
    ggs_json_object(json, "metadata");
    put_hparam(json, "n_layers", gguf, "block_count");
    if (tokens != NULL && tokens->array) {
        ggs_json_u64(json, "n_vocab", tokens->count);
    } else {
        put_hparam(json, "n_vocab", gguf, "vocab_size");
    }
    put_hparam(json, "n_embd", gguf, "embedding_length");
    put_hparam(json, "n_heads", gguf, "attention.head_count");
    ggs_json_u64(json, "n_tensors", n_tensors);
    ggs_json_string(json, "source", gguf == NULL ? "trace" : "gguf");
    ggs_json_end(json);
}

// ---- files and their regions ----

static void put_files(struct ggs_json * json, const struct ggs_model * model) {
    static const struct ggs_field fields[] = {
        GGS_FIELD(struct ggs_gguf, size, "size_bytes"),
        GGS_FIELD(struct ggs_gguf, version, "gguf_version"),
        GGS_FIELD(struct ggs_gguf, alignment, "alignment"),
        GGS_FIELD(struct ggs_gguf, data_offset, "data_offset"),
        {0},
    };
    ggs_json_array(json, "files");
    for (size_t i = 0; i < model->n_files; i++) {
        ggs_json_object_inline(json, NULL);
        ggs_json_string(json, "file", ggs_file_name(model->files[i]->path));
        ggs_fields_members(json, fields, model->files[i]);
        ggs_json_u64(json, "num_tensors", model->files[i]->n_tensors);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

static void put_regions(struct ggs_json * json, const struct ggs_model * model, const struct ggs_gguf_map * maps) {
    ggs_json_array(json, "regions");
    for (size_t i = 0; i < model->n_files; i++) {
        const struct ggs_gguf * gguf = model->files[i];
        for (size_t j = 0; j < maps[i].n_regions; j++) {
            const struct ggs_region * region = &maps[i].regions[j];
            ggs_json_object_inline(json, NULL);
            ggs_json_string(json, "kind", ggs_region_name(region->kind));
            ggs_json_u64(json, "offset_start", region->offset);
            ggs_json_u64(json, "offset_end", region->offset + region->size);
            if (region->kind == GGS_REGION_TENSOR) {
                const struct ggs_gguf_tensor * tensor = &gguf->tensors[region->tensor];
                ggs_json_string_n(json, "name", tensor->name, tensor->name_length);
            } else {
                ggs_json_null(json, "name");
            }
            ggs_json_string(json, "file", ggs_file_name(gguf->path));
            ggs_json_end(json);
        }
    }
    ggs_json_end(json);
}

static void begin(struct ggs_json * json, const struct ggs_model * model) {
    size_t       length;
    const char * name = ggs_gguf_model_name(model, &length);
    ggs_json_object(json, NULL);
    ggs_json_null(json, "experiment_id");
    ggs_json_string_n(json, "model_name", name, length);
    ggs_json_u64(json, "total_size_bytes", model->size);
}

static int put_lines(struct ggs_json * json, const struct ggs_model * model, const struct ggs_gguf_map * maps,
                     struct ggs_error * error) {
    int status = 0;
    ggs_json_array(json, "tensors");
    for (size_t i = 0; status == 0 && i < model->n_files; i++)
        status = ggs_gguf_write_lines(json, model->files[i], &maps[i], ggs_file_name(model->files[i]->path), error);
    ggs_json_end(json);
    return status;
}

int ggs_gguf_write_map(struct ggs_json * json, const struct ggs_model * model, const struct ggs_gguf_map * maps,
                       struct ggs_error * error) {
    uint64_t lines = 0;
    for (size_t i = 0; i < model->n_files; i++) {
        struct ggs_entries entries = ggs_entries(model->files[i], &maps[i], true);
        struct ggs_entry   entry;
        while (ggs_entries_next(&entries, &entry)) lines++;
    }
    begin(json, model);
    ggs_json_u64(json, "num_tensors", lines);
    ggs_gguf_write_metadata(json, model->files[0], model->n_tensors);
    int status = put_lines(json, model, maps, error);
    put_regions(json, model, maps);
    put_files(json, model);
    ggs_json_end(json);
    return status;
}

void ggs_gguf_write_regions(struct ggs_json * json, const struct ggs_model * model, const struct ggs_gguf_map * maps) {
    begin(json, model);
    put_regions(json, model, maps);
    put_files(json, model);
    ggs_json_end(json);
}

// ---- metadata ----

static void put_value(struct ggs_json * json, const char * key, const struct ggs_gguf_value * value) {
    switch (value->type) {
        case GGS_GGUF_STRING:
            ggs_json_string_n(json, key, value->string, value->length);
            break;
        case GGS_GGUF_BOOL:
            ggs_json_bool(json, key, value->u64 != 0);
            break;
        case GGS_GGUF_F32:
        case GGS_GGUF_F64:
            ggs_json_double(json, key, ggs_gguf_float(value));
            break;
        case GGS_GGUF_I8:
        case GGS_GGUF_I16:
        case GGS_GGUF_I32:
        case GGS_GGUF_I64:
            ggs_json_i64(json, key, value->i64);
            break;
        default:
            ggs_json_u64(json, key, value->u64);
            break;
    }
}

static void put_kv(struct ggs_json * json, const struct ggs_gguf_kv * kv) {
    struct ggs_gguf_values values = ggs_gguf_values(kv);
    struct ggs_gguf_value  value;
    ggs_json_object_inline(json, NULL);
    ggs_json_string_n(json, "key", kv->key, kv->key_length);
    ggs_json_string(json, "type", ggs_gguf_value_type_name(kv->type));
    ggs_json_bool(json, "array", kv->array);
    ggs_json_u64(json, "count", kv->count);
    ggs_json_u64(json, "offset", kv->offset);
    if (kv->array) ggs_json_array_inline(json, "value");
    while (ggs_gguf_next(&values, &value)) put_value(json, kv->array ? NULL : "value", &value);
    if (kv->array) ggs_json_end(json);
    ggs_json_end(json);
}

void ggs_gguf_write_kv(struct ggs_json * json, const struct ggs_model * model) {
    begin(json, model);
    put_files(json, model);
    ggs_json_array(json, "key_values");
    for (size_t i = 0; i < model->n_files; i++) {
        const struct ggs_gguf * gguf = model->files[i];
        ggs_json_object(json, NULL);
        ggs_json_string(json, "file", ggs_file_name(gguf->path));
        ggs_json_array(json, "entries");
        for (size_t j = 0; j < gguf->n_kvs; j++) put_kv(json, &gguf->kvs[j]);
        ggs_json_end(json);
        ggs_json_end(json);
    }
    ggs_json_end(json);
    ggs_json_end(json);
}

// ---- extents ----

static void put_extents(struct ggs_json * json, const struct ggs_gguf * gguf, const struct ggs_gguf_map * map,
                        const struct ggs_extents * extents) {
    ggs_json_object(json, NULL);
    ggs_json_string(json, "file", ggs_file_name(gguf->path));
    ggs_json_u64(json, "size_bytes", gguf->size);
    ggs_json_u64(json, "fragments", extents->n_extents);
    ggs_json_array(json, "extents");
    for (size_t i = 0; i < extents->n_extents; i++) {
        const struct ggs_extent * extent = &extents->extents[i];
        ggs_json_object_inline(json, NULL);
        ggs_json_u64(json, "offset", extent->logical);
        if (extent->placed) {
            ggs_json_u64(json, "device_offset", extent->physical);
        } else {
            ggs_json_null(json, "device_offset");
        }
        ggs_json_u64(json, "length", extent->length);
        ggs_json_end(json);
    }
    ggs_json_end(json);
    ggs_json_array(json, "tensors");
    struct ggs_entries entries = ggs_entries(gguf, map, false);
    struct ggs_entry   entry;
    while (ggs_entries_next(&entries, &entry)) {
        ggs_json_object_inline(json, NULL);
        ggs_json_string_n(json, "name", entry.tensor->name, entry.tensor->name_length);
        ggs_json_u64(json, "offset_start", entry.offset);
        ggs_json_u64(json, "offset_end", entry.offset + entry.size);
        ggs_json_u64(json, "fragments", ggs_extents_count(extents, entry.offset, entry.size));
        ggs_json_end(json);
    }
    ggs_json_end(json);
    ggs_json_end(json);
}

int ggs_gguf_write_extents(struct ggs_json * json, const struct ggs_model * model, const struct ggs_gguf_map * maps,
                           struct ggs_error * error) {
    struct ggs_extents * extents = calloc(model->n_files, sizeof *extents);
    if (extents == NULL) return ggs_fail_memory(error);
    int status = 0;
    // All of them first: half a JSON document helps nobody.
    for (size_t i = 0; status == 0 && i < model->n_files; i++) {
        status = ggs_extents_init(&extents[i], model->files[i]->path, error);
    }
    if (status == 0) {
        begin(json, model);
        ggs_json_array(json, "files");
        for (size_t i = 0; i < model->n_files; i++) put_extents(json, model->files[i], &maps[i], &extents[i]);
        ggs_json_end(json);
        ggs_json_end(json);
    }
    for (size_t i = 0; i < model->n_files; i++) ggs_extents_release(&extents[i]);
    free(extents);
    return status;
}
