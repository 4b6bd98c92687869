// A program with one planted mistake, to test whether ggscope explain names it.
//     plant-host MISTAKE [-t THREADS] [-n TOKENS] MODEL
// The last line is a JSON object with the truth, measured by the program: "prompt_ns",
// "generate_ns", "between_ns" (its own work between decodes) and more.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "engine/load.h"

#include "ggml-backend.h"
#include "llama.h"

enum { BATCH = 1024, CONTEXT = 4096, BETWEEN_NS = 8000000 };

static struct { int threads, tokens; } options = {.threads = 1, .tokens = 24};

struct host {
    struct llama_model *   model;
    struct llama_context * context;
    llama_memory_t         memory;
    struct llama_batch     batch;
    int                    vocabulary;
    int                    kept[CONTEXT]; // tokens of sequence 0 that are in the cache
    int                    n_kept;
};

static struct { int64_t prompt_ns, generate_ns, between_ns, queued_ns, prompt_tokens, recomputed, shifts; } truth;

__attribute__((noreturn)) static void die(const char * what) {
    fprintf(stderr, "plant-host: %s failed\n", what);
    exit(1);
}

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t) t.tv_sec * 1000000000 + t.tv_nsec;
}

static struct host open_host(const char * path) {
    static ggml_backend_dev_t   no_devices[] = {NULL};
    struct llama_model_params   model        = llama_model_default_params();
    struct llama_context_params params       = llama_context_default_params();
    model.devices                            = no_devices;
    params.n_ctx                             = CONTEXT;
    params.n_batch                           = BATCH;
    params.n_seq_max                         = 1;
    params.n_threads = params.n_threads_batch = options.threads;
    struct host host                          = {.model = llama_model_load_from_file(path, model)};
    if (host.model == NULL) die("loading the model");
    host.context = llama_init_from_model(host.model, params);
    if (host.context == NULL) die("making a context");
    host.memory     = llama_get_memory(host.context);
    host.batch      = llama_batch_init(BATCH, 0, 1);
    host.vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(host.model));
    return host;
}

static void close_host(struct host * host) {
    llama_batch_free(host->batch);
    llama_free(host->context);
    llama_model_free(host->model);
}

static void add(struct host * host, int token, bool output) {
    struct llama_batch * batch = &host->batch;
    int                  i     = batch->n_tokens++;
    batch->token[i]            = token;
    batch->pos[i]              = host->n_kept;
    batch->n_seq_id[i]         = 1;
    batch->seq_id[i][0]        = 0;
    batch->logits[i]           = output;
    host->kept[host->n_kept++] = token;
}

static void decode(struct host * host) {
    if (llama_decode(host->context, host->batch) != 0) die("llama_decode");
    host->batch.n_tokens = 0;
}

static int likeliest(struct host * host) {
    const float * logits = llama_get_logits_ith(host->context, -1);
    int           best   = 0;
    if (logits == NULL) die("llama_get_logits_ith");
    for (int i = 1; i < host->vocabulary; i++)
        if (logits[i] > logits[best]) best = i;
    return best;
}

static void work(int64_t ns) {
    int64_t begin = now();
    while (now() - begin < ns) {}
    truth.between_ns += now() - begin;
}

static void generate(struct host * host, int n, int64_t between_ns) {
    int64_t begin = now();
    for (int i = 0; i < n; i++) {
        int token = likeliest(host);
        if (between_ns > 0) work(between_ns);
        add(host, token, true);
        decode(host);
    }
    truth.generate_ns += now() - begin;
}

static int token_at(int position, int salt) {
    return 3 + (position * 31 + salt * 7) % 900;
}

// ---- mistakes ----

enum { PROMPT = 160, TURN = 300, TURNS = 4, QUEUED = 5 };

// `outputs`: requests outputs of every token. `pieces`: one decode per token.
static void feed_prompt(struct host * host, bool outputs, bool pieces) {
    int64_t begin = now();
    for (int i = 0; i < PROMPT; i++) {
        add(host, token_at(i, 0), outputs || i == PROMPT - 1);
        if (pieces || i == PROMPT - 1) decode(host);
    }
    truth.prompt_ns += now() - begin;
    truth.prompt_tokens += PROMPT;
}

static void run_healthy(struct host * host) {
    feed_prompt(host, false, false);
    generate(host, options.tokens, 0);
}
static void run_between(struct host * host) {
    feed_prompt(host, false, false);
    generate(host, options.tokens, BETWEEN_NS);
}
static void run_pieces(struct host * host) {
    feed_prompt(host, false, true);
    generate(host, options.tokens, 0);
}
static void run_pieces_logits(struct host * host) {
    feed_prompt(host, true, true);
    generate(host, options.tokens, 0);
}
static void run_logits(struct host * host) {
    feed_prompt(host, true, false);
    generate(host, options.tokens, 0);
}

// A prompt whose beginning may be in the cache.
static void ask(struct host * host, const int * tokens, int n) {
    int     same  = 0;
    int64_t begin = now();
    while (same < host->n_kept && same < n - 1 && host->kept[same] == tokens[same]) same++;
    if (!llama_memory_seq_rm(host->memory, 0, same, -1)) die("llama_memory_seq_rm");
    host->n_kept = same;
    for (int i = same; i < n; i++) add(host, tokens[i], i == n - 1);
    truth.prompt_tokens += n - same;
    decode(host);
    truth.prompt_ns += now() - begin;
}

// Turns of a chat. `changes`: the first token differs each time, like a date in a system prompt.
static void chat(struct host * host, bool changes) {
    int tokens[CONTEXT], n = TURN;
    for (int i = 0; i < n; i++) tokens[i] = token_at(i, 0);
    for (int turn = 0; turn < TURNS; turn++) {
        if (changes) tokens[0] = 100 + turn;
        if (turn > 0 && changes) truth.recomputed += n - 20 - 1;
        ask(host, tokens, n);
        generate(host, 4, 0);
        for (int i = 0; i < 20; i++) tokens[n++] = token_at(i, turn + 1);
    }
}
static void run_miss(struct host * host) {
    chat(host, true);
}
static void run_hit(struct host * host) {
    chat(host, false);
}

// Concurrent requests for one slot.
static void run_queue(struct host * host) {
    int     tokens[64];
    int64_t begin = now();
    for (int r = 0; r < QUEUED; r++) {
        truth.queued_ns += now() - begin;
        for (int i = 0; i < 64; i++) tokens[i] = token_at(i, r + 1);
        ask(host, tokens, 64);
        generate(host, options.tokens, 0);
    }
}

// A window of WINDOW tokens: each token drops the oldest one and shifts all others.
static void run_shift(struct host * host) {
    enum { WINDOW = 1000 };
    int64_t begin = now();
    for (int i = 0; i < WINDOW; i++) add(host, token_at(i, 0), i == WINDOW - 1);
    decode(host);
    truth.prompt_ns += now() - begin;
    for (int i = 0; i < options.tokens; i++) {
        // Every other token, so that there are plain ones to compare with.
        if (i % 2 == 1) {
            llama_memory_seq_rm(host->memory, 0, 0, 2);
            llama_memory_seq_add(host->memory, 0, 2, -1, -2);
            host->n_kept -= 2;
            truth.shifts++;
        }
        generate(host, 1, 0);
    }
}

static const struct {
    const char * name;
    void (*run)(struct host * host);
} mistakes[] = {
    {"healthy", run_healthy}, {"between", run_between}, {"pieces", run_pieces}, {"pieces-logits", run_pieces_logits},
    {"logits", run_logits},   {"miss", run_miss},       {"hit", run_hit},       {"queue", run_queue},
    {"shift", run_shift},
};

static void print_truth(void) {
    printf("{\"prompt_ns\":%lld,\"generate_ns\":%lld,\"between_ns\":%lld,\"queued_ns\":%lld,\"prompt_tokens\":%lld,"
           "\"recomputed\":%lld,\"shifts\":%lld}\n",
           (long long) truth.prompt_ns, (long long) truth.generate_ns, (long long) truth.between_ns,
           (long long) truth.queued_ns, (long long) truth.prompt_tokens, (long long) truth.recomputed,
           (long long) truth.shifts);
}

int main(int argc, char ** argv) {
    struct ggs_error error;
    int              option;
    while ((option = getopt(argc - 1, argv + 1, "t:n:")) != -1) {
        if (option == 't') options.threads = atoi(optarg);
        if (option == 'n') options.tokens = atoi(optarg);
        if (option == '?') return 2;
    }
    if (argc < 3 || optind + 1 != argc - 1) {
        fprintf(stderr, "plant-host MISTAKE [-t THREADS] [-n TOKENS] MODEL\n");
        return 2;
    }
    if (ggs_engine_load(NULL, &error) < 0) die(error.text);
    for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
        if (strcmp(mistakes[i].name, argv[1]) != 0) continue;
        struct host host = open_host(argv[argc - 1]);
        mistakes[i].run(&host);
        close_host(&host);
        print_truth();
        return 0;
    }
    fprintf(stderr, "plant-host: there is no mistake %s\n", argv[1]);
    return 2;
}
