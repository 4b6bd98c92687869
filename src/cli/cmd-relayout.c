// ggscope relayout MODEL --from DIR -o NEW: the model with its tensors in the order in which ops read them.
#include <argp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/memory/order.h"
#include "base/number.h"
#include "base/system/file.h"
#include "base/system/interrupt.h"
#include "base/system/progress.h"
#include "cli/commands.h"
#include "cli/scaffold/verb.h"
#include "gguf/gguf-write.h"

enum { ALIGNMENT = 4096 }; // a page, and a block of most disks

struct arguments {
    struct ggs_input input;
    const char *     from;
    const char *     output;
    bool             force;
};
#define AT(member) offsetof(struct arguments, member)

struct writing {
    struct ggs_interrupt interrupt;
    struct ggs_progress  progress;
    bool                 quiet;
};

static bool go_on(void * context, uint64_t done) {
    struct writing * writing = context;
    if (!writing->quiet) ggs_progress_update(&writing->progress, done);
    return !ggs_interrupt_has_come(&writing->interrupt);
}

// Half a model is none: it is written to nothing that cannot be taken back.
static int refuse_output(const struct arguments * arguments, struct ggs_error * error) {
    struct stat facts;
    if (strcmp(arguments->output, "-") == 0 || (stat(arguments->output, &facts) == 0 && !S_ISREG(facts.st_mode)))
        return ggs_fail(error, GGS_USAGE, "%s is not a regular file: give the new model a name of its own",
                        arguments->output);
    if (arguments->force || lstat(arguments->output, &facts) != 0) return 0;
    return ggs_fail(error, GGS_USAGE, "%s is there already; give another name, or --force to replace it",
                    arguments->output);
}

static int find_order(struct ggs_use_order * order, const struct ggs_gguf * gguf, const struct arguments * arguments,
                      struct ggs_error * error) {
    struct ggs_trace trace  = {0};
    int              status = ggs_verb_open(&trace, arguments->from, &arguments->input, error);
    if (status == 0) status = ggs_use_order_find(order, &trace, gguf, error);
    ggs_trace_close(&trace);
    return status;
}

// Where less is read ahead nothing is gained: a dense model took up to a seventh longer than in llama-quantize's order (docs/streaming.md).
enum { LEAST_READAHEAD = 1 << 20 };

static void tell(const struct ggs_gguf * gguf, const struct ggs_use_order * order, uint64_t size, const char * path) {
    char     a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH], c[GGS_NUMBER_LENGTH];
    uint64_t readahead;
    printf("%s: %s, %s tensors in order of use", path, ggs_format_bytes(a, size), ggs_format_count(b, order->n_used));
    if (order->n_used < gguf->n_tensors)
        printf(", and %s that no op read", ggs_format_count(c, gguf->n_tensors - order->n_used));
    puts("");
    if (ggs_file_readahead(path, &readahead) && readahead < LEAST_READAHEAD)
        printf(
            "its disk reads %s ahead; with less than 1 MiB nothing is gained, and a token may take longer than before\n",
            ggs_format_bytes(a, readahead));
}

static int relayout(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    const struct arguments * arguments = input;
    struct ggs_gguf *        gguf      = NULL;
    struct ggs_use_order     order     = {0};
    struct writing           writing   = {.quiet = arguments->input.quiet};
    (void) traces;
    int status = refuse_output(arguments, error);
    if (status == 0) status = ggs_gguf_open(&gguf, arguments->input.paths[0], error);
    if (status == 0) status = ggs_gguf_check_writable(gguf, error);
    if (status == 0) status = find_order(&order, gguf, arguments, error);
    if (status == 0) {
        struct ggs_gguf_layout layout = {
            .order = order.tensors, .alignment = ALIGNMENT, .progress = go_on, .context = &writing};
        uint64_t size = ggs_gguf_written_size(gguf, &layout);
        if (!writing.quiet) ggs_progress_start(&writing.progress, "writing", size);
        ggs_interrupt_hold(&writing.interrupt);
        status = ggs_gguf_write(gguf, &layout, arguments->output, error);
        if (!writing.quiet) ggs_progress_finish(&writing.progress);
        ggs_interrupt_release(&writing.interrupt);
        if (status == 0 && !arguments->input.quiet) tell(gguf, &order, size, arguments->output);
    }
    ggs_use_order_release(&order);
    ggs_gguf_free(gguf);
    return status;
}

static void check(const void * input, struct argp_state * state) {
    const struct arguments * arguments = input;
    if (arguments->from == NULL) argp_error(state, "missing option: name a recording of the model with --from DIR");
    if (arguments->output == NULL) argp_error(state, "missing option: name the new file with -o FILE");
}

int cmd_relayout(int argc, char ** argv) {
    static const struct ggs_option options[] = {
        {"from", 0, "DIR", "A recording of this model that has at least one generated token", 1, AT(from),
         ggs_take_path, "a directory"},
        {"output", 'o', "FILE", "Write the new model here", 1, AT(output), ggs_take_path, "a file"},
        {"force", 'f', NULL, "Replace a file that is there", 1, AT(force), NULL, NULL},
        {"quiet", 'q', NULL, "Say nothing if all is well", 2, AT(input.quiet), NULL, NULL},
        {0},
    };
    static const struct ggs_verb verb = {
        .operands = "MODEL --from DIR -o FILE",
        .least    = 1,
        .most     = 1,
        .options  = options,
        .check    = check,
        .run      = relayout,
        .text =
            "Write a model anew with its tensors in the order in which ops read them, each at a multiple of 4096 bytes. Every tensor and the "
            "metadata stay as they are, and so does what the engine computes. For models larger than memory that run without ggscope stream "
            "on a disk that is read 1 MiB or more ahead: that then is what comes next."};
    struct arguments arguments = {0};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
