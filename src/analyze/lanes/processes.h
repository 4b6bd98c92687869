// The processes of a recording, on one or more machines: their computation, their communication,
// and the breakdown of time in token steps. Only joined experiments (ggscope join) have more than
// one process.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/trace.h"

struct ggs_process_totals {
    struct ggs_process row;
    char               name[96]; // program and process id: "rpc-server 4711"
    const char *       host;     // "host 1" if the trace has no name
    uint64_t           runs, matched_runs;
    uint64_t           compute_ns; // its own graph runs, from first start to last end each, without those on servers
};

// A client's graph runs that a server computed.
struct ggs_process_link {
    uint64_t     client, server; // processes; server 0: not recorded
    uint64_t     device;
    const char * backend;
    uint64_t     runs, matched_runs;
    uint64_t     round_trip_ns; // of the matched runs: from start to results
    uint64_t     server_ns;     // of the same: the server's computation
    uint64_t     bytes_sent, bytes_received;
    uint64_t     bytes_loaded; // of those sent, before the first token step
    uint64_t     transfers, transfer_ns;
};

struct ggs_process_list {
    struct ggs_process_totals * process; // by number
    uint64_t                    n, hosts;
    struct ggs_process_link *   link;
    uint64_t                    n_links, links_capacity;
    // From the first token step to the last: each moment counts for the first of these that
    // applies. They add up to wall_ns.
    int64_t  begin_ns, end_ns;
    uint64_t wall_ns;
    uint64_t client_compute_ns; // a process that sends graphs to others computes
    uint64_t server_compute_ns; // any other process computes
    uint64_t wire_ns;           // graphs or tensors are in transfer
    uint64_t idle_ns;
};

int  ggs_process_list_read(struct ggs_process_list * list, struct ggs_trace * trace, struct ggs_error * error);
void ggs_process_list_release(struct ggs_process_list * list); // a zeroed struct is fine

// Returns the row of a process; NULL if there is none.
const struct ggs_process_totals * ggs_process_find(const struct ggs_process_list * list, uint64_t process);
// Reads only names and hosts, without runs.
int ggs_process_list_names(struct ggs_process_list * list, struct ggs_trace * trace, struct ggs_error * error);
