// The conditions that a recording is made under: a limit on the program's memory, a model that is
// out of the page cache.
//
// Everything is noted in experiment.json ("machine"), and undone when the program has ended,
// however that was.
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
    // what is asked for
    uint64_t     memory; // 0: no limit
    bool         cold;
    const char * model; // NULL: not known
    bool engine_known;  // the program uses the engine in the next member (NULL: the default one); else it may be any
    const char *   engine;
    char * const * command;
    // what was done
    bool              dropped; // the model, from the page cache
    struct ggs_cold   found;
    struct ggs_limit  limit;
    struct ggs_copies copies;
    struct ggs_ahead  ahead;
    struct rusage     children; // before the program ran
};

// Before anything is made: is it possible? GGS_USAGE if the command line is to blame. Says on
// stderr what the user should know.
int ggs_memory_conditions_check(struct ggs_memory_conditions * conditions, struct ggs_error * error);
// Bytes of the recording that are to be left free for segments made ahead.
uint64_t ggs_memory_conditions_reserve(const struct ggs_memory_conditions * conditions, const char * spool,
                                       uint64_t max_bytes);
// Drops the model and gets room for the recording ready in the folder of the spool, as late as
// possible.
int ggs_memory_conditions_apply(struct ggs_memory_conditions * conditions, const char * spool, uint64_t max_bytes,
                                struct ggs_error * error);
// The program exists and waits to begin. One that cannot be held to the limit is ended.
void ggs_memory_conditions_join(struct ggs_memory_conditions * conditions, pid_t program);
// Undoes everything. May be called again.
void ggs_memory_conditions_end(struct ggs_memory_conditions * conditions);

// What was set, for "machine"; and what came of it.
void ggs_memory_conditions_annotate_begin(const struct ggs_memory_conditions * conditions,
                                          struct json_object *                 machine);
void ggs_memory_conditions_annotate_end(const struct ggs_memory_conditions * conditions, struct json_object * machine);
// Says why the program was ended, if that was the limit. False if it was not.
bool ggs_memory_conditions_explain(const struct ggs_memory_conditions * conditions, int wait_status);
