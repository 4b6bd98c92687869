#include "analyze/paging/token-time.h"

#include <math.h>

#include "analyze/machine/conditions.h"
#include "analyze/machine/faults.h"
#include "analyze/machine/streamed.h"
#include "analyze/ops/overview.h"
#include "analyze/ops/step-totals.h"
#include "analyze/walk/times.h"

// Requests are in order of their starts: concurrent ones count once.
static int find_disk(double * speed, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_cursor *      cursor;
    struct ggs_block_request row;
    uint64_t                 bytes = 0, busy = 0;
    int64_t                  until  = INT64_MIN;
    int                      status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_BLOCK_REQUESTS, error);
    if (status < 0) return status;
    while ((status = ggs_cursor_next(cursor, &row, error)) > 0) {
        int64_t end = ggs_time_after(row.begin_ns, row.duration_ns);
        if (row.write != 0 || row.file == 0 || row.duration_ns == 0) continue;
        bytes += row.bytes;
        if (end > until) busy += ggs_time_between(row.begin_ns > until ? row.begin_ns : until, end);
        if (end > until) until = end;
    }
    ggs_cursor_close(cursor);
    *speed = busy == 0 ? (double) NAN : (double) bytes / (double) busy * 1e9;
    return status;
}

int ggs_paging_speed_find(struct ggs_paging_speed * speed, struct ggs_trace * trace, int64_t first_step,
                          int64_t last_step, struct ggs_error * error) {
    struct ggs_step_totals     steps;
    struct ggs_overview        overview;
    struct ggs_conditions      conditions;
    struct ggs_fault_totals    faults   = {0};
    struct ggs_streamed_totals streamed = {0};
    struct ggs_totals_range    range    = {first_step, last_step, 0};
    *speed                              = (struct ggs_paging_speed){.compute_ns = -1};
    ggs_conditions_read(&conditions, trace);
    speed->memory_limit = conditions.memory_limit;
    int status          = find_disk(&speed->disk_bytes_per_second, trace, error);
    if (status == 0) status = ggs_step_totals_compute(&steps, trace, first_step, last_step, error);
    if (status < 0 || steps.generate_steps == 0) return status;
    speed->token_ns = steps.generate_ns / steps.generate_steps;
    if (ggs_reader_rows(trace->reader, GGS_TABLE_FAULTS) == 0) return 0;
    status = ggs_overview_compute(&overview, trace, error);
    if (status < 0) return status;
    status = ggs_fault_totals_compute(&faults, trace, &range, error);
    if (status == 0) status = ggs_streamed_compute(&streamed, trace, &range, error);
    if (status == 0) { // threads stall concurrently
        uint64_t threads  = overview.threads == 0 ? 1 : overview.threads;
        uint64_t held     = (faults.stages[GGS_STAGE_GENERATE].stalled_ns + streamed.wait_ns) / threads;
        uint64_t each     = held / steps.generate_steps;
        speed->compute_ns = each < speed->token_ns ? (int64_t) (speed->token_ns - each) : 0;
    }
    ggs_fault_totals_release(&faults);
    ggs_overview_release(&overview);
    return status;
}
