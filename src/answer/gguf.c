// The layout is that of memory-map.json, for which readers exist.
#include "answer/gguf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/answer.h"
#include "base/error.h"
#include "base/system/file.h"
#include "base/text.h"
#include "base/uuid.h"
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

#define LINE(member, key, ...)      GGS_FIELD(struct ggs_gguf_line, member, key, __VA_ARGS__)
#define LINE_NULL(member, key, ...) GGS_FIELD_OR_NULL(struct ggs_gguf_line, member, key, __VA_ARGS__)

GGS_GET_TEXT(line_name, struct ggs_gguf_line, (*length = it->name_length, it->name))
GGS_GET(int64_t, line_end, struct ggs_gguf_line, (int64_t) (it->offset + it->size))

// The layout has words of its own; component_type has ours.
static const char * component_word(const struct ggs_name * name) {
    static const char * const words[][2] = {{"Attention Q", "query"},
                                            {"Attention K", "key"},
                                            {"Attention V", "value"},
                                            {"Attention Output", "output"},
                                            {"Output Projection", "output"},
                                            {"FFN Gate", "gate"},
                                            {"FFN Up", "up"},
                                            {"FFN Down", "down"},
                                            {"Norm", "norm"}};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strstr(name->title, words[i][0]) != NULL) return words[i][1];
    }
    return "other";
}

static const char * category_word(uint64_t category) {
    return category == GGS_CATEGORY_INPUT ? "embedding" : ggs_category_name(category);
}

GGS_GET_TEXT(line_component, struct ggs_gguf_line, component_word(&it->parts))
GGS_GET_TEXT(line_component_type, struct ggs_gguf_line,
             ggs_name_component(room, GGS_COMPONENT_LENGTH, &it->parts, it->slice))
GGS_GET(bool, is_expert, struct ggs_gguf_line, it->expert >= 0)

static const struct ggs_field line_fields[] = {
    GGS_TEXT("name", line_name, ""),
    LINE(offset, "offset_start", "from the start of the file"),
    GGS_COUNT("offset_end", line_end, ""),
    LINE(size, "size_bytes"),
    GGS_LIST(struct ggs_gguf_line, ne, n_dims, "shape"),
    LINE(type, "dtype"),
    LINE_NULL(parts.layer, "layer_id"),
    GGS_FIELD_WORD(struct ggs_gguf_line, parts.category, "category", category_word),
    GGS_TEXT("component", line_component, "query, key, value, output, gate, up, down, norm or other"),
    GGS_TEXT("component_type", line_component_type, "component, in words for people"),
    LINE(expert, "expert_id", "present only for experts: readers recognise them by this key", .asked = is_expert,
         .from_0 = true),
    LINE(file, "file"),
    LINE(size_known, "size_known", "false: the type is not known, and the extent reaches to the next tensor"),
    {0},
};
static const struct ggs_object line_ = {.fields = line_fields};

void ggs_gguf_write_line(struct ggs_json * json, const struct ggs_gguf_line * line) {
    ggs_object_write(json, NULL, &line_, line, NULL);
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

// ---- metadata ----

struct metadata {
    const struct ggs_gguf * gguf; // NULL: only the number of tensors is known
    uint64_t                n_tensors;
};

static int64_t hparam(const struct ggs_gguf * gguf, const char * key) {
    uint64_t value;
    return gguf != NULL && ggs_gguf_get_hparam(gguf, key, &value) ? (int64_t) value : -1;
}

static int64_t vocabulary_of(const struct ggs_gguf * gguf) {
    const struct ggs_gguf_kv * tokens = gguf == NULL ? NULL : ggs_gguf_find(gguf, "tokenizer.ggml.tokens");
    return tokens != NULL && tokens->array ? (int64_t) tokens->count : hparam(gguf, "vocab_size");
}

static const char * const sources[] = {"gguf", "trace", NULL};
GGS_GET(int64_t, layers_of, struct metadata, hparam(it->gguf, "block_count"))
GGS_GET(int64_t, vocab_of, struct metadata, vocabulary_of(it->gguf))
GGS_GET(int64_t, embd_of, struct metadata, hparam(it->gguf, "embedding_length"))
GGS_GET(int64_t, heads_of, struct metadata, hparam(it->gguf, "attention.head_count"))
GGS_GET_TEXT(source_of, struct metadata, sources[it->gguf == NULL ? 1 : 0])

static const struct ggs_field metadata_fields[] = {
    GGS_NATURAL("n_layers", layers_of, ""),
    GGS_NATURAL("n_vocab", vocab_of, ""),
    GGS_NATURAL("n_embd", embd_of, ""),
    GGS_NATURAL("n_heads", heads_of, ""),
    GGS_FIELD(struct metadata, n_tensors, "n_tensors"),
    GGS_TEXT("source", source_of, "trace: the file is gone, and only tensors that ops used are listed",
             .words = sources),
    {0},
};
static const struct ggs_object metadata = {.fields = metadata_fields, .lines = true};

void ggs_gguf_write_metadata(struct ggs_json * json, const struct ggs_gguf * gguf, uint64_t n_tensors) {
    ggs_object_write(json, "metadata", &metadata, &(struct metadata){gguf, n_tensors}, NULL);
}

// ---- common fields ----

struct answer {
    const struct ggs_model *    model;
    const struct ggs_gguf_map * maps;
    const struct ggs_extents *  extents;
    uint64_t                    lines;
};

GGS_GET_TEXT(no_id, void, NULL)
GGS_GET_TEXT(model_name, struct answer, ggs_gguf_model_name(it->model, length))
GGS_GET(int64_t, model_size, struct answer, (int64_t) it->model->size)

static const struct ggs_field about_fields[] = {
    GGS_TEXT_OR_NULL("experiment_id", no_id, "of an export: UUID of the recording", .pattern = GGS_UUID_PATTERN),
    GGS_TEXT("model_name", model_name, "as the model calls itself, else name of its first file"),
    GGS_COUNT("total_size_bytes", model_size, "of all its files"),
    {0},
};
static const struct ggs_object about = {
    .name = "GgufModel", .text = "The first keys of every answer about a model.", .fields = about_fields};

#define GGUF(member, key, ...) GGS_FIELD(struct ggs_gguf, member, key, __VA_ARGS__)

GGS_GET_TEXT(file_name, struct ggs_gguf, ggs_file_name(it->path))

static const struct ggs_field file_fields[] = {
    GGS_TEXT("file", file_name, "its name"),
    GGUF(size, "size_bytes"),
    GGUF(version, "gguf_version"),
    GGUF(alignment, "alignment"),
    GGUF(data_offset, "data_offset"),
    GGUF(n_tensors, "num_tensors"),
    {0},
};
static const struct ggs_object file = {.name = "GgufFile", .fields = file_fields};

GGS_NEXT(next_file) {
    const struct ggs_model * model = ((const struct answer *) at)->model;
    return *i < model->n_files ? model->files[(*i)++] : NULL;
}

#define FILES GGS_EACH("files", next_file, &file)

// ---- regions ----

struct region_row {
    const struct ggs_region *      region;
    const struct ggs_gguf_tensor * tensor; // NULL: none
    const char *                   file;
    size_t                         of_file, next;
};

GGS_NEXT(next_region) {
    const struct answer * answer = at;
    struct region_row *   row    = room;
    if ((*i)++ == 0) *row = (struct region_row){0};
    while (row->of_file < answer->model->n_files && row->next == answer->maps[row->of_file].n_regions)
        row->of_file++, row->next = 0;
    if (row->of_file == answer->model->n_files) return NULL;
    const struct ggs_gguf * gguf = answer->model->files[row->of_file];
    row->region                  = &answer->maps[row->of_file].regions[row->next++];
    row->tensor                  = row->region->kind == GGS_REGION_TENSOR ? &gguf->tensors[row->region->tensor] : NULL;
    row->file                    = ggs_file_name(gguf->path);
    return row;
}

GGS_GET_TEXT(region_kind, struct region_row, ggs_region_name(it->region->kind))
GGS_GET(int64_t, region_start, struct region_row, (int64_t) it->region->offset)
GGS_GET(int64_t, region_end, struct region_row, (int64_t) (it->region->offset + it->region->size))
GGS_GET_TEXT(region_name, struct region_row,
             it->tensor == NULL ? NULL : (*length = it->tensor->name_length, it->tensor->name))

static const struct ggs_field region_fields[] = {
    GGS_TEXT("kind", region_kind, "", .word = ggs_region_name),
    GGS_COUNT("offset_start", region_start, ""),
    GGS_COUNT("offset_end", region_end, ""),
    GGS_TEXT_OR_NULL("name", region_name, "of a tensor"),
    GGS_FIELD(struct region_row, file, "file"),
    {0},
};
static const struct ggs_object region = {.name = "GgufRegion", .fields = region_fields};

#define REGIONS GGS_EACH("regions", next_region, &region, "every byte of every file is in one of them")

static const struct ggs_field regions_fields[]        = {GGS_MEMBERS_OF(&about), REGIONS, FILES, {0}};
const struct ggs_object       ggs_gguf_regions_object = {
          .text = "Every region of a model's files.", .fields = regions_fields, .lines = true};

void ggs_gguf_write_regions(struct ggs_json * json, const struct ggs_model * model, const struct ggs_gguf_map * maps) {
    ggs_object_write(json, NULL, &ggs_gguf_regions_object, &(struct answer){model, maps, NULL, 0}, NULL);
}

// ---- the map ----

GGS_GET_VIEW(metadata_of, struct answer,
             (*(struct metadata *) room = (struct metadata){it->model->files[0], it->model->n_tensors}, room))

static const struct ggs_field map_fields[] = {
    GGS_MEMBERS_OF(&about),
    GGS_FIELD(struct answer, lines, "num_tensors", "entries of tensors, experts one by one"),
    GGS_OBJECT_VIEW("metadata", metadata_of, &metadata),
    GGS_STREAM("tensors", &line_, "in the order in which they lie in their files, experts one by one"),
    REGIONS,
    FILES,
    {0},
};
const struct ggs_object ggs_gguf_object = {
    .text   = "A GGUF model in the layout of memory-map.json, and every region of its files.",
    .fields = map_fields,
    .lines  = true,
};

int ggs_gguf_write_map(struct ggs_json * json, const struct ggs_model * model, const struct ggs_gguf_map * maps,
                       struct ggs_error * error) {
    struct answer answer = {model, maps, NULL, 0};
    int           status = 0;
    for (size_t i = 0; i < model->n_files; i++) {
        struct ggs_entries entries = ggs_entries(model->files[i], &maps[i], true);
        struct ggs_entry   entry;
        while (ggs_entries_next(&entries, &entry)) answer.lines++;
    }
    ggs_object_begin(json, &ggs_gguf_object, &answer, NULL);
    for (size_t i = 0; status == 0 && i < model->n_files; i++)
        status = ggs_gguf_write_lines(json, model->files[i], &maps[i], ggs_file_name(model->files[i]->path), error);
    ggs_object_end(json, &ggs_gguf_object, &answer, NULL);
    return status;
}

// ---- key-values ----

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

static void put_values(struct ggs_json * json, const char * key, const void * at, const void * context) {
    const struct ggs_gguf_kv * kv     = at;
    struct ggs_gguf_values     values = ggs_gguf_values(kv);
    struct ggs_gguf_value      value;
    (void) context;
    if (kv->array) ggs_json_array_inline(json, key);
    while (ggs_gguf_next(&values, &value)) put_value(json, kv->array ? NULL : key, &value);
    if (kv->array) ggs_json_end(json);
}

GGS_GET_TEXT(key_of, struct ggs_gguf_kv, (*length = it->key_length, it->key))

static const struct ggs_field kv_fields[] = {
    GGS_TEXT("key", key_of, ""),
    GGS_FIELD_WORD(struct ggs_gguf_kv, type, "type", ggs_gguf_value_type_name, "of the value, or of its elements"),
    GGS_FIELD(struct ggs_gguf_kv, array, "array"),
    GGS_FIELD(struct ggs_gguf_kv, count, "count"),
    GGS_FIELD(struct ggs_gguf_kv, offset, "offset", "from the start of the file"),
    GGS_ANY("value", put_values, "as its type says; an array for arrays"),
    {0},
};
static const struct ggs_object kv = {.fields = kv_fields};

static const struct ggs_field kv_file_fields[] = {
    GGS_TEXT("file", file_name, ""),
    GGS_ROWS(struct ggs_gguf, kvs, n_kvs, "entries", &kv),
    {0},
};
static const struct ggs_object kv_file = {.fields = kv_file_fields, .lines = true};

static const struct ggs_field kvs_fields[] = {
    GGS_MEMBERS_OF(&about), FILES, GGS_EACH("key_values", next_file, &kv_file), {0}};
const struct ggs_object ggs_gguf_kv_object = {.text = "The metadata of a model.", .fields = kvs_fields, .lines = true};

void ggs_gguf_write_kv(struct ggs_json * json, const struct ggs_model * model) {
    ggs_object_write(json, NULL, &ggs_gguf_kv_object, &(struct answer){model, NULL, NULL, 0}, NULL);
}

// ---- extents ----

GGS_GET(bool, is_placed, struct ggs_extent, it->placed)

static const struct ggs_field extent_fields[] = {
    GGS_FIELD(struct ggs_extent, logical, "offset", "in the file"),
    GGS_FIELD(struct ggs_extent, physical, "device_offset", "null if it has no place on the device",
              .known = is_placed),
    GGS_FIELD(struct ggs_extent, length, "length"),
    {0},
};
static const struct ggs_object extent = {.fields = extent_fields};

struct extents_row {
    const struct ggs_gguf *     gguf;
    const struct ggs_gguf_map * map;
    const struct ggs_extents *  extents;
};

GGS_NEXT(next_extents) {
    const struct answer * answer = at;
    if (*i == answer->model->n_files) return NULL;
    *(struct extents_row *) room =
        (struct extents_row){answer->model->files[*i], &answer->maps[*i], &answer->extents[*i]};
    ++*i;
    return room;
}

struct placed_tensor {
    struct ggs_entries entries;
    struct ggs_entry   entry;
    uint64_t           end, fragments;
};
_Static_assert(sizeof(struct placed_tensor) <= GGS_ROOM, "it is made in the room of a row");

GGS_NEXT(next_placed) {
    const struct extents_row * row    = at;
    struct placed_tensor *     placed = room;
    if ((*i)++ == 0) placed->entries = ggs_entries(row->gguf, row->map, false);
    if (!ggs_entries_next(&placed->entries, &placed->entry)) return NULL;
    placed->end       = placed->entry.offset + placed->entry.size;
    placed->fragments = ggs_extents_count(row->extents, placed->entry.offset, placed->entry.size);
    return placed;
}

GGS_GET_TEXT(placed_name, struct placed_tensor, (*length = it->entry.tensor->name_length, it->entry.tensor->name))

static const struct ggs_field placed_fields[] = {
    GGS_TEXT("name", placed_name, ""),
    GGS_FIELD(struct placed_tensor, entry.offset, "offset_start"),
    GGS_FIELD(struct placed_tensor, end, "offset_end"),
    GGS_FIELD(struct placed_tensor, fragments, "fragments"),
    {0},
};
static const struct ggs_object placed = {.fields = placed_fields};

GGS_GET_VIEW(gguf_of, struct extents_row, it->gguf)
GGS_GET_VIEW(extents_of, struct extents_row, it->extents)

static const struct ggs_field  size_fields[] = {GGS_TEXT("file", file_name, ""), GGUF(size, "size_bytes"), {0}};
static const struct ggs_object size_         = {.fields = size_fields};

static const struct ggs_field fragment_fields[] = {
    GGS_FIELD(struct ggs_extents, n_extents, "fragments"),
    GGS_ROWS(struct ggs_extents, extents, n_extents, "extents", &extent),
    {0},
};
static const struct ggs_object fragments = {.fields = fragment_fields};

static const struct ggs_field extents_row_fields[] = {
    GGS_MEMBERS_VIEW(gguf_of, &size_),
    GGS_MEMBERS_VIEW(extents_of, &fragments),
    GGS_EACH("tensors", next_placed, &placed),
    {0},
};
static const struct ggs_object extents_row = {.fields = extents_row_fields, .lines = true};

static const struct ggs_field extents_fields[] = {
    GGS_MEMBERS_OF(&about), GGS_EACH("files", next_extents, &extents_row), {0}};
const struct ggs_object ggs_gguf_extents_object = {
    .text = "How a model's files lie on their disk.", .fields = extents_fields, .lines = true};

int ggs_gguf_write_extents(struct ggs_json * json, const struct ggs_model * model, const struct ggs_gguf_map * maps,
                           struct ggs_error * error) {
    struct ggs_extents * extents = calloc(model->n_files, sizeof *extents);
    if (extents == NULL) return ggs_fail_memory(error);
    int status = 0;
    // All of them first: half a JSON document is useless.
    for (size_t i = 0; status == 0 && i < model->n_files; i++)
        status = ggs_extents_init(&extents[i], model->files[i]->path, error);
    if (status == 0)
        ggs_object_write(json, NULL, &ggs_gguf_extents_object, &(struct answer){model, maps, extents, 0}, NULL);
    for (size_t i = 0; i < model->n_files; i++) ggs_extents_release(&extents[i]);
    free(extents);
    return status;
}
