// The tables of what the machine did.
#include <inttypes.h>
#include <stdio.h>

#include "analyze/machine/faults.h"
#include "export/tables/tables.h"

static bool wanted(const struct ggs_export * export, int64_t step) {
    const struct ggs_export_options * o = export->options;
    return !o->steps || (step >= o->first_step && step <= o->last_step);
}

// Where it lies in a file, and which op and token it belongs to.
static void put_place(struct ggs_row * row, uint64_t file, uint64_t file_offset, uint64_t run, uint64_t node,
                      int64_t step) {
    ggs_row_id(row, file);
    ggs_row_natural(row, file == 0 ? -1 : (int64_t) file_offset);
    ggs_row_id(row, run);
    ggs_row_natural(row, run == 0 ? -1 : (int64_t) node);
    ggs_row_natural(row, step);
}

int ggs_rows_faults(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_fault    f;
    struct ggs_row      row;
    int                 status = ggs_cursor_open(&cursor, export->trace.reader, GGS_TABLE_FAULTS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &f, error)) > 0) {
        if (!wanted(export, f.step)) continue;
        ggs_row_begin(&row);
        ggs_row_integer(&row, (int64_t) ggs_cursor_row(cursor));
        ggs_row_integer(&row, f.begin_ns);
        ggs_row_integer(&row, (int64_t) f.duration_ns);
        ggs_row_text(&row, ggs_fault_kind_name(f.kind));
        ggs_row_integer(&row, (int64_t) f.os_thread);
        ggs_row_integer(&row, (int64_t) f.address);
        put_place(&row, f.file, f.file_offset, f.run, f.node, f.step);
        status = sink->row(sink->context, row.cells, error);
    }
    ggs_cursor_close(cursor);
    return status;
}

int ggs_rows_requests(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error) {
    struct ggs_cursor *      cursor = NULL;
    struct ggs_block_request r;
    struct ggs_row           row;
    char                     device[32];
    int                      status = ggs_cursor_open(&cursor, export->trace.reader, GGS_TABLE_BLOCK_REQUESTS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &r, error)) > 0) {
        if (!wanted(export, r.step)) continue;
        snprintf(device, sizeof(device), "%" PRIu64 ":%" PRIu64, r.device >> 20, r.device & 0xfffff);
        ggs_row_begin(&row);
        ggs_row_integer(&row, (int64_t) ggs_cursor_row(cursor));
        ggs_row_integer(&row, r.begin_ns);
        ggs_row_integer(&row, (int64_t) r.duration_ns);
        ggs_row_text(&row, device);
        ggs_row_integer(&row, (int64_t) r.sector);
        ggs_row_integer(&row, (int64_t) r.bytes);
        ggs_row_integer(&row, r.write != 0);
        ggs_row_integer(&row, (int64_t) r.os_thread);
        put_place(&row, r.file, r.file_offset, r.run, r.node, r.step);
        status = sink->row(sink->context, row.cells, error);
    }
    ggs_cursor_close(cursor);
    return status;
}
