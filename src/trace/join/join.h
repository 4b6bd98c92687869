// Joins several recordings into one trace: one clock, one numbering, and the matching graph runs of
// a client and its servers.
//
//     struct ggs_join join;
//     ggs_join_open(&join, sources, n, &error)         reads and matches graph runs, relates clocks
//     ggs_join_write(&join, path, uuid, text, &error)  writes the trace
//     ggs_join_release(&join)
//
// Beyond its parts the joined trace has: in `processes`, where each process ran and how its times
// were related to the common clock; in runs.peer, the same run in the other process; in
// transfers.peer, the process at the other end. A server's matched runs belong to the token steps
// of its client, and its weights to the places in the client's model file. The steps that a program
// without tokens has (phase GRAPH) are left out if others have tokens. Nodes that a server computed
// are not counted as the client's: they count as skipped there.
//
// Memory grows with the number of graph runs, distinct graphs, tensors and strings, not with that
// of op runs.
#pragma once

#include <stdbool.h>

#include "trace/join/clocks.h"
#include "trace/join/match.h"

enum { GGS_JOIN_MOST = 256 };

struct ggs_join_source {
    // Set by the caller:
    const char *        path;               // for messages
    const char *        host;               // name of its machine; "" for none
    const char *        boot;               // id of the machine's boot, "" if unknown
    const char *        experiment;         // its id
    struct ggs_reader * reader;             // borrowed
    uint64_t            start_monotonic_ns; // time 0 on the machine's clock; 0 if unknown
    // Set by joining:
    uint64_t              machine; // from 1; recordings of one boot share it
    struct ggs_clock_line line;    // onto the common clock
    uint64_t              clock;   // enum ggs_clock_source
    uint64_t              pairs;   // graph runs that determined it
    uint64_t              runs, matched;
    bool                  tokens;           // it has token steps
    int64_t               wall_ns;          // UTC at time 0, 0 if unknown
    int64_t               begin_ns, end_ns; // of its processes
};

struct ggs_join {
    struct ggs_join_source * sources; // borrowed
    uint32_t                 n;
    struct ggs_join_side *   sides;
    struct ggs_join_link *   links;
    uint64_t                 n_links;
    uint32_t                 reference; // the source with the common clock
    int64_t                  zero_ns;   // time 0 of the joined trace, on the reference's clock
};

int  ggs_join_open(struct ggs_join * join, struct ggs_join_source * sources, uint32_t n, struct ggs_error * error);
void ggs_join_release(struct ggs_join * join);

// Makes the file, with mode 0600; `text` becomes the trace's experiment.json.
int ggs_join_write(struct ggs_join * join, const char * path, const uint8_t uuid[16], const char * text,
                   struct ggs_error * error);
