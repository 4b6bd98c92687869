// Who may read: the token of the printed address, or the cookie that it was exchanged for, under a name of this machine.
//
// Other users of the machine can reach 127.0.0.1 too, and prompts are private: hence the token. Another site's page could make a browser send
// requests here, under a name of its own that it lets point to 127.0.0.1: hence the check of Host. The cookie's name has the port, because
// cookies do not know of ports, and two servers on one machine would take it from each other.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ggs_error;

enum { GGS_TOKEN_LENGTH = 32 };

struct ggs_auth {
    char     token[GGS_TOKEN_LENGTH + 1];
    char     cookie[32]; // its name
    bool     loopback;   // only this machine can reach the server
    uint16_t port;
};

int ggs_auth_make(struct ggs_auth * auth, bool loopback, uint16_t port, struct ggs_error * error);

bool ggs_auth_host_ok(const struct ggs_auth * auth, const char * host);      // the Host header; NULL if there is none
bool ggs_auth_cookie_ok(const struct ggs_auth * auth, const char * cookies); // the Cookie header
// The parameters of a request for "/": is there a token, and is it ours?
enum ggs_auth_token { GGS_TOKEN_ABSENT, GGS_TOKEN_WRONG, GGS_TOKEN_RIGHT };
enum ggs_auth_token ggs_auth_token(const struct ggs_auth * auth, const char * query);
