#include "engine/runner-options.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/number.h"

// Far above the context of any model, but small enough for memory: the engine fills tables of this
// size before it knows whether the context fits.
enum { MOST_TOKENS = 1 << 24, MOST_THREADS = 512 };

#define TEXT               GGS_VALUE_TEXT, 0, 0, NULL
#define WORDS(words)       GGS_VALUE_TEXT, 0, 0, words
#define PATH               GGS_VALUE_PATH, 0, 0, NULL
#define SWITCH             GGS_VALUE_SWITCH, 0, 0, NULL
#define WHOLE(least, most) GGS_VALUE_WHOLE, least, most, NULL
#define TOKENS             WHOLE(1, MOST_TOKENS)

GGS_WORDS(attention_words, {"on", NULL}, {"off", NULL}, {"auto", "if the engine expects it to be faster (the default)"})
GGS_WORDS(split_words, {"none", "one device holds everything"}, {"layer", "each holds some layers"},
          {"row", "each holds some rows of every matrix"})

const struct ggs_runner_form ggs_runner_forms[GGS_RUN_OPTIONS] = {
    [GGS_RUN_MODEL]  = {"model", "-m", "-m", "model_path", "FILE", "The GGUF model (the first file of a split one)", 1,
                        PATH},
    [GGS_RUN_PROMPT] = {"prompt", "-p", "-p", "prompt", "TEXT", "The prompt", 1, TEXT},
    [GGS_RUN_PROMPT_FILE] = {"file", "-f", "-f", "prompt_file", "FILE", "Read the prompt from FILE (- is stdin)", 1,
                             PATH},
    [GGS_RUN_TEACHER]     = {"teacher", "--teacher", NULL, NULL, "DIR",
                             "Use the text of a recording, prompt and generated, as the prompt; -n is then 1", 1, PATH},
    [GGS_RUN_TOKENS]      = {"tokens", "-n", "-n", "tokens_to_generate", "N", "Generate N tokens (32)", 1, TOKENS},
    [GGS_RUN_IGNORE_EOS]  = {"ignore-eos", "--ignore-eos", "--ignore-eos", "ignore_eos", NULL,
                             "Ignore the end-of-text token", 1, SWITCH},

    // The engine takes the largest value as "a random seed".
    [GGS_RUN_SEED]        = {"seed", "--seed", "--seed", "seed", "S",
                             "Sample with this seed instead of choosing the most likely token", 2, WHOLE(0, UINT32_MAX - 1)},
    [GGS_RUN_TEMPERATURE] = {"temp", "--temp", "--temp", "temperature", "T",
                             "Temperature of the sampling (0.8 with --seed; 0 is greedy)", 2, GGS_VALUE_NUMBER, 0, 100,
                             NULL},

    [GGS_RUN_THREADS]   = {"threads", "-t", "-t", "threads", "N", "Compute with N threads (one per usable core)", 3,
                           WHOLE(1, MOST_THREADS)},
    [GGS_RUN_CONTEXT]   = {"ctx", "--ctx", "-c", "ctx", "N", "Context size in tokens (what prompt and -n need)", 3,
                           TOKENS},
    [GGS_RUN_BATCH]     = {"batch", "--batch", "-b", "batch", "N", "Prompt tokens per decode", 3, TOKENS},
    [GGS_RUN_UBATCH]    = {"ubatch", "--ubatch", "-ub", "ubatch", "N", "Prompt tokens per graph", 3, TOKENS},
    [GGS_RUN_NO_MMAP]   = {"no-mmap", "--no-mmap", "--no-mmap", "no_mmap", NULL,
                           "Read the weights into memory instead of mapping the file", 3, SWITCH},
    [GGS_RUN_NO_REPACK] = {"no-repack", "--no-repack", "--no-repack", "no_repack", NULL,
                           "Keep the weights in the layout of the file", 3, SWITCH},

    [GGS_RUN_FLASH_ATTN] = {"flash-attn", "--flash-attn", "-fa", "flash_attn", "MODE", "Flash attention; also -fa", 3,
                            WORDS(attention_words)},
    [GGS_RUN_GPU_LAYERS] = {"gpu-layers", "--gpu-layers", "-ngl", "gpu_layers", "N",
                            "Put the weights of N layers on devices (0); also -ngl", 5, WHOLE(0, MOST_TOKENS)},
    [GGS_RUN_DEVICE]     = {"device", "--device", "-dev", "device", "NAMES",
                            "Use these devices, such as Vulkan0,Vulkan1, or none", 5, TEXT},
    [GGS_RUN_RPC] = {"rpc", "--rpc", "--rpc", NULL, "HOST:PORT,...", "Also use the devices of these rpc-servers", 5,
                     TEXT},
    [GGS_RUN_SPLIT_MODE]      = {"split-mode", "--split-mode", "-sm", "split_mode", "MODE",
                                 "How several devices share a model", 5, WORDS(split_words)},
    [GGS_RUN_MAIN_GPU]        = {"main-gpu", "--main-gpu", "-mg", "main_gpu", "N",
                                 "The device that holds everything with --split-mode none", 5, WHOLE(0, 255)},
    [GGS_RUN_OVERRIDE_TENSOR] = {"override-tensor", "--override-tensor", "-ot", "override_tensor", "PATTERN=BUFFER,...",
                                 "Put tensors whose names match into other buffers, such as exps=CPU; also -ot", 5,
                                 TEXT},

    [GGS_RUN_JSON] = {"json", "--json", NULL, NULL, NULL, "Print one line of JSON instead of the text", 4, SWITCH},
    [GGS_RUN_LOGITS_HASH]   = {"logits-hash", "--logits-hash", NULL, NULL, NULL,
                               "Compute and hash the logits of every token, those of the prompt too", 4, SWITCH},
    [GGS_RUN_EVAL_CALLBACK] = {"eval-callback", "--eval-callback", NULL, NULL, NULL,
                               "Also observe every operation through the engine's eval callback, for comparison", 4,
                               SWITCH},
    [GGS_RUN_VERBOSE]       = {"verbose", "--verbose", NULL, NULL, NULL, "Show the engine's log on stderr", 4, SWITCH},
};

int ggs_runner_letter(enum ggs_runner_option option) {
    const char * shown = ggs_runner_forms[option].shown;
    return shown[1] == '-' ? 0 : shown[1];
}

int ggs_runner_check(enum ggs_runner_option option, const char * shown, const char * value, struct ggs_error * error) {
    const struct ggs_runner_form * form = &ggs_runner_forms[option];
    int64_t                        whole;
    double                         number = 0;
    char *                         end;
    bool                           inside = true;
    if (form->kind == GGS_VALUE_WHOLE) {
        if (!ggs_parse_i64(value, INT64_MIN, INT64_MAX, &whole))
            return ggs_fail(error, GGS_FORMAT, "%s takes a whole number, not '%s'", shown, value);
        inside = whole >= form->minimum && whole <= form->maximum;
    } else if (form->kind == GGS_VALUE_NUMBER) {
        number = strtod(value, &end);
        if (end == value || *end != '\0' || number != number)
            return ggs_fail(error, GGS_FORMAT, "%s takes a number, not '%s'", shown, value);
        inside = number >= (double) form->minimum && number <= (double) form->maximum;
    }
    if (!inside)
        return ggs_fail(error, GGS_USAGE, "%s %s is out of range: it must be from %" PRId64 " to %" PRId64, shown,
                        value, form->minimum, form->maximum);
    if (form->kind == GGS_VALUE_PATH && value[0] == '\0')
        return ggs_fail(error, GGS_USAGE, "%s is empty: it must name a file or folder", shown);
    return 0;
}
