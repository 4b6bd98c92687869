#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#include "server-host.h"

enum { MOST = 256 };

void die(const char * what) {
    fprintf(stderr, "server-host: %s failed\n", what);
    exit(1);
}

// ---- what is true ----

static struct request requests[MOST];
static int            n_requests;

struct request * new_request(int context, int sequence, int cached) {
    if (n_requests == MOST) die("remembering so many requests");
    requests[n_requests] = (struct request){
        .kind = "completion", .context = context, .sequence = sequence, .cached = cached, .decoded = -1};
    return &requests[n_requests++];
}

void print_truth(void) {
    static const struct {
        const char * name;
        size_t       offset;
    } numbers[] = {
        {"context", offsetof(struct request, context)},     {"sequence", offsetof(struct request, sequence)},
        {"prompt", offsetof(struct request, prompt)},       {"cached", offsetof(struct request, cached)},
        {"generated", offsetof(struct request, generated)}, {"accepted", offsetof(struct request, accepted)},
        {"rejected", offsetof(struct request, rejected)},   {"decoded", offsetof(struct request, decoded)},
        {"unused", offsetof(struct request, unused)},
    };
    struct ggs_json json;
    ggs_json_init(&json, ggs_json_to_file, stdout, false);
    ggs_json_object(&json, NULL);
    ggs_json_array(&json, "requests");
    for (int i = 0; i < n_requests; i++) {
        ggs_json_object(&json, NULL);
        if (requests[i].decoded < 0) requests[i].decoded = requests[i].generated > 0 ? requests[i].generated - 1 : 0;
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

// The engine's own function, if a pattern goes past any library that stands in between; else NULL.
static __typeof__(&llama_memory_seq_rm) real_seq_rm;

void seq_rm(llama_memory_t memory, int sequence, int from, int to) {
    bool done =
        real_seq_rm != NULL ? real_seq_rm(memory, sequence, from, to) : llama_memory_seq_rm(memory, sequence, from, to);
    if (!done) die("llama_memory_seq_rm");
}

static int find_llama(struct dl_phdr_info * info, size_t size, void * data) {
    (void) size;
    if (info->dlpi_name == NULL || strstr(info->dlpi_name, "libllama.") == NULL) return 0;
    snprintf(data, 4096, "%s", info->dlpi_name);
    return 1;
}

// The engine's own function, or NULL.
static void * own_function(const char * name) {
    char   path[4096] = "";
    void * handle     = NULL;
    dl_iterate_phdr(find_llama, path);
    if (path[0] != '\0') handle = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
    return handle == NULL ? NULL : dlsym(handle, name);
}

void go_past(void) {
    real_seq_rm = (__typeof__(real_seq_rm)) own_function("llama_memory_seq_rm");
    if (real_seq_rm == NULL) die("finding llama_memory_seq_rm");
}

// Called directly, as programs do: an attached library stands in between only then.
bool llama_set_sampler(struct llama_context * context, llama_seq_id sequence, struct llama_sampler * sampler);

void wait_for_line(void) {
    puts("{\"ready\": 1}");
    fflush(stdout);
    (void) getchar();
}

static bool has_samplers = true;

void without_samplers(void) {
    has_samplers = false;
}

void set_sampler(struct server * server, int sequence) {
    if (has_samplers && own_function("llama_set_sampler") != NULL) llama_set_sampler(server->context, sequence, NULL);
}

struct server open_server(const char * path, int number, int sequences, int options) {
    static ggml_backend_dev_t   no_devices[] = {NULL};
    struct llama_model_params   model        = llama_model_default_params();
    struct llama_context_params params       = llama_context_default_params();
    model.devices                            = no_devices;
    model.n_gpu_layers                       = 0;
    params.n_ctx                             = 512;
    params.n_batch                           = 256;
    params.n_seq_max                         = (uint32_t) sequences;
    params.n_threads = params.n_threads_batch = 1;
    params.kv_unified                         = (options & APART) == 0;
    params.embeddings                         = (options & EMBEDDINGS) != 0;
    if ((options & PIECES) != 0) params.n_ubatch = PIECE;
    if (params.embeddings) params.pooling_type = LLAMA_POOLING_TYPE_MEAN;
    struct server server = {.number = number, .model = llama_model_load_from_file(path, model)};
    if (server.model == NULL) die("loading the model");
    server.context = llama_init_from_model(server.model, params);
    if (server.context == NULL) die("making a context");
    server.memory = llama_get_memory(server.context);
    server.batch  = llama_batch_init(256, 0, sequences);
    return server;
}

void close_server(struct server * server) {
    llama_batch_free(server->batch);
    llama_free(server->context);
    llama_model_free(server->model);
}

llama_token token_at(int position, int salt) {
    return 3 + (position * 31 + salt * 7) % 900;
}

void add_token(struct server * server, llama_token token, int position, int sequence, bool output) {
    struct llama_batch * batch = &server->batch;
    int                  i     = batch->n_tokens++;
    batch->token[i]            = token;
    batch->pos[i]              = position;
    batch->n_seq_id[i]         = 1;
    batch->seq_id[i][0]        = sequence;
    batch->logits[i]           = output;
}

void add_sequence(struct server * server, int sequence) {
    int i                                                = server->batch.n_tokens - 1;
    server->batch.seq_id[i][server->batch.n_seq_id[i]++] = sequence;
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

void print_logits_hash(void) {
    if (getenv("SERVER_HOST_LOGITS") != NULL) printf("{\"hash\":\"%016llx\"}\n", (unsigned long long) logits_hash);
}

void decode_reading(struct server * server, const int reads[]) {
    int read[64] = {0};
    if (llama_decode(server->context, server->batch) != 0) die("llama_decode");
    if (getenv("SERVER_HOST_LOGITS") != NULL) hash_logits(server);
    for (int i = 0; i < server->batch.n_tokens; i++) {
        int sequence = server->batch.seq_id[i][0];
        if (!server->batch.logits[i] || (reads != NULL && read[sequence]++ >= reads[sequence])) continue;
        if (llama_get_logits_ith(server->context, i) == NULL) die("llama_get_logits_ith");
    }
    server->batch.n_tokens = 0;
}

void decode(struct server * server) {
    decode_reading(server, NULL);
}

void decode_reading_nothing(struct server * server) {
    static const int none[64];
    decode_reading(server, none);
}

void add_tokens(struct server * server, int sequence, int position, int n, bool output) {
    for (int i = 0; i < n; i++)
        add_token(server, token_at(position + i, sequence), position + i, sequence, output && i == n - 1);
}

void feed(struct server * server, int sequence, int position, int n, bool output) {
    add_tokens(server, sequence, position, n, output);
    decode(server);
}

struct request * complete(struct server * server, int sequence, int cached, int prompt, int generate) {
    struct request * request = new_request(server->number, sequence, cached);
    feed(server, sequence, cached, prompt, true);
    request->prompt += prompt;
    request->generated++;
    for (int i = 1; i < generate; i++) {
        feed(server, sequence, cached + prompt + i - 1, 1, true);
        request->generated++;
    }
    return request;
}
