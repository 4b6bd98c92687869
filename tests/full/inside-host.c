// A plain program on llama.cpp, to be linked with it statically or as shared libraries.
//     inside-host MODEL [THREADS [TOKENS]]
// Prints the ids that it generates and a hash of all logits.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llama.h"

#ifdef AS_LIBRARY
#define main host_main
__attribute__((visibility("default"))) int host_main(int argc, char ** argv);
#endif

static void quiet(enum ggml_log_level level, const char * text, void * data) {
    (void) data;
    if (level == GGML_LOG_LEVEL_ERROR) fputs(text, stderr);
}

static uint64_t hash(uint64_t h, const void * data, size_t size) {
    const uint8_t * bytes = data;
    for (size_t i = 0; i < size; i++) h = (h ^ bytes[i]) * 1099511628211u;
    return h;
}

static llama_token greatest(const float * logits, int n) {
    int best = 0;
    for (int i = 1; i < n; i++)
        if (logits[i] > logits[best]) best = i;
    return best;
}

int main(int argc, char ** argv) {
    int threads = argc > 2 ? atoi(argv[2]) : 1, wanted = argc > 3 ? atoi(argv[3]) : 4;
    llama_log_set(quiet, NULL);
    llama_backend_init();
#ifdef BACKENDS
    ggml_backend_load_all_from_path(BACKENDS);
#endif
    struct llama_model * model = llama_model_load_from_file(argv[1], llama_model_default_params());
    if (model == NULL) return 1;
    struct llama_context_params params = llama_context_default_params();
    params.n_ctx                       = 512;
    params.n_threads = params.n_threads_batch = threads;
    struct llama_context *     context        = llama_init_from_model(model, params);
    const struct llama_vocab * vocabulary     = llama_model_get_vocab(model);
    llama_token                tokens[64];
    int                        n = llama_tokenize(vocabulary, "Once upon a time", 16, tokens, 64, true, false);
    uint64_t                   h = 14695981039346656037u;
    if (context == NULL || n <= 0) return 1;
    for (int i = 0; i < wanted; i++) {
        if (i % 256 == 255) llama_memory_clear(llama_get_memory(context), true);
        if (llama_decode(context, llama_batch_get_one(tokens, n)) != 0) return 1;
        const float * logits = llama_get_logits_ith(context, -1);
        h                    = hash(h, logits, (size_t) llama_vocab_n_tokens(vocabulary) * sizeof(*logits));
        tokens[0]            = greatest(logits, llama_vocab_n_tokens(vocabulary));
        n                    = 1;
        printf("%d ", tokens[0]);
        fflush(stdout);
    }
    printf("%016llx\n", (unsigned long long) h);
    llama_free(context);
    llama_model_free(model);
    llama_backend_free();
    return 0;
}
