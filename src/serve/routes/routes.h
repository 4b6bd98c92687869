// The functions that answer requests, mostly one per file.
#pragma once

#include "analyze/walk/op-filter.h"
#include "serve/experiments.h"
#include "serve/jobs.h"
#include "serve/reply.h"
#include "serve/routes/query.h"

struct ggs_question {
    struct ggs_experiments * experiments;
    unsigned              only; // the only visible experiment, as number 0, if the path has none; GGS_EXPERIMENTS_ALL
    struct ggs_snapshot * snapshot; // NULL if the path has no experiment
    struct ggs_trace      trace;    // borrowed from the snapshot
    struct ggs_query      query;
    struct ggs_job_progress * progress;
    struct ggs_reply *        answer; // status 200 and empty: to be filled
    struct ggs_op_filter      ops;    // of routes that can be limited to some ops; trace.filter points to it
};

// Reads the parameters that limit an answer to some ops: layer, op, tensor, source, region, buffer,
// thread or lane, expert, since, until.
int ggs_query_ops(struct ggs_question * request, struct ggs_op_filter * filter, struct ggs_error * error);

// Sets the number of op runs to walk, for the progress.
void ggs_request_expect(struct ggs_question * request, uint64_t op_runs);

// Return 0, or negative with a sentence.
typedef int (*ggs_route_function)(struct ggs_question * request, struct ggs_error * error);

int ggs_route_experiments(struct ggs_question * request, struct ggs_error * error);
int ggs_route_library(struct ggs_question * request, struct ggs_error * error);
int ggs_route_compare(struct ggs_question * request, struct ggs_error * error);
int ggs_route_several(struct ggs_question * request, struct ggs_error * error);
int ggs_route_figures(struct ggs_question * request, struct ggs_error * error);
int ggs_route_domains(struct ggs_question * request, struct ggs_error * error);
int ggs_route_summary(struct ggs_question * request, struct ggs_error * error);
int ggs_route_tokens(struct ggs_question * request, struct ggs_error * error);
int ggs_route_map(struct ggs_question * request, struct ggs_error * error);
int ggs_route_heat(struct ggs_question * request, struct ggs_error * error);
int ggs_route_buffers(struct ggs_question * request, struct ggs_error * error);
int ggs_route_requests(struct ggs_question * request, struct ggs_error * error);
int ggs_route_slots(struct ggs_question * request, struct ggs_error * error);
int ggs_route_occupancy(struct ggs_question * request, struct ggs_error * error);
int ggs_route_timeline(struct ggs_question * request, struct ggs_error * error);
int ggs_route_curves(struct ggs_question * request, struct ggs_error * error);
int ggs_route_op(struct ggs_question * request, struct ggs_error * error);
int ggs_route_same(struct ggs_question * request, struct ggs_error * error);
int ggs_route_log(struct ggs_question * request, struct ggs_error * error);
int ggs_route_stats(struct ggs_question * request, struct ggs_error * error);
int ggs_route_roofline(struct ggs_question * request, struct ggs_error * error);
int ggs_route_explain(struct ggs_question * request, struct ggs_error * error);
int ggs_route_experts(struct ggs_question * request, struct ggs_error * error);
int ggs_route_access(struct ggs_question * request, struct ggs_error * error);
int ggs_route_paging(struct ggs_question * request, struct ggs_error * error);
int ggs_route_prove(struct ggs_question * request, struct ggs_error * error);
int ggs_route_choices(struct ggs_question * request, struct ggs_error * error);
int ggs_route_disk(struct ggs_question * request, struct ggs_error * error);
int ggs_route_faults(struct ggs_question * request, struct ggs_error * error);
int ggs_route_aggregate(struct ggs_question * request, struct ggs_error * error);
int ggs_route_graph(struct ggs_question * request, struct ggs_error * error);
int ggs_route_values(struct ggs_question * request, struct ggs_error * error);
int ggs_route_values_map(struct ggs_question * request, struct ggs_error * error);
int ggs_route_values_diff(struct ggs_question * request, struct ggs_error * error);
int ggs_route_values_diff_map(struct ggs_question * request, struct ggs_error * error);
int ggs_route_figure(struct ggs_question * request, struct ggs_error * error);
