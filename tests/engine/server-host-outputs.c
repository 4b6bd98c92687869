// Patterns about outputs: which are sampled from, which are read, which belong to several requests.
#include <unistd.h>

#include "server-host.h"

// ---- outputs that are not sampled ----

static void run_embeddings(struct server * server) {
    for (int round = 0; round < 2; round++) {
        for (int s = 0; s < 3; s++) {
            int n = round == 1 && s == 0 ? 1 : 4 + s; // one token has one output, as a prompt that is sampled from
            for (int i = 0; i < n; i++) add_token(server, token_at(i, s), i, s, true);
            struct request * request = new_request(server->number, s, 0);
            request->kind = "embedding", request->prompt = n;
        }
        decode_reading_nothing(server);
        for (int s = 0; s < 3; s++)
            if (llama_get_embeddings_seq(server->context, s) == NULL) die("llama_get_embeddings_seq");
        llama_memory_clear(server->memory, true);
    }
}

// Ends after the last decode, whose embedding is not read.
static void run_embeddings_cut(struct server * server) {
    for (int i = 0; i < 3; i++) {
        struct request * request = new_request(server->number, 0, 0);
        request->kind = i < 2 ? "embedding" : "prompt", request->prompt = 1;
        add_tokens(server, 0, 0, 1, true);
        decode_reading_nothing(server);
        if (i < 2 && llama_get_embeddings_seq(server->context, 0) == NULL) die("llama_get_embeddings_seq");
        if (i < 2) llama_memory_clear(server->memory, true);
    }
}

// One after the other, each in its own sequence, with pauses.
static void run_embeddings_slowly(struct server * server) {
    for (int s = 0; s < SLOTS; s++) {
        if (s > 0) usleep(200000);
        struct request * request = new_request(server->number, s, 0);
        request->kind = "embedding", request->prompt = 3 + s;
        for (int i = 0; i < 3 + s; i++) add_token(server, token_at(i, s), i, s, true);
        decode_reading_nothing(server);
        if (llama_get_embeddings_seq(server->context, s) == NULL) die("llama_get_embeddings_seq");
    }
}

// Chunks of a text whose second halves are scored.
static void run_perplexity(struct server * server) {
    for (int chunk = 0; chunk < 4; chunk++) {
        llama_memory_clear(server->memory, true);
        for (int i = 0; i < 32; i++) add_token(server, token_at(i, chunk), i, 0, i >= 16);
        struct request * request = new_request(server->number, 0, 0);
        request->kind = "scoring", request->prompt = 32;
        decode(server);
    }
}

// A prompt that is scored, and then answered.
static void run_echo(struct server * server) {
    struct request * request = new_request(server->number, 2, 0);
    for (int i = 0; i < 7; i++) add_token(server, token_at(i, 2), i, 2, true);
    decode(server);
    request->prompt = 7, request->generated = 1;
    for (int i = 0; i < 4; i++) {
        feed(server, 2, 7 + i, 1, true);
        request->generated++;
    }
}

// ---- outputs that are not read ----

// A prompt that is fed token by token, each with an output.
static void run_one_by_one(struct server * server) {
    enum { PROMPT = 6 };
    struct request * request = new_request(server->number, 0, 0);
    for (int i = 0; i < PROMPT; i++) {
        add_tokens(server, 0, i, 1, true);
        if (i < PROMPT - 1) decode_reading_nothing(server);
    }
    decode(server);
    request->prompt = PROMPT, request->generated = 1;
    for (int i = 0; i < 3; i++) feed(server, 0, PROMPT + i, 1, true), request->generated++;
}

// Decodes the last generated token, whose output is not used.
static void run_unused(struct server * server) {
    struct request * request = complete(server, 0, 0, 5, 4);
    add_tokens(server, 0, 8, 1, true);
    decode_reading_nothing(server);
    request->decoded = 4, request->unused = 1;
    complete(server, 0, 9, 3, 2); // the next turn
}

// Reads no output: a benchmark. Warms up first, with a prompt in pieces and one token.
static void run_benchmark(struct server * server) {
    enum { COUNT = 40, EACH = 4 };
    for (int i = 0; i <= COUNT; i++) {
        int n = i < COUNT ? EACH : 1;
        add_tokens(server, 0, i * EACH, n, true);
        decode_reading_nothing(server);
        struct request * warmup = new_request(server->number, 0, i * EACH);
        warmup->kind = "warmup", warmup->prompt = n;
    }
    for (int n = 1; n <= 3; n++) {
        int prompt = n == 3 ? 0 : 8;
        llama_memory_clear(server->memory, false);
        for (int s = 0; s < n; s++) {
            struct request * request = new_request(server->number, s, 0);
            request->prompt          = prompt;
            request->generated = request->decoded = request->unused = 5;
            if (prompt > 0) add_tokens(server, s, 0, prompt, true);
        }
        if (prompt > 0) decode_reading_nothing(server);
        for (int i = 0; i < 5; i++) {
            for (int s = 0; s < n; s++) add_tokens(server, s, prompt + i, 1, true);
            decode_reading_nothing(server);
        }
    }
}

// Like a benchmark that does not warm up: a prompt in two pieces, three times.
static void run_benchmark_cold(struct server * server) {
    for (int i = 0; i < 2; i++) llama_memory_clear(server->memory, false);
    for (int round = 0; round < 3; round++) {
        if (round > 0) llama_memory_clear(server->memory, false);
        for (int piece = 0; piece < 2; piece++) {
            add_tokens(server, 0, 16 * piece, 16, true);
            decode_reading_nothing(server);
        }
        struct request * request = new_request(server->number, 0, 0);
        request->kind = "prompt", request->prompt = 32;
    }
}

// One that warms up, and repeats a single token more often than a server has probes.
static void run_benchmark_short(struct server * server) {
    for (int round = -1; round < 10; round++) {
        llama_memory_clear(server->memory, false);
        add_tokens(server, 0, 0, 1, true);
        decode_reading_nothing(server);
        struct request * request = new_request(server->number, 0, 0);
        if (round < 0)
            request->kind = "warmup", request->prompt = 1;
        else
            request->generated = request->decoded = request->unused = 1;
    }
}

// A chat that is left before it answers: the token that begins a text, then two lines.
static void run_unanswered(struct server * server) {
    static const int pieces[] = {1, 5, 6};
    struct request * request  = new_request(server->number, 0, 0);
    for (int i = 0; i < 3; request->prompt += pieces[i++]) {
        add_tokens(server, 0, request->prompt, pieces[i], true);
        decode_reading_nothing(server);
    }
}

// Answers of one token, each in an empty memory: as short as a warm-up, but they are read.
static void run_at_once(struct server * server) {
    for (int i = 0; i < 3; i++) {
        if (i > 0) llama_memory_clear(server->memory, true);
        complete(server, 0, 0, i == 1 ? 1 : 5, 1);
    }
    complete(server, 0, 5, 3, 2);
}

// Like a server that answers a prompt several times, with one token each or with three: the first
// token of all comes from the same output.
static void run_samples(struct server * server) {
    for (int generate = 1; generate <= 3; generate += 2) {
        struct request * all[3];
        for (int s = 0; s < 3; s++) {
            set_sampler(server, s);
            all[s]            = new_request(server->number, s, s == 0 ? 0 : 6);
            all[s]->prompt    = s == 0 ? 6 : 0;
            all[s]->generated = generate;
        }
        seq_rm(server->memory, 0, -1, -1);
        add_tokens(server, 0, 0, 6, true);
        if (llama_decode(server->context, server->batch) != 0) die("llama_decode");
        server->batch.n_tokens = 0;
        for (int s = 1; s < 3; s++) {
            seq_rm(server->memory, s, -1, -1);
            llama_memory_seq_cp(server->memory, 0, s, -1, -1);
        }
        if (llama_get_logits_ith(server->context, 5) == NULL) die("llama_get_logits_ith");
        for (int i = 1; i < generate; i++) {
            for (int s = 0; s < 3; s++) add_token(server, token_at(i, s), 5 + i, s, true);
            decode(server);
        }
        for (int s = 0; s < 3; s++) {
            if (s > 0) seq_rm(server->memory, s, -1, -1);
            set_sampler(server, s);
        }
    }
}

// A text with an image in its middle, which a program feeds as embeddings.
static void run_image(struct server * server) {
    enum { TEXT = 5, IMAGE = 16 };
    struct request *   request = new_request(server->number, 0, 0);
    int                values  = llama_model_n_embd(server->model);
    struct llama_batch image   = llama_batch_init(IMAGE, values, 1);
    feed(server, 0, 0, TEXT, false);
    for (int i = 0; i < IMAGE * values; i++) image.embd[i] = (float) (i % 7) * 0.01f;
    for (image.n_tokens = 0; image.n_tokens < IMAGE; image.n_tokens++) {
        int i              = image.n_tokens;
        image.pos[i]       = TEXT + i;
        image.n_seq_id[i]  = 1;
        image.seq_id[i][0] = 0;
        image.logits[i]    = 0;
    }
    if (llama_decode(server->context, image) != 0) die("llama_decode of an image");
    llama_batch_free(image);
    feed(server, 0, TEXT + IMAGE, 4, true);
    request->prompt = TEXT + IMAGE + 4, request->generated = 1;
    for (int i = 0; i < 3; i++) feed(server, 0, request->prompt + i, 1, true), request->generated++;
}

const struct pattern output_patterns[] = {
    {.name = "embeddings", .run = run_embeddings, .options = EMBEDDINGS},
    {.name = "embeddings-cut", .run = run_embeddings_cut, .options = EMBEDDINGS},
    {.name = "embeddings-slowly", .run = run_embeddings_slowly, .options = EMBEDDINGS},
    {.name = "perplexity", .run = run_perplexity},
    {.name = "echo", .run = run_echo},
    {.name = "one-by-one", .run = run_one_by_one},
    {.name = "unused", .run = run_unused},
    {.name = "benchmark", .run = run_benchmark},
    {.name = "benchmark-short", .run = run_benchmark_short},
    {.name = "benchmark-cold", .run = run_benchmark_cold},
    {.name = "unanswered", .run = run_unanswered},
    {.name = "at-once", .run = run_at_once},
    {.name = "samples", .run = run_samples},
    {.name = "image", .run = run_image},
    {0},
};
