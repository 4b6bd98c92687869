#include "answer/answer.h"
#include "trace/schema.h"

#define ROW(member, ...)   GGS_FIELD(struct ggs_process_totals, row.member, #member, __VA_ARGS__)
#define TOTAL(member, ...) GGS_FIELD(struct ggs_process_totals, member, #member, __VA_ARGS__)

#define NAME ROW(process, "number, from 1", .least = 1), TOTAL(name, "program and number"), TOTAL(host)
#define CLOCK                                                                            \
    GGS_FIELD_WORD(struct ggs_process_totals, row.clock, "clock", ggs_clock_source_name, \
                   "how its times were mapped to the common clock")
#define ERROR                                                              \
    GGS_FIELD_OR_NULL(struct ggs_process_totals, row.error_ns, "error_ns", \
                      "how far its times may be off on the common clock; null if not known")

static const struct ggs_field name_fields[]           = {NAME, CLOCK, ERROR, {0}};
const struct ggs_object       ggs_process_name_object = {.fields = name_fields};

static const struct ggs_field process_fields[] = {
    NAME,
    ROW(pid, "the operating system's number"),
    CLOCK,
    ROW(offset_ns, "offset added to its times, at the first graph run that both sides recorded"),
    ROW(drift_ppb, "ns that the offset grows per second after that"),
    ERROR,
    ROW(pairs, "graph runs that the offset was computed from"),
    GGS_FIELD_FLAG(struct ggs_process_totals, row.ended, "ended", "it left main or called exit; false: it was killed"),
    TOTAL(runs, "graph runs"),
    TOTAL(matched_runs, "of these, runs that another process recorded too"),
    TOTAL(compute_ns, "time of its own graph runs, without those on servers"),
    {0},
};
static const struct ggs_object process = {.fields = process_fields};

#define LINK(member, ...) GGS_FIELD(struct ggs_process_link, member, #member, __VA_ARGS__)

static const struct ggs_field link_fields[] = {
    LINK(client, "process", .least = 1),
    GGS_FIELD_OR_NULL(struct ggs_process_link, server, "server", "process; null if it was not recorded", .least = 1),
    LINK(backend),
    LINK(runs, "graph runs that were sent"),
    LINK(matched_runs, "of these, runs that the server recorded too"),
    LINK(round_trip_ns, "time of matched runs, from begin to results"),
    LINK(server_ns, "of that, the time in which the server computed"),
    LINK(bytes_sent, "bytes of tensors sent"),
    LINK(bytes_loaded, "of these, bytes sent before the first token step"),
    LINK(bytes_received, "bytes of tensors received"),
    LINK(transfers, "calls that moved them"),
    LINK(transfer_ns, "time in these calls"),
    {0},
};
static const struct ggs_object link_ = {.fields = link_fields};

#define TIME(member, ...) GGS_FIELD(struct ggs_process_list, member, #member, __VA_ARGS__)

static const struct ggs_field time_fields[] = {
    TIME(begin_ns),
    TIME(wall_ns, "sum of the next four"),
    TIME(client_compute_ns, "a process that sends graphs to others computes by itself"),
    TIME(server_compute_ns, "any other process computes"),
    TIME(wire_ns, "graphs or bytes of tensors are on their way"),
    TIME(idle_ns, "none of these"),
    {0},
};
static const struct ggs_object time_ = {.fields = time_fields};

static const struct ggs_field fields[] = {
    GGS_FIELD(struct ggs_process_list, hosts, "hosts", "machines"),
    GGS_ROWS(struct ggs_process_list, process, n, "by_process", &process),
    GGS_ROWS(struct ggs_process_list, link, n_links, "links", &link_, "who sent graphs to whom"),
    GGS_OBJECT_OF("time", &time_,
                  "time from the first token step to the last; each moment counts for the first of these that holds"),
    {0},
};
const struct ggs_object ggs_processes_object = {.name = "Processes", .fields = fields, .lines = true};
