#include "preload/ggml-abi.h"

#include <string.h>

#include "preload/resolve.h"

struct init_params {
    size_t mem_size;
    void * mem_buffer;
    _Bool  no_alloc;
};

// Functions that only the layout check needs.
struct makers {
    void * (*init)(struct init_params params);
    void (*release)(void * context);
    struct abi_tensor * (*new_tensor)(void * context, int type, int64_t a, int64_t b, int64_t c, int64_t d);
    struct abi_tensor * (*set_name)(struct abi_tensor * tensor, const char * name);
    struct abi_tensor * (*view)(void * context, struct abi_tensor * tensor, int64_t ne0, size_t offset);
    struct abi_tensor * (*scale)(void * context, struct abi_tensor * tensor, float factor);
    void (*set_input)(struct abi_tensor * tensor);
    void * (*get_data)(const struct abi_tensor * tensor);
};

static const char * compare(const struct makers * make, const struct abi_functions * f, void * context) {
    struct abi_tensor * t = make->new_tensor(context, 0, 5, 7, 11, 13);
    if (t == NULL || t->type != 0) return "a new tensor's type is not where it should be";
    if (t->ne[0] != 5 || t->ne[1] != 7 || t->ne[2] != 11 || t->ne[3] != 13)
        return "a tensor's shape is not where it should be";
    if (t->nb[0] != 4 || t->nb[1] != 20 || t->nb[2] != 140 || t->nb[3] != 1540)
        return "a tensor's strides are not where they should be";
    make->set_name(t, "ggscope-abi");
    if (strcmp(t->name, "ggscope-abi") != 0) return "a tensor's name is not where it should be";
    if (t->data == NULL || t->data != make->get_data(t)) return "a tensor's data is not where it should be";
    int32_t before = t->flags;
    make->set_input(t);
    if (t->flags == before) return "a tensor's flags are not where they should be";
    if (t->src[0] != NULL || t->src[ABI_SOURCES - 1] != NULL || t->view_src != NULL)
        return "a tensor's sources are not where they should be";

    struct abi_tensor * v = make->view(context, t, 3, 8);
    if (v == NULL || v->view_src != t || v->view_offs != 8 || v->data != (char *) t->data + 8)
        return "a view's parent is not where it should be";
    if (v->src[0] != t || strcmp(f->op_name(v->op), "VIEW") != 0) return "a tensor's op is not where it should be";

    struct abi_tensor * s = make->scale(context, t, 2.5f);
    float               factor;
    memcpy(&factor, s->op_params, sizeof(factor));
    if (strcmp(f->op_name(s->op), "SCALE") != 0 || factor != 2.5f || s->src[0] != t)
        return "a tensor's op parameters are not where they should be";
    return NULL;
}

struct abi_functions ggs_engine;
static const void *  address; // inside the engine

static struct {
    const struct abi_functions * functions; // NULL: none
    uintptr_t                    low, size;
} adopted;

void ggs_abi_adopt(const struct abi_functions * functions, uintptr_t low, uintptr_t size) {
    adopted.functions = functions;
    adopted.low       = low;
    adopted.size      = size;
}

static _Bool is_adopted(const void * caller) {
    return adopted.functions != NULL && (uintptr_t) caller - adopted.low < adopted.size;
}

const void * ggs_abi_address(void) {
    return is_adopted(address) ? address : (const void *) ggs_engine.op_name;
}

void * ggs_abi_find(const char * name) {
    return ggs_resolve_name(name, address);
}

const char * ggs_abi_version(void) {
    return ggs_engine.version == NULL ? "an unknown version" : ggs_engine.version();
}

const char * ggs_abi_open(const void * caller) {
    struct abi_functions * f = &ggs_engine;
    struct makers          make;
    address = caller;
    if (is_adopted(caller)) {
        *f = *adopted.functions;
        return NULL;
    }
    const struct {
        void **      place;
        const char * name;
        _Bool        optional;
    } wanted[] = {
        {(void **) &f->op_name, "ggml_op_name", 0},
        {(void **) &f->type_name, "ggml_type_name", 0},
        {(void **) &f->type_size, "ggml_type_size", 0},
        {(void **) &f->block_size, "ggml_blck_size", 0},
        {(void **) &f->graph_n_nodes, "ggml_graph_n_nodes", 0},
        {(void **) &f->graph_node, "ggml_graph_node", 0},
        {(void **) &f->backend_name, "ggml_backend_name", 0},
        {(void **) &f->buffer_base, "ggml_backend_buffer_get_base", 0},
        {(void **) &f->buffer_size, "ggml_backend_buffer_get_size", 0},
        {(void **) &f->buffer_type, "ggml_backend_buffer_get_type", 0},
        {(void **) &f->buffer_is_host, "ggml_backend_buffer_is_host", 0},
        {(void **) &f->buffer_type_name, "ggml_backend_buft_name", 0},
        {(void **) &f->buffer_type_alloc_size, "ggml_backend_buft_get_alloc_size", 1},
        {(void **) &f->backend_device, "ggml_backend_get_device", 1},
        {(void **) &f->buffer_type_device, "ggml_backend_buft_get_device", 1},
        {(void **) &f->device_name, "ggml_backend_dev_name", 1},
        {(void **) &f->device_description, "ggml_backend_dev_description", 1},
        {(void **) &f->device_type, "ggml_backend_dev_type", 1},
        {(void **) &f->device_memory, "ggml_backend_dev_memory", 1},
        {(void **) &f->version, "ggml_version", 1},
        {(void **) &f->commit, "ggml_commit", 1},
        {(void **) &f->gguf_open, "gguf_init_from_file", 1},
        {(void **) &f->gguf_free, "gguf_free", 1},
        {(void **) &f->gguf_find, "gguf_find_tensor", 1},
        {(void **) &f->gguf_type, "gguf_get_tensor_type", 1},
        {(void **) &f->gguf_offset, "gguf_get_tensor_offset", 1},
        {(void **) &f->gguf_data, "gguf_get_data_offset", 1},
        {(void **) &make.init, "ggml_init", 0},
        {(void **) &make.release, "ggml_free", 0},
        {(void **) &make.new_tensor, "ggml_new_tensor_4d", 0},
        {(void **) &make.set_name, "ggml_set_name", 0},
        {(void **) &make.view, "ggml_view_1d", 0},
        {(void **) &make.scale, "ggml_scale", 0},
        {(void **) &make.set_input, "ggml_set_input", 0},
        {(void **) &make.get_data, "ggml_get_data", 0},
    };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        *wanted[i].place = ggs_abi_find(wanted[i].name);
        if (*wanted[i].place == NULL && !wanted[i].optional) return wanted[i].name;
    }
    char               memory[65536] __attribute__((aligned(64)));
    struct init_params params  = {sizeof(memory), memory, 0};
    void *             context = make.init(params);
    if (context == NULL) return "ggml_init gave no context";
    const char * problem = compare(&make, f, context);
    make.release(context);
    return problem;
}
