// The options of the built-in runner in one table: `ggscope-engine run` parses them; `ggscope run`
// and its settings files pass them on, also to llama.cpp's own programs.
#pragma once

#include <stdint.h>

#include "base/options/options.h"

struct ggs_error;

enum ggs_runner_option {
    GGS_RUN_MODEL,
    GGS_RUN_PROMPT,
    GGS_RUN_PROMPT_FILE,
    GGS_RUN_TEACHER,
    GGS_RUN_TOKENS,
    GGS_RUN_THREADS,
    GGS_RUN_CONTEXT,
    GGS_RUN_BATCH,
    GGS_RUN_UBATCH,
    GGS_RUN_SEED,
    GGS_RUN_TEMPERATURE,
    GGS_RUN_NO_MMAP,
    GGS_RUN_NO_REPACK,
    GGS_RUN_IGNORE_EOS,
    GGS_RUN_GPU_LAYERS,
    GGS_RUN_DEVICE,
    GGS_RUN_RPC,
    GGS_RUN_FLASH_ATTN,
    GGS_RUN_SPLIT_MODE,
    GGS_RUN_MAIN_GPU,
    GGS_RUN_OVERRIDE_TENSOR,
    GGS_RUN_JSON,
    GGS_RUN_LOGITS_HASH,
    GGS_RUN_EVAL_CALLBACK,
    GGS_RUN_VERBOSE,
    GGS_RUN_OPTIONS,
};

enum ggs_value_kind {
    GGS_VALUE_TEXT,
    GGS_VALUE_PATH,
    GGS_VALUE_WHOLE,  // a whole number in [minimum, maximum]
    GGS_VALUE_NUMBER, // any number in [minimum, maximum]
    GGS_VALUE_SWITCH,
};

struct ggs_runner_form {
    const char *        name;
    const char *        shown; // as typed: "-n", "--ctx"; a single letter is the option's letter
    const char *        llama; // llama.cpp's own spelling, NULL: none
    const char *        key;   // in a settings file, NULL: none
    const char *        value; // its name in --help, NULL: a switch
    const char *        help;
    int                 group; // in --help
    enum ggs_value_kind kind;
    int64_t             minimum, maximum;
    ggs_words           words; // all possible values; NULL: other values are possible
};
extern const struct ggs_runner_form ggs_runner_forms[GGS_RUN_OPTIONS];

// The letter of an option, 0 if it has none.
int ggs_runner_letter(enum ggs_runner_option option);

// Validates the value of an option; the sentence calls it `shown` (an option or a key of a file).
// GGS_FORMAT: not a valid value; GGS_USAGE: out of range, or empty.
int ggs_runner_check(enum ggs_runner_option option, const char * shown, const char * value, struct ggs_error * error);
