// A recording as one page that needs no server: the page itself, and the answers to what it asks.
//
// The answers are those of the routes, by request. What a server would cut or filter the page cuts and filters itself, from these:
//
//     /api/x/0/timeline?all   every op run, where there are at most GGS_REPORT_OP_RUNS; else several zooms under their own requests
//     /api/x/0/log?all        every op, where the above holds
//     /api/x/0/curves?all     the whole
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "serve/experiments.h"

enum { GGS_REPORT_OP_RUNS = 200000, GGS_REPORT_HEATS = 64 };

struct ggs_report_options {
    int64_t  first_token, last_token;                                // 0 and INT64_MAX: everything
    uint64_t most_bytes;                                             // of the file: more is refused
    void (*progress)(void * context, uint64_t done, uint64_t total); // may be NULL
    void * progress_context;
};

// Of experiment 0. What is refused because of its size is GGS_UNSUPPORTED.
int ggs_report_write(FILE * file, struct ggs_experiments * experiments, const struct ggs_report_options * options,
                     struct ggs_error * error);
