// The functions that stand in for those of the engine that all backends share. Each finds the real one, tells the journal what it
// saw, and passes everything on unchanged. The CPU's own are in cpu/hooks.c.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system/ticks.h"
#include "capture/capture.h"
#include "capture/device/device.h"
#include "capture/ggml-abi.h"
#include "capture/graph-run.h"
#include "capture/graphs.h"
#include "capture/hooks/hook.h"
#include "capture/hooks/sandbox.h"
#include "capture/journal.h"
#include "capture/memory/buffers.h"
#include "capture/memory/files.h"
#include "capture/memory/fills.h"
#include "capture/memory/maps.h"
#include "capture/memory/reads.h"
#include "capture/memory/residency.h"
#include "capture/window.h"
#include "trace/spool.h"

// ---- graph runs ----

static uint64_t n_schedules, n_loads, n_buffers; // counted under the journal's lock

typedef int (*compute_function)(void * computer, struct abi_graph * graph);

static int compute(compute_function real, void * backend, struct abi_graph * graph, const void * caller) {
    ggs_graph_run_enter(graph, backend, caller);
    ggs_device_begin(backend, graph);
    int status = real(backend, graph);
    ggs_device_end();
    ggs_graph_run_leave(graph, status);
    return status;
}

EXPORT int ggml_backend_graph_compute_async(void * backend, struct abi_graph * graph) {
    REAL(ggml_backend_graph_compute_async);
    return compute(real, backend, graph, CALLER);
}

EXPORT int ggml_backend_graph_compute(void * backend, struct abi_graph * graph) {
    REAL(ggml_backend_graph_compute);
    return compute(real, backend, graph, CALLER);
}

EXPORT uint64_t ggml_graph_next_uid(void) {
    REAL(ggml_graph_next_uid);
    uint64_t uid = real();
    ggs_graphs_numbered((const void *) real, uid);
    return uid;
}

static void schedule_enter(void * scheduler, const struct abi_graph * graph, const void * caller) {
    bool awake = ggs_capture_wake(caller);
    if (!ggs_window_enter() || ggs_in.schedule != 0 || !awake) return;
    struct ggs_journal_number numbers = {{0, (uint64_t) scheduler, ggs_in.decode, (uint64_t) graph->n_nodes}};
    struct ggs_piece          piece   = {&numbers, sizeof(numbers)};
    if (ggs_journal_append_next(GGS_JOURNAL_SCHEDULE, &piece, 1, &numbers.value[0], &n_schedules) == 0)
        ggs_in.schedule = numbers.value[0];
}

static void schedule_leave(bool outermost, int status) {
    if (outermost && ggs_in.schedule != 0) {
        if (ggs_capture_recording())
            ggs_journal_numbers(GGS_JOURNAL_SCHEDULE_END, ggs_in.schedule, (uint64_t) (int64_t) status, 0, 0, NULL);
        ggs_in.schedule = 0;
        ggs_residency_tell(GGS_MOMENT_GRAPH);
    }
    ggs_window_leave();
}

static int schedule(compute_function real, void * scheduler, struct abi_graph * graph, const void * caller) {
    bool outermost = ggs_in.schedule == 0;
    schedule_enter(scheduler, graph, caller);
    int status = real(scheduler, graph);
    schedule_leave(outermost, status);
    return status;
}

EXPORT int ggml_backend_sched_graph_compute_async(void * scheduler, struct abi_graph * graph) {
    REAL(ggml_backend_sched_graph_compute_async);
    return schedule(real, scheduler, graph, CALLER);
}

EXPORT int ggml_backend_sched_graph_compute(void * scheduler, struct abi_graph * graph) {
    REAL(ggml_backend_sched_graph_compute);
    return schedule(real, scheduler, graph, CALLER);
}

// ---- buffers ----

// The device in whose own memory a buffer of this type lies, "" for none: what repacks weights for the CPU cannot be read as host
// memory either, but is no device.
static const char * device_of(void * type) {
    const struct abi_functions * f = &ggs_engine;
    if (type == NULL || f->buffer_type_device == NULL || f->device_name == NULL || f->device_type == NULL) return "";
    void *       device = f->buffer_type_device(type);
    int          kind   = device == NULL ? 0 : f->device_type(device);
    const char * name   = f->buffer_type_name(type);
    // Devices of RPC servers are numbered, their backends and buffers named: runs go by the backend's name.
    if (name != NULL && strncmp(name, "RPC", 3) == 0) return name;
    return kind == 1 || kind == 2 ? f->device_name(device) : "";
}

static void tell_buffer(void * buffer) {
    if (buffer == NULL || !ggs_capture_recording()) return;
    void *                    type   = ggs_engine.buffer_type(buffer);
    const char *              name   = type == NULL ? "" : ggs_engine.buffer_type_name(type);
    struct ggs_journal_buffer told   = {.address = (uint64_t) ggs_engine.buffer_base(buffer),
                                        .size    = ggs_engine.buffer_size(buffer),
                                        .host    = ggs_engine.buffer_is_host(buffer)};
    const char *              device = told.host ? "" : device_of(type);
    struct ggs_piece pieces[] = {{&told, sizeof(told)}, {name, strlen(name)}, {"\n", 1}, {device, strlen(device) + 1}};
    if (ggs_journal_append_next(GGS_JOURNAL_BUFFER, pieces, 4, &told.id, &n_buffers) == 0)
        ggs_buffer_add(buffer, told.id, told.address, told.host ? told.size : 0);
    ggs_reads_expect_fills();
}

// A buffer type may make its buffer from another type's and rename it afterwards: only the outermost allocation knows.
EXPORT void * ggml_backend_buft_alloc_buffer(void * type, size_t size) {
    REAL(ggml_backend_buft_alloc_buffer);
    ggs_capture_wake(CALLER);
    ggs_in.alloc_depth++;
    void * buffer = real(type, size);
    if (--ggs_in.alloc_depth == 0 && size > 0) tell_buffer(buffer);
    return buffer;
}

// The interface is a structure of function pointers that the engine passes by value, of a size that differs by release. It
// lies in the caller's frame, so it is passed on as it lies.
union interface {
    void * functions[32];
};

EXPORT void * ggml_backend_buffer_init(void * type, union interface interface, void * context, size_t size) {
    REAL(ggml_backend_buffer_init);
    ggs_capture_wake(CALLER);
    void * buffer = real(type, interface, context, size);
    if (ggs_in.alloc_depth == 0) tell_buffer(buffer);
    return buffer;
}

EXPORT void ggml_backend_buffer_free(void * buffer) {
    REAL(ggml_backend_buffer_free);
    uint64_t id = buffer == NULL || !ggs_capture_recording() ? 0 : ggs_buffer_remove(buffer);
    real(buffer);
    if (id != 0) ggs_journal_numbers(GGS_JOURNAL_BUFFER_FREE, id, 0, 0, 0, NULL);
}

EXPORT void ggml_backend_buffer_set_usage(void * buffer, int usage) {
    REAL(ggml_backend_buffer_set_usage);
    real(buffer, usage);
    uint64_t id = ggs_capture_recording() ? ggs_buffer_id(buffer) : 0;
    if (id != 0) ggs_journal_numbers(GGS_JOURNAL_BUFFER_USAGE, id, (uint64_t) usage, 0, 0, NULL);
}

// ---- transfers ----

static void * buffer_of(const struct abi_tensor * t) {
    return t->view_src != NULL ? t->view_src->buffer : t->buffer;
}

static uint64_t tensor_buffer(const struct abi_tensor * t) {
    return ggs_buffer_id(buffer_of(t));
}

static void tell_transfer(struct ggs_journal_transfer * transfer, const struct abi_tensor * tensor) {
    // The engine unmaps what it has copied, so a source that lies in a mapping is looked up while it does.
    if (transfer->kind == GGS_TRANSFER_SET) ggs_maps_see_source(transfer->from);
    transfer->end             = ggs_ticks_now();
    size_t           length   = strnlen(tensor->name, ABI_NAME - 1);
    struct ggs_piece pieces[] = {{transfer, sizeof(*transfer)}, {tensor->name, length}, {"", 1}};
    ggs_journal_append(GGS_JOURNAL_TRANSFER, pieces, 3);
    if (transfer->kind == GGS_TRANSFER_SET && ggs_reads_filling())
        ggs_fills_set(transfer->to, (const void *) transfer->from, transfer->bytes);
}

// Inputs and results outside of windows. What is moved while models are loaded says where weights come from.
static bool is_unwanted(void) {
    return ggs_window_is_outside() && __atomic_load_n(&ggs_reads_loading, __ATOMIC_RELAXED) == 0;
}

// TRANSFER(kind, async, tensor, call): runs `call`, and tells of it if it is the outermost of nested transfers.
#define TRANSFER(transfer_kind, is_async, tensor_, from_, to_, from_buffer_, to_buffer_, bytes_, call) \
    if (ggs_in.transfer_depth > 0 || !ggs_capture_wake(CALLER) || is_unwanted()) {                     \
        call;                                                                                          \
        return;                                                                                        \
    }                                                                                                  \
    struct ggs_journal_transfer transfer = {.kind        = (transfer_kind),                            \
                                            .async       = (is_async),                                 \
                                            .from        = (uint64_t) (from_),                         \
                                            .to          = (uint64_t) (to_),                           \
                                            .from_buffer = (from_buffer_),                             \
                                            .to_buffer   = (to_buffer_),                               \
                                            .bytes       = (bytes_),                                   \
                                            .begin       = ggs_ticks_now()};                                 \
    ggs_in.transfer_depth++;                                                                           \
    call;                                                                                              \
    ggs_in.transfer_depth--;                                                                           \
    tell_transfer(&transfer, (tensor_))

static uint64_t tensor_bytes(const struct abi_tensor * t) {
    uint64_t bytes = ggs_engine.type_size == NULL ? 0 : ggs_engine.type_size(t->type);
    for (int d = 0; d < ABI_DIMS; d++) {
        if (t->ne[d] <= 0) return 0;
    }
    int64_t block = ggs_engine.block_size == NULL ? 1 : ggs_engine.block_size(t->type);
    bytes         = bytes * (uint64_t) (t->ne[0] / (block > 0 ? block : 1));
    return bytes * (uint64_t) (t->ne[1] * t->ne[2] * t->ne[3]);
}

EXPORT void ggml_backend_tensor_set(struct abi_tensor * tensor, const void * data, size_t offset, size_t size) {
    REAL(ggml_backend_tensor_set);
    TRANSFER(GGS_TRANSFER_SET, 0, tensor, data, (char *) tensor->data + offset, 0, tensor_buffer(tensor), size,
             real(tensor, data, offset, size));
}

EXPORT void ggml_backend_tensor_get(const struct abi_tensor * tensor, void * data, size_t offset, size_t size) {
    REAL(ggml_backend_tensor_get);
    TRANSFER(GGS_TRANSFER_GET, 0, tensor, (char *) tensor->data + offset, data, tensor_buffer(tensor), 0, size,
             real(tensor, data, offset, size));
    ggs_device_answered(buffer_of(tensor));
}

EXPORT void ggml_backend_tensor_set_async(void * backend, struct abi_tensor * tensor, const void * data, size_t offset,
                                          size_t size) {
    REAL(ggml_backend_tensor_set_async);
    TRANSFER(GGS_TRANSFER_SET, 1, tensor, data, (char *) tensor->data + offset, 0, tensor_buffer(tensor), size,
             real(backend, tensor, data, offset, size));
}

EXPORT void ggml_backend_tensor_get_async(void * backend, const struct abi_tensor * tensor, void * data, size_t offset,
                                          size_t size) {
    REAL(ggml_backend_tensor_get_async);
    TRANSFER(GGS_TRANSFER_GET, 1, tensor, (char *) tensor->data + offset, data, tensor_buffer(tensor), 0, size,
             real(backend, tensor, data, offset, size));
    ggs_device_asked(backend);
}

EXPORT void ggml_backend_tensor_copy(struct abi_tensor * from, struct abi_tensor * to) {
    REAL(ggml_backend_tensor_copy);
    TRANSFER(GGS_TRANSFER_COPY, 0, from, from->data, to->data, tensor_buffer(from), tensor_buffer(to),
             tensor_bytes(from), real(from, to));
    ggs_device_answered(buffer_of(from));
}

EXPORT void ggml_backend_tensor_copy_async(void * backend_from, void * backend_to, struct abi_tensor * from,
                                           struct abi_tensor * to) {
    REAL(ggml_backend_tensor_copy_async);
    TRANSFER(GGS_TRANSFER_COPY, 1, from, from->data, to->data, tensor_buffer(from), tensor_buffer(to),
             tensor_bytes(from), real(backend_from, backend_to, from, to));
    ggs_device_answered(buffer_of(from)); // RPC has no copies that do not wait
}

// ---- model files ----

struct gguf_params { // small enough to travel in registers
    bool   no_alloc;
    void * context;
};

EXPORT void * gguf_init_from_file(const char * path, struct gguf_params params) {
    REAL(gguf_init_from_file);
    if (path != NULL && ggs_capture_wake(CALLER)) {
        char * absolute = ggs_sandboxed() ? NULL : realpath(path, NULL);
        ggs_journal_text(GGS_JOURNAL_FILE, absolute == NULL ? path : absolute);
        ggs_files_add(absolute == NULL ? path : absolute);
        ggs_maps_expect_load();
        ggs_reads_expect();
        free(absolute);
    }
    return real(path, params);
}

// ---- models, contexts ----

static uint64_t tell_load(const char * path) {
    struct ggs_journal_number numbers  = {{0, 0, 0, 0}};
    struct ggs_piece          pieces[] = {{&numbers, sizeof(numbers)}, {path, strlen(path) + 1}};
    if (ggs_journal_append_next(GGS_JOURNAL_LOAD, pieces, 2, &numbers.value[0], &n_loads) != 0) return 0;
    ggs_reads_begin(numbers.value[0]);
    return numbers.value[0];
}

static void tell_load_end(uint64_t load, const void * model) {
    if (load == 0) return;
    ggs_reads_end();
    if (!ggs_capture_recording()) return;
    ggs_maps_tell();
    ggs_journal_numbers(GGS_JOURNAL_LOAD_END, load, (uint64_t) model, 0, 0, NULL);
    ggs_residency_tell(GGS_MOMENT_LOAD);
}

EXPORT void * llama_model_load_from_file(const char * path, union abi_by_value params) {
    REAL(llama_model_load_from_file);
    uint64_t load  = ggs_capture_wake(CALLER) ? tell_load(path) : 0;
    void *   model = real(path, params);
    tell_load_end(load, model);
    return model;
}

EXPORT void * llama_model_load_from_splits(const char ** paths, size_t n_paths, union abi_by_value params) {
    REAL(llama_model_load_from_splits);
    uint64_t load  = ggs_capture_wake(CALLER) ? tell_load(n_paths > 0 ? paths[0] : "") : 0;
    void *   model = real(paths, n_paths, params);
    tell_load_end(load, model);
    return model;
}

EXPORT void * llama_init_from_model(void * model, union abi_by_value params) {
    REAL(llama_init_from_model);
    void * context = real(model, params);
    if (context != NULL && ggs_capture_wake(CALLER)) {
        void * (*get_memory)(void *) = (void * (*) (void *) ) ggs_resolve_name("llama_get_memory", CALLER);
        void * memory                = get_memory == NULL ? context : get_memory(context);
        ggs_journal_numbers(GGS_JOURNAL_CONTEXT, (uint64_t) context, (uint64_t) model, (uint64_t) memory, 0, NULL);
    }
    return context;
}

// ---- the dynamic linker ----

EXPORT int dlclose(void * handle) {
    int result = ggs_resolve_close(handle);
    if (__atomic_load_n(&ggs_capture_state, __ATOMIC_RELAXED) != GGS_CAPTURE_OFF) ggs_resolve_forget();
    return result;
}
