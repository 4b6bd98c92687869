#include "engine/run/run-session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "engine/load.h"
#include "engine/run/run-options.h"
#include "engine/run/run-placement.h"

#include "ggml-backend.h"
#include "ggml-cpu.h"

// ---- the model ----

// The head of a GGUF file: magic, version, tensors, key-values.
struct gguf_head {
    char     magic[4];
    uint32_t version;
    uint64_t tensors;
    uint64_t key_values;
};

// Checks a file before the engine does, whose messages for these cases are obscure.
static int check_file(const char * path, struct gguf_head * head, uint64_t * size, struct ggs_error * error) {
    // Without O_NONBLOCK a FIFO would block here.
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return ggs_fail_errno(error, "cannot open the model %s", path);
    struct stat status;
    memset(head, 0, sizeof(*head));
    int     stat_failed = fstat(file, &status);
    ssize_t got         = stat_failed == 0 && S_ISREG(status.st_mode) ? pread(file, head, sizeof(*head), 0) : 0;
    int     reason      = errno;
    close(file);
    errno = reason;
    if (stat_failed != 0 || got < 0) return ggs_fail_errno(error, "cannot read the model %s", path);
    if (S_ISDIR(status.st_mode)) return ggs_fail(error, GGS_FORMAT, "%s is a directory, not a GGUF file", path);
    if (!S_ISREG(status.st_mode))
        return ggs_fail(error, GGS_FORMAT, "%s is not a regular file; copy the model to a disk first", path);
    if (got == 0) return ggs_fail(error, GGS_FORMAT, "%s is empty, not a GGUF file", path);
    if (got < 4 || memcmp(head->magic, "GGUF", 4) != 0)
        return ggs_fail(error, GGS_FORMAT, "%s is not a GGUF file: bad magic at offset 0", path);
    *size = (uint64_t) status.st_size;
    if (*size < sizeof(*head))
        return ggs_fail(error, GGS_FORMAT, "%s is a truncated GGUF file: it ends after %llu bytes, inside the header",
                        path, (unsigned long long) *size);
    return GGS_OK;
}

static int explain_load_failure(const struct ggs_session * session, const struct gguf_head * head, uint64_t size,
                                struct ggs_error * error) {
    static const char * const truncation[] = {"not within the file bounds", "remaining file size", "failed to read"};
    const char *              path         = session->path;
    const char *              cause        = ggs_engine_log_cause(&session->engine->log, "no reason given");
    for (size_t i = 0; i < sizeof(truncation) / sizeof(truncation[0]); i++) {
        if (strstr(cause, truncation[i]) == NULL) continue;
        return ggs_fail(error, GGS_FORMAT,
                        "%s is a truncated or damaged GGUF file of %llu bytes: %s; copy or download it again", path,
                        (unsigned long long) size, cause);
    }
    if (strstr(cause, "unknown model architecture") != NULL) {
        return ggs_fail(error, GGS_UNSUPPORTED, "%s: %s; llama.cpp %s cannot run it, a newer one might (--engine DIR)",
                        path, cause, session->engine->version);
    }
    // The first file of a split model may have no tensors either; loading then fails for another
    // reason.
    if (head->version >= 2 && head->tensors == 0) {
        return ggs_fail(
            error, GGS_FORMAT,
            "%s holds no tensors, only metadata such as a vocabulary; generating text needs a model with weights",
            path);
    }
    return ggs_fail(error, GGS_FORMAT, "%s: the engine cannot load this model: %s", path, cause);
}

static bool on_load_progress(float progress, void * context) {
    const struct ggs_session * session = context;
    (void) progress;
    return *session->interrupted == 0;
}

static int model_params(struct ggs_session * session, const struct ggs_run_options * options,
                        struct llama_model_params * params, struct ggs_error * error) {
    *params                             = llama_model_default_params();
    params->progress_callback           = on_load_progress;
    params->progress_callback_user_data = session;
#ifdef HAVE_LLAMA_LOAD_MODE
    params->load_mode = options->no_mmap ? LLAMA_LOAD_MODE_NONE : LLAMA_LOAD_MODE_MMAP;
#else
    params->use_mmap = !options->no_mmap;
#endif
#ifdef HAVE_LLAMA_USE_EXTRA_BUFTS
    params->use_extra_bufts = !options->no_repack;
    (void) error;
#else
    if (options->no_repack)
        return ggs_fail(error, GGS_UNSUPPORTED, "--no-repack: this release of llama.cpp has no such switch");
#endif
    return GGS_OK;
}

int ggs_session_load(struct ggs_session * session, struct ggs_engine * engine, const struct ggs_run_options * options,
                     const volatile sig_atomic_t * interrupted, struct ggs_error * error) {
    session->engine         = engine;
    session->path           = options->model;
    session->interrupted    = interrupted;
    struct gguf_head head   = {0};
    uint64_t         size   = 0;
    int              status = check_file(options->model, &head, &size, error);
    if (status < 0) return status;
    struct llama_model_params params;
    struct ggs_placement      placement;
    status = model_params(session, options, &params, error);
    if (status == 0) status = ggs_placement_apply(&placement, options, &params, error);
    if (status < 0) return status;

    ggs_engine_log_clear(&engine->log);
    session->model = llama_model_load_from_file(options->model, params);
    ggs_placement_release(&placement);
    if (session->model == NULL && *interrupted != 0) return ggs_fail(error, GGS_ABSENT, "%s", "");
    if (session->model == NULL) return explain_load_failure(session, &head, size, error);
    if (llama_model_has_encoder(session->model) || !llama_model_has_decoder(session->model)) {
        return ggs_fail(error, GGS_UNSUPPORTED, "%s has an encoder; only decoder models can be run", options->model);
    }
    session->vocab = llama_model_get_vocab(session->model);
    if (llama_vocab_type(session->vocab) == LLAMA_VOCAB_TYPE_NONE) {
        return ggs_fail(error, GGS_UNSUPPORTED, "%s has no vocabulary, so a prompt cannot be turned into tokens",
                        options->model);
    }
    return GGS_OK;
}

int ggs_session_tokenize(const struct ggs_session * session, const char * text, size_t length, llama_token ** tokens,
                         uint32_t * count, struct ggs_error * error) {
    if (length == 0) return ggs_fail(error, GGS_USAGE, "the prompt is empty; give at least one character");
    if (length > INT32_MAX)
        return ggs_fail(error, GGS_USAGE, "the prompt has %zu bytes; the engine takes at most %d", length, INT32_MAX);
    // Without an output buffer the count is returned negated.
    int32_t needed = llama_tokenize(session->vocab, text, (int32_t) length, NULL, 0, true, true);
    if (needed == INT32_MIN || needed > 0)
        return ggs_fail(error, GGS_USAGE, "the prompt has too many tokens for the engine");
    if (needed == 0)
        return ggs_fail(error, GGS_USAGE, "the prompt has no tokens in the vocabulary of %s", session->path);
    *tokens = calloc((size_t) -needed, sizeof(**tokens));
    if (*tokens == NULL) return ggs_fail_memory(error);
    *count = (uint32_t) llama_tokenize(session->vocab, text, (int32_t) length, *tokens, -needed, true, true);
    return GGS_OK;
}

// ---- the context ----

// For --eval-callback: requests every node, as tools built on the callback do.
static bool observe_node(struct ggml_tensor * node, bool ask, void * context) {
    (void) node, (void) ask, (void) context;
    return true;
}

// Returns the requested context size, else what the work needs, up to the model's training context.
// The last generated token is never decoded and takes no place.
static int context_size(const struct ggs_session * session, const struct ggs_run_options * options, uint32_t prompt,
                        uint32_t * size, struct ggs_error * error) {
    enum { SMALLEST = 512 };
    int32_t  trained = llama_model_n_ctx_train(session->model);
    uint64_t needed  = (uint64_t) prompt + options->tokens - 1;
    uint64_t limit   = options->context > 0 ? options->context : trained > 0 ? (uint32_t) trained : INT32_MAX;
    if (prompt > limit) {
        return ggs_fail(error, GGS_USAGE,
                        "the prompt of %u tokens is longer than the context of %llu; shorten it or raise --ctx", prompt,
                        (unsigned long long) limit);
    }
    if (needed > limit) {
        return ggs_fail(
            error, GGS_USAGE,
            "%u prompt tokens and %u generated ones need a context of %llu, but it holds %llu; lower -n or raise --ctx",
            prompt, options->tokens, (unsigned long long) needed, (unsigned long long) limit);
    }
    if (options->context > 0) {
        *size = options->context;
    } else {
        *size = (uint32_t) (needed > SMALLEST ? needed : limit < SMALLEST ? limit : SMALLEST);
    }
    return GGS_OK;
}

// Without a pool of its own the engine makes new threads for every graph, at half the speed on
// small models. The functions are looked up because the CPU backend may be a library of its own
// that only ggml has opened.
static void attach_pool(struct ggs_session * session, uint32_t threads) {
    ggml_backend_reg_t cpu = ggml_backend_dev_backend_reg(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU));
    struct ggml_threadpool * (*create)(struct ggml_threadpool_params *);
    *(void **) &create = ggml_backend_reg_get_proc_address(cpu, "ggml_threadpool_new");
    if (create == NULL) return;
    struct ggml_threadpool_params params;
    ggml_threadpool_params_init(&params, (int) threads);
    session->pool = create(&params);
    if (session->pool != NULL) llama_attach_threadpool(session->context, session->pool, session->pool);
}

static void free_pool(struct ggml_threadpool * pool) {
    ggml_backend_reg_t cpu = ggml_backend_dev_backend_reg(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU));
    void (*destroy)(struct ggml_threadpool *);
    *(void **) &destroy = ggml_backend_reg_get_proc_address(cpu, "ggml_threadpool_free");
    if (destroy != NULL) destroy(pool);
}

static struct llama_sampler * new_sampler(const struct ggs_run_options * options) {
    if (options->temperature <= 0) return llama_sampler_init_greedy();
    struct llama_sampler * chain = llama_sampler_chain_init(llama_sampler_chain_default_params());
    llama_sampler_chain_add(chain, llama_sampler_init_temp(options->temperature));
    llama_sampler_chain_add(chain, llama_sampler_init_dist(options->seed));
    return chain;
}

static int choose_flash_attention(const char * mode, struct llama_context_params * params, struct ggs_error * error) {
    bool on = strcmp(mode, "on") == 0, off = strcmp(mode, "off") == 0;
    if (!on && !off && strcmp(mode, "auto") != 0)
        return ggs_fail(error, GGS_USAGE, "--flash-attn is on, off or auto, not '%s'", mode);
#ifdef HAVE_LLAMA_FLASH_ATTN_TYPE
    params->flash_attn_type = on    ? LLAMA_FLASH_ATTN_TYPE_ENABLED
                              : off ? LLAMA_FLASH_ATTN_TYPE_DISABLED
                                    : LLAMA_FLASH_ATTN_TYPE_AUTO;
#else
    params->flash_attn = on; // older releases do not choose by themselves
#endif
    return 0;
}

int ggs_session_start(struct ggs_session * session, const struct ggs_run_options * options, uint32_t prompt,
                      struct ggs_error * error) {
    struct llama_context_params params = llama_context_default_params();
    int                         status = context_size(session, options, prompt, &params.n_ctx, error);
    if (status == 0 && options->flash_attn != NULL)
        status = choose_flash_attention(options->flash_attn, &params, error);
    if (status < 0) return status;
    if (options->batch > 0) params.n_batch = options->batch;
    if (options->ubatch > 0) params.n_ubatch = options->ubatch;
    params.n_threads       = (int32_t) options->threads;
    params.n_threads_batch = (int32_t) options->threads;
    if (options->eval_callback) params.cb_eval = observe_node;

    ggs_engine_log_clear(&session->engine->log);
    session->context = llama_init_from_model(session->model, params);
    if (session->context == NULL) {
        return ggs_fail(error, GGS_UNSUPPORTED, "%s: the engine cannot make a context of %u tokens (--ctx): %s",
                        session->path, params.n_ctx, ggs_engine_log_cause(&session->engine->log, "no reason given"));
    }
    // The engine may have adjusted the requested values.
    session->batch  = llama_n_batch(session->context);
    session->wanted = malloc(session->batch);
    if (session->wanted == NULL) return ggs_fail_memory(error);
    attach_pool(session, options->threads);
    session->sampler = new_sampler(options);
    return session->sampler == NULL ? ggs_fail_memory(error) : GGS_OK;
}

int ggs_session_decode(struct ggs_session * session, llama_token * tokens, uint32_t count, enum ggs_logits logits,
                       struct ggs_error * error) {
    struct llama_batch batch = llama_batch_get_one(tokens, (int32_t) count);
    memset(session->wanted, logits == GGS_LOGITS_ALL, count);
    if (logits != GGS_LOGITS_NONE) session->wanted[count - 1] = 1;
    batch.logits = session->wanted;
    ggs_engine_log_clear(&session->engine->log);
    int32_t result = llama_decode(session->context, batch);
    if (result != 0) {
        return ggs_fail(
            error, GGS_UNSUPPORTED, "the engine failed at token %llu (llama_decode returned %d): %s",
            (unsigned long long) session->position, result,
            ggs_engine_log_cause(&session->engine->log, result == 1 ? "the context is full" : "no reason given"));
    }
    llama_synchronize(session->context);
    session->position += count;
    if (logits != GGS_LOGITS_NONE && llama_get_logits_ith(session->context, -1) == NULL) {
        return ggs_fail(error, GGS_UNSUPPORTED, "%s gives no logits, so no text can be generated with it",
                        session->path);
    }
    return GGS_OK;
}

llama_token ggs_session_sample(struct ggs_session * session) {
    return llama_sampler_sample(session->sampler, session->context, -1);
}

void ggs_session_close(struct ggs_session * session) {
    if (session->sampler != NULL) llama_sampler_free(session->sampler);
    if (session->context != NULL) llama_free(session->context);
    if (session->pool != NULL) free_pool(session->pool);
    if (session->model != NULL) llama_model_free(session->model);
    free(session->wanted);
    *session = (struct ggs_session){0};
}
