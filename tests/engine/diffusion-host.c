// A program that makes pictures, on ggml's own API, without llama.cpp and without GGUF: a small
// network with convolutions, group norms and attention that is computed once per step of denoising.
// Its weights are in a file of its own kind, or in none.
//     diffusion-host make FILE
//     diffusion-host run [FILE] [-c backend|context|scheduler] [-l map|read|set] [-n STEPS] [-t THREADS] [-s MICROSECONDS]
// -c says through which function of ggml graphs are computed, -l how the weights come from the
// file; without a file they are made up. -s is slept after each step. It prints a JSON line per
// step, with a hash of the result.
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program.h"

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"

enum {
    SIDE     = 16, // pixels of the picture; half of it inside
    LATENT   = 4,
    CHANNELS = 32,
    GROUPS   = 8,
    TIME     = 32,
    TENSORS  = 256,
    HEADER   = 4096, // bytes of the file before the weights
};

static struct {
    const char *path, *computing, *loading;
    int         steps, threads, pause_us;
} options = {.computing = "backend", .loading = "map", .steps = 3, .threads = 2};

static const struct {
    const char *   name;
    enum ggml_type type;
    int64_t        ne[4];
} shapes[] = {
    {"conv_in.weight", GGML_TYPE_F16, {3, 3, LATENT, CHANNELS}},
    {"time_embed.0.weight", GGML_TYPE_F16, {TIME, CHANNELS, 1, 1}},
    {"time_embed.2.weight", GGML_TYPE_F16, {CHANNELS, CHANNELS, 1, 1}},
    {"down.conv.weight", GGML_TYPE_F16, {3, 3, CHANNELS, CHANNELS}},
    {"mid.norm.weight", GGML_TYPE_F32, {1, 1, CHANNELS, 1}},
    {"mid.attn.q.weight", GGML_TYPE_F16, {CHANNELS, CHANNELS, 1, 1}},
    {"mid.attn.k.weight", GGML_TYPE_F16, {CHANNELS, CHANNELS, 1, 1}},
    {"mid.attn.v.weight", GGML_TYPE_F16, {CHANNELS, CHANNELS, 1, 1}},
    {"mid.attn.out.weight", GGML_TYPE_F16, {CHANNELS, CHANNELS, 1, 1}},
    {"up.conv.weight", GGML_TYPE_F16, {3, 3, CHANNELS, CHANNELS}},
    {"out.norm.weight", GGML_TYPE_F32, {1, 1, CHANNELS, 1}},
    {"conv_out.weight", GGML_TYPE_F16, {3, 3, CHANNELS, LATENT}},
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

// ---- weights ----

static struct ggml_tensor * weights[SHAPES];

static void make_weights(void) {
    struct ggml_context * c =
        ggml_init((struct ggml_init_params){.mem_size = TENSORS * ggml_tensor_overhead(), .no_alloc = true});
    if (c == NULL) die("ggml_init");
    for (int i = 0; i < SHAPES; i++)
        weights[i] = ggml_set_name(ggml_new_tensor(c, shapes[i].type, 4, shapes[i].ne), shapes[i].name);
}

static struct ggml_tensor * w(const char * name) {
    for (int i = 0; i < SHAPES; i++)
        if (strcmp(shapes[i].name, name) == 0) return weights[i];
    die(name);
}

// The weights follow each other without names; readers of such a file know their order.
static void make_file(const char * path) {
    static char header[HEADER] = "diffusion-host 1\n";
    FILE *      file           = fopen(path, "wb");
    make_weights();
    if (file == NULL || fwrite(header, 1, HEADER, file) != HEADER) die("writing");
    for (int i = 0; i < SHAPES; i++) {
        size_t size = ggml_nbytes(weights[i]);
        void * data = calloc(1, size);
        fill(shapes[i].name, shapes[i].type, data, (size_t) ggml_nelements(weights[i]));
        if (fwrite(data, 1, size, file) != size) die("writing");
        free(data);
    }
    if (fclose(file) != 0) die("writing");
}

static void map_weights(void) {
    struct stat info;
    int         fd = open(options.path, O_RDONLY);
    if (fd < 0 || fstat(fd, &info) != 0) die("opening");
    char * data = mmap(NULL, (size_t) info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) die("mmap");
    close(fd);
    size_t at = HEADER;
    for (int i = 0; i < SHAPES; i++) {
        weights[i]->data = data + at; // in no buffer of ggml
        at += ggml_nbytes(weights[i]);
    }
}

static void load_weights(ggml_backend_t backend) {
    make_weights();
    if (options.path != NULL && strcmp(options.loading, "map") == 0) {
        map_weights();
        return;
    }
    FILE * file = options.path == NULL ? NULL : fopen(options.path, "rb");
    if (options.path != NULL && (file == NULL || fseek(file, HEADER, SEEK_SET) != 0)) die("opening");
    size_t size = 0;
    for (int i = 0; i < SHAPES; i++) size += (ggml_nbytes(weights[i]) + 63) / 64 * 64;
    ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(ggml_backend_get_default_buffer_type(backend), size);
    if (buffer == NULL) die("ggml_backend_buft_alloc_buffer");
    char * at = ggml_backend_buffer_get_base(buffer);
    for (int i = 0; i < SHAPES; i++) {
        size_t bytes = ggml_nbytes(weights[i]);
        bool   set   = strcmp(options.loading, "set") == 0;
        if (ggml_backend_tensor_alloc(buffer, weights[i], at) != 0) die("ggml_backend_tensor_alloc");
        at += (bytes + 63) / 64 * 64;
        void * to = set ? malloc(bytes) : weights[i]->data;
        if (file == NULL)
            fill(shapes[i].name, shapes[i].type, to, (size_t) ggml_nelements(weights[i]));
        else if (fread(to, 1, bytes, file) != bytes)
            die("reading");
        if (set) {
            ggml_backend_tensor_set(weights[i], to, 0, bytes);
            free(to);
        }
    }
    if (file != NULL) fclose(file);
}

// ---- the network ----

static struct ggml_tensor * conv(struct ggml_context * c, const char * name, struct ggml_tensor * x, int stride) {
    return ggml_conv_2d(c, w(name), x, stride, stride, 1, 1, 1, 1);
}

static struct ggml_tensor * normed(struct ggml_context * c, const char * name, struct ggml_tensor * x) {
    return ggml_silu(c, ggml_mul(c, ggml_group_norm(c, x, GROUPS, 1e-6f), w(name)));
}

// x: [side, side, CHANNELS]; attention over its pixels.
static struct ggml_tensor * attention(struct ggml_context * c, struct ggml_tensor * x) {
    int64_t              side = x->ne[0], pixels = side * side;
    struct ggml_tensor * rows   = ggml_cont(c, ggml_transpose(c, ggml_reshape_2d(c, x, pixels, CHANNELS)));
    struct ggml_tensor * q      = ggml_mul_mat(c, w("mid.attn.q.weight"), rows);
    struct ggml_tensor * k      = ggml_mul_mat(c, w("mid.attn.k.weight"), rows);
    struct ggml_tensor * v      = ggml_mul_mat(c, w("mid.attn.v.weight"), rows);
    struct ggml_tensor * scores = ggml_soft_max(c, ggml_scale(c, ggml_mul_mat(c, k, q), 0.18f));
    struct ggml_tensor * mixed  = ggml_mul_mat(c, ggml_cont(c, ggml_transpose(c, v)), scores);
    mixed                       = ggml_mul_mat(c, w("mid.attn.out.weight"), mixed);
    return ggml_add(c, x, ggml_reshape_3d(c, ggml_cont(c, ggml_transpose(c, mixed)), side, side, CHANNELS));
}

struct network {
    struct ggml_cgraph * graph;
    struct ggml_tensor * picture; // in
    struct ggml_tensor * time;
    struct ggml_tensor * noise; // out
};

static struct network make_network(struct ggml_context * c) {
    struct network n = {.graph = ggml_new_graph_custom(c, TENSORS, false)};
    n.picture        = ggml_set_name(ggml_new_tensor_3d(c, GGML_TYPE_F32, SIDE, SIDE, LATENT), "latent");
    n.time           = ggml_set_name(ggml_new_tensor_1d(c, GGML_TYPE_F32, 1), "timestep");
    ggml_set_input(n.picture);
    ggml_set_input(n.time);
    struct ggml_tensor * time = ggml_timestep_embedding(c, n.time, TIME, 10000);
    time                      = ggml_silu(c, ggml_mul_mat(c, w("time_embed.0.weight"), time));
    time                      = ggml_reshape_3d(c, ggml_mul_mat(c, w("time_embed.2.weight"), time), 1, 1, CHANNELS);
    struct ggml_tensor * x    = conv(c, "conv_in.weight", n.picture, 1);
    struct ggml_tensor * wide = x;
    x                         = ggml_add(c, conv(c, "down.conv.weight", ggml_silu(c, x), 2), time);
    x                         = attention(c, normed(c, "mid.norm.weight", x));
    x                         = ggml_upscale(c, x, 2, GGML_SCALE_MODE_NEAREST);
    x                         = ggml_add(c, conv(c, "up.conv.weight", x, 1), wide);
    n.noise                   = ggml_set_name(conv(c, "conv_out.weight", normed(c, "out.norm.weight", x), 1), "noise");
    ggml_set_output(n.noise);
    ggml_build_forward_expand(n.graph, n.noise);
    return n;
}

// ---- denoising ----

static float picture[SIDE * SIDE * LATENT], noise[SIDE * SIDE * LATENT];

static void after_step(const struct network * n, int step) {
    for (int i = 0; i < SIDE * SIDE * LATENT; i++) picture[i] -= 0.1f * noise[i];
    printf("{\"step\":%d,\"nodes\":%d,\"hash\":%llu}\n", step, ggml_graph_n_nodes(n->graph),
           (unsigned long long) (hash(noise, sizeof(noise)) >> 12));
    fflush(stdout);
    if (options.pause_us > 0) usleep((useconds_t) options.pause_us);
}

static float time_of(int step) {
    return (float) (1000 - 1000 * step / options.steps);
}

// Graph and data in one context, as in programs without backends.
static void run_in_context(void) {
    struct ggml_context * c = ggml_init((struct ggml_init_params){.mem_size = 64 << 20});
    if (c == NULL) die("ggml_init");
    struct network n = make_network(c);
    for (int step = 0; step < options.steps; step++) {
        float time = time_of(step);
        memcpy(n.picture->data, picture, sizeof(picture));
        memcpy(n.time->data, &time, sizeof(time));
        if (ggml_graph_compute_with_ctx(c, n.graph, options.threads) != GGML_STATUS_SUCCESS) die("computing");
        memcpy(noise, n.noise->data, sizeof(noise));
        after_step(&n, step);
    }
    ggml_free(c);
}

static void run_on_backend(ggml_backend_t backend, bool scheduled) {
    size_t                size = TENSORS * ggml_tensor_overhead() + ggml_graph_overhead_custom(TENSORS, false);
    struct ggml_context * c    = ggml_init((struct ggml_init_params){.mem_size = size, .no_alloc = true});
    if (c == NULL) die("ggml_init");
    struct network       n         = make_network(c);
    ggml_backend_sched_t scheduler = NULL;
    ggml_gallocr_t       allocator = NULL;
    if (scheduled) {
        scheduler = ggml_backend_sched_new(&backend, NULL, 1, TENSORS, false, true);
        if (!ggml_backend_sched_alloc_graph(scheduler, n.graph)) die("ggml_backend_sched_alloc_graph");
    } else {
        allocator = ggml_gallocr_new(ggml_backend_get_default_buffer_type(backend));
        if (!ggml_gallocr_alloc_graph(allocator, n.graph)) die("ggml_gallocr_alloc_graph");
    }
    for (int step = 0; step < options.steps; step++) {
        float time = time_of(step);
        ggml_backend_tensor_set(n.picture, picture, 0, sizeof(picture));
        ggml_backend_tensor_set(n.time, &time, 0, sizeof(time));
        enum ggml_status status = scheduled ? ggml_backend_sched_graph_compute(scheduler, n.graph)
                                            : ggml_backend_graph_compute(backend, n.graph);
        if (status != GGML_STATUS_SUCCESS) die("computing");
        ggml_backend_tensor_get(n.noise, noise, 0, sizeof(noise));
        after_step(&n, step);
    }
    if (scheduler != NULL) ggml_backend_sched_free(scheduler);
    if (allocator != NULL) ggml_gallocr_free(allocator);
    ggml_free(c);
}

int main(int argc, char ** argv) {
    int option;
    if (argc == 3 && strcmp(argv[1], "make") == 0) {
        make_file(argv[2]);
        return 0;
    }
    bool good = argc > 1 && strcmp(argv[1], "run") == 0;
    optind    = 2;
    if (good && argc > 2 && argv[2][0] != '-') options.path = argv[optind++];
    while (good && (option = getopt(argc, argv, "c:l:n:s:t:")) != -1) {
        if (option == 'c') options.computing = optarg;
        if (option == 'l') options.loading = optarg;
        if (option == 'n') options.steps = atoi(optarg);
        if (option == 's') options.pause_us = atoi(optarg);
        if (option == 't') options.threads = atoi(optarg);
        if (option == '?') good = false;
    }
    if (!good) {
        fprintf(
            stderr,
            "Usage: diffusion-host make FILE | run [FILE] [-c backend|context|scheduler] [-l map|read|set] [-n STEPS] "
            "[-t THREADS] [-s MICROSECONDS]\n");
        return 2;
    }
    ggml_backend_t backend = ggml_backend_cpu_init();
    ggml_backend_cpu_set_n_threads(backend, options.threads);
    load_weights(backend);
    fill("noise", GGML_TYPE_F32, picture, SIDE * SIDE * LATENT);
    if (strcmp(options.computing, "context") == 0)
        run_in_context();
    else
        run_on_backend(backend, strcmp(options.computing, "scheduler") == 0);
    ggml_backend_free(backend);
    return 0;
}
