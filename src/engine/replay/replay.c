#include "engine/replay/replay.h"

#include <argp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "engine/load.h"
#include "engine/replay/op-file.h"

enum { MOST_DEVICES = 16, MOST_REPEATS = 100000 };
// Normalised mean square error up to which rounding of different kernels, also with quantised
// inputs, explains the difference.
static const double rounding = 1e-3;

struct options {
    const char * path;
    const char * device; // NULL: all
    const char * engine;
    uint64_t     repeat;
    bool         json;
};

// The difference of two outputs.
struct distance {
    double  nmse, largest;
    int64_t differ, not_finite, elements, channel; // channel: of the largest difference, within its row
    bool    known;
};

struct result {
    const char *    name;
    const char *    problem; // NULL: computed
    float *         values;
    struct distance recorded, cpu;
    uint64_t        others; // repeats whose result differs from the first
};

static struct distance compare(const float * a, const float * b, int64_t n, int64_t row) {
    struct distance d       = {.elements = n, .known = true};
    double          squares = 0, errors = 0;
    for (int64_t i = 0; i < n; i++) {
        d.differ += memcmp(&a[i], &b[i], sizeof(*a)) != 0;
        if (!isfinite((double) a[i]) || !isfinite((double) b[i])) {
            d.not_finite += memcmp(&a[i], &b[i], sizeof(*a)) != 0;
            continue;
        }
        double error = (double) a[i] - (double) b[i];
        errors += error * error;
        squares += (double) a[i] * (double) a[i];
        if (fabs(error) > d.largest) d.largest = fabs(error), d.channel = i % row;
    }
    d.nmse = squares > 0 ? errors / squares : errors;
    return d;
}

static bool is_wrong(const struct distance * d) {
    return d->known && (d->nmse > rounding || d->not_finite > 0);
}

// Converts a contiguous tensor to floats; the caller frees them.
static float * to_floats(enum ggml_type type, const void * data, int64_t n) {
    float * out = malloc((size_t) n * sizeof(*out));
    if (out == NULL) return NULL;
    const struct ggml_type_traits * traits = ggml_get_type_traits(type);
    if (type == GGML_TYPE_F32)
        memcpy(out, data, (size_t) n * sizeof(*out));
    else if (type == GGML_TYPE_I32)
        for (int64_t i = 0; i < n; i++) out[i] = (float) ((const int32_t *) data)[i];
    else if (traits->to_float != NULL)
        traits->to_float(data, out, n);
    else
        memset(out, 0, (size_t) n * sizeof(*out));
    return out;
}

static float * read_output(const struct ggml_tensor * node) {
    void *  bytes = malloc(ggml_nbytes(node));
    float * out   = NULL;
    if (bytes == NULL) return NULL;
    ggml_backend_tensor_get(node, bytes, 0, ggml_nbytes(node));
    out = to_floats(node->type, bytes, ggml_nelements(node));
    free(bytes);
    return out;
}

static const char * compute(ggml_backend_t backend, const struct ggs_op_file * file, struct ggs_op_graph * graph,
                            struct ggml_context * context, uint64_t repeat, struct result * result) {
    struct ggml_tensor * last = graph->nodes[file->n_nodes - 1];
    for (unsigned i = 0; i < file->n_nodes; i++)
        if (!ggml_backend_supports_op(backend, graph->nodes[i])) return "does not have this op";
    struct ggml_cgraph * nodes = ggml_new_graph(context);
    ggml_build_forward_expand(nodes, last);
    ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(context, backend);
    if (buffer == NULL) return "has no memory for it";
    const char * problem = NULL;
    for (uint64_t i = 0; problem == NULL && i < repeat; i++) {
        ggs_op_file_fill(graph);
        if (ggml_backend_graph_compute(backend, nodes) != GGML_STATUS_SUCCESS) problem = "failed to compute it";
        float * values = problem == NULL ? read_output(last) : NULL;
        if (problem == NULL && values == NULL) problem = "has no memory for it";
        if (problem == NULL && i > 0)
            result->others += memcmp(values, result->values, (size_t) ggml_nelements(last) * sizeof(*values)) != 0;
        if (i == 0)
            result->values = values;
        else
            free(values);
    }
    ggml_backend_buffer_free(buffer);
    return problem;
}

static int run_on(ggml_backend_dev_t device, const struct ggs_op_file * file, uint64_t repeat, struct result * result,
                  struct ggs_error * error) {
    *result                         = (struct result){.name = ggml_backend_dev_name(device)};
    struct ggml_init_params params  = {.mem_size = 16u << 20, .no_alloc = true};
    struct ggml_context *   context = ggml_init(params);
    struct ggs_op_graph     graph;
    ggml_backend_t          backend = ggml_backend_dev_init(device, NULL);
    int                     status  = 0;
    if (backend == NULL || context == NULL) {
        result->problem = "cannot be used";
    } else {
        status = ggs_op_file_build(file, context, &graph, error);
        if (status == 0) result->problem = compute(backend, file, &graph, context, repeat, result);
    }
    const struct ggml_tensor * last     = status == 0 && result->values != NULL ? graph.nodes[file->n_nodes - 1] : NULL;
    const struct ggml_tensor * recorded = ggs_op_file_output(file, file->n_nodes - 1);
    if (last != NULL && recorded != NULL && ggml_nbytes(recorded) == ggml_nbytes(last)) {
        float * then = to_floats(last->type, recorded->data, ggml_nelements(last));
        if (then != NULL) result->recorded = compare(then, result->values, ggml_nelements(last), last->ne[0]);
        free(then);
    }
    if (last != NULL) result->cpu.elements = ggml_nelements(last), result->cpu.channel = last->ne[0];
    if (backend != NULL) ggml_backend_free(backend);
    if (context != NULL) ggml_free(context);
    return status;
}

// ---- output ----

static void print_distance(const char * title, const struct distance * d) {
    if (!d->known) return;
    printf("  %-24s", title);
    if (d->differ == 0)
        printf("equal, bit by bit\n");
    else
        printf("NMSE %.3g, largest difference %.3g in channel %lld, %lld of %lld elements differ%s\n", d->nmse,
               d->largest, (long long) d->channel, (long long) d->differ, (long long) d->elements,
               d->not_finite > 0 ? ", some not finite" : "");
}

static void print_json_distance(const char * key, const struct distance * d) {
    if (!d->known) {
        printf(",\"%s\":null", key);
        return;
    }
    printf(
        ",\"%s\":{\"nmse\":%.9g,\"largest\":%.9g,\"channel\":%lld,\"differ\":%lld,\"elements\":%lld,\"not_finite\":%lld}",
        key, d->nmse, d->largest, (long long) d->channel, (long long) d->differ, (long long) d->elements,
        (long long) d->not_finite);
}

static void print_json(const struct result * results, unsigned n, bool wrong, bool alone) {
    printf("{\"wrong\":%s,\"op_alone_is_right\":%s,\"backends\":[", wrong ? "true" : "false", alone ? "true" : "false");
    for (unsigned i = 0; i < n; i++) {
        printf("%s{\"name\":\"%s\",\"problem\":", i == 0 ? "" : ",", results[i].name);
        if (results[i].problem == NULL)
            printf("null");
        else
            printf("\"%s\"", results[i].problem);
        print_json_distance("recorded", &results[i].recorded);
        print_json_distance("cpu", &results[i].cpu);
        printf(",\"other_repeats\":%llu}", (unsigned long long) results[i].others);
    }
    printf("]}\n");
}

static void print_text(const struct ggs_op_file * file, const struct result * results, unsigned n, bool alone) {
    printf("%s, %u op%s\n", file->key, file->n_nodes, file->n_nodes == 1 ? "" : "s computed together");
    for (unsigned i = 0; i < n; i++) {
        printf("%s%s%s\n", results[i].name, results[i].problem == NULL ? "" : " ",
               results[i].problem == NULL ? "" : results[i].problem);
        print_distance("against the recording", &results[i].recorded);
        print_distance("against the CPU", &results[i].cpu);
        if (results[i].others > 0)
            printf("  %llu repeats have another result: a race\n", (unsigned long long) results[i].others);
    }
    if (alone) printf("the op itself is right: something overwrites its result\n");
}

// If the results agree with each other but not with the recording, the recorded output was
// overwritten.
static int judge(const struct ggs_op_file * file, struct result * results, unsigned n, bool json) {
    const struct result * cpu   = NULL;
    bool                  wrong = false, agree = true, apart = n > 0, other = false;
    for (unsigned i = 0; i < n; i++)
        if (results[i].problem == NULL && strncmp(results[i].name, "CPU", 3) == 0) cpu = &results[i];
    for (unsigned i = 0; i < n; i++) {
        struct result * r = &results[i];
        if (r->problem != NULL) continue;
        if (cpu != NULL && r != cpu) r->cpu = compare(cpu->values, r->values, r->cpu.elements, r->cpu.channel);
        agree = agree && !is_wrong(&r->cpu);
        apart = apart && is_wrong(&r->recorded);
        wrong = wrong || is_wrong(&r->cpu) || is_wrong(&r->recorded) || r->others > 0;
        other = true;
    }
    // On the CPU every bit counts: its kernels are those of the recording, or the recording is a
    // device's.
    bool alone = other && agree && apart;
    if (json)
        print_json(results, n, wrong, alone);
    else
        print_text(file, results, n, alone);
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}

// ---- the verb ----

static error_t parse(int key, char * argument, struct argp_state * state) {
    struct options * o = state->input;
    switch (key) {
        case 'd':
            o->device = argument;
            return 0;
        case 'e':
            o->engine = argument;
            return 0;
        case 'j':
            o->json = true;
            return 0;
        case 'r': {
            char * end;
            o->repeat = strtoull(argument, &end, 10);
            if (*end != '\0' || o->repeat < 1 || o->repeat > MOST_REPEATS)
                argp_error(state, "--repeat takes a number from 1 to %d, not '%s'", MOST_REPEATS, argument);
            return 0;
        }
        case ARGP_KEY_ARG:
            if (o->path != NULL) argp_error(state, "unexpected argument '%s'", argument);
            o->path = argument;
            return 0;
        case ARGP_KEY_END:
            if (o->path == NULL) argp_error(state, "missing argument: a file that ggscope extract wrote");
            return 0;
        default:
            return ARGP_ERR_UNKNOWN;
    }
}

static int replay(const struct options * o, struct ggs_error * error) {
    struct ggs_op_file file;
    struct result      results[MOST_DEVICES];
    unsigned           n      = 0;
    int                status = ggs_op_file_open(&file, o->path, error);
    for (size_t i = 0; status == 0 && i < ggml_backend_dev_count() && n < MOST_DEVICES; i++) {
        ggml_backend_dev_t device = ggml_backend_dev_get(i);
        bool               cpu    = ggml_backend_dev_type(device) == GGML_BACKEND_DEVICE_TYPE_CPU;
        if (o->device != NULL && !cpu && strcmp(ggml_backend_dev_name(device), o->device) != 0) continue;
        status = run_on(device, &file, o->repeat, &results[n++], error);
    }
    bool found = o->device == NULL;
    for (unsigned i = 0; i < n && status == 0; i++) found = found || strcmp(results[i].name, o->device) == 0;
    if (status == 0 && !found) status = ggs_fail(error, GGS_ABSENT, "this engine has no device %s", o->device);
    int answer = status == 0 ? judge(&file, results, n, o->json) : EXIT_FAILURE;
    for (unsigned i = 0; i < n; i++) free(results[i].values);
    ggs_op_file_close(&file);
    return status == 0 ? answer : -1;
}

int ggs_replay_main(int argc, char ** argv) {
    static const struct argp_option options[] = {
        {"device", 'd', "NAME", 0, "Compute on this device and on the CPU only, such as Vulkan0", 0},
        {"repeat", 'r', "N", 0, "Compute N times, and count other results (1)", 0},
        {"json", 'j', NULL, 0, "As JSON", 0},
        {"engine", 'e', "DIR", 0, "Use the llama.cpp libraries in DIR (else GGSCOPE_ENGINE)", 0},
        {0}};
    static const struct argp argp = {.options  = options,
                                     .parser   = parse,
                                     .args_doc = "FILE",
                                     .doc = "Compute an op that ggscope extract wrote on every available backend, and "
                                            "compare the results with the recording and with the CPU. Exit 1 if they "
                                            "differ by more than rounding."};
    struct options           o    = {.repeat = 1};
    static struct ggs_engine engine;
    struct ggs_error         error = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    int status = ggs_engine_open(&engine, o.engine, false, &error);
    if (status == 0) status = replay(&o, &error);
    if (status < 0) fprintf(stderr, "ggscope-engine: %s\n", error.text);
    return status < 0 ? EXIT_FAILURE : status;
}
