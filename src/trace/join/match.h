// Graph runs that two recordings share: a client sent them through ggml's RPC backend, and a server
// computed them.
#pragma once

#include <stdbool.h>

#include "trace/reader.h"

// A graph run of a recording, as far as joining needs it.
struct ggs_join_run {
    uint64_t run, graph, device, backend; // of the recording; backend: string
    int64_t  begin_ns, end_ns;
    uint64_t flags;
    uint64_t signature;   // of its graph: equal for equal ops, names and shapes
    uint32_t peer_source; // with peer_run: recording and index of the run in it, or UINT32_MAX
    uint64_t peer_run;
    bool     remote; // sent to a server
    // Where it belongs: a server's run belongs where its client's does.
    int64_t  step, context;
    uint64_t phase, decode;
    int64_t  slot;
    uint64_t number; // in the joined trace
};

struct ggs_join_side {
    struct ggs_reader *   reader;
    struct ggs_join_run * runs; // by run
    uint64_t              n, capacity;
};

int  ggs_join_side_read(struct ggs_join_side * side, struct ggs_reader * reader, struct ggs_error * error);
void ggs_join_side_release(struct ggs_join_side * side);
// Finds a run by its number in the recording, NULL for none.
struct ggs_join_run * ggs_join_side_find(const struct ggs_join_side * side, uint64_t run);

// A client's runs on one server.
struct ggs_join_link {
    uint32_t client, server; // recordings
    uint64_t backend;        // string of the client's
    uint64_t runs, matched;
};

// An estimate of the client's clock minus the server's; *within is its uncertainty.
typedef int64_t (*ggs_join_apart)(void * context, uint32_t client, uint32_t server, int64_t * within);

// Finds the runs that sides share, and sets their peers. Clocks distinguish sessions that look
// alike. The caller frees *links.
int ggs_join_match(struct ggs_join_side * sides, uint32_t n, ggs_join_apart apart, void * context,
                   struct ggs_join_link ** links, uint64_t * n_links, struct ggs_error * error);
