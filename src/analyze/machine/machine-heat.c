#include "analyze/machine/machine-heat.h"

#include <stdlib.h>

#include "analyze/machine/where.h"
#include "analyze/walk/intervals.h"
#include "base/array.h"
#include "base/error.h"

struct pass {
    struct ggs_machine_heat *    heat;
    struct ggs_trace *           trace;
    const struct ggs_model_map * map;
    int64_t                      first, last;
    struct ggs_intervals *       touched;   // bytes, by file - 1
    struct ggs_machine_place **  stretches; // by file - 1
    uint64_t *                   n_stretches;
    uint8_t *                    wanted; // by graph run: true if it belongs to the steps
    uint64_t                     n_wanted;
};

void ggs_machine_heat_release(struct ggs_machine_heat * heat) {
    for (uint64_t i = 0; heat->experts != NULL && i < heat->n_places; i++) free(heat->experts[i]);
    free(heat->experts);
    free(heat->places);
    free(heat->stretch);
    *heat = (struct ggs_machine_heat){0};
}

// ---- byte ranges ----

enum { STRETCHES = 8192 };

static int make_stretches(struct pass * pass, struct ggs_error * error) {
    struct ggs_trace * trace = pass->trace;
    uint64_t           all = 0, unit = ggs_trace_page_size(trace);
    for (uint64_t i = 0; i < trace->n_files; i++) all += trace->files[i].gguf != 0 ? trace->files[i].size : 0;
    pass->heat->page_bytes = unit;
    while (unit < 1ull << 40 && all / unit > STRETCHES) unit *= 2;
    pass->heat->stretch_bytes = unit;
    pass->stretches           = calloc(trace->n_files + 1, sizeof(*pass->stretches));
    pass->n_stretches         = calloc(trace->n_files + 1, sizeof(*pass->n_stretches));
    if (pass->stretches == NULL || pass->n_stretches == NULL) return ggs_fail_memory(error);
    for (uint64_t i = 0; i < trace->n_files; i++) {
        uint64_t n = trace->files[i].size / unit + 1;
        if (trace->files[i].gguf == 0 || n > 2 * STRETCHES) continue; // larger than any file: damaged
        pass->stretches[i] = calloc(n, sizeof(**pass->stretches));
        if (pass->stretches[i] == NULL) return ggs_fail_memory(error);
        pass->n_stretches[i] = n;
    }
    return 0;
}

static struct ggs_machine_place * stretch_of(const struct pass * pass, uint64_t file, uint64_t offset) {
    uint64_t at = offset / pass->heat->stretch_bytes;
    if (file == 0 || file > pass->trace->n_files || at >= pass->n_stretches[file - 1]) return NULL;
    return &pass->stretches[file - 1][at];
}

static void free_stretches(struct pass * pass) {
    for (uint64_t i = 0; pass->stretches != NULL && i < pass->trace->n_files; i++) free(pass->stretches[i]);
    free(pass->stretches);
    free(pass->n_stretches);
}

// Keeps the stretches with events.
static int keep_stretches(struct pass * pass, struct ggs_error * error) {
    struct ggs_machine_heat * heat = pass->heat;
    for (uint64_t file = 0; file < pass->trace->n_files; file++) {
        for (uint64_t i = 0; i < pass->n_stretches[file]; i++) {
            struct ggs_machine_place * sum = &pass->stretches[file][i];
            if (pass->touched[file].n > 0)
                sum->touched =
                    ggs_intervals_inside(&pass->touched[file], i * heat->stretch_bytes, (i + 1) * heat->stretch_bytes);
            if (sum->touched + sum->minor + sum->major == 0) continue;
            struct ggs_machine_stretch stretch = {file + 1, i * heat->stretch_bytes, *sum};
            if (!ggs_array_push(heat->stretch, heat->n_stretches, heat->stretches_capacity, stretch))
                return ggs_fail_memory(error);
        }
    }
    return 0;
}

// ---- experts ----

static int make_experts(struct pass * pass, struct ggs_error * error) {
    struct ggs_machine_heat * heat = pass->heat;
    heat->experts                  = calloc(pass->map->n + 1, sizeof(*heat->experts));
    if (heat->experts == NULL) return ggs_fail_memory(error);
    for (uint64_t i = 0; i < pass->map->n; i++) {
        if (pass->map->places[i].experts == 0) continue;
        heat->experts[i] = calloc(pass->map->places[i].experts, sizeof(**heat->experts));
        if (heat->experts[i] == NULL) return ggs_fail_memory(error);
    }
    return 0;
}

static struct ggs_machine_place * expert_of(const struct pass * pass, uint64_t place, uint64_t offset) {
    const struct ggs_model_place * where = &pass->map->places[place];
    if (where->experts == 0 || where->bytes < where->experts) return NULL;
    uint64_t expert = (offset - where->offset) / (where->bytes / where->experts);
    return expert < where->experts ? &pass->heat->experts[place][expert] : NULL;
}

// ---- faults and pages ----

static void add_fault(struct ggs_machine_place * sum, const struct ggs_fault * fault) {
    if (sum == NULL) return;
    *(fault->kind == GGS_FAULT_MAJOR ? &sum->major : &sum->minor) += 1;
    sum->stalled_ns += fault->duration_ns;
}

static int add_faults(struct pass * pass, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_where *  where = NULL;
    struct ggs_fault    fault;
    int                 more, status = ggs_cursor_open(&cursor, pass->trace->reader, GGS_TABLE_FAULTS, error);
    if (status < 0) return status;
    more = pass->trace->filter == NULL ? 0 : ggs_where_open(&where, pass->trace, error);
    while (more >= 0 && (more = ggs_cursor_next(cursor, &fault, error)) > 0) {
        struct ggs_where_event event = {fault.begin_ns, fault.duration_ns, fault.file, fault.file_offset};
        pass->heat->faults           = true;
        more                         = ggs_where_wants(where, &event, fault.run, fault.node, error);
        if (more <= 0) continue;
        int64_t place = -1;
        if (fault.file != 0 && fault.step >= pass->first && fault.step <= pass->last)
            place = ggs_model_map_find(pass->map, fault.file, fault.file_offset);
        if (place < 0) continue;
        add_fault(&pass->heat->places[place], &fault);
        add_fault(expert_of(pass, (uint64_t) place, fault.file_offset), &fault);
        add_fault(stretch_of(pass, fault.file, fault.file_offset), &fault);
    }
    ggs_cursor_close(cursor);
    ggs_where_close(where);
    return more;
}

// Touched pages refer to their graph run; the runs have the steps.
static int mark_runs(struct pass * pass, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_run      run;
    uint64_t            n = 0;
    int                 more, status = ggs_cursor_open(&cursor, pass->trace->reader, GGS_TABLE_RUNS, error);
    if (status < 0) return status;
    while ((more = ggs_cursor_next(cursor, &run, error)) > 0) n = run.run > n ? run.run : n;
    uint64_t most  = 1ull << 32; // run numbers have 32 bits
    pass->n_wanted = more < 0 || n >= most ? 0 : n + 1;
    pass->wanted   = calloc(pass->n_wanted + 1, 1);
    if (pass->wanted == NULL) more = ggs_fail_memory(error);
    ggs_cursor_rewind(cursor);
    while (more >= 0 && (more = ggs_cursor_next(cursor, &run, error)) > 0)
        if (run.run < pass->n_wanted && run.step >= pass->first && run.step <= pass->last) pass->wanted[run.run] = 1;
    ggs_cursor_close(cursor);
    return more;
}

static int add_pages(struct pass * pass, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_pages    pages;
    uint64_t            page = ggs_trace_page_size(pass->trace);
    int                 more, status = ggs_cursor_open(&cursor, pass->trace->reader, GGS_TABLE_PAGES, error);
    if (status < 0) return status;
    while ((more = ggs_cursor_next(cursor, &pages, error)) > 0) {
        pass->heat->pages = true;
        if (pages.run >= pass->n_wanted || !pass->wanted[pages.run] || pages.pages == 0) continue;
        uint64_t most = UINT64_MAX / page / 2;
        if (pages.file == 0 || pages.file > pass->trace->n_files || pages.page > most || pages.pages > most) continue;
        if (!ggs_intervals_add(&pass->touched[pages.file - 1], pages.page * page, (pages.page + pages.pages) * page)) {
            more = ggs_fail_memory(error);
            break;
        }
    }
    ggs_cursor_close(cursor);
    return more;
}

static void sum_pages(struct pass * pass) {
    for (uint64_t i = 0; i < pass->map->n; i++) {
        const struct ggs_model_place * place = &pass->map->places[i];
        if (place->file == 0 || place->file > pass->trace->n_files) continue;
        pass->heat->places[i].touched =
            ggs_intervals_inside(&pass->touched[place->file - 1], place->offset, place->offset + place->bytes);
        uint64_t each = place->experts == 0 ? 0 : place->bytes / place->experts;
        for (uint64_t k = 0; k < place->experts; k++)
            pass->heat->experts[i][k].touched = ggs_intervals_inside(
                &pass->touched[place->file - 1], place->offset + k * each, place->offset + (k + 1) * each);
    }
}

int ggs_machine_heat_compute(struct ggs_machine_heat * heat, struct ggs_trace * trace, const struct ggs_model_map * map,
                             int64_t first_step, int64_t last_step, struct ggs_error * error) {
    struct pass pass = {.heat = heat, .trace = trace, .map = map, .first = first_step, .last = last_step};
    *heat        = (struct ggs_machine_heat){.places = calloc(map->n + 1, sizeof(*heat->places)), .n_places = map->n};
    pass.touched = calloc(trace->n_files + 1, sizeof(*pass.touched));
    int status   = heat->places == NULL || pass.touched == NULL ? ggs_fail_memory(error) : 0;
    if (status == 0) status = make_stretches(&pass, error);
    if (status == 0) status = make_experts(&pass, error);
    if (status == 0) status = add_faults(&pass, error);
    if (status == 0 && ggs_reader_rows(trace->reader, GGS_TABLE_PAGES) > 0) {
        status = mark_runs(&pass, error);
        if (status == 0) status = add_pages(&pass, error);
        if (status == 0) sum_pages(&pass);
    }
    if (status == 0) status = keep_stretches(&pass, error);
    free_stretches(&pass);
    for (uint64_t i = 0; pass.touched != NULL && i < trace->n_files; i++) ggs_intervals_release(&pass.touched[i]);
    free(pass.touched);
    free(pass.wanted);
    if (status < 0) ggs_machine_heat_release(heat);
    return status;
}
