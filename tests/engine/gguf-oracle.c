// What the engine's own GGUF reader says: "OFFSET SIZE TYPE NAME" for each tensor, one line each,
// offsets from the start of the file. `gguf-oracle --types` lists the types of the library instead:
// "NUMBER BLOCK BYTES NAME"; `gguf-oracle --values FILE` says "MEAN SQUARE NAME" of the values of
// each tensor, as the engine sees them.
#include <ggml.h>
#include <gguf.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int print_types(void) {
    for (int type = 0; type < GGML_TYPE_COUNT; type++) {
        const char * name = ggml_type_name((enum ggml_type) type);
        printf("%d %lld %zu %s\n", type, (long long) ggml_blck_size((enum ggml_type) type),
               ggml_type_size((enum ggml_type) type), name == NULL ? "-" : name);
    }
    return 0;
}

static int print_values(const char * path) {
    struct ggml_context *   tensors    = NULL;
    struct gguf_init_params parameters = {.no_alloc = false, .ctx = &tensors};
    struct gguf_context *   context    = gguf_init_from_file(path, parameters);
    if (context == NULL) return 1;
    for (struct ggml_tensor * t = ggml_get_first_tensor(tensors); t != NULL; t = ggml_get_next_tensor(tensors, t)) {
        if (gguf_find_tensor(context, t->name) < 0) continue; // the data itself, in one piece
        const struct ggml_type_traits * traits = ggml_get_type_traits(t->type);
        int64_t                         n      = ggml_nelements(t);
        float *                         values = malloc((size_t) n * sizeof(*values));
        double                          sum = 0, squares = 0;
        if (values == NULL) return 1;
        if (t->type == GGML_TYPE_F32)
            memcpy(values, t->data, (size_t) n * sizeof(*values));
        else
            traits->to_float(t->data, values, n);
        for (int64_t i = 0; i < n; i++) sum += values[i], squares += (double) values[i] * values[i];
        printf("%.9g %.9g %s\n", sum / (double) n, squares / (double) n, t->name);
        free(values);
    }
    gguf_free(context);
    ggml_free(tensors);
    return 0;
}

int main(int argc, char ** argv) {
    if (argc == 3 && strcmp(argv[1], "--values") == 0) return print_values(argv[2]);
    if (argc != 2) {
        fprintf(stderr, "usage: gguf-oracle FILE | --types | --values FILE\n");
        return 2;
    }
    if (strcmp(argv[1], "--types") == 0) return print_types();
    struct gguf_init_params parameters = {.no_alloc = true, .ctx = NULL};
    struct gguf_context *   context    = gguf_init_from_file(argv[1], parameters);
    if (context == NULL) return 1;
    for (int64_t i = 0; i < gguf_get_n_tensors(context); i++) {
        printf("%zu %zu %s %s\n", gguf_get_data_offset(context) + gguf_get_tensor_offset(context, i),
               gguf_get_tensor_size(context, i), ggml_type_name(gguf_get_tensor_type(context, i)),
               gguf_get_tensor_name(context, i));
    }
    gguf_free(context);
    return 0;
}
