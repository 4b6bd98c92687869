// A speech program on ggml's own API, without llama.cpp: an encoder (two convolutions, layers of
// self-attention), then a decoder that attends to the encoder's output and keeps keys and values of
// its own.
//     whisper-host make FILE.gguf
//     whisper-host run FILE.gguf [-b BACKENDS] [-l WAY] [-n TOKENS] [-t THREADS]
// -l says how the weights get where they are used: "read" into the buffer, "set" through
// ggml_backend_tensor_set, or "map" for mapped. With "stream" they are read from a file that the
// program has opened; with "bytes" they are mapped, and ggml parses a copy of the file. With
// "overwritten" every second one is read into the buffer and then computed there; with "reused"
// every second one is computed in the memory that the one before was read into, and set from there;
// with "unseen" they come from memory that was read by system calls, as in programs that are handed
// a model as bytes; with "partly" the model is mapped, and every second weight is copied from there
// into a buffer that is not said to have weights. It prints a JSON line per graph that it computes,
// with a hash of the result.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "program.h"

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "gguf.h"

#include "older-releases.h"

enum {
    MELS    = 16,
    FRAMES  = 48, // of sound; the second convolution halves them
    AUDIO   = 24,
    STATE   = 32,
    HEADS   = 2,
    LAYERS  = 2,
    WORDS   = 64,
    TEXT    = 16, // the most tokens
    TENSORS = 256,
};

static struct {
    const char * backends;
    const char * loading;
    int          tokens, threads;
} options = {.loading = "read", .tokens = 4, .threads = 2};

// ---- weights ----

static struct ggml_context * weights; // by name

static void weight(const char * name, enum ggml_type type, int64_t a, int64_t b, int64_t c) {
    ggml_set_name(ggml_new_tensor_3d(weights, type, a, b, c), name);
}

static void weight_of(const char * side, int layer, const char * name, enum ggml_type type, int64_t a, int64_t b) {
    char full[GGML_MAX_NAME];
    snprintf(full, sizeof(full), "%s.blocks.%d.%s", side, layer, name);
    weight(full, type, a, b, 1);
}

static void weights_of_attention(const char * side, int layer, const char * kind) {
    static const char * const parts[] = {"query", "key", "value", "out"};
    char                      name[32];
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof(name), "%s.%s.weight", kind, parts[i]);
        weight_of(side, layer, name, GGML_TYPE_F16, STATE, STATE);
    }
    snprintf(name, sizeof(name), "%s_ln.weight", kind);
    weight_of(side, layer, name, GGML_TYPE_F32, STATE, 1);
}

static void make_weights(void) {
    weights = ggml_init((struct ggml_init_params){.mem_size = TENSORS * ggml_tensor_overhead(), .no_alloc = true});
    if (weights == NULL) die("ggml_init");
    weight("encoder.conv1.weight", GGML_TYPE_F16, 3, MELS, STATE);
    weight("encoder.conv2.weight", GGML_TYPE_F16, 3, STATE, STATE);
    weight("encoder.positional_embedding", GGML_TYPE_F32, STATE, AUDIO, 1);
    weight("decoder.token_embedding.weight", GGML_TYPE_F16, STATE, WORDS, 1);
    weight("decoder.positional_embedding", GGML_TYPE_F32, STATE, TEXT, 1);
    for (int i = 0; i < LAYERS; i++) {
        for (int decoder = 0; decoder < 2; decoder++) {
            const char * side = decoder ? "decoder" : "encoder";
            weights_of_attention(side, i, "attn");
            if (decoder) weights_of_attention(side, i, "cross_attn");
            weight_of(side, i, "mlp_ln.weight", GGML_TYPE_F32, STATE, 1);
            weight_of(side, i, "mlp.0.weight", GGML_TYPE_F16, STATE, 4 * STATE);
            weight_of(side, i, "mlp.2.weight", GGML_TYPE_F16, 4 * STATE, STATE);
        }
    }
}

static struct ggml_tensor * w(const char * name) {
    struct ggml_tensor * tensor = ggml_get_tensor(weights, name);
    if (tensor == NULL) die(name);
    return tensor;
}

static struct ggml_tensor * w_of(const char * side, int layer, const char * kind, const char * name) {
    char full[GGML_MAX_NAME];
    snprintf(full, sizeof(full), "%s.blocks.%d.%s%s", side, layer, kind, name);
    return w(full);
}

static void make_file(const char * path) {
    struct gguf_context * gguf = gguf_init_empty();
    make_weights();
    gguf_set_val_str(gguf, "general.architecture", "whisper");
    gguf_set_val_u32(gguf, "whisper.audio.n_state", STATE);
    for (struct ggml_tensor * t = ggml_get_first_tensor(weights); t != NULL; t = ggml_get_next_tensor(weights, t)) {
        t->data = calloc(1, ggml_nbytes(t));
        if (t->data == NULL) die("calloc");
        fill(t->name, t->type, t->data, (size_t) ggml_nelements(t));
        gguf_add_tensor(gguf, t);
    }
    if (!gguf_write_to_file(gguf, path, false)) die("writing");
    gguf_free(gguf);
}

static bool loads(const char * way) {
    return strcmp(options.loading, way) == 0;
}

static void load_one(FILE * file, size_t offset, int64_t i, struct ggml_tensor * t) {
    static char memory[1 << 16];
    size_t      size = ggml_nbytes(t);
    bool        set = loads("set") || loads("reused"), other = i % 2 == 1;
    void *      to = set ? memory : t->data;
    if (size > sizeof(memory)) die("a tensor is too large");
    if (loads("unseen") && syscall(SYS_pread64, fileno(file), t->data, size, offset) != (long) size) die("reading");
    if (loads("unseen")) return;
    if (!loads("reused") || !other) {
        if (fseek(file, (long) offset, SEEK_SET) != 0 || fread(to, 1, size, file) != size) die("reading");
    }
    if (other && (loads("overwritten") || loads("reused"))) fill("computed", t->type, to, (size_t) ggml_nelements(t));
    if (set) ggml_backend_tensor_set(t, to, 0, size);
}

// A copy of the file in memory, which is read by system calls alone.
static const char * copy_in_memory(const char * path) {
    static char copy[64], memory[1 << 16];
    int         from = open(path, O_RDONLY), to = memfd_create("model", 0);
    long        n = 0;
    if (from < 0 || to < 0) die("opening");
    while ((n = syscall(SYS_read, from, memory, sizeof(memory))) > 0)
        if (syscall(SYS_write, to, memory, n) != n) die("writing");
    snprintf(copy, sizeof(copy), "/proc/self/fd/%d", to);
    return copy;
}

typedef struct gguf_context * from_stream(FILE * file, struct gguf_init_params params);
typedef struct gguf_context * from_bytes(const void * data, size_t size, struct gguf_init_params params);

// Older releases lack two of these functions.
static struct gguf_context * parse(const char * path) {
    struct gguf_init_params params = {.no_alloc = true, .ctx = &weights};
    if (!loads("stream") && !loads("bytes")) return gguf_init_from_file(path, params);
    from_stream *         stream = (from_stream *) dlsym(RTLD_DEFAULT, "gguf_init_from_file_ptr");
    from_bytes *          bytes  = (from_bytes *) dlsym(RTLD_DEFAULT, "gguf_init_from_buffer");
    FILE *                file   = fopen(path, "rb");
    static char           memory[1 << 20];
    struct gguf_context * gguf = NULL;
    if (file == NULL || stream == NULL || bytes == NULL) die("opening");
    if (loads("stream")) gguf = stream(file, params);
    if (loads("bytes")) gguf = bytes(memory, fread(memory, 1, sizeof(memory), file), params);
    fclose(file);
    return gguf;
}

static void load(const char * path, ggml_backend_t backend) {
    if (loads("unseen")) path = copy_in_memory(path);
    struct gguf_context * gguf = parse(path);
    if (gguf == NULL) die("parsing");
    size_t start = gguf_get_data_offset(gguf);
    if (loads("map") || loads("partly") || loads("bytes")) {
        struct stat info;
        int         fd = open(path, O_RDONLY);
        if (fd < 0 || fstat(fd, &info) != 0) die("opening");
        char * data = mmap(NULL, (size_t) info.st_size, PROT_READ, MAP_SHARED, fd, 0);
        if (data == MAP_FAILED) die("mmap");
        close(fd);
        ggml_backend_buffer_t buffer = ggml_backend_cpu_buffer_from_ptr(data + start, (size_t) info.st_size - start);
        ggml_backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
        char * copies = aligned_alloc(4096, ((size_t) info.st_size + 4095) / 4096 *
                                                4096); // in a buffer of which nothing says what it is for
        if (copies == NULL) die("aligned_alloc");
        memcpy(copies, data, (size_t) info.st_size);
        ggml_backend_buffer_t other = ggml_backend_cpu_buffer_from_ptr(copies + start, (size_t) info.st_size - start);
        for (int64_t i = 0; i < gguf_get_n_tensors(gguf); i++) {
            struct ggml_tensor * t      = w(gguf_get_tensor_name(gguf, i));
            bool                 copied = loads("partly") && i % 2 == 1;
            char *               from   = (copied ? copies : data) + start + gguf_get_tensor_offset(gguf, i);
            if (ggml_backend_tensor_alloc(copied ? other : buffer, t, from) != 0) die("ggml_backend_tensor_alloc");
        }
        return;
    }
    ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(weights, backend);
    if (buffer == NULL) die("ggml_backend_alloc_ctx_tensors");
    ggml_backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    FILE * file = fopen(path, "rb");
    if (file == NULL) die("opening");
    for (int64_t i = 0; i < gguf_get_n_tensors(gguf); i++)
        load_one(file, start + gguf_get_tensor_offset(gguf, i), i, w(gguf_get_tensor_name(gguf, i)));
    fclose(file);
    gguf_free(gguf);
}

// ---- graphs ----

static struct ggml_tensor *self_k[LAYERS], *self_v[LAYERS], *cross_k[LAYERS], *cross_v[LAYERS]; // kept between graphs

static void make_memory(ggml_backend_t backend) {
    struct ggml_context * c =
        ggml_init((struct ggml_init_params){.mem_size = TENSORS * ggml_tensor_overhead(), .no_alloc = true});
    for (int i = 0; i < LAYERS; i++) {
        self_k[i]  = ggml_format_name(ggml_new_tensor_2d(c, GGML_TYPE_F32, STATE, TEXT), "kv_self_k_%d", i);
        self_v[i]  = ggml_format_name(ggml_new_tensor_2d(c, GGML_TYPE_F32, STATE, TEXT), "kv_self_v_%d", i);
        cross_k[i] = ggml_format_name(ggml_new_tensor_2d(c, GGML_TYPE_F32, STATE, AUDIO), "kv_cross_k_%d", i);
        cross_v[i] = ggml_format_name(ggml_new_tensor_2d(c, GGML_TYPE_F32, STATE, AUDIO), "kv_cross_v_%d", i);
    }
    if (ggml_backend_alloc_ctx_tensors(c, backend) == NULL) die("ggml_backend_alloc_ctx_tensors");
}

static struct ggml_context * graph_context(void) {
    size_t size = TENSORS * ggml_tensor_overhead() + ggml_graph_overhead_custom(TENSORS, false);
    return ggml_init((struct ggml_init_params){.mem_size = size, .no_alloc = true});
}

static struct ggml_tensor * norm(struct ggml_context * c, struct ggml_tensor * x, struct ggml_tensor * scale) {
    return ggml_mul(c, ggml_norm(c, x, 1e-5f), scale);
}

static struct ggml_tensor * heads(struct ggml_context * c, struct ggml_tensor * x) {
    return ggml_permute(c, ggml_reshape_3d(c, x, STATE / HEADS, HEADS, x->ne[1]), 0, 2, 1, 3);
}

// q, k and v: [STATE, n].
static struct ggml_tensor * attention(struct ggml_context * c, struct ggml_tensor * q, struct ggml_tensor * k,
                                      struct ggml_tensor * v, struct ggml_tensor * out) {
    struct ggml_tensor * scores = ggml_mul_mat(c, heads(c, k), heads(c, q));
    scores                      = ggml_soft_max_ext(c, scores, NULL, 0.25f, 0.0f);
    struct ggml_tensor * values = ggml_cont(c, ggml_transpose(c, heads(c, v)));
    struct ggml_tensor * mixed  = ggml_permute(c, ggml_mul_mat(c, values, scores), 0, 2, 1, 3);
    return ggml_mul_mat(c, out, ggml_cont_2d(c, mixed, STATE, q->ne[1]));
}

static struct ggml_tensor * feed_forward(struct ggml_context * c, struct ggml_tensor * x, const char * side,
                                         int layer) {
    struct ggml_tensor * y = norm(c, x, w_of(side, layer, "mlp_ln", ".weight"));
    y                      = ggml_gelu(c, ggml_mul_mat(c, w_of(side, layer, "mlp.0", ".weight"), y));
    return ggml_add(c, x, ggml_mul_mat(c, w_of(side, layer, "mlp.2", ".weight"), y));
}

static struct ggml_cgraph * encoder_graph(struct ggml_context * c) {
    struct ggml_cgraph * graph = ggml_new_graph_custom(c, TENSORS, false);
    struct ggml_tensor * mel   = ggml_set_name(ggml_new_tensor_2d(c, GGML_TYPE_F32, FRAMES, MELS), "mel");
    ggml_set_input(mel);
    struct ggml_tensor * x = ggml_gelu(c, ggml_conv_1d_ph(c, w("encoder.conv1.weight"), mel, 1, 1));
    x                      = ggml_gelu(c, ggml_conv_1d_ph(c, w("encoder.conv2.weight"), x, 2, 1));
    x                      = ggml_add(c, ggml_cont(c, ggml_transpose(c, x)), w("encoder.positional_embedding"));
    for (int i = 0; i < LAYERS; i++) {
        struct ggml_tensor * y = norm(c, x, w_of("encoder", i, "attn_ln", ".weight"));
        y                      = attention(c, ggml_mul_mat(c, w_of("encoder", i, "attn.query", ".weight"), y),
                                           ggml_mul_mat(c, w_of("encoder", i, "attn.key", ".weight"), y),
                                           ggml_mul_mat(c, w_of("encoder", i, "attn.value", ".weight"), y),
                                           w_of("encoder", i, "attn.out", ".weight"));
        x                      = feed_forward(c, ggml_add(c, x, y), "encoder", i);
    }
    ggml_set_name(x, "encoder_output");
    for (int i = 0; i < LAYERS; i++) {
        struct ggml_tensor * k = ggml_mul_mat(c, w_of("decoder", i, "cross_attn.key", ".weight"), x);
        struct ggml_tensor * v = ggml_mul_mat(c, w_of("decoder", i, "cross_attn.value", ".weight"), x);
        ggml_build_forward_expand(graph, ggml_cpy(c, k, cross_k[i]));
        ggml_build_forward_expand(graph, ggml_cpy(c, v, cross_v[i]));
    }
    ggml_set_output(x);
    ggml_build_forward_expand(graph, x);
    return graph;
}

static struct ggml_cgraph * decoder_graph(struct ggml_context * c, int position) {
    struct ggml_cgraph * graph = ggml_new_graph_custom(c, TENSORS, false);
    struct ggml_tensor * embd  = ggml_set_name(ggml_new_tensor_1d(c, GGML_TYPE_I32, 1), "embd");
    struct ggml_tensor * place = ggml_set_name(ggml_new_tensor_1d(c, GGML_TYPE_I32, 1), "position");
    ggml_set_input(embd);
    ggml_set_input(place);
    struct ggml_tensor * x = ggml_add(c, ggml_get_rows(c, w("decoder.token_embedding.weight"), embd),
                                      ggml_get_rows(c, w("decoder.positional_embedding"), place));
    for (int i = 0; i < LAYERS; i++) {
        struct ggml_tensor * y   = norm(c, x, w_of("decoder", i, "attn_ln", ".weight"));
        struct ggml_tensor * k   = ggml_mul_mat(c, w_of("decoder", i, "attn.key", ".weight"), y);
        struct ggml_tensor * v   = ggml_mul_mat(c, w_of("decoder", i, "attn.value", ".weight"), y);
        size_t               row = self_k[i]->nb[1];
        ggml_build_forward_expand(graph,
                                  ggml_cpy(c, k, ggml_view_2d(c, self_k[i], STATE, 1, row, (size_t) position * row)));
        ggml_build_forward_expand(graph,
                                  ggml_cpy(c, v, ggml_view_2d(c, self_v[i], STATE, 1, row, (size_t) position * row)));
        y = attention(c, ggml_mul_mat(c, w_of("decoder", i, "attn.query", ".weight"), y),
                      ggml_view_2d(c, self_k[i], STATE, position + 1, row, 0),
                      ggml_view_2d(c, self_v[i], STATE, position + 1, row, 0),
                      w_of("decoder", i, "attn.out", ".weight"));
        x = ggml_add(c, x, y);
        y = norm(c, x, w_of("decoder", i, "cross_attn_ln", ".weight"));
        y = attention(c, ggml_mul_mat(c, w_of("decoder", i, "cross_attn.query", ".weight"), y), cross_k[i], cross_v[i],
                      w_of("decoder", i, "cross_attn.out", ".weight"));
        x = feed_forward(c, ggml_add(c, x, y), "decoder", i);
    }
    x = ggml_set_name(ggml_mul_mat(c, w("decoder.token_embedding.weight"), ggml_norm(c, x, 1e-5f)), "logits");
    ggml_set_output(x);
    ggml_build_forward_expand(graph, x);
    return graph;
}

// ---- running ----

static void compute(ggml_backend_sched_t scheduler, struct ggml_cgraph * graph, const char * what, const char * output,
                    float * result, size_t size) {
    if (ggml_backend_sched_graph_compute(scheduler, graph) != GGML_STATUS_SUCCESS) die("computing");
    ggml_backend_tensor_get(ggml_graph_get_tensor(graph, output), result, 0, size);
    printf("{\"graph\":\"%s\",\"nodes\":%d,\"hash\":%llu}\n", what, ggml_graph_n_nodes(graph),
           (unsigned long long) (hash(result, size) >> 12));
    fflush(stdout);
}

static void encode(ggml_backend_sched_t scheduler) {
    struct ggml_context * c     = graph_context();
    struct ggml_cgraph *  graph = encoder_graph(c);
    static float          mel[FRAMES * MELS], output[STATE * AUDIO];
    fill("sound", GGML_TYPE_F32, mel, FRAMES * MELS);
    ggml_backend_sched_reset(scheduler);
    if (!ggml_backend_sched_alloc_graph(scheduler, graph)) die("ggml_backend_sched_alloc_graph");
    ggml_backend_tensor_set(ggml_graph_get_tensor(graph, "mel"), mel, 0, sizeof(mel));
    compute(scheduler, graph, "encode", "encoder_output", output, sizeof(output));
    ggml_free(c);
}

static int32_t decode(ggml_backend_sched_t scheduler, int32_t token, int32_t position) {
    struct ggml_context * c     = graph_context();
    struct ggml_cgraph *  graph = decoder_graph(c, position);
    static float          logits[WORDS];
    ggml_backend_sched_reset(scheduler);
    if (!ggml_backend_sched_alloc_graph(scheduler, graph)) die("ggml_backend_sched_alloc_graph");
    ggml_backend_tensor_set(ggml_graph_get_tensor(graph, "embd"), &token, 0, sizeof(token));
    ggml_backend_tensor_set(ggml_graph_get_tensor(graph, "position"), &position, 0, sizeof(position));
    compute(scheduler, graph, "decode", "logits", logits, sizeof(logits));
    ggml_free(c);
    int32_t best = 0;
    for (int32_t i = 1; i < WORDS; i++)
        if (logits[i] > logits[best]) best = i;
    return best;
}

static void run(const char * path) {
    if (options.backends != NULL)
        ggml_backend_load_all_from_path(options.backends);
    else
        ggml_backend_load_all();
    ggml_backend_t backend = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL);
    if (backend == NULL) die("ggml_backend_init_by_type");
    ggml_backend_set_n_threads_t set_threads = (ggml_backend_set_n_threads_t) ggml_backend_reg_get_proc_address(
        ggml_backend_dev_backend_reg(ggml_backend_get_device(backend)), "ggml_backend_set_n_threads");
    if (set_threads != NULL) set_threads(backend, options.threads);
    load(path, backend);
    make_memory(backend);
    ggml_backend_sched_t scheduler = ggml_backend_sched_new(&backend, NULL, 1, TENSORS, false, true);
    encode(scheduler);
    int32_t token = 1;
    for (int i = 0; i < options.tokens; i++) token = decode(scheduler, token, i);
    ggml_backend_sched_free(scheduler);
    ggml_backend_free(backend);
}

int main(int argc, char ** argv) {
    if (argc == 3 && strcmp(argv[1], "make") == 0) {
        make_file(argv[2]);
        return 0;
    }
    int option;
    optind = 3;
    while (argc > 2 && (option = getopt(argc, argv, "b:l:n:t:")) != -1) {
        if (option == 'b') options.backends = optarg;
        if (option == 'l') options.loading = optarg;
        if (option == 'n') options.tokens = atoi(optarg);
        if (option == 't') options.threads = atoi(optarg);
        if (option == '?') return 2;
    }
    if (argc < 3 || strcmp(argv[1], "run") != 0 || options.tokens > TEXT) {
        fprintf(stderr, "Usage: whisper-host make FILE | run FILE [-b BACKENDS] [-l WAY] [-n TOKENS] [-t THREADS]\n");
        return 2;
    }
    run(argv[2]);
    return 0;
}
