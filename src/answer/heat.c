#include "answer/answer.h"

#include <string.h>

// ---- the map ----

void ggs_map_write_files(struct ggs_json * json, const struct ggs_trace * trace) {
    ggs_json_array(json, "files");
    for (uint64_t i = 0; i < trace->n_files; i++) {
        if (!trace->models[i]) continue;
        ggs_json_object_inline(json, NULL);
        ggs_json_u64(json, "file", trace->files[i].file);
        ggs_json_u64(json, "bytes", trace->files[i].size);
        ggs_json_string(json, "path", ggs_reader_string(trace->reader, trace->files[i].path));
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

void ggs_map_write(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_model_map * map) {
    static const struct ggs_field fields[] = {
        GGS_FIELD(struct ggs_model_place, kind, "kind"),
        GGS_FIELD_OR_NULL(struct ggs_model_place, name, "name"),
        GGS_FIELD_OR_NULL(struct ggs_model_place, type, "type"),
        GGS_FIELD(struct ggs_model_place, file, "file"),
        GGS_FIELD(struct ggs_model_place, offset, "file_offset"),
        GGS_FIELD(struct ggs_model_place, bytes, "bytes"),
        GGS_FIELD_OR_NULL(struct ggs_model_place, layer, "layer"),
        GGS_FIELD(struct ggs_model_place, component, "component"),
        GGS_FIELD(struct ggs_model_place, category, "category"),
        GGS_FIELD(struct ggs_model_place, experts, "experts"),
        GGS_FIELD(struct ggs_model_place, copied, "copied"),
        {0},
    };
    ggs_json_object(json, NULL);
    ggs_answer_experiment(json, trace);
    ggs_map_write_files(json, trace);
    ggs_json_u64(json, "from_trace", map->from_trace);
    ggs_json_object(json, "tensors");
    ggs_fields_lists(json, fields, map->places, sizeof(*map->places), map->n);
    ggs_json_array_inline(json, "shape");
    for (uint64_t i = 0; i < map->n; i++) {
        ggs_json_array_inline(json, NULL);
        for (unsigned k = 0; k < map->places[i].n_dims; k++) ggs_json_u64(json, NULL, map->places[i].ne[k]);
        ggs_json_end(json);
    }
    ggs_json_end(json);
    ggs_json_end(json);
    ggs_json_end(json);
}

// ---- heat ----

static void write_places(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_heat * heat) {
    static const struct ggs_field fields[] = {
        GGS_FIELD(struct ggs_heat_place, reads, "reads"),
        GGS_FIELD(struct ggs_heat_place, bytes, "bytes_read"),
        GGS_FIELD(struct ggs_heat_place, disk, "bytes_disk"),
        GGS_FIELD_OR_NULL(struct ggs_heat_place, last_run, "last_run"),
        {0},
    };
    ggs_json_object(json, "tensors");
    ggs_fields_lists(json, fields, heat->places, sizeof(*heat->places), heat->n_places);
    for (int op = 0; op < 2; op++) {
        ggs_json_array_inline(json, op ? "last_op" : "last_node");
        for (uint64_t i = 0; i < heat->n_places; i++) {
            const struct ggs_heat_place * place = &heat->places[i];
            if (place->last_run == 0) {
                ggs_json_null(json, NULL);
            } else if (op) {
                ggs_json_string(json, NULL, ggs_trace_op_name(trace, place->last_op));
            } else {
                ggs_json_u64(json, NULL, place->last_node);
            }
        }
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

static void write_list(struct ggs_json * json, const char * key, const uint64_t * values, uint64_t n) {
    ggs_json_array_inline(json, key);
    for (uint64_t i = 0; i < n; i++) ggs_json_u64(json, NULL, values[i]);
    ggs_json_end(json);
}

static void write_experts(struct ggs_json * json, const struct ggs_heat * heat, const struct ggs_model_map * map) {
    ggs_json_array(json, "experts");
    for (uint64_t i = 0; i < heat->n_places; i++) {
        if (heat->places[i].expert_reads == NULL || heat->places[i].unknown) continue;
        ggs_json_object_inline(json, NULL);
        ggs_json_u64(json, "place", i);
        write_list(json, "reads", heat->places[i].expert_reads, map->places[i].experts);
        write_list(json, "bytes_read", heat->places[i].expert_bytes, map->places[i].experts);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

// The same of each place, of each expert and of each stretch of bytes in which something happened.
static void write_part(struct ggs_json * json, const char * key, const struct ggs_field * fields,
                       const struct ggs_machine_heat * machine, const struct ggs_model_map * map) {
    static const struct ggs_field where[] = {GGS_FIELD(struct ggs_machine_stretch, file, "file"),
                                             GGS_FIELD(struct ggs_machine_stretch, offset, "file_offset"),
                                             {0}};
    ggs_json_object(json, key);
    ggs_fields_lists(json, fields, machine->places, sizeof(*machine->places), machine->n_places);
    ggs_json_array(json, "experts");
    for (uint64_t i = 0; i < machine->n_places; i++) {
        if (machine->experts[i] == NULL) continue;
        ggs_json_object_inline(json, NULL);
        ggs_json_u64(json, "place", i);
        ggs_fields_lists(json, fields, machine->experts[i], sizeof(**machine->experts), map->places[i].experts);
        ggs_json_end(json);
    }
    ggs_json_end(json);
    ggs_json_object(json, "ranges");
    ggs_json_u64(json, "bytes", machine->stretch_bytes);
    ggs_json_u64(json, "page_bytes", machine->page_bytes);
    ggs_fields_lists(json, where, machine->stretch, sizeof(*machine->stretch), machine->n_stretches);
    ggs_fields_lists(json, fields, machine->stretch == NULL ? NULL : &machine->stretch->sum, sizeof(*machine->stretch),
                     machine->n_stretches);
    ggs_json_end(json);
    ggs_json_end(json);
}

static void write_machine(struct ggs_json * json, const struct ggs_machine_heat * machine,
                          const struct ggs_model_map * map) {
    static const struct ggs_field faults[] = {
        GGS_FIELD(struct ggs_machine_place, minor, "minor"),
        GGS_FIELD(struct ggs_machine_place, major, "major"),
        GGS_FIELD(struct ggs_machine_place, stalled_ns, "stalled_ns"),
        {0},
    };
    static const struct ggs_field pages[] = {GGS_FIELD(struct ggs_machine_place, touched, "bytes_touched"), {0}};
    if (machine->faults)
        write_part(json, "faults", faults, machine, map);
    else
        ggs_json_null(json, "faults");
    if (machine->pages)
        write_part(json, "pages", pages, machine, map);
    else
        ggs_json_null(json, "pages");
}

static void write_buffers(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_heat * heat) {
    static const struct ggs_field number[] = {GGS_FIELD(struct ggs_buffer, buffer, "buffer"), {0}};
    static const struct ggs_field fields[] = {
        GGS_FIELD(struct ggs_heat_buffer, reads, "reads"),
        GGS_FIELD(struct ggs_heat_buffer, writes, "writes"),
        GGS_FIELD(struct ggs_heat_buffer, bytes, "bytes"),
        {0},
    };
    ggs_json_object(json, "buffers");
    ggs_fields_lists(json, number, trace->buffers, sizeof(*trace->buffers), heat->n_buffers);
    ggs_fields_lists(json, fields, heat->buffers, sizeof(*heat->buffers), heat->n_buffers);
    ggs_json_end(json);
}

void ggs_heat_write(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_model_map * map,
                    const struct ggs_heat * heat, const struct ggs_machine_heat * machine) {
    static const struct ggs_field model[] = {GGS_FIELD(struct ggs_heat, model_bytes, "bytes"),
                                             GGS_FIELD(struct ggs_heat, touched_bytes, "bytes_touched"),
                                             GGS_FIELD(struct ggs_heat, unknown_bytes, "bytes_unknown"),
                                             {0}};
    ggs_json_object(json, NULL);
    ggs_answer_experiment(json, trace);
    ggs_fields_object(json, "model", model, heat);
    write_places(json, trace, heat);
    write_experts(json, heat, map);
    write_machine(json, machine, map);
    write_buffers(json, trace, heat);
    ggs_json_end(json);
}
