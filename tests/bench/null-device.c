// A backend of llama.cpp whose device does nothing: it has memory, and takes no time. Its loops
// call ggml_is_empty like those of CUDA while graphs are replayed, and it has CUDA's names, so the
// host's cost of recording per token can be measured without a GPU.
#include <stdlib.h>
#include <string.h>

#include "ggml-backend-impl.h"

static struct ggml_backend_device      device;
static struct ggml_backend_buffer_type type;

static const char name[] = "CUDA0";

static const char * backend_name(ggml_backend_t backend) {
    (void) backend;
    return name;
}

static const char * type_name(ggml_backend_buffer_type_t of) {
    (void) of;
    return name;
}

static const char * device_name(ggml_backend_dev_t of) {
    (void) of;
    return name;
}

// ---- memory ----

static void free_buffer(ggml_backend_buffer_t buffer) {
    free(buffer->context);
}

static void * base(ggml_backend_buffer_t buffer) {
    return buffer->context;
}

static void fill(ggml_backend_buffer_t buffer, struct ggml_tensor * tensor, uint8_t value, size_t offset, size_t size) {
    (void) buffer;
    memset((char *) tensor->data + offset, value, size);
}

static void set(ggml_backend_buffer_t buffer, struct ggml_tensor * tensor, const void * data, size_t offset,
                size_t size) {
    (void) buffer;
    memcpy((char *) tensor->data + offset, data, size);
}

static void get(ggml_backend_buffer_t buffer, const struct ggml_tensor * tensor, void * data, size_t offset,
                size_t size) {
    (void) buffer;
    memcpy(data, (const char *) tensor->data + offset, size);
}

static void clear(ggml_backend_buffer_t buffer, uint8_t value) {
    memset(buffer->context, value, buffer->size);
}

static ggml_backend_buffer_t allocate(ggml_backend_buffer_type_t of, size_t size) {
    struct ggml_backend_buffer_i functions = {.free_buffer   = free_buffer,
                                              .get_base      = base,
                                              .memset_tensor = fill,
                                              .set_tensor    = set,
                                              .get_tensor    = get,
                                              .clear         = clear};
    void *                       memory    = aligned_alloc(128, (size + 127) / 128 * 128 + 128);
    return memory == NULL ? NULL : ggml_backend_buffer_init(of, functions, memory, size);
}

static size_t alignment(ggml_backend_buffer_type_t of) {
    (void) of;
    return 128;
}

// ---- computing ----

static void nothing(ggml_backend_t backend) {
    (void) backend;
}

static void set_async(ggml_backend_t backend, struct ggml_tensor * tensor, const void * data, size_t offset,
                      size_t size) {
    (void) backend;
    memcpy((char *) tensor->data + offset, data, size);
}

static void get_async(ggml_backend_t backend, const struct ggml_tensor * tensor, void * data, size_t offset,
                      size_t size) {
    (void) backend;
    memcpy(data, (const char *) tensor->data + offset, size);
}

// Like CUDA's check for replaying a graph. The logits are constant, so no token ends the text.
static enum ggml_status compute(ggml_backend_t backend, struct ggml_cgraph * graph) {
    enum { TOKEN = 42 };
    int n = ggml_graph_n_nodes(graph), empty = 0;
    (void) backend;
    for (int i = 0; i < n; i++) empty += ggml_is_empty(ggml_graph_node(graph, i));
    struct ggml_tensor * last = n == 0 ? NULL : ggml_graph_node(graph, -1);
    if (last != NULL && last->type == GGML_TYPE_F32 && last->ne[0] > TOKEN) {
        memset(last->data, 0, ggml_nbytes(last));
        ((float *) last->data)[TOKEN] = 1;
    }
    return empty < 0 ? GGML_STATUS_FAILED : GGML_STATUS_SUCCESS;
}

static void free_backend(ggml_backend_t backend) {
    free(backend);
}

static ggml_backend_t init(ggml_backend_dev_t of, const char * parameters) {
    static ggml_guid      guid    = {1, 2, 3};
    struct ggml_backend * backend = calloc(1, sizeof(*backend));
    (void) parameters;
    if (backend == NULL) return NULL;
    *backend = (struct ggml_backend){.guid   = &guid,
                                     .iface  = {.get_name         = backend_name,
                                                .free             = free_backend,
                                                .set_tensor_async = set_async,
                                                .get_tensor_async = get_async,
                                                .synchronize      = nothing,
                                                .graph_compute    = compute},
                                     .device = of};
    return backend;
}

// ---- the device ----

static void memory(ggml_backend_dev_t of, size_t * unused, size_t * total) {
    (void) of;
    *unused = *total = 8ull << 30;
}

static enum ggml_backend_dev_type is_gpu(ggml_backend_dev_t of) {
    (void) of;
    return GGML_BACKEND_DEVICE_TYPE_GPU;
}

static void properties(ggml_backend_dev_t of, struct ggml_backend_dev_props * out) {
    *out = (struct ggml_backend_dev_props){
        .name = name, .description = "does nothing", .type = is_gpu(of), .caps = {.async = true}};
    memory(of, &out->memory_free, &out->memory_total);
}

static ggml_backend_buffer_type_t buffer_type(ggml_backend_dev_t of) {
    (void) of;
    return &type;
}

static bool computes(ggml_backend_dev_t of, const struct ggml_tensor * op) {
    (void) of, (void) op;
    return true;
}

static bool reads(ggml_backend_dev_t of, ggml_backend_buffer_type_t other) {
    (void) of;
    return other == &type;
}

// ---- the library ----

static const char * reg_name(ggml_backend_reg_t reg) {
    (void) reg;
    return "CUDA";
}

static size_t one(ggml_backend_reg_t reg) {
    (void) reg;
    return 1;
}

static ggml_backend_dev_t the_device(ggml_backend_reg_t reg, size_t index) {
    (void) reg, (void) index;
    return &device;
}

__attribute__((visibility("default"))) ggml_backend_reg_t ggml_backend_init(void) {
    static struct ggml_backend_reg reg = {
        .api_version = GGML_BACKEND_API_VERSION,
        .iface       = {.get_name = reg_name, .get_device_count = one, .get_device = the_device}};
    type = (struct ggml_backend_buffer_type){
        .iface = {.get_name = type_name, .alloc_buffer = allocate, .get_alignment = alignment}, .device = &device};
    device = (struct ggml_backend_device){.iface = {.get_name        = device_name,
                                                    .get_description = device_name,
                                                    .get_memory      = memory,
                                                    .get_type        = is_gpu,
                                                    .get_props       = properties,
                                                    .init_backend    = init,
                                                    .get_buffer_type = buffer_type,
                                                    .supports_op     = computes,
                                                    .supports_buft   = reads},
                                          .reg   = &reg};
    return &reg;
}
