// ggscope run -m MODEL -p PROMPT -n N: records the built-in runner, or the program that a settings file names.
#include <argp.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/spelling.h"
#include "cli/commands.h"
#include "cli/exports.h"
#include "cli/summary.h"
#include "cli/verb.h"
#include "engine/locate.h"
#include "gguf/gguf-split.h"
#include "record/inspect/capture-library.h"
#include "record/recording.h"
#include "record/settings.h"

enum {
    KEY_SETTINGS = 256,
    KEY_CONTEXT,
    KEY_BATCH,
    KEY_UBATCH,
    KEY_SEED,
    KEY_TEMPERATURE,
    KEY_NO_MMAP,
    KEY_NO_REPACK,
    KEY_IGNORE_EOS,
    KEY_JSON,
    KEY_LOGITS_HASH,
    KEY_EVAL_CALLBACK,
    KEY_VERBOSE,
    KEY_STREAM,
    KEY_GPU_LAYERS,
    KEY_DEVICE,
    KEY_SPLIT_MODE,
    KEY_FLASH_ATTN,
    KEY_MAIN_GPU,
    KEY_OVERRIDE_TENSOR
};

static const struct argp_option run_options[] = {
    {"model", 'm', "FILE", 0, "The GGUF model (the first file of a split one)", 1},
    {"prompt", 'p', "TEXT", 0, "The prompt", 1},
    {"file", 'f', "FILE", 0, "Read the prompt from FILE (- is stdin)", 1},
    {"tokens", 'n', "N", 0, "Generate N tokens (32)", 1},
    {"ignore-eos", KEY_IGNORE_EOS, NULL, 0, "Go on when the model says that its text ends", 1},
    {"settings", KEY_SETTINGS, "FILE", 0, "Take what is not given here from a settings file", 1},

    {"seed", KEY_SEED, "S", 0, "Sample with this seed instead of taking the likeliest token", 2},
    {"temp", KEY_TEMPERATURE, "T", 0, "Temperature of the sampling (0.8 with --seed; 0 is greedy)", 2},

    {"threads", 't', "N", 0, "Compute with N threads (one per usable core)", 3},
    {"ctx", KEY_CONTEXT, "N", 0, "Tokens that the context holds (what prompt and -n need)", 3},
    {"batch", KEY_BATCH, "N", 0, "Prompt tokens per decode", 3},
    {"ubatch", KEY_UBATCH, "N", 0, "Prompt tokens per graph", 3},
    {"no-mmap", KEY_NO_MMAP, NULL, 0, "Read the weights into memory instead of mapping the file", 3},
    {"no-repack", KEY_NO_REPACK, NULL, 0, "Keep the weights in the layout of the file", 3},
    {"flash-attn", KEY_FLASH_ATTN, "MODE", 0, "Flash attention: on, off or auto (auto); also -fa", 3},
    {"stream", KEY_STREAM, NULL, 0, "Read weights ahead of use where the model does not fit into memory", 3},

    {"gpu-layers", KEY_GPU_LAYERS, "N", 0, "Put the weights of N layers on devices (0); also -ngl", 5},
    {"device", KEY_DEVICE, "NAMES", 0, "Use these devices, such as Vulkan0,Vulkan1, or none", 5},
    {"split-mode", KEY_SPLIT_MODE, "MODE", 0, "How several devices share a model: none, layer or row", 5},
    {"main-gpu", KEY_MAIN_GPU, "N", 0, "The device that holds everything with --split-mode none", 5},
    {"override-tensor", KEY_OVERRIDE_TENSOR, "PATTERN=BUFFER,...", 0,
     "Put tensors whose names match into other buffers, such as exps=CPU; also -ot", 5},

    {"json", KEY_JSON, NULL, 0, "Print one line of JSON instead of the text", 4},
    {"logits-hash", KEY_LOGITS_HASH, NULL, 0, "Compute and hash the logits of every token, those of the prompt too", 4},
    {"eval-callback", KEY_EVAL_CALLBACK, NULL, 0,
     "Let the runner observe every operation itself as well, for comparison", 4},
    {"verbose", KEY_VERBOSE, NULL, 0, "Show the engine's log on stderr", 4},
    {0},
};

struct request {
    struct ggs_recording recording;
    const char *         given[GGS_SETTINGS]; // on the command line; they win
    const char *         settings_file;
    bool                 json, logits_hash, eval_callback, verbose;
    struct ggs_settings  settings; // from the file
    char *               words[64];
    size_t               n_words;
    char                 runner[PATH_MAX];
    bool                 misuse; // the command line is to blame
};

// ---- the command line ----

static int setting_of(int key) {
    static const struct {
        int key, setting;
    } table[] = {
        {'m', GGS_SETTING_MODEL},
        {'p', GGS_SETTING_PROMPT},
        {'f', GGS_SETTING_PROMPT_FILE},
        {'n', GGS_SETTING_TOKENS},
        {'t', GGS_SETTING_THREADS},
        {KEY_CONTEXT, GGS_SETTING_CONTEXT},
        {KEY_BATCH, GGS_SETTING_BATCH},
        {KEY_UBATCH, GGS_SETTING_UBATCH},
        {KEY_SEED, GGS_SETTING_SEED},
        {KEY_NO_MMAP, GGS_SETTING_NO_MMAP},
        {KEY_NO_REPACK, GGS_SETTING_NO_REPACK},
        {KEY_TEMPERATURE, GGS_SETTING_TEMPERATURE},
        {KEY_IGNORE_EOS, GGS_SETTING_IGNORE_EOS},
        {KEY_GPU_LAYERS, GGS_SETTING_GPU_LAYERS},
        {KEY_DEVICE, GGS_SETTING_DEVICE},
        {KEY_FLASH_ATTN, GGS_SETTING_FLASH_ATTN},
        {KEY_SPLIT_MODE, GGS_SETTING_SPLIT_MODE},
        {KEY_MAIN_GPU, GGS_SETTING_MAIN_GPU},
        {KEY_OVERRIDE_TENSOR, GGS_SETTING_OVERRIDE_TENSOR},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (table[i].key == key) return table[i].setting;
    }
    return -1;
}

static error_t parse_option(int key, char * argument, struct argp_state * state) {
    struct request * request = state->input;
    int              setting = setting_of(key);
    struct ggs_error error;
    if (setting >= 0) {
        const char * value = argument == NULL ? "1" : argument;
        // No number at all is a wrong command line; a number out of range is told later, like other bad input.
        if (ggs_setting_check((enum ggs_setting) setting, ggs_setting_forms[setting].option, value, &error) ==
            GGS_FORMAT)
            argp_error(state, "%s", error.text);
        request->given[setting] = value;
        return 0;
    }
    switch (key) {
        case ARGP_KEY_INIT:
            state->child_inputs[0] = &request->recording;
            state->child_inputs[1] = &request->recording.streaming;
            return 0;
        case KEY_SETTINGS:
            request->settings_file = argument;
            return 0;
        case KEY_JSON:
            request->json = true;
            return 0;
        case KEY_LOGITS_HASH:
            request->logits_hash = true;
            return 0;
        case KEY_EVAL_CALLBACK:
            request->eval_callback = true;
            return 0;
        case KEY_VERBOSE:
            request->verbose = true;
            return 0;
        case KEY_STREAM:
            request->recording.streaming.wanted = true;
            return 0;
        case ARGP_KEY_ARG:
            argp_error(state, "unexpected argument '%s'", argument);
            return 0;
        case ARGP_KEY_END:
            if (request->recording.streaming.wanted && request->recording.prove)
                argp_error(state, "--prove watches the mapping, which a streamed program does not read");
            if (request->given[GGS_SETTING_PROMPT] != NULL && request->given[GGS_SETTING_PROMPT_FILE] != NULL)
                argp_error(state, "-p and -f exclude each other");
            return 0;
        default:
            return ARGP_ERR_UNKNOWN;
    }
}

// ---- the experiment ----

static const char * value_of(const struct request * request, enum ggs_setting setting) {
    return request->given[setting] != NULL ? request->given[setting] : request->settings.values[setting];
}

static int check_values(const struct request * request, struct ggs_error * error) {
    for (int i = 0; i < GGS_SETTINGS; i++) {
        if (request->given[i] == NULL) continue;
        int status = ggs_setting_check((enum ggs_setting) i, ggs_setting_forms[i].option, request->given[i], error);
        if (status != 0) return status;
    }
    return 0;
}

// What the command line left open comes from the settings file, and then from the user's config file.
static int read_settings(struct request * request, struct ggs_error * error) {
    struct ggs_settings config;
    if (request->settings_file != NULL) {
        int status = ggs_settings_read(&request->settings, request->settings_file, error);
        if (status != 0) return status;
    }
    int status = ggs_settings_config(&config, error);
    if (status == 0) status = ggs_settings_complete(&request->settings, &config, error);
    ggs_settings_release(&config);
    return status;
}

static int missing(struct request * request, const char * what, const char * key, const char * option,
                   struct ggs_error * error) {
    request->misuse = request->settings_file == NULL;
    if (request->misuse)
        return ggs_fail(error, GGS_USAGE, "missing option: give a %s with %s, or as %s in ~/.config/ggscope/config",
                        what, option, key);
    return ggs_fail(error, GGS_USAGE, "%s has no %s: give %s, or %s", request->settings_file, what, key, option);
}

static int complete(struct request * request, struct ggs_error * error) {
    int status = read_settings(request, error);
    if (status != 0) return status;
    char ** values = request->settings.values;
    bool    prompt = request->given[GGS_SETTING_PROMPT] != NULL, file = request->given[GGS_SETTING_PROMPT_FILE] != NULL;
    if (!prompt && !file && values[GGS_SETTING_PROMPT] != NULL && values[GGS_SETTING_PROMPT_FILE] != NULL)
        return ggs_fail(error, GGS_USAGE, "%s: experiment.prompt and experiment.prompt_file exclude each other",
                        request->settings_file != NULL ? request->settings_file : "~/.config/ggscope/config");
    if (prompt) free(values[GGS_SETTING_PROMPT_FILE]), values[GGS_SETTING_PROMPT_FILE] = NULL;
    if (file) free(values[GGS_SETTING_PROMPT]), values[GGS_SETTING_PROMPT] = NULL;
    if (request->recording.output == NULL) request->recording.output = values[GGS_SETTING_OUTPUT];
    if (request->recording.engine == NULL) request->recording.engine = values[GGS_SETTING_ENGINE];
    if (value_of(request, GGS_SETTING_MODEL) == NULL)
        return missing(request, "model", "experiment.model_path", "-m FILE", error);
    if (value_of(request, GGS_SETTING_PROMPT) == NULL && value_of(request, GGS_SETTING_PROMPT_FILE) == NULL)
        return missing(request, "prompt", "experiment.prompt", "-p TEXT or -f FILE", error);
    return 0;
}

// Whatever can be wrong with the model is found here, before anything is made.
static int check_model(const struct request * request, struct ggs_error * error) {
    struct ggs_model * model;
    int                status = ggs_model_open(&model, value_of(request, GGS_SETTING_MODEL), error);
    if (status == 0) ggs_model_free(model);
    const char * file = value_of(request, GGS_SETTING_PROMPT_FILE);
    if (status == 0 && file != NULL && strcmp(file, "-") != 0 && access(file, R_OK) != 0)
        status = ggs_fail_errno(error, "cannot read the prompt from %s", file);
    return status;
}

static void add(struct request * request, const char * word) {
    request->words[request->n_words++] = (char *) word;
}

// Adds the option, where it has a value; the value too, unless it is a switch.
static void add_setting(struct request * request, enum ggs_setting setting, const char * option) {
    const char * value = value_of(request, setting);
    if (value == NULL) return;
    add(request, option);
    if (ggs_setting_forms[setting].kind != GGS_SETTING_SWITCH) add(request, value);
}

static int build_runner(struct request * request, struct ggs_error * error) {
    struct ggs_engine_paths paths;
    int                     status = ggs_sibling_find(request->runner, "ggscope-engine", error);
    if (status == 0) status = ggs_engine_locate(request->recording.engine, &paths, error);
    if (status != 0) return status;
    add(request, request->runner);
    add(request, "run");
    for (int i = GGS_SETTING_MODEL; i <= GGS_SETTING_OVERRIDE_TENSOR; i++)
        add_setting(request, (enum ggs_setting) i, ggs_setting_forms[i].option);
    if (request->json) add(request, "--json");
    if (request->logits_hash) add(request, "--logits-hash");
    if (request->eval_callback) add(request, "--eval-callback");
    if (request->verbose) add(request, "--verbose");
    return 0;
}

// The options of llama.cpp's own programs.
static int build_llama(struct request * request, struct ggs_error * error) {
    if (request->json || request->logits_hash || request->eval_callback)
        return ggs_fail(
            error, GGS_USAGE,
            "--json, --logits-hash and --eval-callback are options of the built-in runner, but %s names a llama_binary",
            request->settings_file);
    add(request, request->settings.values[GGS_SETTING_LLAMA_BINARY]);
    static const struct {
        enum ggs_setting setting;
        const char *     option;
    } table[] = {
        {GGS_SETTING_MODEL, "-m"},
        {GGS_SETTING_PROMPT, "-p"},
        {GGS_SETTING_PROMPT_FILE, "-f"},
        {GGS_SETTING_TOKENS, "-n"},
        {GGS_SETTING_THREADS, "-t"},
        {GGS_SETTING_CONTEXT, "-c"},
        {GGS_SETTING_BATCH, "-b"},
        {GGS_SETTING_UBATCH, "-ub"},
        {GGS_SETTING_SEED, "--seed"},
        {GGS_SETTING_TEMPERATURE, "--temp"},
        {GGS_SETTING_NO_MMAP, "--no-mmap"},
        {GGS_SETTING_NO_REPACK, "--no-repack"},
        {GGS_SETTING_IGNORE_EOS, "--ignore-eos"},
        {GGS_SETTING_GPU_LAYERS, "-ngl"},
        {GGS_SETTING_DEVICE, "-dev"},
        {GGS_SETTING_FLASH_ATTN, "-fa"},
        {GGS_SETTING_SPLIT_MODE, "-sm"},
        {GGS_SETTING_MAIN_GPU, "-mg"},
        {GGS_SETTING_OVERRIDE_TENSOR, "-ot"},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        add_setting(request, table[i].setting, table[i].option);
    add(request, "-no-cnv");
    return 0;
}

static int prepare(struct request * request, struct ggs_error * error) {
    int status = check_values(request, error);
    if (status == 0) status = complete(request, error);
    if (status == 0) status = check_model(request, error);
    if (status != 0) return status;
    bool llama                   = request->settings.values[GGS_SETTING_LLAMA_BINARY] != NULL;
    status                       = llama ? build_llama(request, error) : build_runner(request, error);
    request->recording.command   = request->words;
    request->recording.model     = value_of(request, GGS_SETTING_MODEL);
    request->recording.discard   = true;
    request->recording.summarise = ggs_summary_print;
    return status;
}

// What the settings file wants besides the recording itself.
static int export_all(const struct request * request, const char * directory) {
    static const struct {
        enum ggs_setting setting;
        const char *     format;
    } table[]  = {{GGS_SETTING_WEBUI_DIRECTORY, "json"},
                  {GGS_SETTING_BUFFER_STATS, "buffers"},
                  {GGS_SETTING_GRAPHS_DIRECTORY, "dot"}};
    int result = 0;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        const char * output = request->settings.values[table[i].setting];
        if (output != NULL && ggs_exports_write(directory, table[i].format, output, table[i].format) != 0) result = 1;
    }
    return result;
}

int cmd_run(int argc, char ** argv) {
    static const struct argp_child children[] = {
        {&ggs_recording_argp, 0, NULL, 0}, {&ggs_streaming_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        run_options,
        parse_option,
        "-m MODEL -p PROMPT -n N",
        "Generate text with a GGUF model on stock llama.cpp libraries, and record every operation of it. The text goes to stdout, "
        "timings and the summary to stderr.",
        children,
        NULL,
        NULL,
    };
    struct request   request             = {0};
    char             directory[PATH_MAX] = "";
    struct ggs_error error;
    if (ggs_spell_options(&argc, argv, &error) != 0) {
        fprintf(stderr, "%s: %s\n", argv[0], error.text);
        return 2;
    }
    if (argp_parse(&argp, argc, argv, 0, NULL, &request) != 0) return 2;
    int result = 1;
    if (prepare(&request, &error) < 0) {
        ggs_verb_resolve(&error, value_of(&request, GGS_SETTING_MODEL));
        ggs_verb_resolve(&error, request.settings_file);
        fprintf(stderr, "ggscope%s: %s\n", request.misuse ? " run" : "", error.text);
        result = request.misuse ? 2 : 1;
    } else {
        result = ggs_recording_make(&request.recording, directory, sizeof(directory));
        ggs_exports_environment(directory);
        if (result == 0) result = export_all(&request, directory);
    }
    ggs_settings_release(&request.settings);
    return result;
}
