// /api/x/N/heat: how often was what touched, in the order of the map.
#include "analyze/ops/heat.h"
#include "analyze/machine/machine-heat.h"
#include "base/error.h"
#include "serve/routes/routes.h"

enum column { READS, BYTES, LAST_OP, LAST_RUN, LAST_NODE, COLUMNS };

static const char * const titles[COLUMNS] = {"reads", "bytes", "last_op", "last_run", "last_node"};

static void put_cell(struct ggs_question * request, struct ggs_json * json, const struct ggs_heat_place * place,
                     enum column column) {
    if (column == READS)
        ggs_json_u64(json, NULL, place->reads);
    else if (column == BYTES)
        ggs_json_u64(json, NULL, place->bytes);
    else if (place->last_run == 0)
        ggs_json_null(json, NULL);
    else if (column == LAST_OP)
        ggs_json_string(json, NULL, ggs_trace_op_name(&request->trace, place->last_op));
    else
        ggs_json_u64(json, NULL, column == LAST_RUN ? place->last_run : place->last_node);
}

static void put_list(struct ggs_json * json, const char * key, const uint64_t * values, uint64_t n) {
    ggs_json_array(json, key);
    for (uint64_t i = 0; i < n; i++) ggs_json_u64(json, NULL, values[i]);
    ggs_json_end(json);
}

static void put_experts(struct ggs_json * json, const struct ggs_heat * heat, const struct ggs_model_map * map) {
    ggs_json_array(json, "experts");
    for (uint64_t i = 0; i < heat->n_places; i++) {
        if (heat->places[i].expert_reads == NULL) continue;
        ggs_json_object(json, NULL);
        ggs_json_u64(json, "tensor", i);
        put_list(json, "reads", heat->places[i].expert_reads, map->places[i].experts);
        put_list(json, "bytes", heat->places[i].expert_bytes, map->places[i].experts);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

static void put_buffers(struct ggs_question * request, struct ggs_json * json, const struct ggs_heat * heat) {
    static const char * const names[] = {"buffer", "reads", "writes", "bytes"};
    ggs_json_object(json, "buffers");
    for (unsigned column = 0; column < 4; column++) {
        ggs_json_array(json, names[column]);
        for (uint64_t i = 0; i < heat->n_buffers; i++) {
            const struct ggs_heat_buffer * b       = &heat->buffers[i];
            uint64_t                       cells[] = {request->trace.buffers[i].buffer, b->reads, b->writes, b->bytes};
            ggs_json_u64(json, NULL, cells[column]);
        }
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

// A number of every place, in the order of the map; `at` is where it stands in the place's struct.
static void put_machine_list(struct ggs_json * json, const char * key, const struct ggs_machine_heat * machine,
                             size_t at) {
    ggs_json_array(json, key);
    for (uint64_t i = 0; i < machine->n_places; i++)
        ggs_json_u64(json, NULL, *(const uint64_t *) ((const char *) &machine->places[i] + at));
    ggs_json_end(json);
}

static void put_machine(struct ggs_json * json, const struct ggs_machine_heat * machine) {
    if (machine->faults) {
        ggs_json_object(json, "faults");
        put_machine_list(json, "minor", machine, offsetof(struct ggs_machine_place, minor));
        put_machine_list(json, "major", machine, offsetof(struct ggs_machine_place, major));
        put_machine_list(json, "stalled_ns", machine, offsetof(struct ggs_machine_place, stalled_ns));
        ggs_json_end(json);
    } else {
        ggs_json_null(json, "faults");
    }
    if (machine->pages) {
        ggs_json_object(json, "pages");
        put_machine_list(json, "touched", machine, offsetof(struct ggs_machine_place, touched));
        ggs_json_end(json);
    } else {
        ggs_json_null(json, "pages");
    }
}

int ggs_route_heat(struct ggs_question * request, struct ggs_error * error) {
    const struct ggs_model_map * map = NULL;
    struct ggs_heat              heat;
    struct ggs_machine_heat      machine;
    struct ggs_json              json;
    int64_t                      first = 0, last = INT64_MAX;
    int                          status = ggs_query_tokens(&request->query, &first, &last, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    if (status == 0) status = ggs_snapshot_map(request->snapshot, &map, error);
    if (status != 0) return status;
    ggs_request_expect(request, ggs_reader_rows(request->trace.reader, GGS_TABLE_OP_RUNS));
    status = ggs_heat_compute(&heat, &request->trace, map, first, last, error);
    if (status < 0) return status;
    status = ggs_machine_heat_compute(&machine, &request->trace, map, first, last, error);
    if (status < 0) {
        ggs_heat_release(&heat);
        return status;
    }
    ggs_answer_begin(request->answer, &json);
    ggs_json_object(&json, "tensors");
    for (unsigned column = 0; column < COLUMNS; column++) {
        ggs_json_array(&json, titles[column]);
        for (uint64_t i = 0; i < heat.n_places; i++) put_cell(request, &json, &heat.places[i], (enum column) column);
        ggs_json_end(&json);
    }
    ggs_json_end(&json);
    put_experts(&json, &heat, map);
    ggs_json_u64(&json, "touched_bytes", heat.touched_bytes);
    ggs_json_u64(&json, "model_bytes", heat.model_bytes);
    put_machine(&json, &machine);
    put_buffers(request, &json, &heat);
    status = ggs_answer_end(request->answer, &json, error);
    ggs_machine_heat_release(&machine);
    ggs_heat_release(&heat);
    return status;
}
