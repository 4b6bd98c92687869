#include "engine/run/run.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/error.h"
#include "base/json.h"
#include "base/system/file.h"
#include "base/text.h"
#include "engine/load.h"
#include "engine/run/run-options.h"
#include "engine/run/run-result.h"
#include "engine/run/run-session.h"
#include "engine/run/run-teacher.h"
#include "engine/run/run-text.h"

#include "base/system/clock.h"
#include "llama.h"

enum { EXIT_INTERRUPTED = 130 };

// Set by the signal handler.
static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number) {
    (void) signal_number;
    interrupted = 1;
}

// The first SIGINT ends the run after the current token, the second one ends the process.
static void catch_interrupt(void) {
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND | SA_RESTART};
    struct sigaction before;
    sigemptyset(&action.sa_mask);
    // Background jobs start with the signal ignored, which must stay so.
    if (sigaction(SIGINT, NULL, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(SIGINT, &action, NULL);
}

// The state of one run.
struct run {
    struct ggs_run_options options;
    struct ggs_engine *    engine;
    struct ggs_session     session;
    struct ggs_run_text    shown;
    struct ggs_text        prompt_text;
    struct ggs_text        text;
    llama_token *          prompt;
    uint32_t               prompt_tokens;
    llama_token *          tokens; // options.tokens of them
    uint32_t               generated;
    const char *           stopped; // "length", "end" or "interrupt"
    uint64_t               load_ns;
    uint64_t               prompt_ns;
    uint64_t               generate_ns;     // decoding and sampling after the prompt
    uint64_t               generate_cpu_ns; // processor time of all threads in that time
    uint64_t *             token_ns;        // decoding and sampling of each token after the first
    XXH3_state_t *         hash;
};

// ---- input ----

static int read_prompt(struct run * run, struct ggs_error * error) {
    const char * path = run->options.prompt_file;
    if (run->options.teacher != NULL)
        return ggs_run_teacher_read(run->options.teacher, &run->prompt, &run->prompt_tokens, error);
    if (path == NULL) {
        ggs_text_puts(&run->prompt_text, run->options.prompt);
        return run->prompt_text.failed ? ggs_fail_memory(error) : GGS_OK;
    }
    FILE * file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rbe");
    if (file == NULL) return ggs_fail_errno(error, "cannot open the prompt %s", path);
    char   buffer[65536];
    size_t got;
    while ((got = fread(buffer, 1, sizeof(buffer), file)) > 0 && run->prompt_text.length <= INT32_MAX)
        ggs_text_append(&run->prompt_text, buffer, got);
    int status = ferror(file)              ? ggs_fail_errno(error, "cannot read the prompt %s", path)
                 : run->prompt_text.failed ? ggs_fail_memory(error)
                                           : GGS_OK;
    if (file != stdin) fclose(file);
    return status;
}

// ---- generation ----

static void hash_logits(struct run * run, uint32_t outputs) {
    size_t size = (size_t) llama_vocab_n_tokens(run->session.vocab) * sizeof(float);
    for (uint32_t i = 0; i < outputs; i++) {
        const float * logits = llama_get_logits_ith(run->session.context, (int32_t) i);
        if (logits != NULL) XXH3_64bits_update(run->hash, logits, size);
    }
}

static int decode(struct run * run, llama_token * tokens, uint32_t count, bool last, uint64_t * spent_ns,
                  struct ggs_error * error) {
    enum ggs_logits logits = run->hash != NULL ? GGS_LOGITS_ALL : last ? GGS_LOGITS_LAST : GGS_LOGITS_NONE;
    uint64_t        begin  = ggs_clock_now();
    int             status = ggs_session_decode(&run->session, tokens, count, logits, error);
    *spent_ns += ggs_clock_now() - begin;
    if (status == GGS_OK && run->hash != NULL) hash_logits(run, count);
    return status;
}

static int feed_prompt(struct run * run, struct ggs_error * error) {
    for (uint32_t done = 0; done < run->prompt_tokens && !interrupted;) {
        uint32_t left   = run->prompt_tokens - done;
        uint32_t count  = left < run->session.batch ? left : run->session.batch;
        int      status = decode(run, run->prompt + done, count, count == left, &run->prompt_ns, error);
        if (status < 0) return status;
        done += count;
    }
    return GGS_OK;
}

static int emit(struct run * run, llama_token token, struct ggs_error * error) {
    char    small[128];
    char *  piece  = small;
    int32_t length = llama_token_to_piece(run->session.vocab, token, small, sizeof(small), 0, false);
    if (length < 0) {
        int32_t size = -length;
        piece        = malloc((size_t) size);
        if (piece == NULL) return ggs_fail_memory(error);
        length = llama_token_to_piece(run->session.vocab, token, piece, size, 0, false);
    }
    if (length > 0) {
        ggs_text_append(&run->text, piece, (size_t) length);
        if (!run->options.json) ggs_run_text_write(&run->shown, piece, (size_t) length);
    }
    if (piece != small) free(piece);
    if (run->text.failed) return ggs_fail_memory(error);
    if (ferror(stdout) && ggs_file_flush(stdout) != 0) return ggs_fail_errno(error, "cannot write the text to stdout");
    return GGS_OK;
}

// The prompt's decode yields the first token and the last token is not decoded, so N tokens take N
// decodes (if the prompt fits one batch). An end-of-text token counts as generated.
static int generate(struct run * run, struct ggs_error * error) {
    int status   = feed_prompt(run, error);
    run->stopped = "interrupt";
    if (interrupted && run->session.position < run->prompt_tokens) return status;
    uint64_t before    = 0; // generation time up to this token
    uint64_t cpu_begin = ggs_clock_read(CLOCK_PROCESS_CPUTIME_ID);
    while (status == GGS_OK) {
        uint64_t    begin   = ggs_clock_now();
        llama_token token   = ggs_session_sample(&run->session);
        uint64_t    sampled = ggs_clock_now() - begin;
        if (run->generated == 0) {
            run->prompt_ns += sampled;
        } else {
            run->generate_ns += sampled;
            run->token_ns[run->generated - 1] = run->generate_ns - before;
        }
        run->tokens[run->generated++] = token;
        status                        = emit(run, token, error);
        if (status < 0) break;
        if (!run->options.ignore_eos && llama_vocab_is_eog(run->session.vocab, token)) {
            run->stopped = "end";
            break;
        }
        if (run->generated == run->options.tokens) {
            run->stopped = "length";
            break;
        }
        if (interrupted) break;
        before = run->generate_ns;
        status = decode(run, &token, 1, true, &run->generate_ns, error);
    }
    run->generate_cpu_ns = ggs_clock_read(CLOCK_PROCESS_CPUTIME_ID) - cpu_begin;
    return status;
}

// ---- the report ----

static double milliseconds(uint64_t ns) {
    return (double) ns / 1e6;
}

// Excludes the first token, which belongs to the prompt; NAN if it is the only one.
static double generate_ms_per_token(const struct run * run) {
    return run->generated > 1 ? milliseconds(run->generate_ns) / (run->generated - 1) : NAN;
}

static int by_value(const void * a, const void * b) {
    uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;
    return x < y ? -1 : x > y;
}

// The median time per token, without the first, which belongs to the prompt. Unlike the mean, it is
// not affected by short load of the machine. -1 if there is none.
static int64_t median_token(const struct run * run) {
    uint32_t   n      = run->generated < 2 ? 0 : run->generated - 1;
    uint64_t * sorted = n == 0 ? NULL : malloc(n * sizeof(*sorted));
    if (sorted == NULL) return -1;
    memcpy(sorted, run->token_ns, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), by_value);
    int64_t median = (int64_t) sorted[n / 2];
    free(sorted);
    return median;
}

static void report_text(const struct run * run) {
    double prompt_ms = milliseconds(run->prompt_ns);
    double each_ms   = generate_ms_per_token(run);
    fprintf(stderr, "prompt    %6u tokens  %9.2f ms            %9.2f tokens/s\n", run->prompt_tokens, prompt_ms,
            run->prompt_tokens * 1000.0 / prompt_ms);
    if (isnan(each_ms)) {
        fprintf(stderr, "generate  %6u tokens\n", run->generated);
    } else {
        fprintf(stderr, "generate  %6u tokens  %9.2f ms per token  %9.2f tokens/s\n", run->generated, each_ms,
                1000.0 / each_ms);
    }
    fprintf(stderr, "threads   %6u         llama.cpp %s (%s)\n", run->options.threads, run->engine->version,
            run->engine->commit);
    if (run->hash != NULL) fprintf(stderr, "logits    %016" PRIx64 "\n", (uint64_t) XXH3_64bits_digest(run->hash));
}

static int report_json(const struct run * run, struct ggs_error * error) {
    struct ggs_json json;
    char            hash[17];
    if (run->hash != NULL) snprintf(hash, sizeof(hash), "%016" PRIx64, (uint64_t) XXH3_64bits_digest(run->hash));
    struct ggs_run_result result = {.text              = ggs_text_string(&run->text),
                                    .text_length       = run->text.length,
                                    .prompt_tokens     = run->prompt_tokens,
                                    .generated         = run->generated,
                                    .stopped           = run->stopped,
                                    .load_ns           = run->load_ns,
                                    .prompt_ns         = run->prompt_ns,
                                    .generate_ns       = run->generate_ns,
                                    .generate_cpu_ns   = run->generate_cpu_ns,
                                    .token_ns          = run->token_ns,
                                    .n_token_ns        = run->generated == 0 ? 0 : run->generated - 1,
                                    .median_ns         = median_token(run),
                                    .tokens_per_second = 1000.0 / generate_ms_per_token(run),
                                    .threads           = run->options.threads,
                                    .llama_version     = run->engine->version,
                                    .ggml_version      = run->engine->ggml_version,
                                    .ggml_commit       = run->engine->commit,
                                    .directory         = run->engine->paths.directory,
                                    .model             = run->options.model,
                                    .ids               = run->tokens,
                                    .logits_hash       = run->hash == NULL ? NULL : hash};
    ggs_json_init(&json, ggs_json_to_file, stdout, false);
    ggs_object_write(&json, NULL, &ggs_run_result_object, &result, NULL);
    int failed = ggs_json_finish(&json);
    fputc('\n', stdout);
    if (ggs_file_flush(stdout) != 0 || failed != 0) return ggs_fail_errno(error, "cannot write the result to stdout");
    return GGS_OK;
}

static int report(struct run * run, struct ggs_error * error) {
    if (run->options.json) return report_json(run, error);
    if (ggs_run_text_finish(&run->shown) != 0) return ggs_fail_errno(error, "cannot write the text to stdout");
    report_text(run);
    return GGS_OK;
}

// ---- the command ----

// Refuses a text of another vocabulary.
static int check_taught(const struct run * run, struct ggs_error * error) {
    int32_t most = llama_vocab_n_tokens(run->session.vocab);
    for (uint32_t i = 0; i < run->prompt_tokens; i++)
        if (run->prompt[i] >= most)
            return ggs_fail(error, GGS_USAGE,
                            "%s has token %d, but the vocabulary of %s ends at %d: record it with the same model",
                            run->options.teacher, run->prompt[i], run->options.model, most - 1);
    return 0;
}

static int prepare(struct run * run, struct ggs_error * error) {
    struct ggs_session * session = &run->session;
    // The prompt comes first, because it is the cheapest to check.
    int status = read_prompt(run, error);
    if (status < 0) return status;
    if (run->prompt_tokens == 0 && run->prompt_text.length == 0)
        return ggs_fail(error, GGS_USAGE, "the prompt is empty; give at least one character");
    status = ggs_engine_open(run->engine, run->options.engine, run->options.verbose, error);
    if (status < 0) return status;
    uint64_t begin = ggs_clock_now();
    status         = ggs_session_load(session, run->engine, &run->options, &interrupted, error);
    if (status < 0) return status;
    if (run->options.teacher != NULL)
        status = check_taught(run, error);
    else
        status = ggs_session_tokenize(session, ggs_text_string(&run->prompt_text), run->prompt_text.length,
                                      &run->prompt, &run->prompt_tokens, error);
    if (status < 0) return status;
    status = ggs_session_start(session, &run->options, run->prompt_tokens, error);
    if (status < 0) return status;
    run->load_ns = ggs_clock_now() - begin;

    run->tokens   = calloc(run->options.tokens, sizeof(*run->tokens));
    run->token_ns = calloc(run->options.tokens, sizeof(*run->token_ns));
    if (run->tokens == NULL || run->token_ns == NULL) return ggs_fail_memory(error);
    if (run->options.logits_hash) {
        run->hash = XXH3_createState();
        if (run->hash == NULL) return ggs_fail_memory(error);
        XXH3_64bits_reset(run->hash);
    }
    ggs_run_text_init(&run->shown, stdout);
    return GGS_OK;
}

static void release(struct run * run) {
    ggs_session_close(&run->session);
    ggs_text_release(&run->prompt_text);
    ggs_text_release(&run->text);
    free(run->prompt);
    free(run->tokens);
    free(run->token_ns);
    XXH3_freeState(run->hash);
}

int ggs_run_main(int argc, char ** argv) {
    // The engine writes to its log until the process ends.
    static struct ggs_engine engine;
    struct run               run    = {.engine = &engine};
    struct ggs_error         error  = {0};
    int                      status = ggs_run_options_parse(&run.options, argc, argv, &error);
    if (status == GGS_OK) {
        catch_interrupt();
        status = prepare(&run, &error);
    }
    if (status == GGS_OK) status = generate(&run, &error);
    if (status == GGS_OK) status = report(&run, &error);
    release(&run);
    if (status < 0 && error.text[0] != '\0') fprintf(stderr, "ggscope-engine: %s\n", error.text);
    if (interrupted) return EXIT_INTERRUPTED;
    return status < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
