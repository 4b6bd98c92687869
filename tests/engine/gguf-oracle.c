// What the engine's own GGUF reader says: "OFFSET SIZE TYPE NAME" for each tensor, one line each, offsets from the start
// of the file. `gguf-oracle --types` lists the types of the library instead: "NUMBER BLOCK BYTES NAME".
#include <ggml.h>
#include <gguf.h>

#include <stdio.h>
#include <string.h>

static int print_types(void) {
    for (int type = 0; type < GGML_TYPE_COUNT; type++) {
        const char * name = ggml_type_name((enum ggml_type) type);
        printf("%d %lld %zu %s\n", type, (long long) ggml_blck_size((enum ggml_type) type),
               ggml_type_size((enum ggml_type) type), name == NULL ? "-" : name);
    }
    return 0;
}

int main(int argc, char ** argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: gguf-oracle FILE | --types\n");
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
