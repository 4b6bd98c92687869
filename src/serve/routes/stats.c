// /api/x/N/stats: the output of `ggscope stats --json`; `fold`: tokens per row of by_token.
#include "answer/ops/stats.h"

#include "base/error.h"
#include "serve/routes/routes.h"

static int refuse_by(const char * by, struct ggs_error * error) {
    struct ggs_text names = {0};
    for (unsigned i = 0; i < GGS_BY_COUNT; i++)
        ggs_text_printf(&names, "%s%s", i == 0 ? "" : i + 1 == GGS_BY_COUNT ? " or " : ", ", ggs_groupings[i].name);
    int status = ggs_fail(error, GGS_USAGE, "by takes %s, not '%.40s'", ggs_text_string(&names), by);
    ggs_text_release(&names);
    return status;
}

int ggs_route_stats(struct ggs_question * request, struct ggs_error * error) {
    struct ggs_stats_options options = {.range = ggs_totals_all, .directory = request->snapshot->directory};
    const char *             by      = ggs_query_text(&request->query, "by");
    struct ggs_stats         stats;
    struct ggs_json          json;
    uint64_t                 fold = 1;
    int status = ggs_query_tokens(&request->query, &options.range.first_step, &options.range.last_step, error);
    if (status == 0) status = ggs_query_u64(&request->query, "fold", 1, UINT32_MAX, &fold, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    if (status == 0 && by != NULL && !ggs_groupings_parse(by, &options.by)) status = refuse_by(by, error);
    if (status != 0) return status;
    unsigned walks =
        1 + ((options.by & ~(1u << GGS_BY_OP | 1u << GGS_BY_THREAD)) != 0) + (options.by >> GGS_BY_THREAD & 1);
    ggs_request_expect(request, walks * ggs_reader_rows(request->trace.reader, GGS_TABLE_OP_RUNS));
    status = ggs_stats_compute(&stats, &request->trace, &options, error);
    if (status < 0) return status;
    ggs_stats_fold(&stats, fold);
    ggs_reply_open(request->answer, &json);
    ggs_stats_write(&json, &stats);
    ggs_stats_release(&stats);
    return ggs_reply_close(request->answer, &json, error);
}
