#include "analyze/machine/machine-heat.h"

#include <stdlib.h>

#include "analyze/walk/intervals.h"
#include "base/error.h"

struct pass {
    struct ggs_machine_heat *    heat;
    struct ggs_trace *           trace;
    const struct ggs_model_map * map;
    int64_t                      first, last;
    struct ggs_intervals *       touched; // bytes, by file - 1
    uint8_t *                    wanted;  // by graph run: does it belong to the steps?
    uint64_t                     n_wanted;
};

void ggs_machine_heat_release(struct ggs_machine_heat * heat) {
    free(heat->places);
    *heat = (struct ggs_machine_heat){0};
}

static int add_faults(struct pass * pass, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_fault    fault;
    int                 more, status = ggs_cursor_open(&cursor, pass->trace->reader, GGS_TABLE_FAULTS, error);
    if (status < 0) return status;
    while ((more = ggs_cursor_next(cursor, &fault, error)) > 0) {
        pass->heat->faults = true;
        int64_t place      = -1;
        if (fault.file != 0 && fault.step >= pass->first && fault.step <= pass->last)
            place = ggs_model_map_find(pass->map, fault.file, fault.file_offset);
        if (place < 0) continue;
        struct ggs_machine_place * sum = &pass->heat->places[place];
        *(fault.kind == GGS_FAULT_MAJOR ? &sum->major : &sum->minor) += 1;
        sum->stalled_ns += fault.duration_ns;
    }
    ggs_cursor_close(cursor);
    return more;
}

// Touched pages name their graph run; which step that belongs to stands in the runs.
static int mark_runs(struct pass * pass, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_run      run;
    uint64_t            n = 0;
    int                 more, status = ggs_cursor_open(&cursor, pass->trace->reader, GGS_TABLE_RUNS, error);
    if (status < 0) return status;
    while ((more = ggs_cursor_next(cursor, &run, error)) > 0) n = run.run > n ? run.run : n;
    uint64_t most  = 1ull << 32; // numbers of runs have 32 bits
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
    }
}

int ggs_machine_heat_compute(struct ggs_machine_heat * heat, struct ggs_trace * trace, const struct ggs_model_map * map,
                             int64_t first_step, int64_t last_step, struct ggs_error * error) {
    struct pass pass = {.heat = heat, .trace = trace, .map = map, .first = first_step, .last = last_step};
    *heat        = (struct ggs_machine_heat){.places = calloc(map->n + 1, sizeof(*heat->places)), .n_places = map->n};
    pass.touched = calloc(trace->n_files + 1, sizeof(*pass.touched));
    int status   = heat->places == NULL || pass.touched == NULL ? ggs_fail_memory(error) : 0;
    if (status == 0) status = add_faults(&pass, error);
    if (status == 0 && ggs_reader_rows(trace->reader, GGS_TABLE_PAGES) > 0) {
        status = mark_runs(&pass, error);
        if (status == 0) status = add_pages(&pass, error);
        if (status == 0) sum_pages(&pass);
    }
    for (uint64_t i = 0; pass.touched != NULL && i < trace->n_files; i++) ggs_intervals_release(&pass.touched[i]);
    free(pass.touched);
    free(pass.wanted);
    if (status < 0) ggs_machine_heat_release(heat);
    return status;
}
