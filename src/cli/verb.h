// The scaffold of a verb: its options, the experiments that it reads, its errors and its exit status. A verb is then its option table,
// its analysis and its writers:
//
//     struct arguments {
//         struct ggs_input input; // comes first
//         uint64_t         limit;
//     };
//     #define AT(member) offsetof(struct arguments, member)
//     static const struct ggs_option options[] = {
//         {"limit", 'n', "N", "At most N rows", 1, AT(limit), ggs_take_count, "a number of rows"},
//         GGS_OPTION_JSON(2),
//         {0}};
//
//     static int show(void * arguments, struct ggs_trace * traces, struct ggs_error * error);
//
//     int cmd_rows(int argc, char ** argv) {
//         static const struct ggs_verb verb = {.operands = "[DIR]", .most = 1, .opens = true, .options = options, .run = show,
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
#include "base/uuid.h"

struct argp_state;

// What every verb gets from its command line.
struct ggs_input {
    char **          paths; // the operands
    unsigned         n;
    bool             json;
    bool             damaged;          // read what is intact of a damaged trace
    struct ggs_asked choice;           // the requests that it is limited to: traces have it as their selection
    bool             quiet;            // no talk
    bool             no_pager;         // main has seen it
    char             newest[PATH_MAX]; // if none was given, the newest recording: paths[0] then
    char *           own[1];
};

// Reads the text of an option into its member; false if it is no such value.
typedef bool (*ggs_take)(void * member, const char * text);

struct ggs_option {
    const char * name;
    int          letter;  // 0: none
    const char * value;   // as --help names it; NULL: a flag, its member a bool
    const char * help;    // half a line
    int          group;   // in --help
    size_t       offset;  // of the member
    ggs_take     take;    // NULL for a flag
    const char * expects; // "--NAME takes EXPECTS, not 'TEXT'"
};
#define GGS_OPTION_JSON(group) \
    { "json", 'j', NULL, "As JSON", group, offsetof(struct ggs_input, json), NULL, NULL }

#define GGS_OPTION_DAMAGED(group)                                                        \
    {                                                                                    \
        "damaged", 0, NULL, "Read what is intact of a damaged trace, and say so", group, \
            offsetof(struct ggs_input, damaged), NULL, NULL                              \
    }

#define GGS_OPTIONS_SELECTION(group)                                                               \
    {"request",                                                                                    \
     0,                                                                                            \
     "N",                                                                                          \
     "Only steps of this request (see ggscope requests)",                                          \
     group,                                                                                        \
     offsetof(struct ggs_input, choice.request),                                                   \
     ggs_take_chosen,                                                                              \
     "the number of a request"},                                                                   \
        {"sequence",                                                                               \
         0,                                                                                        \
         "N",                                                                                      \
         "Only steps of this sequence, which servers call a slot",                                 \
         group,                                                                                    \
         offsetof(struct ggs_input, choice.sequence),                                              \
         ggs_take_chosen,                                                                          \
         "the number of a sequence"},                                                              \
    {                                                                                              \
        "context", 0, "N", "Only steps of this context: draft and target are two", group,          \
            offsetof(struct ggs_input, choice.context), ggs_take_chosen, "the number of a context" \
    }

bool ggs_take_chosen(void * member, const char * text); // uint64_t: the number + 1
bool ggs_take_text(void * member, const char * text);   // const char *
bool ggs_take_count(void * member, const char * text);  // uint64_t
bool ggs_take_size(void * member, const char * text);   // uint64_t bytes: "4096", "64K", "1.5G"
bool ggs_take_time(void * member, const char * text);   // int64_t nanoseconds: "1.5s", "300ms", "20us", "5000"
bool ggs_take_index(void * member, const char * text);  // int64_t, from 0
bool ggs_take_layer(void * member, const char * text);  // int
bool ggs_take_tokens(void * member, const char * text); // int64_t[2], both included: "5", "5..9", "5..", "..9"
bool ggs_take_offsets(void *       member,
                      const char * text); // uint64_t[2], the end not included: "64K..1.5M", "1G..", "4096"
#define GGS_EXPECTS_TOKENS "a token or a range such as 3, 3..5 or 3.."

struct ggs_verb {
    const char *              operands; // as --help shows them: "[DIR]"
    const char *              text;     // what the verb does
    const struct ggs_option * options;
    unsigned                  least, most; // operands. least 0: without one, the newest recording is taken
    bool                      several;     // any number of operands, none included: nothing is chosen for the user
    bool                      program;     // the first operand is a program: what follows is not for us
    bool                      opens;       // seals and opens the experiments; else the verb does so itself
    // What no option can tell by itself. Calls argp_error. NULL: nothing.
    void (*check)(const void * arguments, struct argp_state * state);
    // The work. `traces` has input.n of them if they were opened. Negative: failed, the error is shown; positive: the answer is no.
    int (*run)(void * arguments, struct ggs_trace * traces, struct ggs_error * error);
    // For a verb with a text of its own in --help: as argp's help_filter.
    char * (*help)(int key, const char * text, void * input);
};

// Reads the command line into `arguments`, which begin with a struct ggs_input; opens the experiments, runs the verb, flushes stdout, says
// on stderr what failed. Returns the exit status: 0, 1 failed or the answer is no, 2 the command line was wrong.
int ggs_verb_run(const struct ggs_verb * verb, int argc, char ** argv, void * arguments);

// Seals an experiment if that was not done. A trace file is taken as it is.
int ggs_verb_seal(const char * path, struct ggs_error * error);
// Says on stderr what failed.
void ggs_verb_complain(const struct ggs_error * error);

// Where the sentence names `path` and that is relative, it names it from the root on.
void ggs_verb_resolve(struct ggs_error * error, const char * path);

// The experiment's id as text.
char * ggs_verb_uuid(char text[GGS_UUID_LENGTH], const struct ggs_trace * trace);

// A name from a file for stdout: on a terminal it cannot drive it and is at most `columns` columns wide, shortened in the middle; in a pipe
// it is never shortened. Returns `name`, or `buffer` if something had to be changed.
const char * ggs_verb_fit(char * buffer, size_t size, const char * name, unsigned columns);
