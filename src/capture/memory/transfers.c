// Runtime buffers as the engine makes and frees them, and transfers into and out of them.
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/backend-traits.h"
#include "base/system/ticks.h"
#include "capture/capture.h"
#include "capture/device/device.h"
#include "capture/graph-run.h"
#include "capture/journal.h"
#include "capture/memory/buffers.h"
#include "capture/memory/fills.h"
#include "capture/memory/mapped-files.h"
#include "capture/memory/reads.h"
#include "capture/values/leafs.h"
#include "capture/values/values.h"
#include "capture/window.h"
#include "preload/ggml-abi.h"
#include "preload/hook.h"
#include "trace/spool.h"

// ---- buffers ----

// The device whose own memory has buffers of this type, "" for none. (A repacked buffer of the CPU
// is not readable as host memory either, but lies on no device.)
static const char * device_of(void * type) {
    const struct abi_functions * f = &ggs_engine;
    if (type == NULL || f->buffer_type_device == NULL || f->device_name == NULL || f->device_type == NULL) return "";
    void *       device = f->buffer_type_device(type);
    int          kind   = device == NULL ? 0 : f->device_type(device);
    const char * name   = f->buffer_type_name(type);
    // A server's devices are numbered, its backends and buffers named; graph runs have the
    // backend's name.
    if (ggs_backend_is_remote(name)) return name;
    return kind == 1 || kind == 2 ? f->device_name(device) : "";
}

static void emit_buffer(void * buffer) {
    if (buffer == NULL || !ggs_capture_recording()) return;
    void *                    type     = ggs_engine.buffer_type(buffer);
    const char *              name     = type == NULL ? "" : ggs_engine.buffer_type_name(type);
    struct ggs_journal_buffer record   = {.address = (uint64_t) ggs_engine.buffer_base(buffer),
                                          .size    = ggs_engine.buffer_size(buffer),
                                          .host    = ggs_engine.buffer_is_host(buffer)};
    const char *              device   = record.host ? "" : device_of(type);
    struct ggs_piece          pieces[] = {
                 {&record, sizeof(record)}, {name, strlen(name)}, {"\n", 1}, {device, strlen(device) + 1}};
    if (ggs_journal_append_next(GGS_JOURNAL_BUFFER, pieces, 4, &record.id, GGS_COUNT_BUFFERS) == 0)
        ggs_buffer_add(buffer, record.id, record.address, record.host ? record.size : 0);
}

uint64_t ggs_buffer_of_tensor(void * object) {
    uint64_t id = ggs_buffer_id(object);
    if (id != 0 || object == NULL || !ggs_capture.attached) return id;
    if (ggs_engine.buffer_type(object) == NULL) return 0; // nothing is known about buffers of this engine
    int (*get_usage)(void *) = (int (*)(void *)) ggs_abi_find("ggml_backend_buffer_get_usage");
    emit_buffer(object);
    id = ggs_buffer_id(object);
    if (id != 0 && get_usage != NULL)
        ggs_journal_numbers(GGS_JOURNAL_BUFFER_USAGE, id, (uint64_t) get_usage(object), 0, 0, NULL);
    return id;
}

static void emit_new_buffer(void * buffer) {
    if (buffer == NULL || !ggs_capture_recording()) return;
    emit_buffer(buffer);
    ggs_reads_expect_fills();
}

// A buffer type may make its buffer from another type's and rename it: only the outermost
// allocation counts.
EXPORT void * ggml_backend_buft_alloc_buffer(void * type, size_t size) {
    REAL(ggml_backend_buft_alloc_buffer);
    ggs_capture_wake(CALLER);
    ggs_in.alloc_depth++;
    void * buffer = real(type, size);
    if (--ggs_in.alloc_depth == 0 && size > 0) emit_new_buffer(buffer);
    return buffer;
}

// The interface is a structure of function pointers that the engine passes by value; its size
// differs by release. It lies in the caller's frame and is passed on in place.
union interface {
    void * functions[32];
};

EXPORT void * ggml_backend_buffer_init(void * type, union interface interface, void * context, size_t size) {
    REAL(ggml_backend_buffer_init);
    ggs_capture_wake(CALLER);
    void * buffer = real(type, interface, context, size);
    if (ggs_in.alloc_depth == 0) emit_new_buffer(buffer);
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

static void emit_transfer(struct ggs_journal_transfer transfer, const struct abi_tensor * tensor) {
    size_t           length   = strnlen(tensor->name, ABI_NAME - 1);
    struct ggs_piece pieces[] = {{&transfer, sizeof(transfer)}, {tensor->name, length}, {"", 1}};
    ggs_journal_append(GGS_JOURNAL_TRANSFER, pieces, 3);
}

// True for inputs and results outside of windows. Transfers during model loading are always
// recorded: they show where weights come from.
static bool is_unwanted(void) {
    return ggs_window_is_outside() && __atomic_load_n(&ggs_reads_loading, __ATOMIC_RELAXED) == 0;
}

// The time of a call. Transfers nest; the outermost is recorded.
struct span {
    bool     recorded;
    uint64_t begin, end; // ticks
};

static struct span enter(const void * caller) {
    struct span span = {.recorded = ggs_in.transfer_depth++ == 0 && ggs_capture_wake(caller) && !is_unwanted()};
    if (span.recorded) span.begin = ggs_ticks_now();
    return span;
}

static void leave(struct span * span) {
    ggs_in.transfer_depth--;
    if (span->recorded) span->end = ggs_ticks_now();
}

static uint64_t tensor_bytes(const struct abi_tensor * t) {
    uint64_t bytes = ggs_engine.type_size == NULL ? 0 : ggs_engine.type_size(t->type);
    for (int d = 0; d < ABI_DIMS; d++) {
        if (t->ne[d] <= 0) return 0;
    }
    int64_t block = ggs_engine.block_size == NULL ? 1 : ggs_engine.block_size(t->type);
    bytes         = bytes * (uint64_t) (t->ne[0] / (block > 0 ? block : 1));
    return bytes * (uint64_t) (t->ne[1] * t->ne[2] * t->ne[3]);
}

static void emit_set(const struct span * span, const struct abi_tensor * tensor, const void * data, size_t offset,
                     size_t size, bool async) {
    if (!span->recorded) return;
    uint64_t from = (uint64_t) data, to = (uint64_t) tensor->data + offset;
    // The engine unmaps what it has copied, so the mappings are read while the source exists.
    ggs_mapped_files_check_source(from);
    emit_transfer((struct ggs_journal_transfer){.kind      = GGS_TRANSFER_SET,
                                                .async     = async,
                                                .from      = from,
                                                .to        = to,
                                                .to_buffer = tensor_buffer(tensor),
                                                .bytes     = size,
                                                .begin     = span->begin,
                                                .end       = span->end},
                  tensor);
    if (ggs_reads_filling()) ggs_fills_set(to, data, size);
}

static void emit_get(const struct span * span, const struct abi_tensor * tensor, const void * data, size_t offset,
                     size_t size, bool async) {
    if (!span->recorded) return;
    emit_transfer((struct ggs_journal_transfer){.kind        = GGS_TRANSFER_GET,
                                                .async       = async,
                                                .from        = (uint64_t) tensor->data + offset,
                                                .to          = (uint64_t) data,
                                                .from_buffer = tensor_buffer(tensor),
                                                .bytes       = size,
                                                .begin       = span->begin,
                                                .end         = span->end},
                  tensor);
}

static void emit_copy(const struct span * span, const struct abi_tensor * from, const struct abi_tensor * to,
                      bool async) {
    if (!span->recorded) return;
    emit_transfer((struct ggs_journal_transfer){.kind        = GGS_TRANSFER_COPY,
                                                .async       = async,
                                                .from        = (uint64_t) from->data,
                                                .to          = (uint64_t) to->data,
                                                .from_buffer = tensor_buffer(from),
                                                .to_buffer   = tensor_buffer(to),
                                                .bytes       = tensor_bytes(from),
                                                .begin       = span->begin,
                                                .end         = span->end},
                  from);
}

EXPORT void ggml_backend_tensor_set(struct abi_tensor * tensor, const void * data, size_t offset, size_t size) {
    REAL(ggml_backend_tensor_set);
    struct span span = enter(CALLER);
    real(tensor, data, offset, size);
    leave(&span);
    emit_set(&span, tensor, data, offset, size, false);
    if (ggs_values_wanted && span.recorded) ggs_values_weight_set(tensor, data, offset, size);
}

EXPORT void ggml_backend_tensor_get(const struct abi_tensor * tensor, void * data, size_t offset, size_t size) {
    REAL(ggml_backend_tensor_get);
    struct span span = enter(CALLER);
    real(tensor, data, offset, size);
    leave(&span);
    emit_get(&span, tensor, data, offset, size, false);
    ggs_device_answered(buffer_of(tensor));
}

EXPORT void ggml_backend_tensor_set_async(void * backend, struct abi_tensor * tensor, const void * data, size_t offset,
                                          size_t size) {
    REAL(ggml_backend_tensor_set_async);
    struct span span = enter(CALLER);
    real(backend, tensor, data, offset, size);
    leave(&span);
    emit_set(&span, tensor, data, offset, size, true);
}

EXPORT void ggml_backend_tensor_get_async(void * backend, const struct abi_tensor * tensor, void * data, size_t offset,
                                          size_t size) {
    REAL(ggml_backend_tensor_get_async);
    struct span span = enter(CALLER);
    real(backend, tensor, data, offset, size);
    leave(&span);
    emit_get(&span, tensor, data, offset, size, true);
    ggs_device_asked(backend);
}

EXPORT void ggml_backend_tensor_copy(struct abi_tensor * from, struct abi_tensor * to) {
    REAL(ggml_backend_tensor_copy);
    struct span span = enter(CALLER);
    real(from, to);
    leave(&span);
    emit_copy(&span, from, to, false);
    ggs_device_answered(buffer_of(from));
}

EXPORT void ggml_backend_tensor_copy_async(void * backend_from, void * backend_to, struct abi_tensor * from,
                                           struct abi_tensor * to) {
    REAL(ggml_backend_tensor_copy_async);
    struct span span = enter(CALLER);
    real(backend_from, backend_to, from, to);
    leave(&span);
    emit_copy(&span, from, to, true);
    ggs_device_answered(buffer_of(from)); // remote backends have no asynchronous copies
}
