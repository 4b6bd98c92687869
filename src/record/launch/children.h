// Programs that the recorded program starts and that compute with an engine of their own, without
// our library in them. They are found while they run: a router that starts its servers, a script.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct ggs_children;

struct ggs_children_found {
    unsigned n;        // that ran an engine and were not recorded
    pid_t    first;    // one of them
    char     name[32]; // its name
};

// Looks for them from now on, in a thread of its own. `directory`: attaches to each, and records it
// into DIRECTORY/process-N; NULL: counts them. NULL if it could not be started.
struct ggs_children * ggs_children_watch(pid_t program, const char * directory, bool quiet);
// Ends the recordings, waits for them, and says what was found. NULL is fine.
struct ggs_children_found ggs_children_end(struct ggs_children * children);
