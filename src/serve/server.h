// The server: sockets, and what HTTP wants. Paths and answers are in site.h.
//
// One thread talks to all clients; the work is done by others (jobs.h), and two more look after
// things: one at the experiments, one at the clock.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "serve/experiments.h"

struct ggs_server;

struct ggs_server_options {
    const char * address; // numeric; NULL for 127.0.0.1
    uint16_t     port;    // 0: any that is free
};

// The experiments must outlive the server.
int  ggs_server_start(struct ggs_server ** out, struct ggs_experiments * experiments,
                      const struct ggs_server_options * options, struct ggs_error * error);
void ggs_server_stop(struct ggs_server * server); // NULL is fine; ends every connection at once

// With the token, which permits everything. Lives as long as the server.
const char * ggs_server_address(const struct ggs_server * server);
