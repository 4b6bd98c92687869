#include "engine/synth/synth.h"

#include "base/error.h"
#include "base/number.h"
#include "engine/load.h"
#include "engine/synth/synth-arch.h"
#include "engine/synth/synth-metadata.h"
#include "engine/synth/synth-plan.h"
#include "engine/synth/synth-shape.h"
#include "engine/synth/synth-types.h"
#include "engine/synth/synth-write.h"
#include "engine/synth/vocabulary-files.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    OPT_ARCH = 256,
    OPT_LAYERS,
    OPT_EMBD,
    OPT_FF,
    OPT_HEADS,
    OPT_KV_HEADS,
    OPT_EXPERTS,
    OPT_EXPERTS_USED,
    OPT_TYPES,
    OPT_SPLIT,
    OPT_SEED,
    OPT_VOCAB,
    OPT_ENGINE,
    OPT_FORCE
};

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "Write the model to FILE (required)", 1},
    {"force", OPT_FORCE, NULL, 0, "Replace existing files", 1},
    {"split", OPT_SPLIT, "N", 0, "Write N files, FILE-00001-of-0000N.gguf and so on", 1},
    {"arch", OPT_ARCH, "NAME", 0, "Architecture: llama (default), gpt2, gemma3, qwen3moe (default of moe) or deepseek2",
     2},
    {"layers", OPT_LAYERS, "N", 0, "Number of layers", 2},
    {"embd", OPT_EMBD, "N", 0, "Values of an embedding", 2},
    {"ff", OPT_FF, "N", 0, "Width of the feed-forward net, or of one expert", 2},
    {"heads", OPT_HEADS, "N", 0, "Attention heads", 2},
    {"kv-heads", OPT_KV_HEADS, "N", 0, "Heads of the KV cache", 2},
    {"experts", OPT_EXPERTS, "N", 0, "Experts per layer (0: none)", 2},
    {"experts-used", OPT_EXPERTS_USED, "N", 0, "Experts that each token uses", 2},
    {"types", OPT_TYPES, "SPEC", 0,
     "Tensor types: TYPE, or COMPONENT=TYPE,... where COMPONENT is the middle of a tensor's name or 'default'", 3},
    {"seed", OPT_SEED, "S", 0, "Another seed gives other weights (1)", 3},
    {"vocab", OPT_VOCAB, "FILE", 0, "Take the tokenizer of this GGUF", 4},
    {"engine", OPT_ENGINE, "DIR", 0, "Use the llama.cpp libraries in DIR", 4},
    {0},
};

struct command {
    struct ggs_synth_options shape;
    struct ggs_synth_job     job;
    const char *             types;
    const char *             vocabulary;
    const char *             engine;
    struct ggs_error         error;
};

static int usage(struct command * command, const char * sentence) {
    ggs_fail(&command->error, GGS_USAGE, "%s; see --help", sentence);
    return EINVAL;
}

static int number(struct command * command, const char * option, const char * argument, uint64_t minimum,
                  uint64_t maximum, int64_t * result) {
    uint64_t value;
    if (!ggs_parse_u64(argument, minimum, maximum, &value)) {
        ggs_fail(&command->error, GGS_USAGE, "%s takes a number from %llu to %llu, not '%s'", option,
                 (unsigned long long) minimum, (unsigned long long) maximum, argument);
        return EINVAL;
    }
    *result = (int64_t) value;
    return 0;
}

static error_t parse_shape(int key, const char * argument, struct command * command) {
    struct ggs_synth_options * shape = &command->shape;
    switch (key) {
        case OPT_LAYERS:
            return number(command, "--layers", argument, 1, GGS_SYNTH_MAX_LAYERS, &shape->layers);
        case OPT_EMBD:
            return number(command, "--embd", argument, 2, GGS_SYNTH_MAX_WIDTH, &shape->embd);
        case OPT_FF:
            return number(command, "--ff", argument, 1, GGS_SYNTH_MAX_WIDTH, &shape->ff);
        case OPT_HEADS:
            return number(command, "--heads", argument, 1, GGS_SYNTH_MAX_WIDTH, &shape->heads);
        case OPT_KV_HEADS:
            return number(command, "--kv-heads", argument, 1, GGS_SYNTH_MAX_WIDTH, &shape->kv_heads);
        case OPT_EXPERTS:
            return number(command, "--experts", argument, 0, GGS_SYNTH_MAX_EXPERTS, &shape->experts);
        case OPT_EXPERTS_USED:
            return number(command, "--experts-used", argument, 0, GGS_SYNTH_MAX_EXPERTS, &shape->experts_used);
        default:
            return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char * argument, struct argp_state * state) {
    struct command * command = state->input;
    int64_t          value   = 0;
    error_t          status  = 0;
    switch (key) {
        case 'o':
            command->job.path = argument;
            break;
        case OPT_FORCE:
            command->job.force = true;
            break;
        case OPT_ARCH:
            command->shape.arch = argument;
            break;
        case OPT_TYPES:
            command->types = argument;
            break;
        case OPT_VOCAB:
            command->vocabulary = argument;
            break;
        case OPT_ENGINE:
            command->engine = argument;
            break;
        case OPT_SPLIT:
            status              = number(command, "--split", argument, 1, GGS_SYNTH_MAX_SPLITS, &value);
            command->job.splits = (uint32_t) value;
            break;
        case OPT_SEED:
            status            = number(command, "--seed", argument, 0, UINT64_MAX, &value);
            command->job.seed = (uint64_t) value;
            break;
        case ARGP_KEY_ARG:
            if (state->arg_num > 0) return usage(command, "synth takes one PRESET");
            command->shape.preset = argument;
            break;
        case ARGP_KEY_END:
            if (command->shape.preset == NULL)
                return usage(command, "synth needs a PRESET: tiny, tinyllama-1.1b or moe");
            if (command->job.path == NULL || command->job.path[0] == '\0') return usage(command, "synth needs -o FILE");
            break;
        default:
            return parse_shape(key, argument, command);
    }
    return status;
}

static int report(const struct ggs_synth_job * job, uint64_t size, struct ggs_error * error) {
    char   bytes[GGS_NUMBER_LENGTH];
    char * path = ggs_synth_path(job, 0);
    if (path == NULL) return ggs_fail_memory(error);
    printf("%s: %zu tensors, %s", path, job->plan->count, ggs_format_bytes(bytes, size));
    if (job->splits > 1) printf(" in %u files", job->splits);
    printf("\n");
    free(path);
    if (fflush(stdout) != 0 || ferror(stdout)) return ggs_fail_errno(error, "cannot write to standard output");
    return 0;
}

static int synth(const struct command * command, struct ggs_error * error) {
    struct ggs_synth_shape    shape;
    struct ggs_synth_plan     plan       = {0};
    struct ggs_synth_metadata vocabulary = {0}, metadata = {0};
    char                      path[PATH_MAX];
    uint64_t                  size   = 0;
    int                       status = ggs_synth_shape_init(&shape, &command->shape, error);

    if (status == 0) status = ggs_vocabulary_find(path, command->vocabulary, shape.arch->vocabulary, error);
    if (status == 0) status = ggs_engine_load(command->engine, error);
    if (status == 0) status = ggs_vocabulary_copy(path, &vocabulary, &shape.vocabulary, error);
    if (status < 0) goto out;

    ggs_synth_arch_tensors(&plan, &shape);
    ggs_synth_arch_metadata(&metadata, &shape);
    ggs_text_append(&metadata.bytes, vocabulary.bytes.data, vocabulary.bytes.length);
    metadata.count += vocabulary.count;
    if (plan.failed || metadata.bytes.failed) {
        status = ggs_fail_memory(error);
        goto out;
    }
    status = ggs_synth_types_apply(&plan, command->types, error);
    if (status < 0) goto out;

    struct ggs_synth_job job = command->job;

    job.plan     = &plan;
    job.metadata = &metadata;
    status       = ggs_synth_write(&job, &size, error);
    if (status == 0) status = report(&job, size, error);
out:
    ggs_synth_metadata_release(&metadata);
    ggs_synth_metadata_release(&vocabulary);
    ggs_synth_plan_release(&plan);
    return status;
}

int ggs_synth_main(int argc, char ** argv) {
    static const struct argp argp = {
        options,
        parse,
        "PRESET",
        "Write a GGUF model of any shape, with a real vocabulary and random weights.\v"
        "Presets:\n"
        "  tiny            22 layers, 201 tensors, about 20 MB\n"
        "  tinyllama-1.1b  the shapes of TinyLlama 1.1B, about 670 MB\n"
        "  moe             24 layers of 32 experts, 4 used, about 110 MB\n"
        "The options change a preset. The same command line always gives the same bytes.",
        NULL,
        NULL,
        NULL,
    };
    struct command command = {
        .shape = {.layers = -1, .embd = -1, .ff = -1, .heads = -1, .kv_heads = -1, .experts = -1, .experts_used = -1},
        .job   = {.seed = 1},
    };
    argp_err_exit_status = 2;
    int status = argp_parse(&argp, argc, argv, 0, NULL, &command) == 0 ? synth(&command, &command.error) : GGS_USAGE;
    if (status == 0) return 0;
    fprintf(stderr, "ggscope-engine: %s\n", command.error.text);
    return status == GGS_USAGE ? 2 : 1;
}
