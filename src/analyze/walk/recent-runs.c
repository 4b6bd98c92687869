#include "analyze/walk/recent-runs.h"

int ggs_recent_runs_open(struct ggs_recent_runs * recent, struct ggs_trace * trace, struct ggs_error * error) {
    *recent = (struct ggs_recent_runs){0};
    return ggs_cursor_open(&recent->cursor, trace->reader, GGS_TABLE_RUNS, error);
}

void ggs_recent_runs_close(struct ggs_recent_runs * recent) {
    ggs_cursor_close(recent->cursor);
    *recent = (struct ggs_recent_runs){0};
}

int ggs_recent_runs_find(struct ggs_recent_runs * recent, uint64_t run, const struct ggs_run ** out,
                         struct ggs_error * error) {
    int more = 1;
    *out     = NULL;
    while (more > 0 && (recent->n == 0 || recent->runs[(recent->n - 1) % GGS_RECENT_RUNS].run < run)) {
        struct ggs_run row;
        more = ggs_cursor_next(recent->cursor, &row, error);
        if (more > 0) recent->runs[recent->n++ % GGS_RECENT_RUNS] = row;
    }
    for (uint64_t i = 0; i < GGS_RECENT_RUNS && i < recent->n; i++)
        if (recent->runs[i].run == run) *out = &recent->runs[i];
    return more < 0 ? more : 0;
}
