#include "engine/run/run-placement.h"

#include <ggml-backend.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/run/run-options.h"

// Lists the available devices for messages: "CPU, Vulkan0".
static void list_devices(struct ggs_text * text) {
    for (size_t i = 0; i < ggml_backend_dev_count(); i++) {
        if (i > 0) ggs_text_puts(text, ", ");
        ggs_text_puts(text, ggml_backend_dev_name(ggml_backend_dev_get(i)));
    }
}

static int unknown_name(const char * option, const char * name, size_t length, struct ggs_error * error) {
    struct ggs_text there = {0};
    list_devices(&there);
    int status = ggs_fail(error, GGS_USAGE, "%s: this engine has no '%.*s'; it has %s", option, (int) length, name,
                          ggs_text_string(&there));
    ggs_text_release(&there);
    return status;
}

static ggml_backend_dev_t find_device(const char * name, size_t length) {
    for (size_t i = 0; i < ggml_backend_dev_count(); i++) {
        ggml_backend_dev_t device = ggml_backend_dev_get(i);
        const char *       known  = ggml_backend_dev_name(device);
        if (strlen(known) == length && strncmp(known, name, length) == 0) return device;
    }
    return NULL;
}

void ggml_backend_register(ggml_backend_reg_t reg); // NOLINT: every release has it, only headers of 2026 declare it

// Adds the devices of each server in "HOST:PORT,HOST:PORT" to this engine. If a server cannot be
// reached, the engine ends the program with its own message.
static int add_servers(const char * list, struct ggs_error * error) {
    typedef ggml_backend_reg_t (*add_server)(const char * endpoint);
    ggml_backend_reg_t rpc = ggml_backend_reg_by_name("RPC");
    add_server         add;
    *(void **) &add = rpc == NULL ? NULL : ggml_backend_reg_get_proc_address(rpc, "ggml_backend_rpc_add_server");
    if (add == NULL)
        return ggs_fail(
            error, GGS_UNSUPPORTED,
            "--rpc: this engine has no RPC backend; build llama.cpp with -DGGML_RPC=ON and name it with --engine DIR");
    for (const char * at = list; *at != '\0';) {
        char   endpoint[280];
        size_t length = strcspn(at, ",");
        snprintf(endpoint, sizeof(endpoint), "%.*s", (int) length, at);
        if (length >= sizeof(endpoint) || strrchr(endpoint, ':') == NULL)
            return ggs_fail(error, GGS_USAGE, "--rpc takes HOST:PORT,..., not '%s'", endpoint);
        ggml_backend_reg_t server = add(endpoint);
        if (server == NULL) return ggs_fail(error, GGS_USAGE, "--rpc: the server %s has no devices", endpoint);
        ggml_backend_register(server);
        at += length + (at[length] == ',');
    }
    return 0;
}

// "Vulkan0,Vulkan1", or "none".
static int choose_devices(struct ggs_placement * placement, const char * list, struct ggs_error * error) {
    size_t n = 0;
    if (strcmp(list, "none") == 0) return 0;
    for (const char * name = list; *name != '\0';) {
        size_t             length = strcspn(name, ",");
        ggml_backend_dev_t device = find_device(name, length);
        if (device == NULL) return unknown_name("--device", name, length, error);
        if (n == GGS_PLACEMENT_MOST)
            return ggs_fail(error, GGS_USAGE, "--device: at most %d devices", GGS_PLACEMENT_MOST);
        placement->devices[n++] = device;
        name += length + (name[length] == ',');
    }
    return 0;
}

#ifdef HAVE_LLAMA_TENSOR_OVERRIDES
static ggml_backend_buffer_type_t find_buffer_type(const char * name, size_t length) {
    for (size_t i = 0; i < ggml_backend_dev_count(); i++) {
        ggml_backend_buffer_type_t type = ggml_backend_dev_buffer_type(ggml_backend_dev_get(i));
        if (type != NULL && strlen(ggml_backend_buft_name(type)) == length &&
            strncmp(ggml_backend_buft_name(type), name, length) == 0)
            return type;
    }
    return NULL;
}

// "PATTERN=BUFFER,PATTERN=BUFFER": the pattern is a regular expression on tensor names.
static int choose_overrides(struct ggs_placement * placement, const char * list, struct llama_model_params * params,
                            struct ggs_error * error) {
    size_t n                      = 0;
    params->tensor_buft_overrides = placement->overrides;
    placement->patterns           = strdup(list);
    if (placement->patterns == NULL) return ggs_fail_memory(error);
    char * rest = placement->patterns;
    for (char * item; (item = strsep(&rest, ",")) != NULL;) {
        char * equals = strrchr(item, '=');
        if (equals == NULL || equals == item)
            return ggs_fail(error, GGS_USAGE, "--override-tensor takes PATTERN=BUFFER, such as exps=CPU, not '%s'",
                            item);
        *equals                         = '\0';
        ggml_backend_buffer_type_t type = find_buffer_type(equals + 1, strlen(equals + 1));
        if (type == NULL) return unknown_name("--override-tensor", equals + 1, strlen(equals + 1), error);
        if (n == GGS_PLACEMENT_MOST) return ggs_fail(error, GGS_USAGE, "--override-tensor: too many patterns");
        placement->overrides[n++] = (struct llama_model_tensor_buft_override){item, type};
    }
    return 0;
}
#else
static int choose_overrides(struct ggs_placement * placement, const char * list, struct llama_model_params * params,
                            struct ggs_error * error) {
    (void) placement, (void) list, (void) params;
    return ggs_fail(error, GGS_UNSUPPORTED, "--override-tensor: this release of llama.cpp has no such option");
}
#endif

static int choose_split(const char * mode, struct llama_model_params * params, struct ggs_error * error) {
    static const struct {
        const char *          name;
        enum llama_split_mode mode;
    } modes[] = {{"none", LLAMA_SPLIT_MODE_NONE}, {"layer", LLAMA_SPLIT_MODE_LAYER}, {"row", LLAMA_SPLIT_MODE_ROW}};
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(mode, modes[i].name) != 0) continue;
        params->split_mode = modes[i].mode;
        return 0;
    }
    return ggs_fail(error, GGS_USAGE, "--split-mode is none, layer or row, not '%s'", mode);
}

static bool has_device(void) {
    for (size_t i = 0; i < ggml_backend_dev_count(); i++) {
        enum ggml_backend_dev_type type = ggml_backend_dev_type(ggml_backend_dev_get(i));
        if (type != GGML_BACKEND_DEVICE_TYPE_CPU && type != GGML_BACKEND_DEVICE_TYPE_ACCEL) return true;
    }
    return false;
}

int ggs_placement_apply(struct ggs_placement * placement, const struct ggs_run_options * options,
                        struct llama_model_params * params, struct ggs_error * error) {
    *placement = (struct ggs_placement){0};
    int status = options->rpc == NULL ? 0 : add_servers(options->rpc, error);
    if (status < 0) return status;
    if (options->gpu_layers > 0 && !has_device())
        fprintf(
            stderr,
            "ggscope-engine: -ngl changes nothing: this engine has no device but the CPU (another one: --engine DIR)\n");
    params->n_gpu_layers = (int32_t) options->gpu_layers;
    params->main_gpu     = (int32_t) options->main_gpu;
    // An empty list means no device; NULL means the engine's choice.
    params->devices = options->device == NULL && options->gpu_layers > 0 ? NULL : placement->devices;
    if (options->device != NULL) status = choose_devices(placement, options->device, error);
    if (status == 0 && options->split_mode != NULL) status = choose_split(options->split_mode, params, error);
    if (status == 0 && options->override_tensor != NULL) {
        status = choose_overrides(placement, options->override_tensor, params, error);
    }
    return status;
}

void ggs_placement_release(struct ggs_placement * placement) {
    free(placement->patterns);
    placement->patterns = NULL;
}
