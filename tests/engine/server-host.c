// A program that feeds the engine as servers do, and prints what is true of it.
//     server-host PATTERN MODEL [DRAFT-MODEL]
// Tokens are made up: what is counted does not depend on them. The last line is a JSON object: for every request its context, sequence,
// kind, how many prompt tokens were computed, how many were there already, how many tokens were generated, and how many drafted ones were
// accepted and rejected; requests in the order of their first token. With SERVER_HOST_LOGITS in the environment the line before has a hash of all logits.
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "engine/load.h"

#include "ggml-backend.h"
#include "llama.h"

#include "older-releases.h"

enum { MOST = 256, SLOTS = 4, CHUNK = 8 };

__attribute__((noreturn)) static void die(const char * what) {
    fprintf(stderr, "server-host: %s failed\n", what);
    exit(1);
}

// ---- what is true ----

struct request {
    const char * kind;
    int          context, sequence;
    int          prompt, cached, generated, accepted, rejected;
};

static struct request requests[MOST];
static int            n_requests;

static struct request * new_request(int context, int sequence, int cached) {
    if (n_requests == MOST) die("remembering so many requests");
    requests[n_requests] =
        (struct request){.kind = "completion", .context = context, .sequence = sequence, .cached = cached};
    return &requests[n_requests++];
}

static void print_truth(void) {
    static const struct {
        const char * name;
        size_t       offset;
    } numbers[] = {
        {"context", offsetof(struct request, context)},     {"sequence", offsetof(struct request, sequence)},
        {"prompt", offsetof(struct request, prompt)},       {"cached", offsetof(struct request, cached)},
        {"generated", offsetof(struct request, generated)}, {"accepted", offsetof(struct request, accepted)},
        {"rejected", offsetof(struct request, rejected)},
    };
    struct ggs_json json;
    ggs_json_init(&json, ggs_json_to_file, stdout, false);
    ggs_json_object(&json, NULL);
    ggs_json_array(&json, "requests");
    for (int i = 0; i < n_requests; i++) {
        ggs_json_object(&json, NULL);
        bool cut =
            requests[i].generated == 0 && strcmp(requests[i].kind, "completion") == 0; // it never got to an output
        ggs_json_string(&json, "kind", cut ? "prompt" : requests[i].kind);
        for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++)
            ggs_json_i64(&json, numbers[k].name, *(const int *) ((const char *) &requests[i] + numbers[k].offset));
        ggs_json_end(&json);
    }
    ggs_json_end(&json);
    ggs_json_end(&json);
    if (ggs_json_finish(&json) != 0) die("writing");
    putchar('\n');
}

// ---- the engine ----

struct server {
    struct llama_model *   model;
    struct llama_context * context;
    llama_memory_t         memory;
    struct llama_batch     batch;
    int                    number;
};

// The engine's own function, if a pattern goes past any library that stands in between; else NULL.
static __typeof__(&llama_memory_seq_rm) real_seq_rm;

static void seq_rm(llama_memory_t memory, int sequence, int from, int to) {
    bool done =
        real_seq_rm != NULL ? real_seq_rm(memory, sequence, from, to) : llama_memory_seq_rm(memory, sequence, from, to);
    if (!done) die("llama_memory_seq_rm");
}

static struct server open_server(const char * path, int number, bool embeddings, bool apart) {
    static ggml_backend_dev_t   no_devices[] = {NULL};
    struct llama_model_params   model        = llama_model_default_params();
    struct llama_context_params params       = llama_context_default_params();
    model.devices                            = no_devices;
    model.n_gpu_layers                       = 0;
    params.n_ctx                             = 512;
    params.n_batch                           = 256;
    params.n_seq_max                         = SLOTS;
    params.n_threads = params.n_threads_batch = 1;
    params.kv_unified                         = !apart;
    params.embeddings                         = embeddings;
    if (embeddings) params.pooling_type = LLAMA_POOLING_TYPE_MEAN;
    struct server server = {.number = number, .model = llama_model_load_from_file(path, model)};
    if (server.model == NULL) die("loading the model");
    server.context = llama_init_from_model(server.model, params);
    if (server.context == NULL) die("making a context");
    server.memory = llama_get_memory(server.context);
    server.batch  = llama_batch_init(256, 0, SLOTS);
    return server;
}

static void close_server(struct server * server) {
    llama_batch_free(server->batch);
    llama_free(server->context);
    llama_model_free(server->model);
}

static llama_token token_at(int position, int salt) {
    return 3 + (position * 31 + salt * 7) % 900;
}

static void add_token(struct server * server, llama_token token, int position, int sequence, bool output) {
    struct llama_batch * batch = &server->batch;
    int                  i     = batch->n_tokens++;
    batch->token[i]            = token;
    batch->pos[i]              = position;
    batch->n_seq_id[i]         = 1;
    batch->seq_id[i][0]        = sequence;
    batch->logits[i]           = output;
}

static uint64_t logits_hash = 0xcbf29ce484222325u; // with SERVER_HOST_LOGITS, over all outputs of all decodes

static void hash_logits(struct server * server) {
    int rows = 0;
    for (int i = 0; i < server->batch.n_tokens; i++) rows += server->batch.logits[i] != 0;
    const float * logits  = rows == 0 ? NULL : llama_get_logits(server->context);
    int64_t       n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(server->model));
    for (int64_t i = 0; logits != NULL && i < rows * n_vocab; i++) {
        uint32_t bits;
        memcpy(&bits, &logits[i], sizeof(bits));
        logits_hash = (logits_hash ^ bits) * 0x100000001b3u;
    }
}

static void decode(struct server * server) {
    if (llama_decode(server->context, server->batch) != 0) die("llama_decode");
    if (getenv("SERVER_HOST_LOGITS") != NULL) hash_logits(server);
    server->batch.n_tokens = 0;
}

// n tokens from `position` on, an output for the last if wanted.
static void add_tokens(struct server * server, int sequence, int position, int n, bool output) {
    for (int i = 0; i < n; i++)
        add_token(server, token_at(position + i, sequence), position + i, sequence, output && i == n - 1);
}

static void feed(struct server * server, int sequence, int position, int n, bool output) {
    add_tokens(server, sequence, position, n, output);
    decode(server);
}

// A whole request by itself: the prompt goes on where the cached part ends.
static void complete(struct server * server, int sequence, int cached, int prompt, int generate) {
    struct request * request = new_request(server->number, sequence, cached);
    feed(server, sequence, cached, prompt, true);
    request->prompt += prompt;
    request->generated++;
    for (int i = 1; i < generate; i++) {
        feed(server, sequence, cached + prompt + i - 1, 1, true);
        request->generated++;
    }
}

// ---- slots with continuous batching ----

struct job {
    int prompt, generate, cancel; // cancel: after so many steps, 0 for never
};

struct slot {
    int              job; // -1: idle
    struct request * truth;
    int              position, left_of_prompt, left, steps;
};

static void run_jobs(struct server * server, const struct job * jobs, int n_jobs) {
    struct slot slots[SLOTS];
    int         next = 0, busy = 0;
    for (int s = 0; s < SLOTS; s++) slots[s].job = -1;
    do {
        int room = CHUNK;
        busy     = 0;
        for (int s = 0; s < SLOTS; s++) { // those that generate come first
            struct slot * slot = &slots[s];
            if (slot->job < 0 || slot->left_of_prompt > 0) continue;
            add_token(server, token_at(slot->position, s), slot->position, s, true);
            slot->position++, room--, busy++;
            slot->truth->generated++, slot->left--;
        }
        for (int s = 0; s < SLOTS; s++) {
            struct slot * slot = &slots[s];
            if (slot->job < 0 && next < n_jobs) {
                seq_rm(server->memory, s, -1, -1);
                *slot = (struct slot){.job = next, .left_of_prompt = jobs[next].prompt, .left = jobs[next].generate};
                next++;
            }
            if (slot->job < 0 || slot->left_of_prompt == 0 || room <= 0) continue;
            if (slot->truth == NULL) slot->truth = new_request(server->number, s, 0);
            int  n    = slot->left_of_prompt < room ? slot->left_of_prompt : room;
            bool last = n == slot->left_of_prompt;
            add_tokens(server, s, slot->position, n, last);
            slot->position += n, slot->left_of_prompt -= n, slot->truth->prompt += n;
            if (last) slot->truth->generated++, slot->left--;
            room -= n, busy++;
        }
        if (busy > 0) decode(server);
        for (int s = 0; s < SLOTS; s++) {
            struct slot * slot = &slots[s];
            if (slot->job < 0 || slot->truth == NULL) continue;
            bool cancelled = jobs[slot->job].cancel > 0 && ++slot->steps == jobs[slot->job].cancel;
            if (cancelled || (slot->left_of_prompt == 0 && slot->left == 0)) slot->job = -1;
        }
    } while (busy > 0 || next < n_jobs);
}

static void run_slots(struct server * server) {
    static const struct job jobs[] = {{5, 12, 0}, {9, 12, 0}, {21, 10, 0}, {4, 12, 0}, {1, 14, 0}, {7, 12, 0}};
    run_jobs(server, jobs, 6);
}

static void run_cancelled(struct server * server) {
    static const struct job jobs[] = {{5, 12, 0}, {9, 30, 6}, {40, 10, 2}, {4, 12, 0}, {6, 3, 0}, {7, 5, 0}, {3, 4, 0}};
    run_jobs(server, jobs, 7);
}

// ---- prefixes ----

// The slot keeps what it has: the next prompt shares its beginning, and the one after that all but the last token.
static void run_cached(struct server * server) {
    complete(server, 1, 0, 9, 4);
    seq_rm(server->memory, 1, 6, -1);
    complete(server, 1, 6, 5, 3);
    seq_rm(server->memory, 1, 10, -1);
    complete(server, 1, 10, 1, 6);
    seq_rm(server->memory, 1, -1, -1);
    complete(server, 1, 0, 4, 2);
}

// A system prompt that all share.
static void run_shared(struct server * server) {
    struct request * system = new_request(server->number, 0, 0);
    feed(server, 0, 0, 6, false);
    system->kind   = "prompt";
    system->prompt = 6;
    for (int s = 1; s < SLOTS; s++) {
        llama_memory_seq_cp(server->memory, 0, s, -1, -1);
        complete(server, s, 6, 1 + s, 3);
    }
    for (int s = 1; s < SLOTS; s++) { // and once more
        seq_rm(server->memory, s, -1, -1);
        llama_memory_seq_cp(server->memory, 0, s, -1, -1);
        complete(server, s, 6, 4, 2);
    }
}

// One prompt, several samples of what follows.
static void go_on_in_parallel(struct server * server, struct request * parent, int prompt, int generate) {
    struct request * all[3] = {parent, NULL, NULL};
    for (int s = 1; s < 3; s++) {
        all[s]            = new_request(server->number, s, prompt);
        all[s]->generated = 1;
    }
    for (int i = 1; i < generate; i++) {
        for (int s = 0; s < 3; s++) {
            add_token(server, token_at(i, s), prompt + i - 1, s, true);
            all[s]->generated++;
        }
        decode(server);
    }
}

static void run_forks(struct server * server) {
    struct request * parent = new_request(server->number, 0, 0);
    feed(server, 0, 0, 5, true);
    parent->prompt = 5, parent->generated = 1;
    for (int s = 1; s < 3; s++) llama_memory_seq_cp(server->memory, 0, s, -1, -1);
    go_on_in_parallel(server, parent, 5, 6);
}

// The same, with a prompt whose tokens belong to three sequences at once.
static void run_forks_in_batch(struct server * server) {
    struct request * parent = new_request(server->number, 0, 0);
    for (int i = 0; i < 5; i++) {
        add_token(server, token_at(i, 0), i, 0, i == 4);
        for (int s = 1; s < 3; s++) server->batch.seq_id[i][server->batch.n_seq_id[i]++] = s;
    }
    decode(server);
    parent->prompt = 5, parent->generated = 1;
    go_on_in_parallel(server, parent, 5, 6);
}

// ---- outputs that are not sampled ----

static void run_embeddings(struct server * server) {
    for (int round = 0; round < 2; round++) {
        for (int s = 0; s < 3; s++) {
            int n = round == 1 && s == 0 ? 1 : 4 + s; // one token has one output, as a prompt that is sampled from
            for (int i = 0; i < n; i++) add_token(server, token_at(i, s), i, s, true);
            struct request * request = new_request(server->number, s, 0);
            request->kind = "embedding", request->prompt = n;
        }
        decode(server);
        for (int s = 0; s < 3; s++)
            if (llama_get_embeddings_seq(server->context, s) == NULL) die("llama_get_embeddings_seq");
        llama_memory_clear(server->memory, true);
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

// ---- what happens to a sequence while it generates ----

static void run_shift(struct server * server) {
    enum { KEEP = 3, DISCARD = 10 };
    struct request * request = new_request(server->number, 0, 0);
    int              last    = 8;
    feed(server, 0, 0, 8, true);
    request->prompt = 8, request->generated = 1;
    for (int i = 0; i < 40; i++) {
        if (last >= 24) {
            seq_rm(server->memory, 0, KEEP, KEEP + DISCARD);
            llama_memory_seq_add(server->memory, 0, KEEP + DISCARD, last, -DISCARD);
            last -= DISCARD;
        }
        feed(server, 0, last++, 1, true);
        request->generated++;
    }
}

static void run_turns(struct server * server) {
    complete(server, 0, 0, 5, 4);
    complete(server, 0, 8, 6, 3);
    complete(server, 0, 16, 3, 5);
}

// What a server does at its start: warm up, and try whether a part of a sequence can be removed.
static void run_warmup(struct server * server) {
    llama_token two[] = {1, 2}, none[] = {0, 0};
    for (int i = 0; i < 2; i++) {
        struct request * request = new_request(server->number, 0, 0);
        request->kind = "warmup", request->prompt = 2;
    }
    if (llama_decode(server->context, llama_batch_get_one(two, 2)) != 0) die("llama_decode");
    llama_memory_clear(server->memory, true);
    llama_memory_clear(server->memory, true);
    if (llama_decode(server->context, llama_batch_get_one(none, 2)) != 0) die("llama_decode");
    seq_rm(server->memory, 0, 1, -1);
    llama_memory_clear(server->memory, true);
    complete(server, 0, 0, 5, 4);
    seq_rm(server->memory, 0, -1, -1);
    complete(server, 3, 0, 2, 2);
}

// As from one who reads the answers before asking again.
static void run_slowly(struct server * server) {
    for (int i = 0; i < 6; i++) {
        if (i > 0) usleep(500000);
        seq_rm(server->memory, i % 2, -1, -1);
        complete(server, i % 2, 0, 5, 3 + i);
    }
}

// ---- drafts ----

enum { DRAFTS = 4 };
static const int accept[] = {4, 0, 2, 4, 1, 3}; // of four drafted tokens, again and again

// Two slots. Every batch of the target is fed to the draft's context too, which wants no outputs of it.
static void run_draft(struct server * target, struct server * draft) {
    int              position[2] = {6, 9}, left[2] = {19, 25};
    struct request * truth[2];
    struct request * shadow[2];
    for (int s = 0; s < 2; s++) truth[s] = new_request(target->number, s, 0);
    for (int s = 0; s < 2; s++) {
        shadow[s] = new_request(draft->number, s, 0);
        add_tokens(target, s, 0, position[s], true);
        add_tokens(draft, s, 0, position[s], false);
        truth[s]->prompt = shadow[s]->prompt = position[s];
        truth[s]->generated                  = 1;
        shadow[s]->kind                      = "draft";
    }
    draft->batch.logits[draft->batch.n_tokens - 1] = true; // no logits given: the last one's
    decode(target);
    decode(draft);
    for (int round = 0; left[0] > 0 || left[1] > 0; round++) {
        int n[2];
        for (int s = 0; s < 2; s++) n[s] = left[s] == 0 ? -1 : left[s] - 1 < DRAFTS ? left[s] - 1 : DRAFTS;
        for (int i = 0; i < DRAFTS; i++) { // id_last, then one drafted token after another
            for (int s = 0; s < 2; s++)
                if (i < n[s]) add_token(draft, token_at(position[s] + i, 10 + s), position[s] + i, s, true);
            if (draft->batch.n_tokens > 0) decode(draft);
        }
        for (int s = 0; s < 2; s++)
            if (n[s] > 0) seq_rm(draft->memory, s, position[s], -1), shadow[s]->generated += n[s];
        for (int s = 0; s < 2; s++) {
            for (int i = 0; i <= n[s]; i++) {
                llama_token token = token_at(position[s] + i, 10 + s);
                add_token(target, token, position[s] + i, s, true);
                add_token(draft, token, position[s] + i, s, false);
            }
        }
        draft->batch.logits[draft->batch.n_tokens - 1] = true;
        decode(target);
        decode(draft);
        for (int s = 0; s < 2; s++) {
            if (n[s] < 0) continue;
            int accepted = accept[(round + s) % 6] < n[s] ? accept[(round + s) % 6] : n[s];
            position[s] += 1 + accepted;
            left[s] -= 1 + accepted;
            truth[s]->generated += 1 + accepted;
            truth[s]->accepted += accepted;
            truth[s]->rejected += n[s] - accepted;
            seq_rm(target->memory, s, position[s], -1);
            seq_rm(draft->memory, s, position[s], -1);
        }
    }
}

// As programs of older releases do it: the draft's context is fed what it lacks of the accepted text, then it drafts.
static void run_draft_behind(struct server * target, struct server * draft) {
    enum { PROMPT = 7, ROUNDS = 5 };
    int              position = PROMPT, there = 0; // of the draft's memory
    struct request * truth  = new_request(target->number, 0, 0);
    struct request * shadow = NULL;
    feed(target, 0, 0, PROMPT, true);
    truth->prompt = PROMPT, truth->generated = 1;
    for (int round = 0; round < ROUNDS; round++) {
        if (shadow == NULL) {
            shadow         = new_request(draft->number, 0, 0);
            shadow->kind   = "draft";
            shadow->prompt = position + 1;
        }
        seq_rm(draft->memory, 0, there, -1);
        for (int p = there; p <= position; p++) add_token(draft, token_at(p, 5), p, 0, p == position);
        decode(draft);
        for (int i = 1; i < DRAFTS; i++) {
            add_token(draft, token_at(position + i, 5), position + i, 0, true);
            decode(draft);
        }
        shadow->generated += DRAFTS;
        for (int i = 0; i <= DRAFTS; i++) add_token(target, token_at(position + i, 5), position + i, 0, true);
        decode(target);
        int accepted = accept[round % 6];
        truth->generated += 1 + accepted, truth->accepted += accepted, truth->rejected += DRAFTS - accepted;
        there = position + (1 + accepted < DRAFTS ? 1 + accepted : DRAFTS);
        position += 1 + accepted;
        seq_rm(target->memory, 0, position, -1);
    }
}

// ---- the program ----

static int find_llama(struct dl_phdr_info * info, size_t size, void * data) {
    (void) size;
    if (info->dlpi_name == NULL || strstr(info->dlpi_name, "libllama.") == NULL) return 0;
    snprintf(data, 4096, "%s", info->dlpi_name);
    return 1;
}

static void go_past(void) {
    char   path[4096] = "";
    void * handle     = NULL;
    dl_iterate_phdr(find_llama, path);
    if (path[0] != '\0') handle = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
    if (handle != NULL) real_seq_rm = (__typeof__(real_seq_rm)) dlsym(handle, "llama_memory_seq_rm");
    if (handle == NULL || real_seq_rm == NULL) die("finding llama_memory_seq_rm");
}

static const struct {
    const char * name;
    void (*run)(struct server *);
    void (*run_both)(struct server *, struct server *);
    bool embeddings, past, apart; // apart: each sequence has cells of its own
} patterns[] = {
    {.name = "slots", .run = run_slots},
    {.name = "slots-apart", .run = run_slots, .apart = true},
    {.name = "cancelled", .run = run_cancelled},
    {.name = "cached", .run = run_cached},
    {.name = "shared", .run = run_shared},
    {.name = "forks", .run = run_forks},
    {.name = "forks-apart", .run = run_forks, .apart = true},
    {.name = "forks-in-batch", .run = run_forks_in_batch},
    {.name = "embeddings", .run = run_embeddings, .embeddings = true},
    {.name = "perplexity", .run = run_perplexity},
    {.name = "echo", .run = run_echo},
    {.name = "shift", .run = run_shift},
    {.name = "turns", .run = run_turns},
    {.name = "warmup", .run = run_warmup},
    {.name = "slowly", .run = run_slowly},
    {.name = "draft", .run_both = run_draft},
    {.name = "draft-behind", .run_both = run_draft_behind},
    {.name = "slots-unseen", .run = run_slots, .past = true},
    {.name = "cached-unseen", .run = run_cached, .past = true},
    {.name = "draft-unseen", .run_both = run_draft, .past = true},
};

int main(int argc, char ** argv) {
    struct ggs_error error;
    for (size_t i = 0; argc > 2 && i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        if (strcmp(patterns[i].name, argv[1]) != 0 || argc != (patterns[i].run_both != NULL ? 4 : 3)) continue;
        if (ggs_engine_load(NULL, &error) < 0) die(error.text);
        if (patterns[i].past) go_past();
        struct server server = open_server(argv[2], 0, patterns[i].embeddings, patterns[i].apart);
        if (patterns[i].run_both != NULL) {
            struct server draft = open_server(argv[3], 1, false, false);
            patterns[i].run_both(&server, &draft);
            close_server(&draft);
        } else {
            patterns[i].run(&server);
        }
        close_server(&server);
        if (getenv("SERVER_HOST_LOGITS") != NULL) printf("{\"hash\":\"%016llx\"}\n", (unsigned long long) logits_hash);
        print_truth();
        return 0;
    }
    fputs("Usage: server-host PATTERN MODEL [DRAFT-MODEL]\npatterns:", stderr);
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) fprintf(stderr, " %s", patterns[i].name);
    fputc('\n', stderr);
    return 2;
}
