#include "engine/run/run-options.h"

#include <argp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/number.h"
#include "base/options/spelling.h"
#include "engine/runner-options.h"

#include "ggml.h"

enum { KEY_FIRST = 256, KEY_ENGINE = KEY_FIRST + GGS_RUN_OPTIONS };

struct parse {
    const char *       values[GGS_RUN_OPTIONS]; // NULL: not given; "1": an enabled switch
    const char *       engine;
    struct ggs_error * error;
    int                status; // of the first value that is out of range
};

static uint32_t usable_cores(void) {
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1;
    int count = CPU_COUNT(&cores);
    return count < 1 ? 1 : count > GGML_MAX_N_THREADS ? GGML_MAX_N_THREADS : (uint32_t) count;
}

// Threads spin while they wait for each other: with many more threads than cores a token takes
// minutes.
static uint32_t most_threads(void) {
    uint32_t most = 4 * usable_cores();
    return most < 8 ? 8 : most > GGML_MAX_N_THREADS ? GGML_MAX_N_THREADS : most;
}

// A malformed number is a usage error; one that is out of range is reported after parsing.
static void set_value(struct argp_state * state, int option, const char * value) {
    struct parse *   parse = state->input;
    struct ggs_error error;
    int status = ggs_runner_check((enum ggs_runner_option) option, ggs_runner_forms[option].shown, value, &error);
    if (status == GGS_FORMAT) argp_error(state, "%s", error.text);
    if (status != 0 && parse->status == GGS_OK) parse->status = ggs_fail(parse->error, status, "%s", error.text);
    parse->values[option] = value;
}

static void check_complete(struct argp_state * state) {
    const char ** values = ((struct parse *) state->input)->values;
    if (values[GGS_RUN_MODEL] == NULL) argp_error(state, "name a model with -m FILE");
    int prompts =
        (values[GGS_RUN_PROMPT] != NULL) + (values[GGS_RUN_PROMPT_FILE] != NULL) + (values[GGS_RUN_TEACHER] != NULL);
    if (prompts == 0) argp_error(state, "give a prompt with -p TEXT or -f FILE");
    if (prompts > 1) argp_error(state, "-p, -f and --teacher exclude each other");
}

static error_t parse_option(int key, char * argument, struct argp_state * state) {
    for (int i = 0; i < GGS_RUN_OPTIONS; i++) {
        int letter = ggs_runner_letter((enum ggs_runner_option) i);
        if (key != (letter != 0 ? letter : KEY_FIRST + i)) continue;
        set_value(state, i, argument == NULL ? "1" : argument);
        return 0;
    }
    switch (key) {
        case KEY_ENGINE:
            ((struct parse *) state->input)->engine = argument;
            return 0;
        case ARGP_KEY_ARG:
            argp_error(state, "unexpected argument '%s'", argument);
            return 0;
        case ARGP_KEY_END:
            check_complete(state);
            return 0;
        default:
            return ARGP_ERR_UNKNOWN;
    }
}

static void parse_command_line(struct parse * parse, int argc, char ** argv) {
    struct argp_option table[GGS_RUN_OPTIONS + 2] = {
        [GGS_RUN_OPTIONS] = {"engine", KEY_ENGINE, "DIR", 0, "Use the llama.cpp libraries in DIR (else GGSCOPE_ENGINE)",
                             3}};
    for (int i = 0; i < GGS_RUN_OPTIONS; i++) {
        const struct ggs_runner_form * form   = &ggs_runner_forms[i];
        int                            letter = ggs_runner_letter((enum ggs_runner_option) i);
        table[i] = (struct argp_option){form->name, letter != 0 ? letter : KEY_FIRST + i, form->value, 0, form->help,
                                        form->group};
    }
    struct argp argp = {
        .options  = table,
        .parser   = parse_option,
        .args_doc = "-m MODEL -p PROMPT -n N",
        .doc =
            "Generates text with a GGUF model on stock llama.cpp libraries. The text goes to stdout, the timings to stderr.",
    };
    argp_parse(&argp, argc, argv, 0, NULL, parse);
}

// Returns the given number, which is valid; else `otherwise`.
static uint32_t number_of(const struct parse * parse, enum ggs_runner_option option, uint32_t otherwise) {
    int64_t number;
    return ggs_parse_i64(parse->values[option], 0, UINT32_MAX, &number) ? (uint32_t) number : otherwise;
}

// Without -t the number is that of LLAMA_ARG_THREADS, as for the programs of llama.cpp.
static void read_environment(struct parse * parse) {
    const char * threads = getenv("LLAMA_ARG_THREADS");
    if (parse->values[GGS_RUN_THREADS] != NULL || threads == NULL || threads[0] == '\0') return;
    parse->status                  = ggs_runner_check(GGS_RUN_THREADS, "LLAMA_ARG_THREADS", threads, parse->error);
    parse->values[GGS_RUN_THREADS] = threads;
}

int ggs_run_options_parse(struct ggs_run_options * options, int argc, char ** argv, struct ggs_error * error) {
    struct parse  parse  = {.error = error};
    const char ** values = parse.values;
    if (ggs_spell_options(&argc, argv, error) != 0) {
        fprintf(stderr, "%s: %s\n", argv[0], error->text);
        exit(2); // like argp
    }
    parse_command_line(&parse, argc, argv);
    if (parse.status == GGS_OK) read_environment(&parse);
    if (parse.status < 0) return parse.status;
    float likely = values[GGS_RUN_SEED] != NULL ? 0.8f : 0;
    *options     = (struct ggs_run_options){
            .model           = values[GGS_RUN_MODEL],
            .prompt          = values[GGS_RUN_PROMPT],
            .prompt_file     = values[GGS_RUN_PROMPT_FILE],
            .teacher         = values[GGS_RUN_TEACHER],
            .engine          = parse.engine,
            .tokens          = number_of(&parse, GGS_RUN_TOKENS, values[GGS_RUN_TEACHER] != NULL ? 1 : 32),
            .threads         = number_of(&parse, GGS_RUN_THREADS, usable_cores()),
            .context         = number_of(&parse, GGS_RUN_CONTEXT, 0),
            .batch           = number_of(&parse, GGS_RUN_BATCH, 0),
            .ubatch          = number_of(&parse, GGS_RUN_UBATCH, 0),
            .gpu_layers      = number_of(&parse, GGS_RUN_GPU_LAYERS, 0),
            .main_gpu        = number_of(&parse, GGS_RUN_MAIN_GPU, 0),
            .device          = values[GGS_RUN_DEVICE],
            .rpc             = values[GGS_RUN_RPC],
            .split_mode      = values[GGS_RUN_SPLIT_MODE],
            .flash_attn      = values[GGS_RUN_FLASH_ATTN],
            .override_tensor = values[GGS_RUN_OVERRIDE_TENSOR],
            .seed            = number_of(&parse, GGS_RUN_SEED, 0),
            .temperature     = values[GGS_RUN_TEMPERATURE] == NULL ? likely : strtof(values[GGS_RUN_TEMPERATURE], NULL),
            .no_mmap         = values[GGS_RUN_NO_MMAP] != NULL,
            .no_repack       = values[GGS_RUN_NO_REPACK] != NULL,
            .json            = values[GGS_RUN_JSON] != NULL,
            .logits_hash     = values[GGS_RUN_LOGITS_HASH] != NULL,
            .ignore_eos      = values[GGS_RUN_IGNORE_EOS] != NULL,
            .eval_callback   = values[GGS_RUN_EVAL_CALLBACK] != NULL,
            .verbose         = values[GGS_RUN_VERBOSE] != NULL,
    };
    if (options->threads > most_threads())
        return ggs_fail(error, GGS_USAGE, "-t %u is out of range: it must be from 1 to %u", options->threads,
                        most_threads());
    return GGS_OK;
}
