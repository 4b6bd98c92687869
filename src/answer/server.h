// Answers that only the server gives: which experiments it serves, and why it refuses.
#pragma once

#include "base/object.h"

// An experiment that is served.
struct ggs_served {
    uint64_t     index; // N in /api/x/N
    const char * id;    // "" if it cannot be opened
    const char * name;
    const char * directory;
    const char * state; // "recording", "complete", "interrupted", ...; "gone", "refused"
    bool         live;
    const char * error; // "" if it can be shown
    bool         found; // below a folder that is served, not named
};
extern const struct ggs_object ggs_served_object;

// A link that opens one experiment alone.
struct ggs_link {
    const char * path;     // behind the server's name and port
    bool         loopback; // only this machine can reach the server
};
extern const struct ggs_object ggs_link_object;

struct ggs_refusal {
    const char * error;
};
extern const struct ggs_object ggs_refusal_object;
