// The server: sockets and HTTP. site.h has paths and answers.
//
// One thread talks to all clients. Other threads compute answers (jobs.h), refresh the experiments
// and run timers.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "serve/experiments.h"

struct ggs_server;

struct ggs_server_options {
    const char * address; // numeric; NULL for 127.0.0.1
    uint16_t     port;    // 0: any free port
};

// The experiments must outlive the server.
int  ggs_server_start(struct ggs_server ** out, struct ggs_experiments * experiments,
                      const struct ggs_server_options * options, struct ggs_error * error);
void ggs_server_stop(struct ggs_server * server); // NULL is fine; closes every connection

// The URL with the token, which grants full access. Lives as long as the server.
const char * ggs_server_address(const struct ggs_server * server);
