#include "analyze/memory/heat.h"

#include <stdlib.h>

#include "analyze/walk/byte-uses.h"
#include "base/error.h"

struct heating {
    struct ggs_heat *            heat;
    const struct ggs_trace *     trace;
    const struct ggs_model_map * map;
};

void ggs_heat_release(struct ggs_heat * heat) {
    for (uint64_t i = 0; i < heat->n_places; i++) {
        free(heat->places[i].expert_reads);
        free(heat->places[i].expert_bytes);
    }
    for (uint64_t i = 0; i < heat->n_files; i++) {
        ggs_intervals_release(&heat->touched[i]);
        ggs_intervals_release(&heat->maybe[i]);
    }
    ggs_buffer_heat_release(&heat->in_buffers);
    free(heat->touched);
    free(heat->maybe);
    free(heat->places);
    free(heat->buffers);
    *heat = (struct ggs_heat){0};
}

// Adds a range of a place to its experts; adjacent experts may share a range.
static void heat_experts(struct ggs_heat_place * place, const struct ggs_model_place * where, uint64_t begin,
                         uint64_t length, uint64_t times) {
    uint64_t each = where->experts == 0 ? 0 : where->bytes / where->experts, end = begin + length;
    if (each == 0 || place->expert_reads == NULL) return;
    for (uint64_t at = begin; at < end;) {
        uint64_t expert = (at - where->offset) / each, stop = where->offset + (expert + 1) * each;
        if (expert >= where->experts) break;
        if (stop > end) stop = end;
        place->expert_reads[expert] += times;
        place->expert_bytes[expert] += times * (stop - at);
        at = stop;
    }
}

static void remember_last(struct ggs_heat_place * place, uint64_t run, uint64_t node, uint64_t op) {
    if (run < place->last_run || (run == place->last_run && node < place->last_node)) return;
    place->last_run  = run;
    place->last_node = node;
    place->last_op   = op;
}

static int heat_model(struct heating * heating, const struct ggs_access * access, uint64_t run, uint64_t node,
                      uint64_t op, uint64_t times, struct ggs_error * error) {
    struct ggs_heat * heat = heating->heat;
    uint64_t          file, base;
    if (!ggs_trace_origin(access->tensor, &file, &base)) return 0;
    struct ggs_intervals * set = access->some ? heat->maybe : heat->touched;
    if (!ggs_intervals_add_ranges(&set[file - 1], base, access->ranges, access->n_ranges))
        return ggs_fail_memory(error);
    for (uint32_t i = 0; i < access->n_ranges; i++) {
        uint64_t begin  = base + access->ranges[i].offset;
        uint64_t length = access->ranges[i].length < access->bytes ? access->ranges[i].length : access->bytes;
        int64_t  found  = ggs_model_map_find(heating->map, file, begin);
        if (found < 0 || access->write) continue;
        struct ggs_heat_place * place = &heat->places[found];
        place->reads += times;
        place->bytes += times * length;
        place->unknown |= access->some;
        if (access->tensor->source == GGS_SOURCE_DISK) place->disk += times * length;
        if (!access->some) heat_experts(place, &heating->map->places[found], begin, length, times);
        remember_last(place, run, node, op);
    }
    return 0;
}

static int add_access(void * context, uint64_t run, uint64_t node, uint64_t op, const struct ggs_access_list * list,
                      uint64_t times, struct ggs_error * error) {
    struct heating *  heating = context;
    struct ggs_heat * heat    = heating->heat;
    int               status  = 0;
    for (unsigned i = 0; status == 0 && i < list->n; i++) {
        const struct ggs_access * access = &list->access[i];
        bool                      disk   = access->tensor->source == GGS_SOURCE_DISK;
        const struct ggs_buffer * buffer = disk ? NULL : ggs_trace_buffer(heating->trace, access->tensor->buffer);
        if (buffer != NULL) {
            struct ggs_heat_buffer * sum = &heat->buffers[buffer - heating->trace->buffers];
            *(access->write ? &sum->writes : &sum->reads) += times;
            sum->bytes += times * access->bytes;
            status = ggs_buffer_heat_add(&heat->in_buffers, (uint64_t) (buffer - heating->trace->buffers), access,
                                         times, error);
        }
        if (status == 0) status = heat_model(heating, access, run, node, op, times, error);
    }
    return status;
}

static int make_room(struct ggs_heat * heat, const struct ggs_trace * trace, const struct ggs_model_map * map,
                     struct ggs_error * error) {
    heat->places  = calloc(map->n + 1, sizeof(*heat->places));
    heat->buffers = calloc(trace->n_buffers + 1, sizeof(*heat->buffers));
    heat->touched = calloc(trace->n_files + 1, sizeof(*heat->touched));
    heat->maybe   = calloc(trace->n_files + 1, sizeof(*heat->maybe));
    if (heat->places == NULL || heat->buffers == NULL || heat->touched == NULL || heat->maybe == NULL)
        return ggs_fail_memory(error);
    int status = ggs_buffer_heat_init(&heat->in_buffers, trace, error);
    if (status < 0) return status;
    heat->n_places = map->n, heat->n_buffers = trace->n_buffers, heat->n_files = trace->n_files;
    for (uint64_t i = 0; i < map->n; i++) {
        uint32_t experts = map->places[i].experts;
        if (experts == 0) continue;
        heat->places[i].expert_reads = calloc(experts, sizeof(uint64_t));
        heat->places[i].expert_bytes = calloc(experts, sizeof(uint64_t));
        if (heat->places[i].expert_reads == NULL || heat->places[i].expert_bytes == NULL) return ggs_fail_memory(error);
    }
    return 0;
}

int ggs_heat_compute(struct ggs_heat * heat, struct ggs_trace * trace, const struct ggs_model_map * map,
                     int64_t first_step, int64_t last_step, struct ggs_error * error) {
    *heat                           = (struct ggs_heat){0};
    struct heating          heating = {heat, trace, map};
    struct ggs_uses_visitor visitor = {.context = &heating, .access = add_access};
    int                     status  = make_room(heat, trace, map, error);
    if (status == 0) status = ggs_uses_visit(trace, first_step, last_step, &visitor, error);
    if (status == 0) status = ggs_buffer_heat_end(&heat->in_buffers, trace, error);
    if (status < 0) {
        ggs_heat_release(heat);
        return status;
    }
    ggs_intervals_of_models(heat->touched, trace, &heat->touched_bytes, &heat->model_bytes);
    heat->unknown_bytes = ggs_intervals_besides(heat->maybe, heat->touched, trace);
    for (uint64_t i = 0; i < map->n; i++)
        if (map->places[i].n_dims > 0) heat->tensor_bytes += map->places[i].bytes;
    return 0;
}
