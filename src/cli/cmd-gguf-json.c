// The machine-readable reports of ggscope gguf. Layouts: docs/man/ggscope-gguf.1.
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/cmd-gguf.h"
#include "gguf/extents.h"
#include "gguf/gguf-entry.h"
#include "gguf/gguf-type.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- JSON -----------------------------------------------------------------------------------------------------------

// A failure to write stays in stdout's error flag, where cmd_gguf looks for it.
static void finish(struct ggs_json * json) {
    ggs_json_end(json);
    (void) ggs_json_finish(json);
}

static void put_hparam(struct ggs_json * json, const char * key, const struct ggs_gguf * gguf, const char * hparam) {
    uint64_t value;
    if (ggs_gguf_get_hparam(gguf, hparam, &value)) {
        ggs_json_u64(json, key, value);
    } else {
        ggs_json_null(json, key);
    }
}

static void put_layer(struct ggs_json * json, const char * key, int64_t value) {
    if (value >= 0) {
        ggs_json_i64(json, key, value);
    } else {
        ggs_json_null(json, key);
    }
}

static void put_metadata(struct ggs_json * json, const struct ggs_model * model) {
    const struct ggs_gguf *    gguf   = model->files[0];
    const struct ggs_gguf_kv * tokens = ggs_gguf_find(gguf, "tokenizer.ggml.tokens");
    ggs_json_object(json, "metadata");
    put_hparam(json, "n_layers", gguf, "block_count");
    if (tokens != NULL && tokens->array) {
        ggs_json_u64(json, "n_vocab", tokens->count);
    } else {
        put_hparam(json, "n_vocab", gguf, "vocab_size");
    }
    put_hparam(json, "n_embd", gguf, "embedding_length");
    put_hparam(json, "n_heads", gguf, "attention.head_count");
    ggs_json_u64(json, "n_tensors", model->n_tensors);
    ggs_json_string(json, "source", "gguf");
    ggs_json_end(json);
}

static void put_entry(struct ggs_json * json, const char * file, const struct ggs_entry * entry,
                      struct ggs_text * name) {
    char component[GGS_COMPONENT_LENGTH];
    char type[GGS_TYPE_NAME_LENGTH];
    ggs_text_clear(name);
    ggs_entry_append_name(name, entry);
    ggs_json_object_inline(json, NULL);
    ggs_json_string_n(json, "name", ggs_text_string(name), name->length);
    ggs_json_u64(json, "offset_start", entry->offset);
    ggs_json_u64(json, "offset_end", entry->offset + entry->size);
    ggs_json_u64(json, "size_bytes", entry->size);
    ggs_json_array_inline(json, "shape");
    for (unsigned i = 0; i < entry->n_dims; i++) ggs_json_u64(json, NULL, entry->ne[i]);
    ggs_json_end(json);
    ggs_json_string(json, "dtype", ggs_type_name(type, sizeof type, entry->tensor->type));
    put_layer(json, "layer_id", entry->name.layer);
    ggs_json_string(json, "category", ggs_category_name(entry->name.category));
    ggs_json_string_n(json, "component", entry->name.component, entry->name.component_length);
    ggs_json_string(json, "component_type",
                    ggs_name_component(component, sizeof component, &entry->name, entry->expert));
    put_layer(json, "expert_id", ggs_entry_expert(entry));
    ggs_json_string(json, "file", file);
    ggs_json_bool(json, "size_known", entry->tensor->size_known);
    ggs_json_end(json);
}

static void put_files(struct ggs_json * json, const struct ggs_model * model) {
    ggs_json_array(json, "files");
    for (size_t i = 0; i < model->n_files; i++) {
        const struct ggs_gguf * gguf = model->files[i];
        ggs_json_object_inline(json, NULL);
        ggs_json_string(json, "file", gguf_file_name(gguf->path));
        ggs_json_u64(json, "size_bytes", gguf->size);
        ggs_json_u64(json, "gguf_version", gguf->version);
        ggs_json_u64(json, "alignment", gguf->alignment);
        ggs_json_u64(json, "data_offset", gguf->data_offset);
        ggs_json_u64(json, "num_tensors", gguf->n_tensors);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

static void put_regions(struct ggs_json * json, const struct gguf_report * report) {
    ggs_json_array(json, "regions");
    for (size_t i = 0; i < report->model->n_files; i++) {
        const struct ggs_gguf * gguf = report->model->files[i];
        for (size_t j = 0; j < report->maps[i].n_regions; j++) {
            const struct ggs_region * region = &report->maps[i].regions[j];
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
            ggs_json_string(json, "file", gguf_file_name(gguf->path));
            ggs_json_end(json);
        }
    }
    ggs_json_end(json);
}

static void begin(struct ggs_json * json, const struct ggs_model * model) {
    size_t       length;
    const char * name = gguf_model_name(model, &length);
    ggs_json_init(json, ggs_json_to_file, stdout, true);
    ggs_json_object(json, NULL);
    ggs_json_null(json, "experiment_id");
    ggs_json_string_n(json, "model_name", name, length);
    ggs_json_u64(json, "total_size_bytes", model->size);
}

// The number of lines that the map has with experts one by one.
static uint64_t count_entries(const struct gguf_report * report) {
    uint64_t count = 0;
    for (size_t i = 0; i < report->model->n_files; i++) {
        struct ggs_entries entries = ggs_entries(report->model->files[i], &report->maps[i], true);
        struct ggs_entry   entry;
        while (ggs_entries_next(&entries, &entry)) count++;
    }
    return count;
}

int gguf_json_map(const struct gguf_report * report, struct ggs_error * error) {
    struct ggs_json json;
    struct ggs_text name = {0};
    begin(&json, report->model);
    ggs_json_u64(&json, "num_tensors", count_entries(report));
    put_metadata(&json, report->model);
    ggs_json_array(&json, "tensors");
    for (size_t i = 0; i < report->model->n_files; i++) {
        const struct ggs_gguf * gguf    = report->model->files[i];
        struct ggs_entries      entries = ggs_entries(gguf, &report->maps[i], true);
        struct ggs_entry        entry;
        while (ggs_entries_next(&entries, &entry)) put_entry(&json, gguf_file_name(gguf->path), &entry, &name);
    }
    ggs_json_end(&json);
    put_regions(&json, report);
    put_files(&json, report->model);
    finish(&json);
    bool failed = name.failed;
    ggs_text_release(&name);
    return failed ? ggs_fail_memory(error) : 0;
}

int gguf_json_regions(const struct gguf_report * report, struct ggs_error * error) {
    (void) error;
    struct ggs_json json;
    begin(&json, report->model);
    put_regions(&json, report);
    put_files(&json, report->model);
    finish(&json);
    return 0;
}

// ---- metadata -------------------------------------------------------------------------------------------------------

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
            ggs_json_double(json, key, gguf_float(value));
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

int gguf_json_kv(const struct gguf_report * report, struct ggs_error * error) {
    (void) error;
    struct ggs_json json;
    begin(&json, report->model);
    put_files(&json, report->model);
    ggs_json_array(&json, "key_values");
    for (size_t i = 0; i < report->model->n_files; i++) {
        const struct ggs_gguf * gguf = report->model->files[i];
        ggs_json_object(&json, NULL);
        ggs_json_string(&json, "file", gguf_file_name(gguf->path));
        ggs_json_array(&json, "entries");
        for (size_t j = 0; j < gguf->n_kvs; j++) put_kv(&json, &gguf->kvs[j]);
        ggs_json_end(&json);
        ggs_json_end(&json);
    }
    ggs_json_end(&json);
    finish(&json);
    return 0;
}

// ---- extents --------------------------------------------------------------------------------------------------------

static void put_extents(struct ggs_json * json, const struct ggs_gguf * gguf, const struct ggs_gguf_map * map,
                        const struct ggs_extents * extents) {
    ggs_json_object(json, NULL);
    ggs_json_string(json, "file", gguf_file_name(gguf->path));
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

int gguf_json_extents(const struct gguf_report * report, struct ggs_error * error) {
    const struct ggs_model * model   = report->model;
    struct ggs_extents *     extents = calloc(model->n_files, sizeof *extents);
    if (extents == NULL) return ggs_fail_memory(error);
    int status = 0;
    // All of them first: half a JSON document helps nobody.
    for (size_t i = 0; status == 0 && i < model->n_files; i++) {
        status = ggs_extents_init(&extents[i], model->files[i]->path, error);
    }
    if (status == 0) {
        struct ggs_json json;
        begin(&json, model);
        ggs_json_array(&json, "files");
        for (size_t i = 0; i < model->n_files; i++) put_extents(&json, model->files[i], &report->maps[i], &extents[i]);
        ggs_json_end(&json);
        finish(&json);
    }
    for (size_t i = 0; i < model->n_files; i++) ggs_extents_release(&extents[i]);
    free(extents);
    return status;
}
