// An experiment's directory, and experiment.json in it: what was run, where, with what, and how it
// ended.
//
//     DIR/experiment.json   written before the program starts ("state": "recording"), completed when it has ended
//     DIR/trace.ggs         once it is sealed
//     DIR/stdout.txt        what the program wrote
//     DIR/stderr.txt
//     DIR/notes.txt         notes on it (answer/notes.h)
//     DIR/spool             while it is recorded, and until it is sealed
//
// Prompts are private: the directory has mode 0700, files have 0600.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_error;
struct ggs_spool_facts;
struct json_object;

enum { GGS_EXPERIMENT_PATH = PATH_MAX - 64 }; // so that the names of the files in it fit into PATH_MAX

struct ggs_experiment_json {
    char                 directory[GGS_EXPERIMENT_PATH]; // absolute
    char                 id[37];                         // a UUID
    struct json_object * json;
    int                  lock;     // marks the directory as ours (base/system/lock.h), -1: it is not
    bool                 made;     // the directory is ours: nothing was there before
    size_t               existing; // so much of its path was there before
    unsigned             hidden;   // parts of the command line that are not kept, because they look like secrets
};

struct ggs_experiment_place {
    const char * directory; // where the user wants it, or NULL
    const char * parent;    // else below this one, which is made if it is missing
    const char * subject;   // as <date-time>-<subject>
    bool         force;     // an experiment that is there is replaced
};

struct ggs_experiment_start {
    char * const *       command;
    const char *         model; // as given, NULL if unknown
    uint64_t             max_size;
    const char *         policy;
    bool                 follow;
    bool                 prove;
    const char *         values;  // pattern, NULL if they are not recorded
    const char *         name;    // of the run; NULL: that of its directory
    const char *         group;   // of runs that belong together; NULL: none
    const char *         spool;   // folder
    struct json_object * machine; // what is set on the machine; taken over
};

// Makes the directory and takes it, in one step: of two processes that want the same one, one is
// refused. Until it is released no other process records to it, replaces or seals it. One that
// exists and is not empty is refused; with `force` the files above are set aside
// (experiment-files.h) until the new experiment is whole or discarded, but only if it is an
// experiment. A directory that is being recorded to is always refused.
int ggs_experiment_create(struct ggs_experiment_json * experiment, const struct ggs_experiment_place * place,
                          struct ggs_error * error);
// True if the directory holds an experiment, sealed or not.
bool ggs_experiment_is_one(const char * directory);
// True while the directory is recorded to or sealed.
bool ggs_experiment_is_claimed(const char * directory);
// Takes a directory that is there, waiting for others who seal it. One that is being recorded to is
// refused.
int ggs_experiment_claim(struct ggs_experiment_json * experiment, struct ggs_error * error);
// Opens a directory that is there, without taking it. Without an experiment.json it gets a new id,
// and `json` holds no more than that.
int  ggs_experiment_open(struct ggs_experiment_json * experiment, const char * directory, struct ggs_error * error);
void ggs_experiment_release(struct ggs_experiment_json * experiment);

// Writes experiment.json as it is at the beginning.
int ggs_experiment_begin(struct ggs_experiment_json * experiment, const struct ggs_experiment_start * start,
                         struct ggs_error * error);

// Writes experiment.json as it is.
int ggs_experiment_write(const struct ggs_experiment_json * experiment, struct ggs_error * error);
// A time as experiment.json has it.
struct json_object * ggs_experiment_utc(uint64_t realtime_ns);

// Adds to "settings" what turned out while the program was started; in the file once it is
// completed. Takes `value`.
void ggs_experiment_setting(struct ggs_experiment_json * experiment, const char * key, struct json_object * value);
// The object "machine": what was set on the machine and what the machine did. Lives in `json`.
struct json_object * ggs_experiment_machine(struct ggs_experiment_json * experiment);
// The object "conditions": what the machine was like (surroundings.h). Lives in `json`.
struct json_object * ggs_experiment_conditions(struct ggs_experiment_json * experiment);

// Notes the time at which the program ended: now.
void ggs_experiment_stop_clock(struct ggs_experiment_json * experiment);
// Finds the claimed directory again, which may have been renamed. GGS_ABSENT if it was removed.
int ggs_experiment_find(struct ggs_experiment_json * experiment, struct ggs_error * error);
// How the program ended, as waitpid says it, or that it is not known.
enum { GGS_END_UNKNOWN = -1 };
// Completes experiment.json from what the spool says. Must happen before the spool is sealed: the
// trace holds a copy.
int ggs_experiment_complete(struct ggs_experiment_json * experiment, int wait_status,
                            const struct ggs_spool_facts * facts, struct ggs_error * error);

// The start as CLOCK_MONOTONIC, 0 if it is not known.
uint64_t ggs_experiment_start_ns(const struct ggs_experiment_json * experiment);
void     ggs_experiment_uuid(const struct ggs_experiment_json * experiment, uint8_t uuid[16]);
// "recording", "complete", "interrupted", "empty"; "" if it is not known.
const char * ggs_experiment_state(const struct ggs_experiment_json * experiment);

// Removes what is in the list above, and the directories that we made: for a program that could not
// be started. Only for one that was created, with its spool released: a spool that another process
// writes to stays, and everything with it.
void ggs_experiment_discard(struct ggs_experiment_json * experiment);
