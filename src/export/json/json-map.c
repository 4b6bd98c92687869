// memory-map.json: the place of every tensor in the model's files.
//
// Read from the files if they still exist; otherwise limited to the tensors in the trace.
#include <stdlib.h>
#include <string.h>

#include "answer/gguf.h"
#include "base/array.h"
#include "base/error.h"
#include "base/search.h"
#include "base/system/file.h"
#include "export/json/json-format.h"
#include "gguf/gguf-entry.h"
#include "gguf/gguf-map.h"

// The GGUF files that the engine opened.
struct model {
    struct ggs_gguf **      gguf; // by file - 1; NULL if it is not GGUF or unreadable
    struct ggs_gguf_map *   maps;
    uint64_t                bytes;
    const struct ggs_gguf * first; // has the metadata; NULL if no file is readable
};

void ggs_memory_map_release(struct ggs_memory_map * map) {
    free(map->entries);
    *map = (struct ggs_memory_map){0};
}

static const char * path_of(struct ggs_export * export, uint64_t file) {
    return ggs_export_valid(export, ggs_reader_string(export->trace.reader, export->trace.files[file - 1].path));
}

static int open_model(struct ggs_export * export, struct model * model, struct ggs_error * error) {
    const struct ggs_trace * trace = &export->trace;
    *model                         = (struct model){0};
    model->gguf                    = calloc(trace->n_files + 1, sizeof(*model->gguf));
    model->maps                    = calloc(trace->n_files + 1, sizeof(*model->maps));
    if (model->gguf == NULL || model->maps == NULL) return ggs_fail_memory(error);
    for (uint64_t i = 0; i < trace->n_files; i++) {
        const struct ggs_file * file = &trace->files[i];
        if (trace->models[i]) model->bytes += file->size;
        if (file->gguf == 0) continue;
        if (ggs_gguf_open(&model->gguf[i], ggs_reader_string(trace->reader, file->path), NULL) < 0) continue;
        // The file has changed since the recording.
        if (model->gguf[i]->size != file->size || ggs_gguf_map_init(&model->maps[i], model->gguf[i], NULL) < 0) {
            ggs_gguf_map_release(&model->maps[i]);
            ggs_gguf_free(model->gguf[i]);
            model->gguf[i] = NULL;
            continue;
        }
        if (model->first == NULL) model->first = model->gguf[i];
    }
    return 0;
}

static void close_model(struct model * model, uint64_t n_files) {
    for (uint64_t i = 0; i < n_files; i++) {
        if (model->maps != NULL) ggs_gguf_map_release(&model->maps[i]);
        if (model->gguf != NULL) ggs_gguf_free(model->gguf[i]);
    }
    free(model->maps);
    free(model->gguf);
}

// ---- the list ----

static int add(struct ggs_memory_map * map, uint64_t file, uint64_t offset, uint64_t size, struct ggs_error * error) {
    struct ggs_map_entry entry = {file, offset, size, map->n};
    return ggs_array_push(map->entries, map->n, map->capacity, entry) ? 0 : ggs_fail_memory(error);
}

static int by_place(const void * a, const void * b) {
    const struct ggs_map_entry *x = a, *y = b;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

const struct ggs_map_entry * ggs_memory_map_find(const struct ggs_memory_map * map, uint64_t file, uint64_t offset) {
    const struct ggs_map_entry * e = map->entries;
    uint64_t behind = ggs_search(map->n, at, e[at].file < file || (e[at].file == file && e[at].offset <= offset));
    if (behind == 0) return NULL;
    e += behind - 1;
    return e->file == file && offset - e->offset < e->size ? e : NULL;
}

// ---- lines ----

// `json` NULL: only counts and keeps the entries.
static int walk_file(struct ggs_export * export, const struct model * model, uint64_t i, struct ggs_json * json,
                     struct ggs_memory_map * map, struct ggs_error * error) {
    if (json != NULL)
        return ggs_gguf_write_lines(json, model->gguf[i], &model->maps[i], ggs_file_name(path_of(export, i + 1)),
                                    error);
    struct ggs_entries entries = ggs_entries(model->gguf[i], &model->maps[i], true);
    struct ggs_entry   entry;
    int                status = 0;
    while (status == 0 && ggs_entries_next(&entries, &entry)) status = add(map, i + 1, entry.offset, entry.size, error);
    return status;
}

// Writes each weight of the trace once: in a file or copied from one, and not a view.
static int walk_trace(struct ggs_export * export, struct ggs_json * json, struct ggs_memory_map * map,
                      struct ggs_error * error) {
    int status = 0;
    for (uint64_t i = 0; status == 0 && i < export->trace.n_tensors; i++) {
        const struct ggs_tensor * t      = &export->trace.tensors[i];
        bool                      disk   = t->source == GGS_SOURCE_DISK;
        uint64_t                  file   = disk ? t->file : t->origin_file;
        uint64_t                  offset = disk ? t->file_offset : t->origin_offset;
        if (file == 0 || file > export->trace.n_files || t->view != 0 || !export->trace.models[file - 1]) continue;
        uint64_t size = ggs_trace_extent(&export->trace, t);
        if (json == NULL) {
            status = add(map, file, offset, size, error);
            continue;
        }
        const char * name   = ggs_tensor_name(export, t);
        uint64_t     ne[4]  = {(uint64_t) t->ne[0], (uint64_t) t->ne[1], (uint64_t) t->ne[2], (uint64_t) t->ne[3]};
        unsigned     n_dims = 4;
        while (n_dims > 1 && ne[n_dims - 1] == 1) n_dims--;
        struct ggs_gguf_line line = {.name        = name,
                                     .name_length = strlen(name),
                                     .offset      = offset,
                                     .size        = size,
                                     .ne          = ne,
                                     .n_dims      = n_dims,
                                     .type        = ggs_word_type(export, t->type),
                                     .parts       = ggs_name_parse(name, strlen(name)),
                                     .expert      = -1,
                                     .slice       = -1,
                                     .file        = ggs_file_name(path_of(export, file)),
                                     .size_known  = true};
        ggs_gguf_write_line(json, &line);
    }
    return status;
}

static int walk_all(struct ggs_export * export, const struct model * model, struct ggs_json * json,
                    struct ggs_memory_map * map, struct ggs_error * error) {
    if (model->first == NULL) return walk_trace(export, json, map, error);
    int status = 0;
    for (uint64_t i = 0; status == 0 && i < export->trace.n_files; i++) {
        if (model->gguf[i] != NULL) status = walk_file(export, model, i, json, map, error);
    }
    return status;
}

// ---- the file ----

static void put_head(struct ggs_export * export, struct ggs_json * json, const struct model * model, uint64_t n) {
    const struct ggs_gguf * gguf   = model->first;
    const char *            name   = NULL;
    size_t                  length = 0;
    if (gguf == NULL || !ggs_gguf_get_string(gguf, "general.name", &name, &length)) {
        for (uint64_t i = 0; name == NULL && i < export->trace.n_files; i++) {
            if (export->trace.models[i]) name = ggs_file_name(path_of(export, i + 1));
        }
        length = name == NULL ? 0 : strlen(name);
    }
    if (name == NULL) {
        ggs_json_null(json, "model_name");
    } else {
        ggs_json_string_n(json, "model_name", name, length);
    }
    ggs_json_u64(json, "total_size_bytes", model->bytes);
    ggs_json_u64(json, "num_tensors", n);
    ggs_gguf_write_metadata(json, gguf, n);
}

int ggs_json_memory_map(struct ggs_export * export, struct ggs_memory_map * map, struct ggs_error * error) {
    struct ggs_json_file file;
    struct model         model;
    int                  status = open_model(export, &model, error);
    if (status == 0) status = walk_all(export, &model, NULL, map, error);
    if (status == 0) status = ggs_json_file_open(export, &file, "memory-map.json", error);
    if (status == 0) {
        put_head(export, &file.json, &model, map->n);
        ggs_json_array(&file.json, "tensors");
        status = walk_all(export, &model, &file.json, map, error);
        ggs_json_end(&file.json);
        status = ggs_json_file_close(export, &file, status, error);
    }
    if (map->n > 0) qsort(map->entries, map->n, sizeof(*map->entries), by_place);
    close_model(&model, export->trace.n_files);
    return status;
}
