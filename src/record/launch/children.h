// Programs that the recorded program starts and that compute with an engine of their own, without
// our library: a router that starts its servers, a script. They are found while they run.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct ggs_children;

struct ggs_children_found {
    unsigned seen;     // programs and forks, with an engine or without
    unsigned n;        // of these, that ran an engine without being recorded
    pid_t    first;    // one of them
    char     name[32]; // its name
};

// Searches for them in a thread of its own. With `directory`, attaches to each and records it into
// DIRECTORY/process-N; otherwise counts them. NULL if the thread could not be started.
struct ggs_children * ggs_children_watch(pid_t program, const char * directory, bool quiet);
// Ends the recordings, waits for them, and returns what was found. NULL is allowed.
struct ggs_children_found ggs_children_end(struct ggs_children * children);
