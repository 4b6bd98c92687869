// ggscope graph DIR: the graph of a token step by layer.
#include "cli/graph/cmd-graph.h"

#include <inttypes.h>
#include <stdlib.h>

#include "answer/answer.h"
#include "base/error.h"
#include "cli/commands.h"
#include "cli/scaffold/verb.h"

enum form { FORM_TEXT, FORM_DOT, FORM_JSON };

struct arguments {
    struct ggs_input input;
    int64_t          token;
    bool             all, dot;
};
#define AT(member) offsetof(struct arguments, member)

struct output {
    enum form       form;
    bool            all;
    struct ggs_json json;
};

// Visits each distinct graph of the token step once, in order of their first runs.
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
        printf("digraph %s_%" PRId64 " {\n  rankdir=TB;\n  node [fontname=\"sans-serif\", fontsize=10];\n",
               trace->tokenless ? "run" : "token", runs[0].step);
    }
    int status = each_graph(output, trace, runs, n, error);
    if (output->form == FORM_DOT) puts("}");
    if (output->form != FORM_JSON) return status;
    ggs_graph_write_end(&output->json);
    if (ggs_json_finish(&output->json) != 0 && status == 0) return -1;
    return status;
}

static int show(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    const struct arguments * arguments = input;
    struct output            output    = {.form = arguments->input.json ? FORM_JSON
                                                  : arguments->dot      ? FORM_DOT
                                                                        : FORM_TEXT,
                                          .all  = arguments->all};
    struct ggs_run *         runs;
    uint64_t                 n;
    int64_t                  token = arguments->token;
    if (!ggs_trace_has_step(traces, token) && token == 0) token = traces->selection->first_step;
    if (!ggs_trace_has_step(traces, token))
        return ggs_fail(error, GGS_ABSENT,
                        "token %" PRId64 " has no op of that request, sequence or context; ggscope requests lists them",
                        token);
    int status = ggs_graph_runs(traces, token, 0, &runs, &n, error);
    if (status < 0) return status;
    status = write_graphs(&output, traces, runs, n, error);
    free(runs);
    return status;
}

int cmd_graph(int argc, char ** argv) {
    static const struct ggs_option options[] = {
        GGS_OPTION("token", 0, "N", "Token step N (0, the prompt)", 1, AT(token), ggs_set_index,
                   "the number of a token step, from 0, the prompt"),
        GGS_OPTIONS_SELECTION(1),
        GGS_SWITCH("all", 0, "Include views, reshapes and the like", 1, AT(all)),
        GGS_SWITCH("dot", 0, "As Graphviz, a cluster for each layer", 2, AT(dot)),
        GGS_OPTION_JSON(2),
        GGS_OPTION_DAMAGED(2),
        {0}};
    static const struct ggs_verb verb = {
        GGS_OPENS_ONE, .options = options, .run = show,
        .text =
            "Show the compute graph of a token step, layer by layer: ops, their shapes and types, and where their operands lie."};
    struct arguments arguments = {0};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
