#include "analyze/ops/windows.h"

#include <stdlib.h>

#include "analyze/walk/times.h"
#include "base/array.h"
#include "base/error.h"

int ggs_windows_read(struct ggs_windows * windows, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_cursor * cursor  = NULL;
    struct ggs_process  process = {0};
    struct ggs_window   row;
    uint64_t            capacity = 0;
    *windows                     = (struct ggs_windows){0};
    int status                   = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_WINDOWS, error);
    if (status == 0 && ggs_reader_rows(trace->reader, GGS_TABLE_PROCESSES) > 0)
        status = ggs_reader_row(trace->reader, GGS_TABLE_PROCESSES, 0, &process, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &row, error)) > 0) {
        if (row.end_ns < 0) row.end_ns = process.end_ns > row.begin_ns ? process.end_ns : row.begin_ns;
        if (!ggs_array_push(windows->window, windows->n, capacity, row)) status = ggs_fail_memory(error);
        windows->marks += row.kind == GGS_WINDOW_MARK;
        windows->recorded += row.kind == GGS_WINDOW_RECORDED;
        if (row.kind == GGS_WINDOW_RECORDED) windows->recorded_ns += ggs_time_between(row.begin_ns, row.end_ns);
        if (row.end_ns > process.end_ns) process.end_ns = row.end_ns;
    }
    if (windows->n > 0 && process.end_ns > 0) windows->whole_ns = (uint64_t) process.end_ns;
    ggs_cursor_close(cursor);
    if (status < 0) ggs_windows_release(windows);
    return status;
}

void ggs_windows_release(struct ggs_windows * windows) {
    free(windows->window);
    *windows = (struct ggs_windows){0};
}
