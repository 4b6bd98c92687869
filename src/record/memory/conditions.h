// The conditions of a recording: a limit on the program's memory, a model that is not in the page
// cache.
//
// They are recorded in experiment.json ("machine"), and undone when the program has ended in any
// way.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "record/memory/ahead.h"
#include "record/memory/cold.h"
#include "record/memory/copies.h"
#include "record/memory/limit.h"

struct ggs_error;
struct json_object;

struct ggs_memory_conditions {
    // Set by the caller:
    uint64_t       memory; // 0 for no limit
    bool           cold;
    const char *   model;        // NULL if unknown
    bool           engine_known; // the program uses `engine` (NULL: the default); else any
    const char *   engine;
    char * const * command;
    // Set here:
    bool              dropped; // the model was dropped from the page cache
    struct ggs_cold   found;
    struct ggs_limit  limit;
    struct ggs_copies copies;
    struct ggs_ahead  ahead;
    struct rusage     children; // at the program's start
};

// Checks whether the conditions are possible, before anything is made. Returns GGS_USAGE if the
// command line is to blame. Prints warnings on stderr.
int ggs_memory_conditions_check(struct ggs_memory_conditions * conditions, struct ggs_error * error);
// Bytes of the recording to leave free for segments made ahead.
uint64_t ggs_memory_conditions_reserve(const struct ggs_memory_conditions * conditions, const char * spool,
                                       uint64_t max_bytes);
// Drops the model and makes segments in the folder of the spool, as late as possible.
int ggs_memory_conditions_apply(struct ggs_memory_conditions * conditions, const char * spool, uint64_t max_bytes,
                                struct ggs_error * error);
// For a program that exists and waits to begin. One that cannot be limited is ended.
void ggs_memory_conditions_join(struct ggs_memory_conditions * conditions, pid_t program);
// Undoes everything. May be called again.
void ggs_memory_conditions_end(struct ggs_memory_conditions * conditions);

// Record the settings in "machine", and the results.
void ggs_memory_conditions_annotate_begin(const struct ggs_memory_conditions * conditions,
                                          struct json_object *                 machine);
void ggs_memory_conditions_annotate_end(const struct ggs_memory_conditions * conditions, struct json_object * machine);
// Reports why the program was ended, if the limit was the cause. Returns false if it was not.
bool ggs_memory_conditions_explain(const struct ggs_memory_conditions * conditions, int wait_status);
