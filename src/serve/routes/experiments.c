// /api/experiments, /api/library and /api/x/N/summary.
#include <stdlib.h>
#include <string.h>

#include "answer/notes.h"
#include "answer/server-answers.h"
#include "answer/summary.h"
#include "base/error.h"
#include "serve/routes/routes.h"

int ggs_route_experiments(struct ggs_question * request, struct ggs_error * error) {
    struct ggs_json                json;
    struct ggs_experiments_state * state = malloc(sizeof(*state));
    int status = state == NULL ? ggs_fail_memory(error) : ggs_query_finish(&request->query, error);
    if (status == 0) {
        ggs_reply_open(request->answer, &json);
        ggs_json_array(&json, NULL);
        for (unsigned i = 0; i < ggs_experiments_count(request->experiments); i++) {
            if (request->only != GGS_EXPERIMENTS_ALL && request->only != i) continue;
            ggs_experiments_state(request->experiments, i, state);
            struct ggs_served served = {request->only == i ? 0 : i,
                                        state->id,
                                        state->name,
                                        state->directory,
                                        state->state,
                                        state->live,
                                        state->error,
                                        state->found};
            ggs_object_write(&json, NULL, &ggs_served_object, &served, NULL);
        }
        ggs_json_end(&json);
        status = ggs_reply_close(request->answer, &json, error);
    }
    free(state);
    return status;
}

// Writes one experiment of the list: its summary without anything that needs the model's files. An
// experiment that cannot be opened has no entry.
static int put_entry(struct ggs_json * json, struct ggs_question * request, unsigned index, struct ggs_error * error) {
    struct ggs_snapshot * snapshot;
    struct ggs_notes      notes;
    struct ggs_summary    summary = {0};
    struct ggs_error      why;
    if (ggs_experiments_acquire(request->experiments, index, &snapshot, &why) < 0) return 0;
    struct ggs_trace trace = ggs_trace_borrow(&snapshot->trace);
    summary.trace          = &trace;
    if (ggs_notes_read(&notes, snapshot->directory, &why) < 0) notes = (struct ggs_notes){0};
    int status = ggs_snapshot_overview(snapshot, &summary.overview, &why);
    if (status == 0) {
        status = ggs_summary_write_entry(json, &summary, request->only == index ? 0 : index, &notes, error);
    } else if (status != GGS_MEMORY) {
        status = 0; // a damaged trace is reported when it is shown
    } else {
        *error = why;
    }
    ggs_notes_release(&notes);
    ggs_trace_return(&trace);
    ggs_snapshot_release(snapshot);
    return status;
}

int ggs_route_library(struct ggs_question * request, struct ggs_error * error) {
    struct ggs_json json;
    unsigned        n      = ggs_experiments_count(request->experiments);
    int             status = ggs_query_finish(&request->query, error);
    if (status != 0) return status;
    ggs_request_expect(request, n);
    ggs_reply_open(request->answer, &json);
    ggs_json_array(&json, NULL);
    for (unsigned i = 0; status == 0 && i < n; i++) {
        if (request->only == GGS_EXPERIMENTS_ALL || request->only == i) status = put_entry(&json, request, i, error);
        atomic_fetch_add(&request->progress->watch.done, 1);
    }
    ggs_json_end(&json);
    int ended = ggs_reply_close(request->answer, &json, error);
    return status < 0 ? status : ended;
}

int ggs_route_summary(struct ggs_question * request, struct ggs_error * error) {
    const struct ggs_timeline_levels * levels;
    struct ggs_experiments_state       state;
    struct ggs_summary                 summary = {.trace = &request->trace};
    struct ggs_json                    json;
    int                                status = ggs_query_finish(&request->query, error);
    if (status == 0) status = ggs_snapshot_overview(request->snapshot, &summary.overview, error);
    if (status == 0) status = ggs_snapshot_map(request->snapshot, &summary.map, error);
    if (status == 0) status = ggs_snapshot_levels(request->snapshot, &levels, error);
    if (status == 0) summary.n_levels = levels->n, memcpy(summary.levels, levels->level, sizeof(levels->level));
    if (status != 0) return status;
    ggs_experiments_state(request->experiments, request->snapshot->index, &state);
    summary.name      = state.name;
    summary.directory = state.directory;
    summary.state     = state.state;
    summary.live      = request->snapshot->live;
    ggs_reply_open(request->answer, &json);
    status    = ggs_summary_write(&json, &summary, error);
    int ended = ggs_reply_close(request->answer, &json, error);
    return status < 0 ? status : ended;
}
