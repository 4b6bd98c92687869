// Reads a live recording for the server: a trace of what its spool has so far.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/model-files.h"

struct ggs_error;

struct ggs_live_context {
    struct ggs_model_files files;   // opened once for all snapshots
    bool                   weights; // read weights in files, about a second per billion elements
};

// The functions of the server's struct ggs_live; `context` is a struct ggs_live_context, zeroed at
// first.
bool ggs_live_going_on(void * context, const char * directory, uint64_t * units);
int  ggs_live_copy(void * context, const char * directory, const char * path, struct ggs_error * error);
void ggs_live_release(struct ggs_live_context * context);

// True if a program is about to record into the directory and has written nothing yet.
bool ggs_live_is_starting(const char * directory);
// True if there is something to show: a trace, or a recording in progress or about to begin.
// Changes nothing.
bool ggs_live_can_be_shown(const char * directory);
