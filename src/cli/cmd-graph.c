// ggscope graph DIR: the graph of a token step, layer by layer.
#include "cli/cmd-graph.h"

#include <argp.h>
#include <inttypes.h>
#include <stdlib.h>

#include "answer/graph.h"
#include "base/error.h"
#include "base/number.h"
#include "cli/commands.h"
#include "cli/verb.h"

enum form { FORM_TEXT, FORM_DOT, FORM_JSON };

struct arguments {
    const char * directory;
    int64_t      token;
    enum form    form;
    bool         all;
};

struct output {
    enum form       form;
    bool            all;
    struct ggs_json json;
};

enum { OPTION_TOKEN = 256, OPTION_DOT, OPTION_ALL };

static error_t parse_option(int key, char * argument, struct argp_state * state) {
    struct arguments * arguments = state->input;
    switch (key) {
        case OPTION_TOKEN:
            if (!ggs_parse_i64(argument, 0, INT64_MAX, &arguments->token))
                argp_error(state, "'%s' is no token step; they count from 0, the prompt", argument);
            return 0;
        case OPTION_DOT:
            arguments->form = FORM_DOT;
            return 0;
        case OPTION_ALL:
            arguments->all = true;
            return 0;
        case 'j':
            arguments->form = FORM_JSON;
            return 0;
        default:
            return ggs_verb_parse_directory(key, argument, state, &arguments->directory);
    }
}

// Each distinct graph of the token step once, in the order of their first runs.
static int each_graph(struct output * output, struct ggs_trace * trace, const struct ggs_run * runs, uint64_t n,
                      struct ggs_error * error) {
    int status = 0;
    for (uint64_t i = 0; status == 0 && i < n; i++) {
        struct ggs_graph_view view;
        bool                  seen = false;
        for (uint64_t k = 0; k < i; k++) seen |= runs[k].graph == runs[i].graph;
        if (seen) continue;
        status = ggs_graph_view_compute(&view, trace, &runs[i], true, error);
        if (status < 0) break;
        if (output->form == FORM_TEXT && i > 0) putchar('\n');
        if (output->form == FORM_TEXT) ggs_graph_text(&view, stdout, output->all);
        if (output->form == FORM_DOT) ggs_graph_dot(&view, stdout);
        if (output->form == FORM_JSON) ggs_graph_write(&output->json, &view);
        ggs_graph_view_release(&view);
    }
    return status;
}

static int write_graphs(struct output * output, struct ggs_trace * trace, const struct ggs_run * runs, uint64_t n,
                        struct ggs_error * error) {
    if (output->form == FORM_JSON) {
        ggs_json_init(&output->json, ggs_json_to_file, stdout, true);
        ggs_graph_write_begin(&output->json, trace, runs, n);
    } else if (output->form == FORM_DOT) {
        printf("digraph token_%" PRId64 " {\n  rankdir=TB;\n  node [fontname=\"sans-serif\", fontsize=10];\n",
               runs[0].step);
    }
    int status = each_graph(output, trace, runs, n, error);
    if (output->form == FORM_DOT) puts("}");
    if (output->form != FORM_JSON) return status;
    ggs_graph_write_end(&output->json);
    if (ggs_json_finish(&output->json) != 0 && status == 0) return ggs_fail_errno(error, "could not write the graph");
    return status;
}

int cmd_graph(int argc, char ** argv) {
    static const struct argp_option options[] = {
        {"token", OPTION_TOKEN, "N", 0, "Of this token step; 0, the prompt, where not given", 1},
        {"all", OPTION_ALL, NULL, 0, "Views, reshapes and the like too", 1},
        {"dot", OPTION_DOT, NULL, 0, "As Graphviz, a cluster for each layer", 2},
        {"json", 'j', NULL, 0, "As JSON", 2},
        {0}};
    static const struct argp argp = {
        options,
        parse_option,
        "DIR",
        "Show the compute graph of a token step, layer by layer: ops, their shapes and types, and where their operands lie.",
        NULL,
        NULL,
        NULL};
    struct arguments arguments = {0};
    if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0) return 2;

    struct ggs_error error = {0};
    struct ggs_trace trace;
    struct ggs_run * runs;
    uint64_t         n;
    struct output    output = {.form = arguments.form, .all = arguments.all};
    if (ggs_verb_open(&trace, arguments.directory) < 0) return 1;
    int status = ggs_graph_runs(&trace, arguments.token, 0, &runs, &n, &error);
    if (status == 0) {
        status = write_graphs(&output, &trace, runs, n, &error);
        free(runs);
    }
    if (status == 0 && fflush(stdout) != 0) status = ggs_fail_errno(&error, "could not write the graph");
    if (status < 0) ggs_verb_complain(&error);
    ggs_trace_close(&trace);
    return status < 0 ? 1 : 0;
}
