// The processes of a recording, on one or more machines: what each computed, what went over the
// wire between them, and where the time of the token steps went. More than one process is in
// experiments that were joined (ggscope join).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/trace.h"

struct ggs_process_totals {
    struct ggs_process row;
    char               name[96]; // of its program and its number: "rpc-server 4711"
    const char *       host;     // "host 1" if the trace has no name
    uint64_t           runs, matched_runs;
    uint64_t           compute_ns; // its own graph runs, first begin to last end each; those on servers left out
};

// Graph runs of a client that a server computed.
struct ggs_process_link {
    uint64_t     client, server; // processes; server 0: its recording is not there
    uint64_t     device;
    const char * backend;
    uint64_t     runs, matched_runs;
    uint64_t     round_trip_ns; // of those that match: from their begin to their results
    uint64_t     server_ns;     // of the same, while the server computed
    uint64_t     bytes_sent, bytes_received;
    uint64_t     bytes_loaded; // of those sent, before the first token step
    uint64_t     transfers, transfer_ns;
};

struct ggs_process_list {
    struct ggs_process_totals * process; // by number
    uint64_t                    n, hosts;
    struct ggs_process_link *   link;
    uint64_t                    n_links, links_capacity;
    // From the first token step to the last: each moment is one of these, the first that is true.
    // They add up to wall_ns.
    int64_t  begin_ns, end_ns;
    uint64_t wall_ns;
    uint64_t client_compute_ns; // a process that sends graphs to others computes by itself
    uint64_t server_compute_ns; // any other one computes
    uint64_t wire_ns;           // graphs, or bytes of tensors, are on their way
    uint64_t idle_ns;
};

int  ggs_process_list_read(struct ggs_process_list * list, struct ggs_trace * trace, struct ggs_error * error);
void ggs_process_list_release(struct ggs_process_list * list); // a zeroed struct is fine

// The row of a process; NULL for none.
const struct ggs_process_totals * ggs_process_find(const struct ggs_process_list * list, uint64_t process);
// Only names and hosts, without looking at runs.
int ggs_process_list_names(struct ggs_process_list * list, struct ggs_trace * trace, struct ggs_error * error);
