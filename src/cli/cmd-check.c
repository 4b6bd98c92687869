// ggscope check DIR: checks that an experiment is complete and consistent.
#include <stdio.h>

#include "analyze/check/check-json.h"
#include "answer/answer.h"
#include "base/error.h"
#include "base/system/terminal.h"
#include "cli/commands.h"
#include "cli/scaffold/verb.h"

static void print_text(const struct ggs_checks * checks) {
    bool colour = ggs_terminal_colour(stdout);
    for (uint64_t i = 0; i < checks->n; i++) {
        const struct ggs_check * check = &checks->check[i];
        bool                     bold  = colour && check->status == GGS_CHECK_FAIL;
        printf("%s%-11s%s  %-22s %s\n", bold ? "\x1b[1m" : "", ggs_check_word(check->status), bold ? "\x1b[0m" : "",
               check->name, check->text);
    }
}

static int check(void * arguments, struct ggs_trace * traces, struct ggs_error * error) {
    const struct ggs_input * input  = arguments;
    const char *             path   = input->paths[0];
    struct ggs_checks        checks = {0};
    int                      status = 0;
    (void) traces;
    if (ggs_is_json_export(path)) {
        status = ggs_check_json(&checks, path, error);
    } else {
        status = ggs_verb_seal(path, error);
        if (status == 0) status = ggs_checks_run(&checks, path, error);
    }
    if (status == 0 && input->json) {
        ggs_answer_write(input->out, &ggs_checks_object, &checks, NULL);
    } else if (status == 0) {
        print_text(&checks);
    }
    if (status == 0 && checks.failed) status = 1;
    ggs_checks_release(&checks);
    return status;
}

int cmd_check(int argc, char ** argv) {
    static const struct ggs_option options[] = {GGS_OPTION_JSON(1), {0}};
    static const struct ggs_verb   verb      = {
               .operands = "[DIR]",
               .most     = 1,
               .options  = options,
               .run      = check,
               .text = "Check that an experiment is whole and consistent. Each check prints a line: ok, interrupted (the "
                              "program was killed), warning, skipped, or FAIL. Exit 1 if a check fails."};
    struct ggs_input input = {0};
    return ggs_verb_run(&verb, argc, argv, &input);
}
