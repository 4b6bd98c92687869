#include "engine/run/run-result.h"

#define RESULT(member, key, ...) GGS_FIELD(struct ggs_run_result, member, key, __VA_ARGS__)

static const char * const stops[] = {"length", "end", "interrupt", NULL};

static const struct ggs_field engine_fields[] = {
    RESULT(llama_version, "llama_version"),
    RESULT(ggml_version, "ggml_version"),
    RESULT(ggml_commit, "ggml_commit"),
    RESULT(directory, "directory", "directory of its libraries"),
    {0},
};
static const struct ggs_object engine = {.fields = engine_fields};

static const char * text_of(const void * it, const void * context, char * room, size_t * length) {
    const struct ggs_run_result * result = it;
    (void) context, (void) room;
    *length = result->text_length;
    return result->text;
}

static bool has_hash(const void * it, const void * context) {
    (void) context;
    return ((const struct ggs_run_result *) it)->logits_hash != NULL;
}

static const struct ggs_field fields[] = {
    GGS_TEXT("text", text_of, "generated text"),
    RESULT(prompt_tokens, "prompt_tokens"),
    RESULT(generated, "generated_tokens"),
    RESULT(stopped, "stopped", "", .words = stops),
    RESULT(load_ns, "load_ns"),
    RESULT(prompt_ns, "prompt_ns"),
    RESULT(generate_ns, "generate_ns", "time of all tokens but the first, which belongs to the prompt"),
    RESULT(generate_cpu_ns, "generate_cpu_ns", "processor time of all threads while generating, including printing"),
    GGS_LIST(struct ggs_run_result, token_ns, n_token_ns, "token_ns",
             "time of each token but the first, in order; generate_ns is their sum"),
    GGS_FIELD_OR_NULL(struct ggs_run_result, median_ns, "generate_median_ns",
                      "median time of one token; null if there was only one"),
    GGS_FIELD_OR_NULL(struct ggs_run_result, tokens_per_second, "tokens_per_second", "null if there was only one"),
    RESULT(threads, "threads"),
    GGS_OBJECT_OF("engine", &engine),
    RESULT(model, "model", "as it was named"),
    GGS_LIST(struct ggs_run_result, ids, generated, "ids", "ids of the generated tokens"),
    RESULT(logits_hash, "logits_hash", "with --logits-hash", .asked = has_hash, .pattern = "^[0-9a-f]{16}$"),
    {0},
};
const struct ggs_object ggs_run_result_object = {
    .text = "What the built-in runner generated, and how fast.", .fields = fields, .lines = true};
