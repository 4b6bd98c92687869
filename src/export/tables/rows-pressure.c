// The tables of what the engine asked the kernel for, and of what was in memory.
#include "analyze/machine/loading.h"
#include "export/tables/tables.h"

int ggs_rows_reads(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_read     read;
    struct ggs_row      row;
    int                 status = ggs_cursor_open(&cursor, export->trace.reader, GGS_TABLE_READS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &read, error)) > 0) {
        ggs_row_begin(&row);
        ggs_row_integer(&row, (int64_t) ggs_cursor_row(cursor));
        ggs_row_text(&row, ggs_loading_name(read.kind));
        ggs_row_id(&row, read.file);
        ggs_row_integer(&row, (int64_t) read.file_offset);
        ggs_row_integer(&row, (int64_t) read.bytes);
        ggs_row_integer(&row, read.begin_ns);
        ggs_row_integer(&row, (int64_t) read.duration_ns);
        ggs_row_integer(&row, (int64_t) read.os_thread);
        ggs_row_id(&row, read.load);
        status = sink->row(sink->context, row.cells, error);
    }
    ggs_cursor_close(cursor);
    return status;
}

static const char * word_of_moment(uint64_t moment) {
    static const char * const words[] = {"unknown", "load", "graph", "end"};
    return words[moment < sizeof(words) / sizeof(words[0]) ? moment : 0];
}

int ggs_rows_residency(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error) {
    struct ggs_cursor *  cursor = NULL;
    struct ggs_residency area;
    struct ggs_row       row;
    int                  status = ggs_cursor_open(&cursor, export->trace.reader, GGS_TABLE_RESIDENCY, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &area, error)) > 0) {
        ggs_row_begin(&row);
        ggs_row_integer(&row, (int64_t) area.snapshot);
        ggs_row_id(&row, area.file);
        ggs_row_integer(&row, (int64_t) area.page);
        ggs_row_integer(&row, (int64_t) area.pages);
        ggs_row_text(&row, word_of_moment(area.moment));
        ggs_row_integer(&row, area.begin_ns);
        ggs_row_natural(&row, area.step);
        status = sink->row(sink->context, row.cells, error);
    }
    ggs_cursor_close(cursor);
    return status;
}
