// The scaffold of a verb: its options, the experiments that it reads, its errors and its exit
// status. A verb is then its option table, its analysis and its writers:
//
//     struct arguments {
//         struct ggs_input input; // comes first
//         uint64_t         limit;
//     };
//     #define AT(member) offsetof(struct arguments, member)
//     static const struct ggs_option options[] = {
//         GGS_OPTION("limit", 'n', "N", "At most N rows", 1, AT(limit), ggs_set_count, "a number of rows"),
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

// What every verb gets from its command line.
struct ggs_input {
    char **           paths; // the operands
    unsigned          n;
    bool              json;
    struct ggs_json * out;              // with --json: stdout, for one object or array; finished when the verb has run
    bool              damaged;          // read what is intact of a damaged trace
    struct ggs_asked  choice;           // the requests that it is limited to: traces have it as their selection
    bool              quiet;            // no messages but errors
    bool              no_pager;         // main has seen it
    char              newest[PATH_MAX]; // if none was given, the newest recording: paths[0] then
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

// What most verbs read: one recording, by default the newest.
#define GGS_OPENS_ONE .operands = "[DIR]", .most = 1, .opens = true

struct ggs_verb {
    const char *              operands; // as --help shows them: "[DIR]"
    const char *              text;     // what the verb does
    const struct ggs_option * options;
    struct ggs_option_list    more[3];     // behind them, options of others
    unsigned                  least, most; // operands. least 0: without one, the newest recording is taken
    bool                      several;     // any number of operands, none included: nothing is chosen for the user
    bool                      program;     // the first operand is a program: what follows is not for us
    bool                      opens;       // seals and opens the experiments; else the verb does so itself
    // What no option can tell by itself. Calls argp_error. NULL: nothing.
    void (*check)(const void * arguments, struct argp_state * state);
    // The work. `traces` has input.n of them if they were opened. Negative: failed, the error is
    // shown; positive: the exit status, 1 if the answer is no.
    int (*run)(void * arguments, struct ggs_trace * traces, struct ggs_error * error);
    // For a verb with a text of its own in --help: as argp's help_filter.
    char * (*help)(int key, const char * text, void * input);
};

// Reads the command line into `arguments`, which begin with a struct ggs_input; opens the
// experiments, runs the verb, flushes stdout, says on stderr what failed. Returns the exit status:
// that of the work, 1 if it failed, 2 if the command line was wrong.
int ggs_verb_run(const struct ggs_verb * verb, int argc, char ** argv, void * arguments);

// ---- what a verb is, for completion and man pages ----

enum { GGS_VERB_DESCRIBE = -1 };
// The verb behind a function of commands.h: with GGS_VERB_DESCRIBE as argc it comes no further than
// ggs_verb_run, which takes argv for the struct to fill. What it points to is constant.
struct ggs_verb ggs_verb_of(int (*function)(int argc, char ** argv));

// The options one after the other, from *i = 0 on: the verb's own, those of others, what every verb
// has. NULL behind the last. *title is what stands above those of others, NULL for the verb's own,
// "" for what every verb has.
const struct ggs_option * ggs_verb_next_option(const struct ggs_verb * verb, unsigned * i, const char ** title);

// Seals an experiment if that was not done. A trace file is taken as it is.
int ggs_verb_seal(const char * path, struct ggs_error * error);
// Seals and opens an experiment; says on stderr what is missing of it.
int ggs_verb_open(struct ggs_trace * trace, const char * path, const struct ggs_input * input,
                  struct ggs_error * error);

// If the sentence names `path` and that is relative, makes it absolute.
void ggs_verb_resolve(struct ggs_error * error, const char * path);

// A name from a file for stdout: on a terminal it cannot drive it and is at most `columns` columns
// wide, shortened in the middle; in a pipe it is never shortened. Returns `name`, or `buffer` if
// something had to be changed.
const char * ggs_verb_fit(char * buffer, size_t size, const char * name, unsigned columns);
