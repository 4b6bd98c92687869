// Who may read: whoever knows the first part of the path, under a name of this machine.
//
//     /TOKEN/...         everything that is served: the printed address
//     /ID-CODE/...       the one experiment with that id: a link to give away. The code is an HMAC of the id with a secret of this
//                        server, so nothing is kept of links, and they end with the server.
//
// Other users of the machine can reach 127.0.0.1 too, and prompts are private: hence the token. A
// cookie would not do: browsers send it to every port of 127.0.0.1, so to other users' servers; a
// path goes nowhere else (Referrer-Policy: no-referrer). Another site's page could make a browser
// send requests here, under a name of its own that it lets point to 127.0.0.1: hence the check of
// Host.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sha256.h"
#include "base/uuid.h"

struct ggs_error;

enum { GGS_TOKEN_LENGTH = 32, GGS_LINK_LENGTH = 65 };

struct ggs_auth {
    char     token[GGS_TOKEN_LENGTH + 1];
    uint8_t  secret[GGS_SHA256_LENGTH];
    bool     loopback; // only this machine can reach the server
    uint16_t port;
};

int ggs_auth_make(struct ggs_auth * auth, bool loopback, uint16_t port, struct ggs_error * error);

bool ggs_auth_host_ok(const struct ggs_auth * auth, const char * host); // the Host header; NULL if there is none

enum ggs_visitor { GGS_VISITOR_STRANGER, GGS_VISITOR_OF_ALL, GGS_VISITOR_OF_ONE };

// By the first part of the path, without slashes. `id` is that of the experiment for
// GGS_VISITOR_OF_ONE.
enum ggs_visitor ggs_auth_visitor(const struct ggs_auth * auth, const char * part, size_t length,
                                  char id[GGS_UUID_LENGTH]);

// The part that opens the experiment with this id alone. False if that is no id.
bool ggs_auth_link(const struct ggs_auth * auth, const char * id, char part[GGS_LINK_LENGTH + 1]);
