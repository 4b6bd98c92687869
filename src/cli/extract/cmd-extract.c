// ggscope extract DIR OP -o FILE: writes one op of a recording to a file that reproduces it.
#include <stdio.h>

#include "cli/commands.h"
#include "cli/extract/extract.h"
#include "cli/scaffold/verb.h"
#include "trials/attempt.h"

struct arguments {
    struct ggs_input input;
    const char *     output;
    int64_t          token;
};
#define AT(member) offsetof(struct arguments, member)

// The op was not dumped: the data comes from a second recording of the same command.
static int extract_again(const struct arguments * a, struct ggs_extract * op, struct ggs_error * error) {
    char               directory[PATH_MAX];
    struct ggs_trace   trace;
    struct ggs_extract second;
    bool               known, same_output;
    if (!a->input.quiet)
        fprintf(stderr, "no tensors of %s were kept: running the recorded command again\n", a->input.paths[1]);
    int status = ggs_extract_again(op, directory, error);
    if (status == 0) status = ggs_verb_open(&trace, directory, &a->input, error);
    if (status == 0) {
        status = ggs_extract_collect(&second, &trace, a->input.paths[1], op->run.step, error);
        if (status == 0) status = ggs_extract_compare(op, &second, &known, &same_output, error);
        if (status == 0) status = ggs_extract_write(&second, a->output, error);
        if (status == 0 && !known && !a->input.quiet)
            fprintf(stderr, "the recording has no values of its inputs: nothing shows that they were the same\n");
        if (status == 0 && !same_output)
            fprintf(stderr,
                    "%s has another output than in the recording, from the same inputs: a race, or a setting "
                    "that the second run did not have. The file has the new output; to keep the recorded one, "
                    "record with --values-dump\n",
                    a->input.paths[1]);
        op->n_nodes = second.n_nodes;
        ggs_extract_release(&second);
        ggs_trace_close(&trace);
    }
    if (directory[0] != '\0') ggs_attempt_remove(directory);
    return status;
}

static int extract(void * arguments, struct ggs_trace * traces, struct ggs_error * error) {
    const struct arguments * a = arguments;
    struct ggs_trace         trace;
    struct ggs_extract       op;
    (void) traces;
    int status = ggs_verb_open(&trace, a->input.paths[0], &a->input, error);
    if (status != 0) return status;
    status = ggs_extract_collect(&op, &trace, a->input.paths[1], a->token, error);
    if (status == 0)
        status = ggs_extract_write(&op, a->output, error);
    else if (op.not_kept)
        status = extract_again(a, &op, error);
    if (status == 0 && !a->input.quiet)
        fprintf(stderr, "%s: %s, %u op%s of token %lld; try: ggscope-engine replay %s\n", a->output, a->input.paths[1],
                op.n_nodes, op.n_nodes == 1 ? "" : "s", (long long) op.run.step, a->output);
    ggs_extract_release(&op);
    ggs_trace_close(&trace);
    return status;
}

int cmd_extract(int argc, char ** argv) {
    static const struct ggs_option options[] = {
        GGS_OPTION("output", 'o', "FILE", "Write to FILE (op.gguf)", 1, AT(output), ggs_set_path, "a file"),
        GGS_OPTION("token", 0, "N", "The op of this token step (the first one that has its tensors)", 1, AT(token),
                   ggs_set_index, "the number of a token step"),
        {0}};
    static const struct ggs_verb verb = {
        .operands = "DIR OP",
        .least    = 2,
        .most     = 2,
        .options  = options,
        .run      = extract,
        .text     = "Write one op, or the group that it was fused into, with its inputs and output, to a file for "
                    "ggscope-engine replay. OP has the form of diff --values and values, such as MUL_MAT:ffn_out-3. If the "
                    "recording has no dump of it, the recorded command runs again."};
    struct arguments arguments = {.output = "op.gguf", .token = -1};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
