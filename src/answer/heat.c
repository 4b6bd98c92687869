#include "answer/answer.h"

#include "gguf/gguf-map.h"

// ---- the map ----

struct file_row {
    uint64_t     file, bytes;
    const char * path;
};

static const struct ggs_field file_fields[] = {
    GGS_FIELD(struct file_row, file, "file", "number, from 1"),
    GGS_FIELD(struct file_row, bytes, "bytes"),
    GGS_FIELD(struct file_row, path, "path"),
    {0},
};
static const struct ggs_object file = {.name = "ModelFile", .fields = file_fields};

GGS_NEXT(next_file) {
    const struct ggs_trace * trace = context;
    (void) at;
    while (*i < trace->n_files && !trace->models[*i]) ++*i;
    if (*i == trace->n_files) return NULL;
    const struct ggs_file * row = &trace->files[(*i)++];
    *(struct file_row *) room   = (struct file_row){row->file, row->size, ggs_reader_string(trace->reader, row->path)};
    return room;
}

static const struct ggs_field files_fields[] = {
    GGS_EACH("files", next_file, &file, "GGUF files that the engine opened"),
    {0},
};
const struct ggs_object ggs_model_files_object = {.fields = files_fields};

#define PLACE(member, key, ...)      GGS_FIELD(struct ggs_model_place, member, key, __VA_ARGS__)
#define PLACE_NULL(member, key, ...) GGS_FIELD_OR_NULL(struct ggs_model_place, member, key, __VA_ARGS__)

static const struct ggs_field place_fields[] = {
    PLACE(kind, "kind", "what it is", .word = ggs_region_name),
    PLACE_NULL(name, "name", "null for what is no tensor"),
    PLACE_NULL(type, "type", "ggml's name of the type; null for what is no tensor"),
    PLACE(file, "file"),
    PLACE(offset, "file_offset"),
    PLACE(bytes, "bytes"),
    PLACE_NULL(layer, "layer"),
    PLACE(component, "component", "what the weight is for"),
    PLACE(category, "category"),
    PLACE(experts, "experts", "number of experts in it, equal parts; 0: none"),
    PLACE(copied, "copied", "the engine read it from a copy of its own"),
    GGS_LIST(struct ggs_model_place, ne, n_dims, "shape", "", .inside = true),
    {0},
};
static const struct ggs_object place = {.fields = place_fields};

static const struct ggs_field map_fields[] = {
    GGS_ABOUT,
    GGS_MEMBERS_OF(&ggs_model_files_object),
    GGS_FIELD(struct ggs_model_map, from_trace, "from_trace",
              "files that are gone or have changed: of these, only tensors that ops used are known"),
    GGS_COLUMNS(struct ggs_model_map, places, n, "tensors", &place, "places by file and offset; they cover every byte"),
    {0},
};
const struct ggs_object ggs_map_object = {
    .name = "ModelMap", .text = "What lies where in the model's files.", .fields = map_fields, .lines = true};

// ---- places ----

GGS_GET(int64_t, last_node_of, struct ggs_heat_place, it->last_run == 0 ? -1 : (int64_t) it->last_node)
GGS_GET_TEXT(last_op_of, struct ggs_heat_place, it->last_run == 0 ? NULL : ggs_trace_op_name(trace, it->last_op))

static const struct ggs_field heat_place_fields[] = {
    GGS_FIELD(struct ggs_heat_place, reads, "reads"),
    GGS_FIELD(struct ggs_heat_place, bytes, "bytes_read", "every read counts, also of the same bytes"),
    GGS_FIELD(struct ggs_heat_place, disk, "bytes_disk",
              "of these, from the mapped file; the rest from copies made at load"),
    GGS_FIELD_OR_NULL(struct ggs_heat_place, last_run, "last_run", "op that touched it last"),
    GGS_NATURAL("last_node", last_node_of, ""),
    GGS_TEXT_OR_NULL("last_op", last_op_of, ""),
    {0},
};
static const struct ggs_object heat_place = {.fields = heat_place_fields};

#define MODEL(member, key, ...) GGS_FIELD(struct ggs_heat, member, key, __VA_ARGS__)

static const struct ggs_field model_fields[] = {
    MODEL(model_bytes, "bytes"),
    MODEL(touched_bytes, "bytes_touched"),
    MODEL(unknown_bytes, "bytes_unknown", "bytes besides, read in part: which rows or experts was not seen"),
    {0},
};
static const struct ggs_object model = {.fields = model_fields};

static const struct ggs_field heat_fields[] = {
    GGS_OBJECT_OF("model", &model),
    GGS_COLUMNS(struct ggs_heat, places, n_places, "tensors", &heat_place, "in the order of the map's places"),
    {0},
};
static const struct ggs_object heat_ = {.fields = heat_fields};

// ---- experts ----

struct heat_answer {
    const struct ggs_model_map *    map;
    const struct ggs_heat *         heat;
    const struct ggs_machine_heat * machine;
};

struct expert_row {
    uint64_t         place, n;
    const uint64_t * reads;
    const uint64_t * bytes;
};

GGS_NEXT(next_expert) {
    const struct heat_answer * answer = at;
    const struct ggs_heat *    heat   = answer->heat;
    while (*i < heat->n_places && (heat->places[*i].expert_reads == NULL || heat->places[*i].unknown)) ++*i;
    if (*i == heat->n_places) return NULL;
    *(struct expert_row *) room = (struct expert_row){*i, answer->map->places[*i].experts,
                                                      heat->places[*i].expert_reads, heat->places[*i].expert_bytes};
    ++*i;
    return room;
}

#define AT_PLACE "its number in the map"

static const struct ggs_field expert_fields[] = {
    GGS_FIELD(struct expert_row, place, "place", AT_PLACE),
    GGS_LIST(struct expert_row, reads, n, "reads", "by expert"),
    GGS_LIST(struct expert_row, bytes, n, "bytes_read", "by expert"),
    {0},
};
static const struct ggs_object expert = {.fields = expert_fields};

// ---- faults and touched pages, by place, expert and byte range ----

struct machine_row {
    uint64_t                         place, n;
    const struct ggs_machine_place * experts;
};

GGS_NEXT(next_machine) {
    const struct heat_answer *      answer  = at;
    const struct ggs_machine_heat * machine = answer->machine;
    while (*i < machine->n_places && machine->experts[*i] == NULL) ++*i;
    if (*i == machine->n_places) return NULL;
    *(struct machine_row *) room = (struct machine_row){*i, answer->map->places[*i].experts, machine->experts[*i]};
    ++*i;
    return room;
}

GGS_GET_VIEW(machine_of, struct heat_answer, it->machine)

#define MACHINE(member, key, ...) GGS_FIELD(struct ggs_machine_heat, member, key, __VA_ARGS__)
#define STRETCH(member, key, ...) GGS_FIELD(struct ggs_machine_stretch, member, key, __VA_ARGS__)

// `values` describes a struct ggs_machine_place.
#define PART(values)                                                                                      \
    static const struct ggs_field values##_place_fields[] = {                                             \
        GGS_COLUMNS(struct ggs_machine_heat, places, n_places, NULL, &values),                            \
        {0},                                                                                              \
    };                                                                                                    \
    static const struct ggs_object values##_place           = {.fields = values##_place_fields};          \
    static const struct ggs_field  values##_expert_fields[] = {                                           \
         GGS_FIELD(struct machine_row, place, "place", AT_PLACE),                                         \
         GGS_COLUMNS(struct machine_row, experts, n, NULL, &values),                                      \
         {0},                                                                                             \
    };                                                                                                   \
    static const struct ggs_object values##_expert           = {.fields = values##_expert_fields};        \
    static const struct ggs_field  values##_stretch_fields[] = {                                          \
         STRETCH(file, "file"),                                                                           \
         STRETCH(offset, "file_offset"),                                                                  \
         GGS_MEMBERS(struct ggs_machine_stretch, sum, &values),                                           \
         {0},                                                                                             \
    };                                                                                                   \
    static const struct ggs_object values##_stretch        = {.fields = values##_stretch_fields};         \
    static const struct ggs_field  values##_range_fields[] = {                                            \
         MACHINE(stretch_bytes, "bytes", "of a range", .least = 1),                                       \
         MACHINE(page_bytes, "page_bytes", "", .least = 1),                                               \
         GGS_COLUMNS(struct ggs_machine_heat, stretch, n_stretches, NULL, &values##_stretch),             \
         {0},                                                                                             \
    };                                                                                                   \
    static const struct ggs_object values##_range     = {.fields = values##_range_fields, .lines = true}; \
    static const struct ggs_field  values##_fields_[] = {                                                 \
         GGS_MEMBERS_VIEW(machine_of, &values##_place),                                                   \
         GGS_EACH("experts", next_machine, &values##_expert, "the same by expert"),                       \
         GGS_OBJECT_VIEW("ranges", machine_of, &values##_range,                                           \
                         "the same by byte range: those in which something happened"),                    \
         {0},                                                                                             \
    };                                                                                                   \
    static const struct ggs_object values##_part = {.fields = values##_fields_, .lines = true};

static const struct ggs_field fault_fields[] = {
    GGS_FIELD(struct ggs_machine_place, minor, "minor"),
    GGS_FIELD(struct ggs_machine_place, major, "major"),
    GGS_FIELD(struct ggs_machine_place, stalled_ns, "stalled_ns"),
    {0},
};
static const struct ggs_object faults = {.fields = fault_fields};
PART(faults)

static const struct ggs_field touched_fields[] = {
    GGS_FIELD(struct ggs_machine_place, touched, "bytes_touched"),
    {0},
};
static const struct ggs_object touched = {.fields = touched_fields};
PART(touched)

GGS_GET(bool, has_faults, struct heat_answer, it->machine->faults)
GGS_GET(bool, has_pages, struct heat_answer, it->machine->pages)

// ---- buffers ----

struct buffer_columns {
    const struct ggs_buffer *      recorded;
    const struct ggs_heat_buffer * heat;
    const uint64_t *               touched;
    uint64_t                       n;
};

static const struct ggs_field  buffer_number_fields[] = {GGS_FIELD(struct ggs_buffer, buffer, "buffer"), {0}};
static const struct ggs_object buffer_number          = {.fields = buffer_number_fields};

static const struct ggs_field buffer_heat_fields[] = {
    GGS_FIELD(struct ggs_heat_buffer, reads, "reads"),
    GGS_FIELD(struct ggs_heat_buffer, writes, "writes"),
    GGS_FIELD(struct ggs_heat_buffer, bytes, "bytes"),
    {0},
};
static const struct ggs_object buffer_heat = {.fields = buffer_heat_fields};

static const struct ggs_field buffers_fields[] = {
    GGS_COLUMNS(struct buffer_columns, recorded, n, NULL, &buffer_number),
    GGS_COLUMNS(struct buffer_columns, heat, n, NULL, &buffer_heat),
    GGS_LIST(struct buffer_columns, touched, n, "bytes_touched", "bytes touched at least once"),
    {0},
};
static const struct ggs_object buffers = {.fields = buffers_fields, .lines = true};

static const void * buffers_of(const void * at, const void * trace, void * room) {
    const struct ggs_heat * heat    = ((const struct heat_answer *) at)->heat;
    *(struct buffer_columns *) room = (struct buffer_columns){((const struct ggs_trace *) trace)->buffers,
                                                              heat->buffers, heat->in_buffers.touched, heat->n_buffers};
    return room;
}

static const struct ggs_field buffer_stretch_fields[] = {
    GGS_FIELD(struct ggs_buffer_stretch, buffer, "buffer"),
    GGS_FIELD(struct ggs_buffer_stretch, offset, "buffer_offset"),
    GGS_FIELD(struct ggs_buffer_stretch, touched, "bytes_touched", "bytes touched at least once"),
    GGS_FIELD(struct ggs_buffer_stretch, bytes, "bytes",
              "read and written; every access counts, also of the same bytes"),
    {0},
};
static const struct ggs_object buffer_stretch = {.fields = buffer_stretch_fields};

static const struct ggs_field in_buffers_fields[] = {
    GGS_FIELD(struct ggs_buffer_heat, stretch_bytes, "range_bytes", "of a range", .least = 1),
    GGS_COLUMNS(struct ggs_buffer_heat, stretch, n, NULL, &buffer_stretch),
    {0},
};
static const struct ggs_object in_buffers = {.fields = in_buffers_fields, .lines = true};
GGS_GET_VIEW(in_buffers_of, struct heat_answer, &it->heat->in_buffers)

// ---- the answer ----

GGS_GET_VIEW(heat_of, struct heat_answer, it->heat)

static const struct ggs_field fields[] = {
    GGS_ABOUT,
    GGS_MEMBERS_VIEW(heat_of, &heat_),
    GGS_EACH("experts", next_expert, &expert, "places that hold experts"),
    GGS_OBJECT_OF("faults", &faults_part, "page faults by place; null if none were recorded", .known = has_faults),
    GGS_OBJECT_OF("pages", &touched_part, "pages that ops really touched; null without --prove", .known = has_pages),
    GGS_OBJECT_VIEW("buffers", buffers_of, &buffers, "by buffer"),
    GGS_OBJECT_VIEW("buffer_ranges", in_buffers_of, &in_buffers, "byte ranges of buffers that ops touch"),
    {0},
};
const struct ggs_object ggs_heat_object = {
    .name   = "Heat",
    .text   = "How often every place of the map, every expert and every buffer was touched.",
    .fields = fields,
    .lines  = true,
};

void ggs_heat_write(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_model_map * map,
                    const struct ggs_heat * heat, const struct ggs_machine_heat * machine) {
    ggs_answer_write(json, &ggs_heat_object, &(struct heat_answer){map, heat, machine}, trace);
}
