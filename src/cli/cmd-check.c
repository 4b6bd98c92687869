// ggscope check DIR: is this experiment whole and consistent?
#include <argp.h>
#include <stdio.h>

#include "analyze/check/check-json.h"
#include "answer/check.h"
#include "base/error.h"
#include "base/terminal.h"
#include "cli/commands.h"
#include "cli/verb.h"

struct arguments {
    const char * directory;
    bool         json;
};

static error_t parse_option(int key, char * argument, struct argp_state * state) {
    struct arguments * arguments = state->input;
    switch (key) {
        case 'j':
            arguments->json = true;
            return 0;
        default:
            return ggs_verb_parse_directory(key, argument, state, &arguments->directory);
    }
}

static void print_text(const struct ggs_checks * checks) {
    bool colour = ggs_terminal_colour(stdout);
    for (uint64_t i = 0; i < checks->n; i++) {
        const struct ggs_check * check = &checks->check[i];
        bool                     bold  = colour && check->status == GGS_CHECK_FAIL;
        printf("%s%-11s%s  %-22s %s\n", bold ? "\x1b[1m" : "", ggs_check_word(check->status), bold ? "\x1b[0m" : "",
               check->name, check->text);
    }
}

static int print_json(const struct ggs_checks * checks) {
    struct ggs_json json;
    ggs_json_init(&json, ggs_json_to_file, stdout, true);
    ggs_checks_write(&json, checks);
    return ggs_json_finish(&json);
}

int cmd_check(int argc, char ** argv) {
    static const struct argp_option options[] = {{"json", 'j', NULL, 0, "As JSON", 1}, {0}};
    static const struct argp        argp      = {
                    options,
                    parse_option,
                    "DIR",
                    "Check everything that must hold of an experiment, a line each: ok, interrupted (the program was killed), warning, skipped, or FAIL. "
                                "Exit 1 if anything failed.",
                    NULL,
                    NULL,
                    NULL};
    struct arguments arguments = {0};
    if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0) return 2;

    struct ggs_error  error  = {0};
    struct ggs_checks checks = {0};
    int               status = 0;
    if (ggs_is_json_export(arguments.directory)) {
        status = ggs_check_json(&checks, arguments.directory, &error);
    } else {
        status = ggs_verb_seal(arguments.directory, &error);
        if (status == 0) status = ggs_checks_run(&checks, arguments.directory, &error);
    }
    if (status < 0) {
        fprintf(stderr, "ggscope: %s\n", error.text);
        return 1;
    }
    int written = 0;
    if (arguments.json) {
        written = print_json(&checks);
    } else {
        print_text(&checks);
    }
    bool failed = checks.failed || written != 0 || fflush(stdout) != 0;
    ggs_checks_release(&checks);
    return failed ? 1 : 0;
}
