#include "analyze/explain/invocation.h"

#include <stdlib.h>
#include <string.h>

// ---- words ----

enum way {
    NOT,    // the program has no such option
    SET,    // option and value
    JOIN,   // the same in one word, with =
    ADD,    // a switch
    LEAVE,  // the remedy is to leave the option out
    BEFORE, // words before it
    TEXT,   // no option: text with the value in place of %
};

struct words {
    enum way     way;
    const char * options; // names, divided by blanks; the first one is written
    const char * also;    // a second option with the same value
};

#define INTERLEAVE \
    { BEFORE, "numactl --interleave=all", "" }
#define HUGE_PAGES \
    { BEFORE, "env GLIBC_TUNABLES=glibc.malloc.hugetlb=1", "" }

// Each knob, and its form in each kind of program.
static const struct knob {
    const char * name;
    struct words llama, engine, bench;
    const char * node;
    const char * python;
    const char * other;
    bool         lossy;
} knobs[GGS_KNOBS] = {
    [GGS_KNOB_NONE]            = {"none", {NOT, "", ""}, {NOT, "", ""}, {NOT, "", ""}, "", "", "", false},
    [GGS_KNOB_THREADS]         = {"threads",
                                  {SET, "-t --threads", ""},
                                  {SET, "-t --threads", ""},
                                  {SET, "-t --threads", ""},
                                  "createContext({threads: %})",
                                  "Llama(n_threads=%)",
                                  "llama_context_params.n_threads = %",
                                  false},
    [GGS_KNOB_THREADS_BATCH]   = {"batch threads",
                                  {SET, "-tb --threads-batch", ""},
                                  {NOT, "", ""},
                                  {NOT, "", ""},
                                  "createContext({threads: %})",
                                  "Llama(n_threads_batch=%)",
                                  "llama_context_params.n_threads_batch = %",
                                  false},
    [GGS_KNOB_UBATCH]          = {"ubatch",
                                  {SET, "-ub --ubatch-size", ""},
                                  {SET, "--ubatch", ""},
                                  {SET, "-ub --ubatch-size", ""},
                                  "createContext({batchSize: %})",
                                  "Llama(n_ubatch=%)",
                                  "llama_context_params.n_ubatch = %",
                                  false},
    [GGS_KNOB_BATCH]           = {"batch",
                                  {SET, "-b --batch-size", ""},
                                  {SET, "--batch", ""},
                                  {SET, "-b --batch-size", ""},
                                  "createContext({batchSize: %})",
                                  "Llama(n_batch=%)",
                                  "% tokens in each llama_batch",
                                  false},
    [GGS_KNOB_FLASH_ATTENTION] = {"flash attention",
                                  {SET, "-fa --flash-attn", ""},
                                  {SET, "-fa --flash-attn", ""},
                                  {SET, "-fa --flash-attn", ""},
                                  "createContext({flashAttention: true})",
                                  "Llama(flash_attn=True)",
                                  "llama_context_params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED",
                                  false},
    [GGS_KNOB_MMAP]            = {"mmap",
                                  {LEAVE, "--no-mmap", ""},
                                  {LEAVE, "--no-mmap", ""},
                                  {SET, "-mmp --mmap", ""},
                                  "loadModel({useMmap: true})",
                                  "Llama(use_mmap=True)",
                                  "llama_model_params: map the file",
                                  false},
    [GGS_KNOB_REPACK]          = {"repack",
                                  {LEAVE, "--no-repack -nr", ""},
                                  {LEAVE, "--no-repack", ""},
                                  {NOT, "", ""},
                                  "",
                                  "",
                                  "llama_model_params.use_extra_bufts = true",
                                  false},
    [GGS_KNOB_KV_TYPE]         = {"KV type",
                                  {SET, "-ctk --cache-type-k", "-ctv --cache-type-v"},
                                  {NOT, "", ""},
                                  {SET, "-ctk --cache-type-k", "-ctv --cache-type-v"},
                                  "createContext({kvCacheKeyType: \"%\", kvCacheValueType: \"%\"})",
                                  "Llama(type_k=%, type_v=%)",
                                  "llama_context_params.type_k and type_v = %",
                                  true},
    [GGS_KNOB_GPU_LAYERS]      = {"GPU layers",
                                  {SET, "-ngl --gpu-layers --n-gpu-layers", ""},
                                  {SET, "-ngl --gpu-layers", ""},
                                  {SET, "-ngl --n-gpu-layers", ""},
                                  "loadModel({gpuLayers: %})",
                                  "Llama(n_gpu_layers=%)",
                                  "llama_model_params.n_gpu_layers = %",
                                  false},
    [GGS_KNOB_CPU_EXPERTS]     = {"experts on the CPU",
                                  {SET, "-ncmoe --n-cpu-moe", ""},
                                  {NOT, "", ""},
                                  {SET, "-ncmoe --n-cpu-moe", ""},
                                  "",
                                  "",
                                  "fewer tensor_buft_overrides",
                                  false},
    [GGS_KNOB_CONTEXT]         = {"context",
                                  {SET, "-c --ctx-size", ""},
                                  {SET, "--ctx", ""},
                                  {NOT, "", ""},
                                  "createContext({contextSize: %})",
                                  "Llama(n_ctx=%)",
                                  "llama_context_params.n_ctx = %",
                                  false},
    [GGS_KNOB_SLOTS]           = {"slots",
                                  {SET, "-np --parallel", ""},
                                  {NOT, "", ""},
                                  {NOT, "", ""},
                                  "createContext({sequences: %})",
                                  "a server with % slots (llama-server -np %)",
                                  "llama_context_params.n_seq_max = %, and their tokens in one batch",
                                  false},
    [GGS_KNOB_EVAL_CALLBACK]   = {"eval callback",
                                  {NOT, "", ""},
                                  {LEAVE, "--eval-callback", ""},
                                  {NOT, "", ""},
                                  "",
                                  "",
                                  "llama_context_params.cb_eval = NULL",
                                  false},
    [GGS_KNOB_DRAFT]           = {"draft model",
                                  {LEAVE, "-md --model-draft", ""},
                                  {NOT, "", ""},
                                  {NOT, "", ""},
                                  "without a draft sequence",
                                  "Llama(draft_model=None)",
                                  "no draft context",
                                  false},
    [GGS_KNOB_MODEL]           = {"model",
                                  {SET, "-m --model", ""},
                                  {SET, "-m --model", ""},
                                  {SET, "-m --model", ""},
                                  "loadModel({modelPath: \"%\"})",
                                  "Llama(model_path=\"%\")",
                                  "the model %",
                                  true},
    [GGS_KNOB_ENGINE]     = {"CPU library", {NOT, "", ""}, {LEAVE, "--engine", ""}, {NOT, "", ""}, "", "", "", false},
    [GGS_KNOB_STREAM]     = {"stream",
                             {BEFORE, "ggscope stream --", ""},
                             {BEFORE, "ggscope stream --", ""},
                             {BEFORE, "ggscope stream --", ""},
                             "ggscope stream -- node ...",
                             "ggscope stream -- python ...",
                             "ggscope stream -- PROGRAM",
                             false},
    [GGS_KNOB_INTERLEAVE] = {"interleaving", INTERLEAVE, INTERLEAVE, INTERLEAVE, "", "", "", false},
    [GGS_KNOB_NO_REPACK]  = {"no repack",
                             {ADD, "--no-repack -nr", ""},
                             {ADD, "--no-repack", ""},
                             {NOT, "", ""},
                             "",
                             "",
                             "llama_model_params.use_extra_bufts = false",
                             false},
    [GGS_KNOB_MLOCK]      = {"mlock",
                             {ADD, "--mlock", ""},
                             {NOT, "", ""},
                             {NOT, "", ""},
                             "loadModel({useMlock: true})",
                             "Llama(use_mlock=True)",
                             "llama_model_params.use_mlock = true",
                             false},
    [GGS_KNOB_HUGE_PAGES] = {"huge pages", HUGE_PAGES, HUGE_PAGES, HUGE_PAGES, "", "", "", false},
};

const char * ggs_knob_name(uint64_t knob) {
    return knob < GGS_KNOBS ? knobs[knob].name : "";
}
bool ggs_knob_is_lossy(enum ggs_knob knob) {
    return knob < GGS_KNOBS && knobs[knob].lossy;
}

const char * ggs_invocation_kind_name(uint64_t kind) {
    static const char * const names[] = {"a program on llama.h", "llama.cpp",          "llama-server",
                                         "llama-bench",          "ggscope-engine",     "node-llama-cpp",
                                         "llama-cpp-python",     "a program on ggml.h"};
    return kind < GGS_PROGRAM_KINDS ? names[kind] : "";
}

static bool is_set(enum way way) {
    return way == SET || way == JOIN;
}

static struct words words_of(const struct ggs_invocation * program, enum ggs_knob knob) {
    unsigned own = (unsigned) knob - GGS_KNOBS;
    if (knob >= GGS_KNOBS && own < program->n_own)
        return (struct words){program->own[own].joined ? JOIN : SET, program->own[own].option, ""};
    const struct knob * it = &knobs[knob >= GGS_KNOBS ? GGS_KNOB_NONE : knob];
    switch (program->kind) {
        case GGS_PROGRAM_LLAMA:
        case GGS_PROGRAM_SERVER:
            return it->llama;
        case GGS_PROGRAM_BENCH:
            return it->bench;
        case GGS_PROGRAM_ENGINE:
            return it->engine;
        default:
            return (struct words){it->llama.way == BEFORE ? BEFORE : TEXT, it->llama.options, ""};
    }
}

// ---- the program ----

static enum ggs_invocation_kind kind_of(const char * path, const char * next) {
    const char * slash = strrchr(path, '/');
    const char * name  = slash == NULL ? path : slash + 1;
    if (strcmp(name, "ggscope-engine") == 0 && next != NULL && strcmp(next, "run") == 0) return GGS_PROGRAM_ENGINE;
    if (strcmp(name, "llama-server") == 0) return GGS_PROGRAM_SERVER;
    if (strcmp(name, "llama-bench") == 0) return GGS_PROGRAM_BENCH;
    if (strncmp(name, "llama-", 6) == 0) return GGS_PROGRAM_LLAMA;
    if (strcmp(name, "node") == 0 || strcmp(name, "npx") == 0 || strcmp(name, "bun") == 0) return GGS_PROGRAM_NODE;
    if (strncmp(name, "python", 6) == 0) return GGS_PROGRAM_PYTHON;
    return GGS_PROGRAM_OTHER;
}

static enum ggs_invocation_kind kind_at(const struct ggs_invocation * program, unsigned at) {
    return at < program->n ? kind_of(program->words[at], at + 1 < program->n ? program->words[at + 1] : NULL)
                           : GGS_PROGRAM_OTHER;
}

// Other programs may start it, and have options of their own: taskset, nice, numactl, env. Then the
// executable that ran is of a kind that is known, and a later word names it.
static void find_program(struct ggs_invocation * program, const char * executable) {
    program->kind = kind_at(program, 0);
    if (program->kind != GGS_PROGRAM_OTHER) return;
    enum ggs_invocation_kind ran = kind_of(executable, "run");
    for (unsigned i = 1; i < program->n && ran != GGS_PROGRAM_OTHER && program->at == 0; i++)
        if (kind_at(program, i) == ran) program->at = i, program->kind = ran;
}

void ggs_invocation_read(struct ggs_invocation * program, struct ggs_json_value command,
                         struct ggs_json_value executable) {
    struct ggs_json_value word = {0};
    unsigned              n    = 0;
    *program                   = (struct ggs_invocation){0};
    while (ggs_json_next(command, &word)) n++;
    program->words = calloc(n + 1ul, sizeof(*program->words));
    word           = (struct ggs_json_value){0};
    while (program->words != NULL && program->n < n && ggs_json_next(command, &word)) {
        struct ggs_text text = {0};
        ggs_json_append_to(word, &text);
        program->words[program->n] = strdup(ggs_text_string(&text));
        ggs_text_release(&text);
        if (program->words[program->n] == NULL) break;
        program->n++;
    }
    struct ggs_text path = {0};
    ggs_json_append_to(executable, &path);
    find_program(program, ggs_text_string(&path));
    ggs_text_release(&path);
}

void ggs_invocation_release(struct ggs_invocation * program) {
    for (unsigned i = 0; i < program->n; i++) free(program->words[i]);
    free(program->words);
    *program = (struct ggs_invocation){0};
}

// ---- options on a command line ----

// True if the word is one of the names. *value is what follows "=" in the word, or NULL.
static bool is_option(const char * word, const char * names, const char ** value) {
    const char * equals = strncmp(word, "-", 1) == 0 ? strchr(word, '=') : NULL;
    size_t       length = equals == NULL ? strlen(word) : (size_t) (equals - word);
    *value              = equals == NULL ? NULL : equals + 1;
    while (*names != '\0') {
        size_t n = strcspn(names, " ");
        if (n > 0 && n == length && strncmp(word, names, n) == 0) return true;
        names += n + (names[n] == ' ');
    }
    return false;
}

const char * ggs_invocation_value(const struct ggs_invocation * program, enum ggs_knob knob) {
    struct words words = words_of(program, knob);
    const char * found = NULL;
    for (unsigned i = program->at + 1; i < program->n && words.way != BEFORE && words.way != NOT; i++) {
        const char * value;
        if (!is_option(program->words[i], words.options, &value)) continue;
        if (words.way == LEAVE || words.way == ADD)
            found = "";
        else if (value != NULL)
            found = value;
        else if (i + 1 < program->n)
            found = program->words[i + 1];
    }
    return found;
}

// Programs on ggml alone have options of their own.
static const char * graphs_text(enum ggs_knob knob) {
    switch (knob) {
        case GGS_KNOB_THREADS:
            return "% threads";
        case GGS_KNOB_FLASH_ATTENTION:
            return "flash attention (whisper.cpp: -fa, stable-diffusion.cpp: --diffusion-fa)";
        case GGS_KNOB_GPU_LAYERS:
            return "the CPU instead of the device";
        case GGS_KNOB_MMAP:
            return "a mapped model";
        default:
            return "";
    }
}

static const char * text_of(const struct ggs_invocation * program, enum ggs_knob knob) {
    switch (program->kind) {
        case GGS_PROGRAM_NODE:
            return knobs[knob].node;
        case GGS_PROGRAM_PYTHON:
            return knobs[knob].python;
        case GGS_PROGRAM_GRAPHS:
            return graphs_text(knob);
        default:
            return knobs[knob].other;
    }
}

static void append_with_value(struct ggs_text * text, const char * pattern, const char * value) {
    for (; *pattern != '\0'; pattern++) {
        if (*pattern == '%')
            ggs_text_puts(text, value);
        else
            ggs_text_putc(text, *pattern);
    }
}

static void first_name(struct ggs_text * text, const char * names) {
    ggs_text_append(text, names, strcspn(names, " "));
}

// "ggscope stream --" without " --".
static size_t length_without_dashes(const char * words) {
    size_t n = strlen(words);
    return n > 3 && strcmp(words + n - 3, " --") == 0 ? n - 3 : n;
}

static void say_option(const struct words * words, const char * value, struct ggs_text * text) {
    first_name(text, words->options);
    ggs_text_putc(text, words->way == JOIN ? '=' : ' ');
    ggs_invocation_quote(text, value);
    if (words->also[0] == '\0') return;
    ggs_text_putc(text, ' ');
    first_name(text, words->also);
    ggs_text_printf(text, " %s", value);
}

void ggs_invocation_say(const struct ggs_invocation * program, const struct ggs_knob_setting * setting,
                        struct ggs_text * text) {
    struct words words = words_of(program, setting->knob);
    // The built-in runner has few options. Its models run in llama.cpp's programs, too.
    bool others = words.way == NOT && program->kind == GGS_PROGRAM_ENGINE && is_set(knobs[setting->knob].llama.way);
    if (others) {
        ggs_text_puts(text, "in llama.cpp's programs ");
        words = knobs[setting->knob].llama;
    }
    switch (words.way) {
        case SET:
        case JOIN:
            say_option(&words, setting->value, text);
            break;
        case ADD:
            first_name(text, words.options);
            break;
        case LEAVE:
            if (ggs_invocation_value(program, setting->knob) == NULL) break; // it was set in another way
            ggs_text_puts(text, "without ");
            first_name(text, words.options);
            break;
        case BEFORE:
            ggs_text_puts(text, "run it under ");
            ggs_text_append(text, words.options, length_without_dashes(words.options));
            break;
        case TEXT:
        case NOT:
            append_with_value(text, text_of(program, setting->knob), setting->value);
    }
}

bool ggs_invocation_takes(const struct ggs_invocation * program, const struct ggs_knob_setting * settings, unsigned n) {
    bool all = program->n > 0 && n > 0 && settings[0].knob != GGS_KNOB_NONE;
    for (unsigned i = 0; i < n && settings[i].knob != GGS_KNOB_NONE; i++) {
        enum way way = words_of(program, settings[i].knob).way;
        all &= is_set(way) || way == ADD || way == BEFORE ||
               (way == LEAVE && ggs_invocation_value(program, settings[i].knob) != NULL);
    }
    return all;
}

void ggs_invocation_quote(struct ggs_text * text, const char * word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        ggs_text_puts(text, word);
        return;
    }
    ggs_text_putc(text, '\'');
    for (; *word != '\0'; word++) {
        if (*word == '\'')
            ggs_text_puts(text, "'\\''");
        else
            ggs_text_putc(text, *word);
    }
    ggs_text_putc(text, '\'');
}

// Returns the number of words from here on that the settings replace; 0 if the word stays.
static unsigned replaced(const struct ggs_invocation * program, unsigned at, const struct ggs_knob_setting * settings,
                         unsigned n) {
    for (unsigned i = 0; i < n && settings[i].knob != GGS_KNOB_NONE; i++) {
        struct words words = words_of(program, settings[i].knob);
        const char * value;
        if (!is_set(words.way) && words.way != ADD && words.way != LEAVE) continue;
        if (!is_option(program->words[at], words.options, &value) && !is_option(program->words[at], words.also, &value))
            continue;
        bool takes = is_set(words.way) || settings[i].knob == GGS_KNOB_DRAFT || settings[i].knob == GGS_KNOB_ENGINE;
        return takes && value == NULL && at + 1 < program->n ? 2 : 1;
    }
    return 0;
}

void ggs_invocation_command(const struct ggs_invocation * program, const struct ggs_knob_setting * settings, unsigned n,
                            struct ggs_text * text) {
    const char * blank = "";
    for (unsigned i = 0; i < n && settings[i].knob != GGS_KNOB_NONE; i++) {
        struct words words = words_of(program, settings[i].knob);
        if (words.way == BEFORE) ggs_text_printf(text, "%s ", words.options);
    }
    for (unsigned i = 0; i < program->n;) {
        unsigned gone = i <= program->at ? 0 : replaced(program, i, settings, n);
        if (gone == 0) {
            ggs_text_puts(text, blank);
            ggs_invocation_quote(text, program->words[i]);
            blank = " ";
        }
        i += gone == 0 ? 1 : gone;
    }
    for (unsigned i = 0; i < n && settings[i].knob != GGS_KNOB_NONE; i++) {
        enum way way = words_of(program, settings[i].knob).way;
        if (!is_set(way) && way != ADD) continue;
        ggs_text_putc(text, ' ');
        ggs_invocation_say(program, &settings[i], text);
    }
}
