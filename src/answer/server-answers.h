// Answers of the server only: the served experiments, and errors.
#pragma once

#include "base/object.h"

// A served experiment.
struct ggs_served {
    uint64_t     index; // N in /api/x/N
    const char * id;    // "" if it cannot be opened
    const char * name;
    const char * directory;
    const char * state; // "recording", "complete", "interrupted", ...; "gone", "refused"
    bool         live;
    const char * error; // "" if it can be shown
    bool         found; // discovered below a served folder, not given on the command line
};
extern const struct ggs_object ggs_served_object;

// A link that opens only one experiment.
struct ggs_link {
    const char * path;     // behind the server's name and port
    bool         loopback; // only this machine can reach the server
};
extern const struct ggs_object ggs_link_object;

struct ggs_refusal {
    const char * error;
};
extern const struct ggs_object ggs_refusal_object;
