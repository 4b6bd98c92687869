// An experiment's directory, and experiment.json in it: what was run, where, with what, and how it
// ended.
//
//     DIR/experiment.json   written at the start ("state": "recording"), completed at the end
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

enum { GGS_EXPERIMENT_PATH = PATH_MAX - 64 }; // names of its files must fit into PATH_MAX

struct ggs_experiment_json {
    char                 directory[GGS_EXPERIMENT_PATH]; // absolute
    char                 id[37];                         // a UUID
    struct json_object * json;
    int                  lock;     // marks the directory as ours (base/system/lock.h), or -1
    bool                 made;     // we made the directory
    size_t               existing; // length of the part of its path that existed
    unsigned             hidden;   // hidden parts of the command line
};

struct ggs_experiment_place {
    const char * directory; // chosen by the user, or NULL
    const char * parent;    // else below this folder, which is made if missing
    const char * subject;   // as <date-time>-<subject>
    bool         force;     // replace an existing experiment
};

struct ggs_experiment_start {
    char * const *       command;
    const char *         model; // as given, NULL if unknown
    uint64_t             max_size;
    const char *         policy;
    bool                 follow;
    bool                 prove;
    bool                 stream;  // under ggscope stream
    const char *         values;  // pattern, NULL if not recorded
    const char *         name;    // of the run; NULL for that of its directory
    const char *         group;   // of related runs; NULL for none
    const char *         spool;   // folder
    struct json_object * machine; // settings of the machine; owned from here on
};

// Makes the directory and claims it in one step: of two processes that want the same one, one is
// refused. Until it is released no other process records to it, replaces or seals it. An existing
// directory that is not empty is refused; with `force` an experiment is set aside
// (experiment-files.h) until the new one is complete or discarded. A directory that is being
// recorded to is always refused.
int ggs_experiment_create(struct ggs_experiment_json * experiment, const struct ggs_experiment_place * place,
                          struct ggs_error * error);
// True if the directory has an experiment, sealed or not.
bool ggs_experiment_is_one(const char * directory);
// True while the directory is recorded to or sealed.
bool ggs_experiment_is_claimed(const char * directory);
// Claims an existing directory, waiting for others that seal it. One that is being recorded to is
// refused.
int ggs_experiment_claim(struct ggs_experiment_json * experiment, struct ggs_error * error);
// Opens an existing directory without claiming it. Without an experiment.json it gets a new id, and
// `json` has only that.
int  ggs_experiment_open(struct ggs_experiment_json * experiment, const char * directory, struct ggs_error * error);
void ggs_experiment_release(struct ggs_experiment_json * experiment);

// Writes the initial experiment.json.
int ggs_experiment_begin(struct ggs_experiment_json * experiment, const struct ggs_experiment_start * start,
                         struct ggs_error * error);

// Writes the current experiment.json.
int ggs_experiment_write(const struct ggs_experiment_json * experiment, struct ggs_error * error);
// A time in the format of experiment.json.
struct json_object * ggs_experiment_utc(uint64_t realtime_ns);

// Adds to "settings" what was found out while the program was started; written on completion. Takes
// ownership of `value`.
void ggs_experiment_setting(struct ggs_experiment_json * experiment, const char * key, struct json_object * value);
// The object "machine": settings and observations of the machine. Lives in `json`.
struct json_object * ggs_experiment_machine(struct ggs_experiment_json * experiment);
// The object "conditions": the state of the machine (surroundings.h). Lives in `json`.
struct json_object * ggs_experiment_conditions(struct ggs_experiment_json * experiment);

// Records the current time as the end of the program.
void ggs_experiment_stop_clock(struct ggs_experiment_json * experiment);
// Finds the claimed directory after a rename. Returns GGS_ABSENT if it was removed.
int ggs_experiment_find(struct ggs_experiment_json * experiment, struct ggs_error * error);
// The end of the program: waitpid's status, or unknown.
enum { GGS_END_UNKNOWN = -1 };
// Completes experiment.json from the spool. Call it before the spool is sealed: the trace has a
// copy.
int ggs_experiment_complete(struct ggs_experiment_json * experiment, int wait_status,
                            const struct ggs_spool_facts * facts, struct ggs_error * error);

// The start as CLOCK_MONOTONIC, 0 if unknown.
uint64_t ggs_experiment_start_ns(const struct ggs_experiment_json * experiment);
void     ggs_experiment_uuid(const struct ggs_experiment_json * experiment, uint8_t uuid[16]);
// "recording", "complete", "interrupted", "empty"; "" if unknown.
const char * ggs_experiment_state(const struct ggs_experiment_json * experiment);

// Removes the files listed above and the directories that we made, for a program that could not be
// started. The spool must be released: one that another process writes to stays, with everything
// else.
void ggs_experiment_discard(struct ggs_experiment_json * experiment);
