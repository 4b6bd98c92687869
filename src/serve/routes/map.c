// /api/x/N/map: what lies where in the model's files.
#include <string.h>

#include "serve/routes/routes.h"

static void put_files(struct ggs_question * request, struct ggs_json * json) {
    const struct ggs_trace * trace = &request->trace;
    ggs_json_array(json, "files");
    for (uint64_t i = 0; i < trace->n_files; i++) {
        if (trace->files[i].gguf == 0) continue;
        ggs_json_object(json, NULL);
        ggs_json_u64(json, "file", trace->files[i].file);
        ggs_json_u64(json, "bytes", trace->files[i].size);
        ggs_json_string(json, "path", ggs_request_string(request, trace->files[i].path));
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

enum column {
    NAME,
    TYPE,
    SHAPE,
    FILE_NUMBER,
    OFFSET,
    BYTES,
    LAYER,
    COMPONENT,
    CATEGORY,
    EXPERTS,
    COPIED,
    KIND,
    COLUMNS
};

static const char * const titles[COLUMNS] = {"name",  "type",      "shape",    "file",    "offset", "bytes",
                                             "layer", "component", "category", "experts", "copied", "kind"};

static void put_cell(struct ggs_json * json, const struct ggs_model_place * place, enum column column) {
    switch (column) {
        case NAME:
            ggs_json_string(json, NULL, place->name[0] == '\0' ? place->kind : place->name);
            break;
        case TYPE:
            ggs_json_string(json, NULL, place->type);
            break;
        case SHAPE:
            ggs_json_array(json, NULL);
            for (unsigned i = 0; i < place->n_dims; i++) ggs_json_u64(json, NULL, place->ne[i]);
            ggs_json_end(json);
            break;
        case FILE_NUMBER:
            ggs_json_u64(json, NULL, place->file);
            break;
        case OFFSET:
            ggs_json_u64(json, NULL, place->offset);
            break;
        case BYTES:
            ggs_json_u64(json, NULL, place->bytes);
            break;
        case LAYER:
            ggs_json_i64(json, NULL, place->layer);
            break;
        case COMPONENT:
            ggs_json_string(json, NULL, place->component);
            break;
        case CATEGORY:
            ggs_json_string(json, NULL, place->category);
            break;
        case EXPERTS:
            ggs_json_u64(json, NULL, place->experts);
            break;
        case COPIED:
            ggs_json_u64(json, NULL, place->copied);
            break;
        default:
            ggs_json_string(json, NULL, place->kind);
            break;
    }
}

int ggs_route_map(struct ggs_question * request, struct ggs_error * error) {
    const struct ggs_model_map * map;
    struct ggs_json              json;
    int                          status = ggs_query_finish(&request->query, error);
    if (status == 0) status = ggs_snapshot_map(request->snapshot, &map, error);
    if (status != 0) return status;
    ggs_answer_begin(request->answer, &json);
    put_files(request, &json);
    ggs_json_u64(&json, "from_trace", map->from_trace);
    ggs_json_object(&json, "tensors");
    for (unsigned column = 0; column < COLUMNS; column++) {
        ggs_json_array(&json, titles[column]);
        for (uint64_t i = 0; i < map->n; i++) put_cell(&json, &map->places[i], (enum column) column);
        ggs_json_end(&json);
    }
    ggs_json_end(&json);
    return ggs_answer_end(request->answer, &json, error);
}
