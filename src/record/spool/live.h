// Looking at a recording that goes on, for the server: a trace of what its spool holds so far.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/model-files.h"

struct ggs_error;

struct ggs_live_context {
    struct ggs_model_files files; // opened once, whatever the number of snapshots
};

// The two functions that the server's struct ggs_live wants; `context` is a struct ggs_live_context, zeroed at first.
bool ggs_live_going_on(void * context, const char * directory, uint64_t * units);
int  ggs_live_copy(void * context, const char * directory, const char * path, struct ggs_error * error);
void ggs_live_release(struct ggs_live_context * context);

// Is a program about to record into the directory that has not written anything yet?
bool ggs_live_is_starting(const char * directory);
// Is there something to show: a trace, or a recording that is going on or about to begin? Looks only.
bool ggs_live_can_be_shown(const char * directory);
