// The scaffold of a verb: options, experiments, errors and exit status. A verb consists of its
// option table, its analysis and its writers:
//
//     struct arguments {
//         struct ggs_input input; // must be first
//         uint64_t         limit;
//     };
//     #define AT(member) offsetof(struct arguments, member)
//     static const struct ggs_option options[] = {
//         GGS_OPTION("limit", 'n', "N", "At most N rows", 1, AT(limit), ggs_set_count, "a number"),
//         GGS_OPTION_JSON(2),
//         {0}};
//
//     static int show(void * arguments, struct ggs_trace * traces, struct ggs_error * error);
//
//     int cmd_rows(int argc, char ** argv) {
//         static const struct ggs_verb verb = {GGS_OPENS_ONE, .options = options, .run = show,
//                                              .text = "Show the rows of an experiment."};
//         struct arguments             arguments = {.limit = 10};
//         return ggs_verb_run(&verb, argc, argv, &arguments);
//     }
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/requests/selection.h"
#include "analyze/walk/trace.h"
#include "base/error.h"
#include "base/json.h"
#include "base/options/options.h"

struct argp_state;

// The common part of every verb's arguments.
struct ggs_input {
    char **           paths; // the operands
    unsigned          n;
    bool              json;
    struct ggs_json * out;              // stdout with --json, for one object or array
    bool              damaged;          // read the intact part of a damaged trace
    struct ggs_asked  choice;           // limits the verb to requests: the selection of its traces
    bool              quiet;            // only error messages
    bool              no_pager;         // handled by main
    char              newest[PATH_MAX]; // the newest recording, if none was given: then paths[0]
    char *            own[1];
};

#define GGS_OPTION_JSON(group) GGS_SWITCH("json", 'j', "As JSON", group, offsetof(struct ggs_input, json))

#define GGS_OPTION_DAMAGED(group) \
    GGS_SWITCH("damaged", 0, "Read the intact part of a damaged trace", group, offsetof(struct ggs_input, damaged))

#define GGS_OPTIONS_SELECTION(group)                                                                               \
    GGS_OPTION("request", 0, "N", "Only steps of this request", group, offsetof(struct ggs_input, choice.request), \
               ggs_set_chosen, "the number of a request"),                                                         \
        GGS_OPTION("sequence", 0, "N", "Only steps of this sequence (a server's slot)", group,                     \
                   offsetof(struct ggs_input, choice.sequence), ggs_set_chosen, "the number of a sequence"),       \
        GGS_OPTION("context", 0, "N", "Only steps of this context (draft and target are two)", group,              \
                   offsetof(struct ggs_input, choice.context), ggs_set_chosen, "the number of a context")

// For most verbs: one recording, by default the newest.
#define GGS_OPENS_ONE .operands = "[DIR]", .most = 1, .opens = true

struct ggs_verb {
    const char *              operands; // for --help: "[DIR]"
    const char *              text;     // description of the verb
    const struct ggs_option * options;
    struct ggs_option_list    more[3];     // further options of other modules
    unsigned                  least, most; // number of operands; least 0: the newest recording
    bool                      several;     // any number of operands, even none, without a default
    bool                      program;     // the first operand is a program with arguments
    bool                      opens;       // opens the experiments; else the verb does
    // Checks combinations of options. Calls argp_error. NULL: none.
    void (*check)(const void * arguments, struct argp_state * state);
    // The work. `traces` has input.n entries if they were opened. Negative: failed, the error is
    // shown; positive: the exit status, 1 for a negative answer.
    int (*run)(void * arguments, struct ggs_trace * traces, struct ggs_error * error);
    // For a verb with its own text in --help: argp's help_filter.
    char * (*help)(int key, const char * text, void * input);
};

// Parses the command line into `arguments`, which begin with a struct ggs_input; opens the
// experiments, runs the verb, flushes stdout, and reports failures on stderr. Returns the exit
// status: that of the verb, 1 on failure, 2 on a usage error.
int ggs_verb_run(const struct ggs_verb * verb, int argc, char ** argv, void * arguments);

// ---- description of a verb, for completion and man pages ----

enum { GGS_VERB_DESCRIBE = -1 };
// Returns the description of a command function: with GGS_VERB_DESCRIBE as argc it stops in
// ggs_verb_run, which fills the struct in argv. It points to constants.
struct ggs_verb ggs_verb_of(int (*function)(int argc, char ** argv));

// Iterates over the options from *i = 0 on: the verb's own, those of other modules, the common
// ones. NULL at the end. *title is the heading of other modules' options, NULL for the verb's own,
// "" for the common ones.
const struct ggs_option * ggs_verb_next_option(const struct ggs_verb * verb, unsigned * i, const char ** title);

// Seals an experiment if needed. A trace file is used as it is.
int ggs_verb_seal(const char * path, struct ggs_error * error);
// Seals and opens an experiment; reports missing parts on stderr.
int ggs_verb_open(struct ggs_trace * trace, const char * path, const struct ggs_input * input,
                  struct ggs_error * error);

// Makes a relative `path` in the sentence absolute.
void ggs_verb_resolve(struct ggs_error * error, const char * path);

// Prepares a name from a file for stdout. On a terminal it loses control characters and is
// shortened in the middle to `columns` columns; in a pipe it is never shortened. Returns `name`, or
// `buffer` if it was changed.
const char * ggs_verb_fit(char * buffer, size_t size, const char * name, unsigned columns);
