// ggscope DIR: the summary that is shown at the end of a recording.
#include <stdio.h>

#include "cli/commands.h"
#include "cli/scaffold/recording-summary.h"
#include "cli/scaffold/verb.h"

static int show(void * arguments, struct ggs_trace * traces, struct ggs_error * error) {
    const struct ggs_input * input = arguments;
    (void) traces;
    int status = ggs_verb_seal(input->paths[0], error);
    return status != 0 ? status : ggs_summary_show(input->paths[0], stdout, error);
}

int cmd_summary(int argc, char ** argv) {
    static const struct ggs_option options[] = {{0}};
    static const struct ggs_verb   verb      = {.operands = "DIR",
                                                .least    = 1,
                                                .most     = 1,
                                                .options  = options,
                                                .run      = show,
                                                .text     = "Show the summary of a recording."};
    struct ggs_input               input     = {0};
    return ggs_verb_run(&verb, argc, argv, &input);
}
