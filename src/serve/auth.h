// Access control: a client must know the first part of the path and use a name of this machine.
//
//     /TOKEN/...         everything that is served: the printed address
//     /ID-CODE/...       the experiment with that id only: a link to share. The code is an HMAC of
//                        the id with a secret of this server, so links are not stored, and they
//                        end with the server.
//
// Other users of the machine can reach 127.0.0.1 too, and prompts are private: hence the token. A
// cookie is no substitute: browsers send it to every port of 127.0.0.1, also to servers of other
// users. A path is sent nowhere else (Referrer-Policy: no-referrer). The check of Host stops pages
// of other sites that let a name of theirs resolve to 127.0.0.1 (DNS rebinding).
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

bool ggs_auth_host_ok(const struct ggs_auth * auth, const char * host); // the Host header; NULL if missing

enum ggs_visitor { GGS_VISITOR_STRANGER, GGS_VISITOR_OF_ALL, GGS_VISITOR_OF_ONE };

// Identifies the visitor by the first part of the path, without slashes. `id` is that of the
// experiment for GGS_VISITOR_OF_ONE.
enum ggs_visitor ggs_auth_visitor(const struct ggs_auth * auth, const char * part, size_t length,
                                  char id[GGS_UUID_LENGTH]);

// Makes the part of the path that opens only the experiment with this id. False if the id is
// invalid.
bool ggs_auth_link(const struct ggs_auth * auth, const char * id, char part[GGS_LINK_LENGTH + 1]);
