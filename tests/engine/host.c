// A program that uses the engine in ways that ggscope-engine does not: what the capture library
// meets out there.
//     host MODE [-t THREADS] [-g TOKENS] [-c] [-r] [-f] [-n CALL] [-l LAYERS] MODEL...
// It prints a JSON line for everything it does, flushed at once, so that a test knows what must be
// in the trace: every decode with what was fed and a hash of the logits; with -c (an eval callback
// that wants every node) also every node in order, and the values of the tensors that say which
// rows or experts an op takes.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "engine/load.h"

#include "ggml-backend.h"
#include "ggml.h"
#include "llama.h"

enum { MOST_TOKENS = 512, CONTEXT = 4096 };

static struct {
    const char * mode;
    int          threads;
    int          generate; // tokens after the first
    bool         callback;
    bool         read;   // reads weights instead of mapping them
    bool         stream; // opens model files itself
    int          layers; // that go to a device, whatever the engine finds
    long         call;   // crash, stop: at which call of the abort callback
    char **      models;
    int          n_models;
} options = {.threads = 1, .generate = 2, .call = 1000};

__attribute__((noreturn)) static void die(const char * what) {
    fprintf(stderr, "host: %s failed\n", what);
    exit(1);
}

// ---- JSON lines ----

static void line_begin(struct ggs_json * json) {
    flockfile(stdout);
    ggs_json_init(json, ggs_json_to_file, stdout, false);
    ggs_json_object(json, NULL);
}

static void line_end(struct ggs_json * json) {
    ggs_json_end(json);
    if (ggs_json_finish(json) != 0) die("writing");
    putchar('\n');
    fflush(stdout);
    funlockfile(stdout);
}

static void say(const char * key, int64_t value) {
    struct ggs_json json;
    line_begin(&json);
    ggs_json_i64(&json, key, value);
    line_end(&json);
}

// ---- the eval callback ----

static bool begins(const char * text, const char * prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static void write_value(struct ggs_json * json, const struct ggml_tensor * t, const char * at) {
    float   f;
    int32_t i;
    int64_t l;
    switch (t->type) {
        case GGML_TYPE_F32:
            memcpy(&f, at, sizeof(f));
            ggs_json_double(json, NULL, f);
            break;
        case GGML_TYPE_I32:
            memcpy(&i, at, sizeof(i));
            ggs_json_i64(json, NULL, i);
            break;
        case GGML_TYPE_I64:
            memcpy(&l, at, sizeof(l));
            ggs_json_i64(json, NULL, l);
            break;
        default:
            die("a tensor of another type");
    }
}

static void print_values(const struct ggml_tensor * node, int source) {
    const struct ggml_tensor * t = node->src[source];
    struct ggs_json            json;
    line_begin(&json);
    ggs_json_string(&json, "of", node->name);
    ggs_json_i64(&json, "slot", source);
    ggs_json_string(&json, "source", t->name);
    ggs_json_array(&json, "values");
    for (int64_t i3 = 0; i3 < t->ne[3]; i3++)
        for (int64_t i2 = 0; i2 < t->ne[2]; i2++)
            for (int64_t i1 = 0; i1 < t->ne[1]; i1++)
                for (int64_t i0 = 0; i0 < t->ne[0]; i0++)
                    write_value(&json, t,
                                (const char *) t->data + (size_t) i0 * t->nb[0] + (size_t) i1 * t->nb[1] +
                                    (size_t) i2 * t->nb[2] + (size_t) i3 * t->nb[3]);
    ggs_json_end(&json);
    line_end(&json);
}

static bool observe(struct ggml_tensor * node, bool ask, void * context) {
    (void) context;
    if (ask) return true; // requests the node
    struct ggs_json json;
    line_begin(&json);
    ggs_json_string(&json, "node", node->name);
    ggs_json_string(&json, "op", ggml_op_name(node->op));
    line_end(&json);
    if (node->op == GGML_OP_GET_ROWS || node->op == GGML_OP_SET_ROWS) print_values(node, 1);
    if (node->op == GGML_OP_MUL_MAT_ID) print_values(node, 2);
    if (node->op == GGML_OP_MUL && begins(node->name, "ffn_moe_weighted")) print_values(node, 1);
    return true;
}

// ---- decoding ----

struct item {
    llama_token  token;
    llama_pos    position;
    llama_seq_id sequence;
    bool         output;
};

struct session {
    int                    number;
    struct llama_model *   model;
    struct llama_context * context;
    struct llama_batch     batch;
    llama_pos              position; // of the next token of sequence 0
};

static bool abort_callback(void * data);
static bool forked; // in the middle of a graph run: this is the child

typedef struct llama_model * load_stream(FILE * file, struct llama_model_params params);

// Older releases lack the function that loads a model from an open file.
static struct llama_model * load_from_stream(const char * path, struct llama_model_params params) {
    load_stream * load = (load_stream *) dlsym(RTLD_DEFAULT, "llama_model_load_from_file_ptr");
    FILE *        file = fopen(path, "rb");
    if (load == NULL || file == NULL) die("opening the model");
    struct llama_model * model = load(file, params);
    fclose(file);
    return model;
}

static struct llama_model * open_model(const char * path) {
    static ggml_backend_dev_t no_devices[] = {NULL};
    struct llama_model_params params       = llama_model_default_params();
    if (options.layers == 0) params.devices = no_devices;
    params.n_gpu_layers = options.layers;
#ifdef HAVE_LLAMA_LOAD_MODE
    if (options.read) params.load_mode = LLAMA_LOAD_MODE_NONE;
#else
    if (options.read) params.use_mmap = false;
#endif
    struct llama_model * model =
        options.stream ? load_from_stream(path, params) : llama_model_load_from_file(path, params);
    if (model == NULL) die("loading the model");
    return model;
}

static struct session open_session(struct llama_model * model, int number) {
    struct llama_context_params params = llama_context_default_params();
    params.n_ctx                       = CONTEXT;
    params.n_batch                     = CONTEXT;
    params.n_seq_max                   = 4;
    params.n_threads                   = options.threads;
    params.n_threads_batch             = options.threads;
    if (options.callback) params.cb_eval = observe;
    if (begins(options.mode, "crash") || begins(options.mode, "stop") || begins(options.mode, "handlers") ||
        begins(options.mode, "fork-inside"))
        params.abort_callback = abort_callback;
    struct session session = {.number = number, .model = model, .context = llama_init_from_model(model, params)};
    if (session.context == NULL) die("making a context");
    session.batch = llama_batch_init(MOST_TOKENS, 0, 1);
    return session;
}

static void close_session(struct session * session) {
    llama_batch_free(session->batch);
    llama_free(session->context);
}

static uint64_t hash(uint64_t h, const void * data, size_t size) {
    const uint8_t * bytes = data;
    for (size_t i = 0; i < size; i++) h = (h ^ bytes[i]) * 1099511628211u;
    return h;
}

static void print_decode(const struct session * session, const struct item * items, int n, const char * kind) {
    struct ggs_json json;
    line_begin(&json);
    ggs_json_string(&json, "decode", kind);
    ggs_json_i64(&json, "context", session->number);
    ggs_json_array(&json, "tokens");
    for (int i = 0; i < n; i++) ggs_json_i64(&json, NULL, items[i].token);
    ggs_json_end(&json);
    ggs_json_array(&json, "positions");
    for (int i = 0; i < n; i++) ggs_json_i64(&json, NULL, items[i].position);
    ggs_json_end(&json);
    ggs_json_array(&json, "sequences");
    for (int i = 0; i < n; i++) ggs_json_i64(&json, NULL, items[i].sequence);
    ggs_json_end(&json);
    ggs_json_array(&json, "outputs");
    for (int i = 0; i < n; i++) ggs_json_i64(&json, NULL, items[i].output);
    ggs_json_end(&json);
    line_end(&json);
}

static int call_decode(struct session * session, const struct item * items, int n) {
    struct llama_batch * batch = &session->batch;
    batch->n_tokens            = n;
    for (int i = 0; i < n; i++) {
        batch->token[i]     = items[i].token;
        batch->pos[i]       = items[i].position;
        batch->n_seq_id[i]  = 1;
        batch->seq_id[i][0] = items[i].sequence;
        batch->logits[i]    = items[i].output;
    }
    int status = llama_decode(session->context, *batch);
    if (forked) _exit(status);
    return status;
}

// Feeds a batch. Returns the most likely token after its last output.
static llama_token decode(struct session * session, const struct item * items, int n, const char * kind) {
    print_decode(session, items, n, kind);
    if (call_decode(session, items, n) != 0) die("llama_decode");
    int         vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(session->model));
    uint64_t    digest     = 14695981039346656037u;
    llama_token best       = 0;
    for (int i = 0; i < n; i++) {
        if (!items[i].output) continue;
        const float * logits = llama_get_logits_ith(session->context, i);
        if (logits == NULL) die("llama_get_logits_ith");
        digest = hash(digest, logits, (size_t) vocabulary * sizeof(*logits));
        best   = 0;
        for (llama_token t = 1; t < vocabulary; t++)
            if (logits[t] > logits[best]) best = t;
    }
    say("logits", (int64_t) (digest >> 12));
    return best;
}

static llama_token feed(struct session * session, const llama_token * tokens, int n, const char * kind) {
    struct item items[MOST_TOKENS];
    for (int i = 0; i < n; i++) items[i] = (struct item){tokens[i], session->position++, 0, i == n - 1};
    return decode(session, items, n, kind);
}

static const llama_token prompt[]  = {1, 403, 1205, 77, 9001};
static const llama_token another[] = {512, 31, 4096};
enum { PROMPT = sizeof(prompt) / sizeof(prompt[0]), ANOTHER = sizeof(another) / sizeof(another[0]) };

static llama_token generate(struct session * session, llama_token token, int n) {
    for (int i = 0; i < n; i++) token = feed(session, &token, 1, "GENERATE");
    return token;
}

static void prompt_and_generate(struct session * session) {
    generate(session, feed(session, prompt, PROMPT, "PROMPT"), options.generate);
}

// ---- modes: decoding ----

static void run_generate(void) {
    struct session session = open_session(open_model(options.models[0]), 0);
    prompt_and_generate(&session);
    close_session(&session);
    llama_model_free(session.model);
}

// Before it computes, the program makes a context that it does not use, of the model loaded twice.
static void run_unused(void) {
    struct session unused = open_session(open_model(options.models[0]), 1);
    run_generate();
    close_session(&unused);
    llama_model_free(unused.model);
}

static void run_turns(void) {
    struct session session = open_session(open_model(options.models[0]), 0);
    prompt_and_generate(&session);
    generate(&session, feed(&session, another, ANOTHER, "PROMPT"), options.generate);
    close_session(&session);
    llama_model_free(session.model);
}

static void generate_again(struct session * session) {
    llama_memory_clear(llama_get_memory(session->context), true);
    session->position = 0;
    prompt_and_generate(session);
}

// Repeats the same generation until it is killed, like a server that is attached to.
static void run_endless(void) {
    struct session session = open_session(open_model(options.models[0]), 0);
    for (;;) generate_again(&session);
}

// Unmaps the model's pages, so that reading them faults.
static void forget_model(void) {
    FILE * maps = fopen("/proc/self/maps", "re");
    char   line[4096 + 128];
    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
        unsigned long long from, to;
        if (strstr(line, ".gguf") == NULL || sscanf(line, "%llx-%llx", &from, &to) != 2) continue;
        void * start = (void *) (uintptr_t) from; // NOLINT(performance-no-int-to-ptr)
        if (madvise(start, (size_t) (to - from), MADV_DONTNEED) != 0) die("madvise");
    }
    if (maps != NULL) fclose(maps);
}

// Unmaps the model before each generation.
static void run_forgetful(void) {
    struct session session = open_session(open_model(options.models[0]), 0);
    for (int i = 0; strcmp(options.mode, "forgetful") == 0 || i < 4; i++) {
        forget_model();
        generate_again(&session);
    }
}

// Computes, sets a quarter of the model to 0, by a mapping over it or by writing to a private one,
// and computes again.
static void run_patched(void) {
    struct session     session = open_session(open_model(options.models[0]), 0);
    FILE *             maps    = fopen("/proc/self/maps", "re");
    char               line[4096 + 128];
    unsigned long long from, to, at_file, begin = 0, end = 0, offset = 0;
    prompt_and_generate(&session);
    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
        if (strstr(line, ".gguf") == NULL || sscanf(line, "%llx-%llx %*s %llx", &from, &to, &at_file) != 3) continue;
        if (begin == 0) begin = from, offset = at_file;
        end = to;
    }
    if (maps != NULL) fclose(maps);
    size_t size = (size_t) (end - begin), bytes = size / 4 / 4096 * 4096;
    void * at = (void *) (uintptr_t) (begin + 2 * bytes); // NOLINT(performance-no-int-to-ptr)
    if (strcmp(options.mode, "patched-over") == 0) {
        if (mmap(at, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) die("mmap");
    } else {
        int    file  = open(options.models[0], O_RDONLY | O_CLOEXEC);
        void * start = (void *) (uintptr_t) begin; // NOLINT(performance-no-int-to-ptr)
        if (mmap(start, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, (off_t) offset) == MAP_FAILED) die("mmap");
        close(file);
        generate_again(&session);
        if (mprotect(at, bytes, PROT_READ | PROT_WRITE) != 0) die("mprotect");
        memset(at, 0, bytes);
    }
    generate_again(&session);
    close_session(&session);
    llama_model_free(session.model);
}

static void * do_nothing(void * unused) {
    return unused;
}

// SIGUSR1 asks a churning program to rest, and to go on again. While it rests, it has as many
// threads, mappings and descriptors each time.
static volatile sig_atomic_t resting;
static struct {
    pthread_mutex_t lock;
    pthread_cond_t  changed;
    bool            wanted, reached; // by the thread that churns
} churning = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, false};

static void toggle_rest(int signal) {
    (void) signal;
    resting = !resting;
}

static void churn_rests(void) {
    pthread_mutex_lock(&churning.lock);
    churning.reached = churning.wanted;
    pthread_cond_broadcast(&churning.changed);
    while (churning.wanted) pthread_cond_wait(&churning.changed, &churning.lock);
    churning.reached = false;
    pthread_mutex_unlock(&churning.lock);
}

// Between two generations, when the engine has no threads.
static void all_rest(void) {
    pthread_mutex_lock(&churning.lock);
    churning.wanted = true;
    while (!churning.reached) pthread_cond_wait(&churning.changed, &churning.lock);
    say("rests", 1);
    while (resting) usleep(500);
    churning.wanted = false;
    pthread_cond_broadcast(&churning.changed);
    pthread_mutex_unlock(&churning.lock);
}

// Takes the locks of malloc, the dynamic linker and the thread library all the time.
static void * churn(void * unused) {
    void *   blocks[64] = {NULL};
    unsigned seed       = 1;
    for (;;) {
        for (int i = 0; i < 100; i++) {
            seed       = seed * 1103515245 + 12345;
            unsigned k = seed >> 26;
            free(blocks[k]);
            blocks[k] = malloc(seed >> 8 & 0xffff);
        }
        void *    library = dlopen("libresolv.so.2", RTLD_NOW);
        pthread_t thread;
        if (library != NULL) dlclose(library);
        if (pthread_create(&thread, NULL, do_nothing, NULL) == 0) pthread_join(thread, NULL);
        churn_rests();
        usleep(1000);
    }
    return unused;
}

static void run_churn(void) {
    struct session   session = open_session(open_model(options.models[0]), 0);
    struct sigaction action  = {.sa_handler = toggle_rest, .sa_flags = SA_RESTART};
    pthread_t        thread;
    sigaction(SIGUSR1, &action, NULL);
    if (pthread_create(&thread, NULL, churn, NULL) != 0) die("pthread_create");
    for (;; generate_again(&session))
        if (resting) all_rest();
}

// Frees a model and loads it again.
static void run_twice(void) {
    run_generate();
    run_generate();
}

// Two sequences, fed and generated together; a third one joins while they generate.
static void run_sequences(void) {
    struct session session = open_session(open_model(options.models[0]), 0);
    struct item    items[PROMPT + ANOTHER];
    for (int i = 0; i < PROMPT; i++) items[i] = (struct item){prompt[i], i, 0, i == PROMPT - 1};
    for (int i = 0; i < ANOTHER; i++) items[PROMPT + i] = (struct item){another[i], i, 1, i == ANOTHER - 1};
    decode(&session, items, PROMPT + ANOTHER, "PROMPT");
    for (int k = 0; k < 2; k++) {
        struct item both[] = {{100 + k, PROMPT + k, 0, true}, {200 + k, ANOTHER + k, 1, true}};
        decode(&session, both, 2, "GENERATE");
    }
    struct item mixed[] = {{102, PROMPT + 2, 0, true}, {202, ANOTHER + 2, 1, true}, {7, 0, 2, false}, {8, 1, 2, true}};
    decode(&session, mixed, 4, "MIXED");
    close_session(&session);
    llama_model_free(session.model);
}

static void * run_thread(void * data) {
    struct session * session = data;
    llama_token      token =
        session->number == 0 ? feed(session, prompt, PROMPT, "PROMPT") : feed(session, another, ANOTHER, "PROMPT");
    generate(session, token, options.generate);
    return NULL;
}

// Concurrent contexts: one per model, two for a single model.
static void run_contexts(void) {
    struct llama_model * models[2];
    struct session       sessions[2];
    pthread_t            threads[2];
    for (int i = 0; i < 2; i++) {
        models[i]   = i > 0 && options.n_models == 1 ? models[0] : open_model(options.models[i]);
        sessions[i] = open_session(models[i], i);
    }
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, run_thread, &sessions[i]) != 0) die("pthread_create");
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++) close_session(&sessions[i]);
    if (models[1] != models[0]) llama_model_free(models[1]);
    llama_model_free(models[0]);
}

// Programs for older releases call it.
static void            set_warmup(struct session * session, bool on) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    llama_set_warmup(session->context, on);
#pragma GCC diagnostic pop
}

static void run_warmup(void) {
    struct session session = open_session(open_model(options.models[0]), 0);
    bool           flagged = strcmp(options.mode, "warmup") == 0;
    struct item    items[] = {{prompt[0], 0, 0, false}, {prompt[1], 1, 0, true}};
    if (flagged) set_warmup(&session, true);
    print_decode(&session, items, 2, "WARMUP"); // whose output is not read
    if (call_decode(&session, items, 2) != 0) die("llama_decode");
    if (!flagged) llama_memory_clear(llama_get_memory(session.context), true);
    if (flagged) llama_memory_seq_rm(llama_get_memory(session.context), -1, -1, -1);
    if (flagged) set_warmup(&session, false);
    prompt_and_generate(&session);
    close_session(&session);
    llama_model_free(session.model);
}

// ---- modes: processes ----

// The child continues with what it inherited. Its lines say so.
static void run_fork(void) {
    struct session session = open_session(open_model(options.models[0]), 0);
    llama_token    token   = feed(&session, prompt, PROMPT, "PROMPT");
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) die("fork");
    if (child == 0) {
        say("child", getpid());
        generate(&session, token, 3);
        exit(0);
    }
    int status;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    say("child_status", status);
    generate(&session, token, options.generate);
    close_session(&session);
    llama_model_free(session.model);
}

// ---- forks while a lock is held ----
//
// A child of a fork has one thread, and any lock may be held by a thread that it does not have. So
// the process forks just before the recorder releases a lock, once per lock, and the child uses the
// engine without waiting for that lock.

enum { MOST_LOCKS = 64 };
static bool            forks; // from now on
static pthread_mutex_t forking = PTHREAD_MUTEX_INITIALIZER;
static struct {
    const void * locks[MOST_LOCKS]; // that it forked under
    int          n, hung;
} under;

// Calls everything that hooks observe.
static void use_engine(void) {
    ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), 64);
    ggml_backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_COMPUTE);
    ggml_backend_buffer_free(buffer);
    struct ggml_context * context = ggml_init((struct ggml_init_params){1 << 20, NULL, false});
    struct ggml_cgraph *  graph   = ggml_new_graph(context);
    struct ggml_tensor *  tensor  = ggml_new_tensor_1d(context, GGML_TYPE_F32, 8);
    ggml_set_zero(tensor);
    ggml_build_forward_expand(graph, ggml_add(context, tensor, tensor));
    ggml_backend_t cpu = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL);
    if (ggml_backend_graph_compute(cpu, graph) != GGML_STATUS_SUCCESS) _exit(2);
    ggml_backend_free(cpu);
    ggml_free(context);
}

static bool is_recorder(const void * caller) {
    Dl_info info;
    return dladdr(caller, &info) != 0 && strstr(info.dli_fname, "libggscope-capture") != NULL;
}

static int (*give_back)(pthread_mutex_t *);

static void fork_under(const void * lock) {
    bool known = under.n == MOST_LOCKS;
    for (int i = 0; i < under.n; i++) known |= under.locks[i] == lock;
    if (known) return;
    under.locks[under.n++] = lock;
    pid_t child            = fork();
    if (child == 0) {
        forks = false;
        alarm(10);
        use_engine();
        _exit(0);
    }
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    under.hung += child < 0 || status != 0;
}

// Replaces libc's function.
__attribute__((visibility("default"))) int pthread_mutex_unlock(pthread_mutex_t * lock);
int                                        pthread_mutex_unlock(pthread_mutex_t * lock) {
                                           if (give_back == NULL) *(void **) &give_back = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
    if (__atomic_load_n(&forks, __ATOMIC_RELAXED) && is_recorder(__builtin_return_address(0))) {
                                               pthread_mutex_lock(&forking);
                                               fork_under(lock);
                                               give_back(&forking);
    }
                                           return give_back(lock);
}

static void run_fork_held(void) {
    forks = true;
    run_generate();
    forks = false;
    say("locks", under.n);
    say("hung", under.hung);
}

// From here on the program is killed if it opens, makes, grows or removes a file, or asks for its
// identity.
static void restrict_calls(void) {
    static const int denied[] = {SYS_openat,   SYS_fallocate, SYS_ftruncate, SYS_renameat2, SYS_mkdirat,
                                 SYS_unlinkat, SYS_statfs,    SYS_fstatfs,   SYS_gettid,    SYS_mincore};
    enum { DENIED = sizeof(denied) / sizeof(denied[0]) };
    struct sock_filter filter[DENIED + 3] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    for (int i = 0; i < DENIED; i++)
        filter[1 + i] = (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned) denied[i],
                                                      (unsigned char) (DENIED - i), 0);
    filter[DENIED + 1]        = (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[DENIED + 2]        = (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {.len = DENIED + 3, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) die("prctl");
    bool by_prctl = strcmp(options.mode, "sandbox-syscall") != 0;
    if ((by_prctl ? (long) prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)
                  : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)) != 0)
        die("seccomp");
}

static void run_sandbox(void) {
    struct session session = open_session(open_model(options.models[0]), 0);
    if (strcmp(options.mode, "sandbox-early") == 0) restrict_calls();
    llama_token token = feed(&session, prompt, PROMPT, "PROMPT");
    token             = generate(&session, token, 2);
    if (strcmp(options.mode, "sandbox-early") != 0) restrict_calls();
    generate(&session, token, options.generate);
    say("alive", 1);
    _exit(0); // the engine opens files at exit
}

// Computes and forks a child that continues, repeatedly.
static void run_forking(void) {
    struct session session = open_session(open_model(options.models[0]), 0);
    for (;;) {
        llama_memory_clear(llama_get_memory(session.context), true);
        session.position  = 0;
        llama_token token = feed(&session, prompt, PROMPT, "PROMPT");
        fflush(stdout);
        pid_t child = fork();
        if (child < 0) die("fork");
        if (child == 0) {
            call_decode(&session, &(struct item){token, session.position, 0, true}, 1);
            _exit(0);
        }
        int status;
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
        say("child_status", status);
    }
}

// Like servers that fork workers: loads the model once, and the children compute.
static void run_workers(void) {
    enum { WORKERS = 2 };
    struct llama_model * model = open_model(options.models[0]);
    pid_t                children[WORKERS];
    fflush(stdout);
    for (int i = 0; i < WORKERS; i++) {
        children[i] = fork();
        if (children[i] < 0) die("fork");
        if (children[i] > 0) continue;
        struct session session = open_session(model, i);
        prompt_and_generate(&session);
        exit(0);
    }
    for (int i = 0; i < WORKERS; i++) {
        int status;
        while (waitpid(children[i], &status, 0) < 0 && errno == EINTR) {}
        say("child_status", status);
    }
    llama_model_free(model);
}

// A server that loads the model, waits for a line, and forks workers that compute until they are
// killed.
static void run_prefork(void) {
    enum { WORKERS = 2 };
    struct llama_model * model = open_model(options.models[0]);
    say("ready", getpid());
    if (getchar() == EOF) exit(0);
    for (int i = 0; i < WORKERS; i++) {
        pid_t child = fork();
        if (child < 0) die("fork");
        if (child > 0) continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        say("worker", getpid());
        struct session session = open_session(model, i);
        for (;;) {
            llama_memory_clear(llama_get_memory(session.context), true);
            session.position = 0;
            prompt_and_generate(&session);
        }
    }
    for (;;) pause();
}

// A child that is stopped right after the fork, before any fork handler runs. Made when a line
// arrives.
static void * fork_bare(void * unused) {
    say("ready", getpid());
    if (getchar() == EOF) exit(0);
    long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0)
        for (;;) syscall(SYS_ppoll, NULL, 0, NULL, NULL, 0);
    say("child", child);
    while (getchar() != EOF) {}
    kill((pid_t) child, SIGKILL);
    exit(0);
    return unused;
}
static void run_bare_child(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, fork_bare, NULL) != 0) die("pthread_create");
    run_endless();
}

// A router: starts programs that compute, as told by lines, and computes little or nothing itself.
static void run_router(void) {
    ggml_backend_load_all(); // it has an engine nevertheless
    if (strcmp(options.mode, "busy-router") == 0) run_generate();
    say("ready", getpid());
    if (getchar() == EOF) exit(0);
    pid_t child = fork();
    if (child < 0) die("fork");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl("/proc/self/exe", "host", "endless", options.models[0], (char *) NULL);
        _exit(127);
    }
    while (getchar() != EOF) {}
    kill(child, SIGTERM);
    waitpid(child, NULL, 0);
}

static void run_children(void) {
    run_generate();
    if (system("env") != 0) die("env");
    pid_t child = fork();
    if (child == 0) {
        execlp("env", "env", (char *) NULL);
        _exit(127);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) die("exec");
}

// A decode that is aborted, and one without space: both fail, and the program continues.
static void run_stop(void) {
    struct session session = open_session(open_model(options.models[0]), 0);
    struct item    items[MOST_TOKENS];
    for (int i = 0; i < PROMPT; i++) items[i] = (struct item){prompt[i], i, 0, i == PROMPT - 1};
    say("stopped", call_decode(&session, items, PROMPT));
    llama_memory_seq_rm(llama_get_memory(session.context), -1, -1, -1);
    prompt_and_generate(&session);
    items[0] = (struct item){1, 0, 99, true}; // there is no such sequence
    say("refused", call_decode(&session, items, 1));
    struct item next = {5, session.position, 0, true};
    decode(&session, &next, 1, "GENERATE");
    close_session(&session);
    llama_model_free(session.model);
}

// A program with its own SIGSEGV handlers: one from the start, and one installed within a graph
// run. They open the page and return, like garbage collectors. A jump out of a handler would leave
// the thread without its tile configuration (AMX), which the kernel clears for a handler and
// restores when it returns.
static struct {
    volatile int * page; // protected
    int            first, second, replaced;
} handled;

static void first_handler(int number) {
    (void) number;
    handled.first++;
    mprotect((void *) handled.page, 4096, PROT_READ | PROT_WRITE);
}

static void second_handler(int number, siginfo_t * info, void * context) {
    (void) number, (void) context;
    handled.second += info->si_addr == (void *) handled.page;
    mprotect((void *) handled.page, 4096, PROT_READ | PROT_WRITE);
}

static void touch_page(void) {
    mprotect((void *) handled.page, 4096, PROT_NONE);
    *handled.page = 1;
}

static void handle_at(long call) {
    struct sigaction second = {.sa_sigaction = second_handler, .sa_flags = SA_SIGINFO}, before;
    if (call == options.call || call == options.call + 200) touch_page();
    if (call != options.call + 100) return;
    sigaction(SIGSEGV, &second, &before);
    handled.replaced += before.sa_handler == first_handler;
}

static void run_handlers(void) {
    struct sigaction now;
    handled.page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (handled.page == MAP_FAILED) die("mapping a page");
    sigaction(SIGSEGV, &(struct sigaction){.sa_handler = first_handler}, NULL);
    run_generate();
    sigaction(SIGSEGV, NULL, &now);
    touch_page();
    say("first", handled.first);
    say("second", handled.second);
    say("replaced", handled.replaced);
    say("kept", now.sa_sigaction == second_handler);
}

static long calls;

// The child of a fork within a graph run continues to its end, while the parent waits.
static bool fork_inside(void) {
    if (++calls != options.call) return false;
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) die("fork");
    if (child == 0) {
        forked = true;
        return false;
    }
    int status;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    say("child_status", status);
    if (strcmp(options.mode, "fork-inside-killed") == 0) raise(SIGKILL);
    return false;
}

// A read-only page of the model's mapping.
static volatile int * model_page(void) {
    FILE *             maps = fopen("/proc/self/maps", "re");
    char               line[4096 + 128];
    unsigned long long found = 0;
    while (maps != NULL && found == 0 && fgets(line, sizeof(line), maps) != NULL)
        if (strstr(line, ".gguf") != NULL) found = strtoull(line, NULL, 16);
    if (maps != NULL) fclose(maps);
    return (volatile int *) (uintptr_t) found; // NOLINT(performance-no-int-to-ptr)
}

static bool abort_callback(void * data) {
    if (begins(options.mode, "fork-inside")) return fork_inside();
    if (strcmp(options.mode, "handlers") == 0) {
        handle_at(++calls);
        return false;
    }
    if (++calls < options.call || (calls > options.call && strcmp(options.mode, "stop") == 0)) return false;
    if (strcmp(options.mode, "stop") == 0) return true;
    if (strcmp(options.mode, "crash-abort") == 0) abort();
    if (strcmp(options.mode, "crash-write") == 0) *model_page() = 1;
    *(volatile int *) ((uintptr_t) data + 64) = 1; // near a null pointer, where a sanitizer would stop
    return false;
}

struct library {
    char path[4096];
};

static int find_cpu(struct dl_phdr_info * info, size_t size, void * data) {
    (void) size;
    if (info->dlpi_name == NULL || strstr(info->dlpi_name, "libggml-cpu") == NULL) return 0;
    snprintf(((struct library *) data)->path, sizeof(((struct library *) data)->path), "%s", info->dlpi_name);
    return 1;
}

// Closes the CPU backend's library and opens it again, or its simplest variant, which may get the
// same address.
static void run_reopen(void) {
    struct library library = {""}, rest = {""};
    run_generate();
    dl_iterate_phdr(find_cpu, &library);
    ggml_backend_unload(ggml_backend_dev_backend_reg(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU)));
    dl_iterate_phdr(find_cpu, &rest);
    say("gone", rest.path[0] == '\0');
    char * end = strstr(library.path, "libggml-cpu");
    if (end == NULL) die("finding the backend's library");
    if (strcmp(options.mode, "reopen-other") == 0)
        snprintf(end, sizeof(library.path) - (size_t) (end - library.path), "libggml-cpu-x64.so");
    if (ggml_backend_load(library.path) == NULL) die("opening the backend again");
    run_generate();
}

// Sizes of this release's structures, for programs without headers.
static void run_sizes(void) {
    struct ggs_json json;
    line_begin(&json);
    ggs_json_u64(&json, "model_params", sizeof(struct llama_model_params));
    ggs_json_u64(&json, "context_params", sizeof(struct llama_context_params));
    ggs_json_u64(&json, "n_ctx", offsetof(struct llama_context_params, n_ctx));
    ggs_json_u64(&json, "n_threads", offsetof(struct llama_context_params, n_threads));
    ggs_json_u64(&json, "n_threads_batch", offsetof(struct llama_context_params, n_threads_batch));
    line_end(&json);
}

// ---- the program ----

static const struct {
    const char * name;
    int          models;
    void (*run)(void);
} modes[] = {
    {"generate", 1, run_generate},
    {"unused", 1, run_unused},
    {"endless", 1, run_endless},
    {"churn", 1, run_churn},
    {"forgetful", 1, run_forgetful},
    {"forgetful-once", 1, run_forgetful},
    {"prefork", 1, run_prefork},
    {"bare-child", 1, run_bare_child},
    {"router", 1, run_router},
    {"busy-router", 1, run_router},
    {"turns", 1, run_turns},
    {"patched-over", 1, run_patched},
    {"patched-written", 1, run_patched},
    {"sequences", 1, run_sequences},
    {"contexts", 1, run_contexts},
    {"models", 2, run_contexts},
    {"warmup", 1, run_warmup},
    {"cleared", 1, run_warmup},
    {"fork", 1, run_fork},
    {"forking", 1, run_forking},
    {"workers", 1, run_workers},
    {"children", 1, run_children},
    {"crash-abort", 1, run_generate},
    {"crash-segv", 1, run_generate},
    {"crash-write", 1, run_generate},
    {"reopen", 1, run_reopen},
    {"reopen-other", 1, run_reopen},
    {"twice", 1, run_twice},
    {"stop", 1, run_stop},
    {"handlers", 1, run_handlers},
    {"sizes", 0, run_sizes},
    {"fork-held", 1, run_fork_held},
    {"sandbox", 1, run_sandbox},
    {"sandbox-syscall", 1, run_sandbox},
    {"sandbox-early", 1, run_sandbox},
    {"fork-inside", 1, run_generate},
    {"fork-inside-killed", 1, run_generate},
};

static void parse(int argc, char ** argv) {
    int option;
    if (argc > 1) options.mode = argv[1];
    optind = 2;
    while (argc > 1 && (option = getopt(argc, argv, "t:g:crfn:l:")) != -1) {
        if (option == 't') options.threads = (int) strtol(optarg, NULL, 10);
        if (option == 'g') options.generate = (int) strtol(optarg, NULL, 10);
        if (option == 'c') options.callback = true;
        if (option == 'r') options.read = true;
        if (option == 'f') options.stream = true;
        if (option == 'l') options.layers = (int) strtol(optarg, NULL, 10);
        if (option == 'n') options.call = strtol(optarg, NULL, 10);
    }
    options.models   = argv + optind;
    options.n_models = argc - optind;
}

int main(int argc, char ** argv) {
    struct ggs_error error;
    parse(argc, argv);
    for (size_t i = 0; options.mode != NULL && i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(modes[i].name, options.mode) != 0 || options.n_models != modes[i].models) continue;
        if (modes[i].models > 0 && ggs_engine_load(NULL, &error) < 0) die(error.text);
        modes[i].run();
        return 0;
    }
    fprintf(stderr, "Usage: host MODE [-t THREADS] [-g TOKENS] [-c] [-r] [-f] [-n CALL] [-l LAYERS] MODEL...\n");
    return 2;
}
