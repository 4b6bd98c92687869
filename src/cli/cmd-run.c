// ggscope run -m MODEL -p PROMPT -n N: records the built-in runner, or the program of a settings
// file.
#include <argp.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/options/spelling.h"
#include "cli/commands.h"
#include "cli/scaffold/recording-summary.h"
#include "cli/scaffold/requested-exports.h"
#include "cli/scaffold/verb.h"
#include "engine/locate.h"
#include "gguf/gguf-split.h"
#include "record/inspect/capture-library.h"
#include "record/recording.h"
#include "record/settings.h"

struct request {
    struct ggs_input     input;
    struct ggs_recording recording;
    const char *         given[GGS_SETTINGS]; // on the command line; override the file
    const char *         settings_file;
    struct ggs_settings  settings; // from the file
    char *               words[64];
    size_t               n_words;
    char                 runner[PATH_MAX];
    bool                 misuse; // the command line is at fault
};

// ---- the command line ----

#define AT(member) offsetof(struct request, member)

static bool set_switch(void * member, const char * text) {
    (void) text;
    return ggs_set_text(member, "1");
}

// The options of the runner and of this verb.
static const struct ggs_option * list_options(void) {
    static struct ggs_option options[GGS_RUN_OPTIONS + 3] = {
        [GGS_RUN_OPTIONS] =
            GGS_OPTION("settings", 0, "FILE", "Read options that are not given here from a settings file", 1,
                       AT(settings_file), ggs_set_text, NULL),
        GGS_SWITCH("stream", 0, "Read weights ahead of use if the model does not fit into memory", 3,
                   AT(recording.streaming.wanted)),
    };
    for (int i = 0; i < GGS_RUN_OPTIONS; i++) {
        const struct ggs_runner_form * form = &ggs_runner_forms[i];
        options[i]                          = (struct ggs_option){.name   = form->name,
                                                                  .letter = ggs_runner_letter((enum ggs_runner_option) i),
                                                                  .value  = form->value,
                                                                  .help   = form->help,
                                                                  .group  = form->group,
                                                                  .offset = AT(given) + (size_t) i * sizeof(const char *),
                                                                  .set    = form->value == NULL ? set_switch : ggs_set_text,
                                                                  .words  = form->words};
    }
    return options;
}

// Finds the first invalid value. A malformed number is a usage error; one that is out of range is
// reported like other bad input.
static int check_values(const struct request * request, struct ggs_error * error) {
    for (int i = 0; i < GGS_RUN_OPTIONS; i++) {
        if (request->given[i] == NULL) continue;
        int status = ggs_runner_check((enum ggs_runner_option) i, ggs_runner_forms[i].shown, request->given[i], error);
        if (status != 0) return status;
    }
    return 0;
}

static void check(const void * arguments, struct argp_state * state) {
    const struct request * request = arguments;
    struct ggs_error       error;
    const char *           misuse = ggs_recording_misuse(&request->recording);
    if (check_values(request, &error) == GGS_FORMAT) argp_error(state, "%s", error.text);
    if (misuse != NULL) argp_error(state, "%s", misuse);
    if (request->recording.streaming.wanted && request->recording.prove)
        argp_error(state, "--prove watches the mapping, which a streamed program does not read");
    if ((request->given[GGS_RUN_PROMPT] != NULL) + (request->given[GGS_RUN_PROMPT_FILE] != NULL) +
            (request->given[GGS_RUN_TEACHER] != NULL) >
        1)
        argp_error(state, "-p, -f and --teacher exclude each other");
}

// ---- the experiment ----

static const char * value_of(const struct request * request, int setting) {
    return request->given[setting] != NULL ? request->given[setting] : request->settings.values[setting];
}

// Values missing on the command line come from the settings file, then from the user's config file.
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
    bool    prompt = request->given[GGS_RUN_PROMPT] != NULL, file = request->given[GGS_RUN_PROMPT_FILE] != NULL;
    if (!prompt && !file && values[GGS_RUN_PROMPT] != NULL && values[GGS_RUN_PROMPT_FILE] != NULL)
        return ggs_fail(error, GGS_USAGE, "%s: experiment.prompt and experiment.prompt_file exclude each other",
                        request->settings_file != NULL ? request->settings_file : "~/.config/ggscope/config");
    bool taught = request->given[GGS_RUN_TEACHER] != NULL;
    if (prompt || taught) free(values[GGS_RUN_PROMPT_FILE]), values[GGS_RUN_PROMPT_FILE] = NULL;
    if (file || taught) free(values[GGS_RUN_PROMPT]), values[GGS_RUN_PROMPT] = NULL;
    if (request->recording.output == NULL) request->recording.output = values[GGS_SETTING_OUTPUT];
    if (request->recording.engine == NULL) request->recording.engine = values[GGS_SETTING_ENGINE];
    if (value_of(request, GGS_RUN_MODEL) == NULL)
        return missing(request, "model", "experiment.model_path", "-m FILE", error);
    if (value_of(request, GGS_RUN_PROMPT) == NULL && value_of(request, GGS_RUN_PROMPT_FILE) == NULL && !taught)
        return missing(request, "prompt", "experiment.prompt", "-p TEXT or -f FILE", error);
    return 0;
}

// Detects problems with the model before anything is created.
static int check_model(const struct request * request, struct ggs_error * error) {
    struct ggs_model * model;
    int                status = ggs_model_open(&model, value_of(request, GGS_RUN_MODEL), error);
    if (status == 0) ggs_model_free(model);
    const char * file = value_of(request, GGS_RUN_PROMPT_FILE);
    if (status == 0 && file != NULL && strcmp(file, "-") != 0 && access(file, R_OK) != 0)
        status = ggs_fail_errno(error, "cannot read the prompt from %s", file);
    if (status == 0 && request->given[GGS_RUN_TEACHER] != NULL)
        status = ggs_verb_seal(request->given[GGS_RUN_TEACHER], error);
    return status;
}

static void add(struct request * request, const char * word) {
    request->words[request->n_words++] = (char *) word;
}

// Adds the options that have a value, in the program's spelling.
static void add_options(struct request * request, bool llama) {
    for (int i = 0; i < GGS_RUN_OPTIONS; i++) {
        const struct ggs_runner_form * form  = &ggs_runner_forms[i];
        const char *                   value = value_of(request, i);
        if (value == NULL || (llama && form->llama == NULL)) continue;
        add(request, llama ? form->llama : form->shown);
        if (form->kind != GGS_VALUE_SWITCH) add(request, value);
    }
}

static int build_runner(struct request * request, struct ggs_error * error) {
    struct ggs_engine_paths paths;
    int                     status = ggs_sibling_find(request->runner, "ggscope-engine", error);
    if (status == 0) status = ggs_engine_locate(request->recording.engine, &paths, error);
    if (status != 0) return status;
    add(request, request->runner);
    add(request, "run");
    add_options(request, false);
    return 0;
}

static int build_llama(struct request * request, struct ggs_error * error) {
    const char ** given = request->given;
    if (given[GGS_RUN_JSON] != NULL || given[GGS_RUN_LOGITS_HASH] != NULL || given[GGS_RUN_EVAL_CALLBACK] != NULL ||
        given[GGS_RUN_TEACHER] != NULL)
        return ggs_fail(
            error, GGS_USAGE,
            "--json, --logits-hash, --eval-callback and --teacher are options of the built-in runner, but %s names a llama_binary",
            request->settings_file);
    add(request, request->settings.values[GGS_SETTING_LLAMA_BINARY]);
    add_options(request, true);
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
    request->recording.model     = value_of(request, GGS_RUN_MODEL);
    request->recording.discard   = true;
    request->recording.summarise = ggs_summary_print;
    return status;
}

// Writes the exports of the settings file.
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
        if (output != NULL && ggs_requested_exports_write(directory, table[i].format, output, table[i].format) != 0)
            result = 1;
    }
    return result;
}

static int record(void * arguments, struct ggs_trace * traces, struct ggs_error * error) {
    struct request * request             = arguments;
    char             directory[PATH_MAX] = "";
    int              status              = prepare(request, error);
    (void) traces;
    if (status < 0) {
        ggs_verb_resolve(error, value_of(request, GGS_RUN_MODEL));
        ggs_verb_resolve(error, request->settings_file);
        if (request->misuse) fprintf(stderr, "ggscope run: %s\n", error->text);
        return request->misuse ? 2 : status;
    }
    status = ggs_recording_make(&request->recording, directory, sizeof(directory));
    ggs_requested_exports_environment(directory);
    return status != 0 ? status : export_all(request, directory);
}

int cmd_run(int argc, char ** argv) {
    struct ggs_verb verb = {
        .operands = "-m MODEL -p PROMPT -n N",
        .several  = true,
        .options  = list_options(),
        .more     = {{"Recording:", ggs_recording_options, AT(recording)},
                     {"The machine:", ggs_machine_options, AT(recording)},
                     {"Streaming:", ggs_streaming_options, AT(recording.streaming)}},
        .check    = check,
        .run      = record,
        .text =
            "Generate text with a GGUF model on stock llama.cpp libraries, and record every operation of it. The text goes to stdout, "
            "timings and the summary to stderr."};
    struct request   request = {0};
    struct ggs_error error;
    if (argc != GGS_VERB_DESCRIBE && ggs_spell_options(&argc, argv, &error) != 0) {
        fprintf(stderr, "%s: %s\n", argv[0], error.text);
        return 2;
    }
    int result = ggs_verb_run(&verb, argc, argv, &request);
    ggs_settings_release(&request.settings);
    return result;
}
