// The verbs of ggscope, one cmd-VERB.c each.
#pragma once

#include <stdbool.h>

// Runs a verb. argv[0] is "ggscope VERB", as argp shows it. Returns the exit status of the program:
// 0 done, 1 the answer is no or the work failed, 2 the command line was wrong.
typedef int (*ggs_command_function)(int argc, char ** argv);

struct ggs_command {
    const char *         name;
    ggs_command_function function;
    const char *         summary; // half a line, for --help
    bool                 pages;   // its output may be long: on a terminal it goes through a pager
};

// Not in the table: what `ggscope DIR` shows.
int cmd_summary(int argc, char ** argv);

int cmd_doctor(int argc, char ** argv);
int cmd_export(int argc, char ** argv);
int cmd_gguf(int argc, char ** argv);
int cmd_record(int argc, char ** argv);
int cmd_run(int argc, char ** argv);
int cmd_seal(int argc, char ** argv);
int cmd_join(int argc, char ** argv);
int cmd_stream(int argc, char ** argv);
int cmd_stats(int argc, char ** argv);
int cmd_control(int argc, char ** argv);
int cmd_top(int argc, char ** argv);
int cmd_check(int argc, char ** argv);
int cmd_paging(int argc, char ** argv);
int cmd_log(int argc, char ** argv);
int cmd_graph(int argc, char ** argv);
int cmd_experts(int argc, char ** argv);
int cmd_prove(int argc, char ** argv);
int cmd_buffers(int argc, char ** argv);
int cmd_requests(int argc, char ** argv);
int cmd_diff(int argc, char ** argv);
int cmd_sql(int argc, char ** argv);
int cmd_bench(int argc, char ** argv);
int cmd_serve(int argc, char ** argv);
int cmd_report(int argc, char ** argv);
int cmd_relayout(int argc, char ** argv);
int cmd_note(int argc, char ** argv);
