// Looking at a recording that goes on, for the server: a trace of what its spool holds so far.
#pragma once

#include <stdbool.h>

#include "cli/model-files.h"
#include "serve/shelf.h"

struct ggs_live_context {
    struct ggs_model_files files; // opened once, whatever the number of snapshots
};

// The context must outlive the shelf.
struct ggs_live ggs_live_of_spools(struct ggs_live_context * context);
void            ggs_live_release(struct ggs_live_context * context);

// Is somebody about to record into the directory, who has not written anything yet?
bool ggs_live_is_starting(const char * directory);
