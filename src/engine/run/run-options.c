#include "engine/run/run-options.h"

#include <argp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/number.h"
#include "base/spelling.h"

#include "ggml.h"

// Far above the context of any model, and small enough that the engine's tables for it fit into memory:
// it fills them before it finds out whether the context itself does.
enum { MOST_TOKENS = 1 << 24 };

enum option_key {
    KEY_CONTEXT = 256,
    KEY_BATCH,
    KEY_UBATCH,
    KEY_NO_MMAP,
    KEY_NO_REPACK,
    KEY_SEED,
    KEY_TEMPERATURE,
    KEY_JSON,
    KEY_LOGITS_HASH,
    KEY_IGNORE_EOS,
    KEY_ENGINE,
    KEY_GPU_LAYERS,
    KEY_MAIN_GPU,
    KEY_DEVICE,
    KEY_SPLIT_MODE,
    KEY_OVERRIDE_TENSOR,
    KEY_FLASH_ATTN,
    KEY_EVAL_CALLBACK,
    KEY_VERBOSE,
};

static const struct argp_option argp_options[] = {
    {"model", 'm', "FILE", 0, "The GGUF model (the first file of a split one)", 1},
    {"prompt", 'p', "TEXT", 0, "The prompt", 1},
    {"file", 'f', "FILE", 0, "Read the prompt from FILE (- is stdin)", 1},
    {"tokens", 'n', "N", 0, "Generate N tokens (32)", 1},
    {"ignore-eos", KEY_IGNORE_EOS, NULL, 0, "Go on where the model says that its text ends", 1},

    {"seed", KEY_SEED, "S", 0, "Sample with this seed instead of taking the likeliest token", 2},
    {"temp", KEY_TEMPERATURE, "T", 0, "Temperature of the sampling (0.8 with --seed; 0 is greedy)", 2},

    {"threads", 't', "N", 0, "Compute with N threads (one per usable core)", 3},
    {"ctx", KEY_CONTEXT, "N", 0, "Tokens that the context holds (what prompt and -n need)", 3},
    {"batch", KEY_BATCH, "N", 0, "Prompt tokens per decode", 3},
    {"ubatch", KEY_UBATCH, "N", 0, "Prompt tokens per graph", 3},
    {"no-mmap", KEY_NO_MMAP, NULL, 0, "Read the weights into memory instead of mapping the file", 3},
    {"no-repack", KEY_NO_REPACK, NULL, 0, "Keep the weights in the layout of the file", 3},
    {"flash-attn", KEY_FLASH_ATTN, "MODE", 0, "Flash attention: on, off or auto (auto); also -fa", 3},
    {"engine", KEY_ENGINE, "DIR", 0, "Use the llama.cpp libraries in DIR (else GGSCOPE_ENGINE)", 3},

    {"gpu-layers", KEY_GPU_LAYERS, "N", 0, "Put the weights of N layers on devices (0); also -ngl", 5},
    {"device", KEY_DEVICE, "NAMES", 0, "Use these devices, such as Vulkan0,Vulkan1, or none", 5},
    {"split-mode", KEY_SPLIT_MODE, "MODE", 0, "How several devices share a model: none, layer or row", 5},
    {"main-gpu", KEY_MAIN_GPU, "N", 0, "The device that holds everything with --split-mode none", 5},
    {"override-tensor", KEY_OVERRIDE_TENSOR, "PATTERN=BUFFER,...", 0,
     "Put tensors whose names match into other buffers, such as exps=CPU", 5},

    {"json", KEY_JSON, NULL, 0, "Print one line of JSON instead of the text", 4},
    {"logits-hash", KEY_LOGITS_HASH, NULL, 0, "Compute and hash the logits of every token, those of the prompt too", 4},
    {"eval-callback", KEY_EVAL_CALLBACK, NULL, 0,
     "Observe every operation through the engine's own callback, for comparison", 4},
    {"verbose", KEY_VERBOSE, NULL, 0, "Show the engine's log on stderr", 4},
    {0},
};

struct parse {
    struct ggs_run_options * options;
    struct ggs_error *       error;
    int                      status; // of the first value out of range
    bool                     has_seed;
    bool                     has_temperature;
};

static uint32_t usable_cores(void) {
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1;
    int count = CPU_COUNT(&cores);
    return count < 1 ? 1 : count > GGML_MAX_N_THREADS ? GGML_MAX_N_THREADS : (uint32_t) count;
}

// Threads wait for each other by spinning: with many more of them than cores one token takes minutes.
static uint32_t most_threads(void) {
    uint32_t most = 4 * usable_cores();
    return most < 8 ? 8 : most > GGML_MAX_N_THREADS ? GGML_MAX_N_THREADS : most;
}

// Not a number at all is a usage error; a number out of range is noted and told after the parsing.
static uint32_t parse_number(struct argp_state * state, const char * name, const char * text, uint32_t minimum,
                             uint32_t maximum) {
    struct parse * parse = state->input;
    int64_t        value;
    if (!ggs_parse_i64(text, INT64_MIN, INT64_MAX, &value))
        argp_error(state, "%s wants a number, not '%s'", name, text);
    if (value >= minimum && value <= maximum) return (uint32_t) value;
    if (parse->status == GGS_OK) {
        parse->status = ggs_fail(parse->error, GGS_USAGE, "%s %lld is out of range: it must be from %u to %u", name,
                                 (long long) value, minimum, maximum);
    }
    return minimum;
}

static float parse_temperature(struct argp_state * state, const char * text) {
    char * end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= 0 && value <= 100))
        argp_error(state, "--temp wants a number from 0 to 100, not '%s'", text);
    return (float) value;
}

// The switch that an option without a value turns on, or NULL.
static bool * find_switch(struct ggs_run_options * options, int key) {
    switch (key) {
        case KEY_NO_MMAP:
            return &options->no_mmap;
        case KEY_NO_REPACK:
            return &options->no_repack;
        case KEY_JSON:
            return &options->json;
        case KEY_LOGITS_HASH:
            return &options->logits_hash;
        case KEY_IGNORE_EOS:
            return &options->ignore_eos;
        case KEY_EVAL_CALLBACK:
            return &options->eval_callback;
        case KEY_VERBOSE:
            return &options->verbose;
        default:
            return NULL;
    }
}

// Options that take a count. True where `key` is one of them.
static bool parse_count(struct argp_state * state, int key, const char * text) {
    struct ggs_run_options * options = ((struct parse *) state->input)->options;
    switch (key) {
        case 'n':
            options->tokens = parse_number(state, "-n", text, 1, MOST_TOKENS);
            return true;
        case 't':
            options->threads = parse_number(state, "-t", text, 1, most_threads());
            return true;
        case KEY_CONTEXT:
            options->context = parse_number(state, "--ctx", text, 1, MOST_TOKENS);
            return true;
        case KEY_BATCH:
            options->batch = parse_number(state, "--batch", text, 1, MOST_TOKENS);
            return true;
        case KEY_UBATCH:
            options->ubatch = parse_number(state, "--ubatch", text, 1, MOST_TOKENS);
            return true;
        case KEY_GPU_LAYERS:
            options->gpu_layers = parse_number(state, "-ngl", text, 0, MOST_TOKENS);
            return true;
        case KEY_MAIN_GPU:
            options->main_gpu = parse_number(state, "--main-gpu", text, 0, 255);
            return true;
        default:
            return false;
    }
}

static void check_complete(struct argp_state * state) {
    const struct ggs_run_options * options = ((struct parse *) state->input)->options;
    if (options->model == NULL) argp_error(state, "name a model with -m FILE");
    if (options->prompt == NULL && options->prompt_file == NULL)
        argp_error(state, "give a prompt with -p TEXT or -f FILE");
    if (options->prompt != NULL && options->prompt_file != NULL) argp_error(state, "-p and -f exclude each other");
}

static error_t parse_option(int key, char * argument, struct argp_state * state) {
    struct parse *           parse   = state->input;
    struct ggs_run_options * options = parse->options;
    bool *                   on      = find_switch(options, key);
    if (on != NULL) {
        *on = true;
        return 0;
    }
    if (parse_count(state, key, argument)) return 0;
    switch (key) {
        case 'm':
            options->model = argument;
            return 0;
        case 'p':
            options->prompt = argument;
            return 0;
        case 'f':
            options->prompt_file = argument;
            return 0;
        case KEY_ENGINE:
            options->engine = argument;
            return 0;
        case KEY_DEVICE:
            options->device = argument;
            return 0;
        case KEY_SPLIT_MODE:
            options->split_mode = argument;
            return 0;
        case KEY_FLASH_ATTN:
            options->flash_attn = argument;
            return 0;
        case KEY_OVERRIDE_TENSOR:
            options->override_tensor = argument;
            return 0;
        case KEY_SEED:
            // The largest value means "a random seed" to the engine.
            options->seed   = parse_number(state, "--seed", argument, 0, UINT32_MAX - 1);
            parse->has_seed = true;
            return 0;
        case KEY_TEMPERATURE:
            options->temperature   = parse_temperature(state, argument);
            parse->has_temperature = true;
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

int ggs_run_options_parse(struct ggs_run_options * options, int argc, char ** argv, struct ggs_error * error) {
    static const struct argp argp = {
        .options  = argp_options,
        .parser   = parse_option,
        .args_doc = "-m MODEL -p PROMPT -n N",
        .doc =
            "Generates text with a GGUF model on stock llama.cpp libraries. The text goes to stdout, the timings to stderr.",
    };
    *options           = (struct ggs_run_options){.tokens = 32, .threads = usable_cores()};
    struct parse parse = {.options = options, .error = error};
    if (ggs_spell_options(&argc, argv, error) != 0) {
        fprintf(stderr, "%s: %s\n", argv[0], error->text);
        exit(2); // as argp does
    }
    argp_parse(&argp, argc, argv, 0, NULL, &parse);
    if (parse.status < 0) return parse.status;
    if (parse.has_seed && !parse.has_temperature) options->temperature = 0.8f;
    return GGS_OK;
}
