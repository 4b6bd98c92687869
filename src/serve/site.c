#include "serve/site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/requests/selection.h"
#include "base/number.h"
#include "serve/routes/routes.h"

struct route {
    const char *       name;
    bool               slow;
    ggs_route_function function;
};

// Below /api/x/N/
static const struct route routes[] = {
    {"summary", false, ggs_route_summary},   {"tokens", false, ggs_route_tokens},
    {"map", false, ggs_route_map},           {"buffers", false, ggs_route_buffers},
    {"requests", false, ggs_route_requests}, {"occupancy", false, ggs_route_occupancy},
    {"timeline", false, ggs_route_timeline}, {"op", false, ggs_route_op},
    {"same", true, ggs_route_same},          {"log", false, ggs_route_log}, // see also is_slow
    {"heat", true, ggs_route_heat},          {"curves", true, ggs_route_curves},
    {"stats", true, ggs_route_stats},        {"experts", true, ggs_route_experts},
    {"graph", true, ggs_route_graph},        {"aggregate", true, ggs_route_aggregate},
    {"faults", true, ggs_route_faults},      {"access", true, ggs_route_access},
    {"paging", true, ggs_route_paging},      {"prove", true, ggs_route_prove},
    {"choices", true, ggs_route_choices},    {"roofline", true, ggs_route_roofline},
    {"disk", true, ggs_route_disk},          {"slots", true, ggs_route_slots},
    {"figure", true, ggs_route_figure},      {"explain", true, ggs_route_explain},
    {"values", true, ggs_route_values},      {"values-map", true, ggs_route_values_map},
};

// Below /api/
static const struct route wide_routes[] = {
    {"experiments", false, ggs_route_experiments},
    {"library", true, ggs_route_library},
    {"compare", true, ggs_route_compare},
    {"several", true, ggs_route_several},
    {"domains", true, ggs_route_domains},
    {"figure", true, ggs_route_figures},
#ifndef __wasm__ // a report does not compare values
    {"values-diff", true, ggs_route_values_diff},
    {"values-diff-map", true, ggs_route_values_diff_map},
#endif
};

struct parsed_target {
    const struct route * route;
    bool                 of_experiment;
    uint64_t             index;
    const char *         query; // "" if there are no parameters
};

// Parses a target. False if there is no such path.
static bool parse_target(const char * target, struct parsed_target * parsed) {
    size_t length = strcspn(target, "?");
    *parsed       = (struct parsed_target){.query = target[length] == '?' ? target + length + 1 : ""};
    for (size_t i = 0; i < sizeof(wide_routes) / sizeof(wide_routes[0]); i++) {
        const char * name = wide_routes[i].name;
        if (length != 5 + strlen(name) || memcmp(target, "/api/", 5) != 0 || memcmp(target + 5, name, length - 5) != 0)
            continue;
        parsed->route = &wide_routes[i];
        return true;
    }
    char number[8], *end = number;
    if (length < 8 || memcmp(target, "/api/x/", 7) != 0) return false;
    const char * at = target + 7;
    while (*at >= '0' && *at <= '9' && end < number + sizeof(number) - 1) *end++ = *at++;
    *end = '\0';
    if (*at != '/' || !ggs_parse_u64(number, 0, 99999, &parsed->index)) return false;
    at++;
    parsed->of_experiment = true;
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
        size_t rest = length - (size_t) (at - target);
        if (strlen(routes[i].name) == rest && memcmp(routes[i].name, at, rest) == 0) parsed->route = &routes[i];
    }
    return parsed->route != NULL;
}

// A log is quick without filters and sorting, a timeline if it includes all ops.
static bool is_slow(const struct parsed_target * parsed) {
    bool is_log = parsed->route->function == ggs_route_log, is_timeline = parsed->route->function == ggs_route_timeline;
    if (!is_log && !is_timeline) return parsed->route->slow;
    static const char * const quick[2][3] = {{"from", "count", "count"}, {"begin", "end", "pixels"}};
    for (const char * at = parsed->query; *at != '\0';) {
        size_t length = strcspn(at, "&"), name = strcspn(at, "=&");
        bool   plain = length == 0;
        for (unsigned i = 0; i < 3; i++)
            plain |= strlen(quick[is_timeline][i]) == name && memcmp(at, quick[is_timeline][i], name) == 0;
        if (!plain) return true;
        at += length + (at[length] == '&');
    }
    return false;
}

// The generation of the experiments that an answer depends on.
static uint64_t generation_of(struct ggs_experiments * experiments, const struct parsed_target * parsed) {
    return parsed->of_experiment ? ggs_experiments_generation(experiments, (unsigned) parsed->index)
                                 : ggs_experiments_changes(experiments);
}

// A visitor of one experiment sees it as number 0, learns of no other, and cannot compare.
static bool may_ask(const struct parsed_target * parsed, unsigned only) {
    if (only == GGS_EXPERIMENTS_ALL) return true;
    if (parsed->of_experiment) return parsed->index == 0;
    return parsed->route->function == ggs_route_experiments || parsed->route->function == ggs_route_library;
}

enum ggs_kind_of_work ggs_site_work(struct ggs_experiments * experiments, unsigned only, const char * target,
                                    char key[GGS_KEY_LENGTH]) {
    struct parsed_target parsed;
    if (strlen(target) >= GGS_TARGET_LENGTH || !parse_target(target, &parsed) || !may_ask(&parsed, only))
        return GGS_WORK_NONE;
    if (only != GGS_EXPERIMENTS_ALL && parsed.of_experiment) {
        parsed.index = only;
        snprintf(key, GGS_KEY_LENGTH, "%llu %u /api/x/%u%s", (unsigned long long) generation_of(experiments, &parsed),
                 GGS_EXPERIMENTS_ALL, only, strchr(target + strlen("/api/x/"), '/'));
    } else {
        snprintf(key, GGS_KEY_LENGTH, "%llu %u %s", (unsigned long long) generation_of(experiments, &parsed), only,
                 target);
    }
    return is_slow(&parsed) ? GGS_WORK_SLOW : GGS_WORK_QUICK;
}

static bool is_one_of(const struct route * route, const ggs_route_function * functions, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (functions[i] == route->function) return true;
    return false;
}

// True for answers that can be limited to one request of a server: request=N, as in `ggscope stats
// --request N`.
static bool takes_request(const struct route * route) {
    static const ggs_route_function functions[] = {ggs_route_log,      ggs_route_stats,  ggs_route_heat,
                                                   ggs_route_roofline, ggs_route_faults, ggs_route_disk,
                                                   ggs_route_figure};
    return is_one_of(route, functions, sizeof(functions) / sizeof(functions[0]));
}

// True for answers that can be limited to some ops: layer=, op= and the like, as in `ggscope stats
// --layer`. (The log reads these parameters itself.)
static bool takes_ops(const struct route * route) {
    static const ggs_route_function functions[] = {
        ggs_route_stats,  ggs_route_heat,     ggs_route_roofline, ggs_route_faults, ggs_route_disk,
        ggs_route_access, ggs_route_timeline, ggs_route_figure,   ggs_route_values, ggs_route_values_map};
    return is_one_of(route, functions, sizeof(functions) / sizeof(functions[0]));
}

static int limit_to_ops(struct ggs_question * request, const struct parsed_target * parsed, struct ggs_error * error) {
    request->ops = (struct ggs_op_filter) GGS_OP_FILTER_ALL;
    if (request->snapshot == NULL || !takes_ops(parsed->route)) return 0;
    int status = ggs_query_ops(request, &request->ops, error);
    if (status == 0 && !ggs_op_filter_is_all(&request->ops)) {
        status                = ggs_op_filter_check(&request->ops, &request->trace, error);
        request->trace.filter = &request->ops;
    }
    return status;
}

static int limit_to_request(struct ggs_question * request, const struct parsed_target * parsed,
                            struct ggs_error * error) {
    struct ggs_asked asked  = {0};
    uint64_t         number = UINT64_MAX;
    if (request->snapshot == NULL || !takes_request(parsed->route)) return 0;
    int status = ggs_query_u64(&request->query, "request", 0, UINT32_MAX, &number, error);
    if (status < 0 || number == UINT64_MAX) return status;
    asked.request = number + 1;
    return ggs_selection_make(&request->trace.selection, &request->trace, &asked, error);
}

static int run_route(struct ggs_question * request, const struct parsed_target * parsed, struct ggs_error * error) {
    int status = ggs_query_parse(&request->query, parsed->query, error);
    if (status == 0 && parsed->of_experiment)
        status = ggs_experiments_acquire(request->experiments, (unsigned) parsed->index, &request->snapshot, error);
    if (status < 0) return status;
    if (request->snapshot != NULL) {
        request->trace       = ggs_trace_borrow(&request->snapshot->trace);
        request->trace.watch = &request->progress->watch;
    }
    status = limit_to_request(request, parsed, error);
    if (status == 0) status = limit_to_ops(request, parsed, error);
    if (status == 0) status = parsed->route->function(request, error);
    if (request->snapshot != NULL) {
        ggs_selection_free(request->trace.selection);
        ggs_trace_return(&request->trace);
    }
    ggs_snapshot_release(request->snapshot);
    return status;
}

static void answer(struct ggs_experiments * experiments, unsigned only, const char * target,
                   struct ggs_job_progress * progress, struct ggs_reply * reply) {
    struct ggs_error      error = {0};
    struct parsed_target  parsed;
    struct ggs_question * request = calloc(1, sizeof(*request));
    if (request == NULL) {
        ggs_reply_refuse(reply, 503, "the server is out of memory");
        return;
    }
    *request = (struct ggs_question){.experiments = experiments, .only = only, .progress = progress, .answer = reply};
    if (!parse_target(target, &parsed))
        ggs_reply_refuse(reply, 404, "there is nothing at this address");
    else if (run_route(request, &parsed, &error) < 0)
        ggs_reply_fail(reply, &error);
    free(request);
}

void ggs_site_answer(struct ggs_experiments * experiments, const char * key, struct ggs_job_progress * progress,
                     struct ggs_reply * result) {
    unsigned long long generation;
    unsigned           only;
    int                length = 0;
    if (sscanf(key, "%llu %u %n", &generation, &only, &length) != 2) only = GGS_EXPERIMENTS_ALL;
    answer(experiments, only, key + length, progress, result);
}

void ggs_site_answer_target(struct ggs_experiments * experiments, const char * target,
                            struct ggs_job_progress * progress, struct ggs_reply * reply) {
    answer(experiments, GGS_EXPERIMENTS_ALL, target, progress, reply);
}

// ---- shared by the routes ----

void ggs_request_expect(struct ggs_question * request, uint64_t op_runs) {
    atomic_store(&request->progress->total, op_runs);
}
