// The verbs of ggscope, one cmd-VERB.c each. A new row adds a verb to --help, completion,
// ggscope(1) and README; its page is docs/man/ggscope-VERB.1.
#pragma once

#include <stdbool.h>

#define GGS_VERBS_RECORD  "Record"
#define GGS_VERBS_LOOK    "Look at a recording"
#define GGS_VERBS_COMPARE "Compare, check and share"
#define GGS_VERBS_MODELS  "Models and the machine"

//     name, group, may be long (goes through a pager on a terminal), summary in half a line
#define GGS_VERBS(ROW)                                                                                 \
    ROW(run, RECORD, false, "generate text with a model, and record it")                               \
    ROW(record, RECORD, false, "record a program that uses ggml")                                      \
    ROW(attach, RECORD, false, "record a running program")                                             \
    ROW(stream, RECORD, false, "run a program whose model is larger than memory")                      \
    ROW(control, RECORD, false, "start, stop and mark a running recording")                            \
    ROW(top, RECORD, false, "watch a running recording")                                               \
    ROW(seal, RECORD, false, "make the trace of a recording that has none yet")                        \
    ROW(join, RECORD, false, "merge the recordings of several processes or hosts")                     \
    ROW(serve, LOOK, false, "show recordings in the browser")                                          \
    ROW(explain, LOOK, true, "say why it is slow, what helps and how to verify it")                    \
    ROW(stats, LOOK, true, "add up time and bytes, by op, layer, token and more")                      \
    ROW(log, LOOK, true, "list operations in time order")                                              \
    ROW(graph, LOOK, true, "show the compute graph of a token step")                                   \
    ROW(requests, LOOK, true, "list the requests of a server: prompts, tokens, drafts")                \
    ROW(experts, LOOK, true, "show which experts were chosen, and their reuse")                        \
    ROW(buffers, LOOK, true, "list runtime buffers: size, life, peak, transfers")                      \
    ROW(values, LOOK, true, "find NaN, overflows and outliers in what ops computed")                   \
    ROW(paging, LOOK, true, "estimate what less memory than the model would cost")                     \
    ROW(sql, LOOK, true, "query the tables of a recording in SQL")                                     \
    ROW(diff, COMPARE, true, "compare two recordings, or up to twelve")                                \
    ROW(extract, COMPARE, false, "write one op of a recording as a file that reproduces it")           \
    ROW(bench, COMPARE, false, "measure whether a program is faster than a baseline")                  \
    ROW(sweep, COMPARE, false, "record under many conditions, and tabulate the results")               \
    ROW(tune, COMPARE, false, "find the settings that make a program faster")                          \
    ROW(check, COMPARE, true, "check that a recording is whole and consistent")                        \
    ROW(prove, COMPARE, true, "compare the pages that ops touched with those that the trace predicts") \
    ROW(note, COMPARE, false, "add notes to a recording")                                              \
    ROW(report, COMPARE, false, "write a recording as one page to share")                              \
    ROW(figure, COMPARE, false, "draw a figure for a paper, as SVG or PDF")                            \
    ROW(export, COMPARE, false, "write a recording in the formats of other programs")                  \
    ROW(gguf, MODELS, true, "show the structure and memory map of a GGUF model")                       \
    ROW(doctor, MODELS, false, "find out what can be recorded here, and how to fix the rest")

// Runs a verb. argv[0] is "ggscope VERB", as shown by argp. Returns the exit status: 0 success, 1 a
// negative answer or a failure, 2 a usage error.
typedef int (*ggs_command_function)(int argc, char ** argv);

struct ggs_command {
    const char *         name;
    ggs_command_function function;
    const char *         group;   // one of the strings above
    const char *         summary; // half a line
    bool                 pages;
};

#define ROW(name_, ...) int cmd_##name_(int argc, char ** argv);
GGS_VERBS(ROW)
#undef ROW
// Not in the table: the command for `ggscope DIR`.
int cmd_summary(int argc, char ** argv);
