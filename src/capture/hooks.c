// The functions that stand in for the engine's own. Each finds the real one, tells the recorder or the journal what
// it saw, and passes everything on unchanged.
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ticks.h"
#include "capture/buffers.h"
#include "capture/capture.h"
#include "capture/files.h"
#include "capture/ggml-abi.h"
#include "capture/graphs.h"
#include "capture/journal.h"
#include "capture/maps.h"
#include "capture/prove.h"
#include "capture/reads.h"
#include "capture/recorder.h"
#include "capture/residency.h"
#include "capture/resolve.h"
#include "trace/spool.h"

#define EXPORT    __attribute__((visibility("default")))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define CALLER    __builtin_return_address(0)

// REAL(name): declares `real`, the function behind the hook `name`, as the library that called finds it.
#define REAL(name)                                                      \
    static struct ggs_hook hook_of_##name = {#name, {{0, 0, NULL}}, 0}; \
    __typeof__(&name)      real           = (__typeof__(&name)) ggs_resolve(&hook_of_##name, CALLER)

// ---- ops ----

EXPORT bool ggml_cpu_extra_compute_forward(struct abi_params * params, struct abi_tensor * node);
EXPORT bool ggml_cpu_extra_compute_forward(struct abi_params * params, struct abi_tensor * node) {
    REAL(ggml_cpu_extra_compute_forward);
    if (!LIKELY(ggs_capture_recording())) return real(params, node);
    if (ggs_prove_active()) ggs_prove_thread();
    ggs_op_begin(params, node, 0);
    bool computed = real(params, node);
    if (computed) ggs_op_mark_extra();
    return computed;
}

EXPORT void ggml_compute_forward_rms_norm_mul_fused(struct abi_params * params, struct abi_tensor * norm,
                                                    struct abi_tensor * mul);
EXPORT void ggml_compute_forward_rms_norm_mul_fused(struct abi_params * params, struct abi_tensor * norm,
                                                    struct abi_tensor * mul) {
    REAL(ggml_compute_forward_rms_norm_mul_fused);
    if (ggs_prove_active()) ggs_prove_thread();
    if (LIKELY(ggs_capture_recording())) ggs_op_begin(params, norm, 1);
    real(params, norm, mul);
}

// All threads of the run come through here, and all of them twice: whether they do must not depend on the thread.
static void proving_barrier(void (*real)(void *), void * pool) {
    uint64_t enter = ggs_ticks_now();
    uint32_t run, node;
    real(pool);
    ggs_op_current(&run, &node);
    ggs_prove_tell(run, node);
    real(pool);
    if (ggs_op_in_flight()) ggs_op_barrier(enter, ggs_ticks_now());
}

EXPORT void ggml_barrier(void * pool);
EXPORT void ggml_barrier(void * pool) {
    REAL(ggml_barrier);
    if (ggs_prove_active()) {
        proving_barrier(real, pool);
        return;
    }
    if (!LIKELY(ggs_op_in_flight())) {
        real(pool);
        return;
    }
    uint64_t enter = ggs_ticks_now();
    real(pool);
    ggs_op_barrier(enter, ggs_ticks_now());
}

// ---- graph runs ----

static uint64_t n_runs, n_schedules, n_decodes, n_loads, n_buffers; // counted under the journal's lock

// The graph run that the calling thread is in. The graph functions call each other: the outermost counts.
struct nesting {
    unsigned                       depth;
    uint64_t                       run; // 0: not recorded
    const struct ggs_known_graph * graph;
    uint64_t                       schedule, decode;
    unsigned                       transfer_depth;
    unsigned                       alloc_depth;
};
static _Thread_local struct nesting in;

static void run_enter(const struct abi_graph * graph, void * backend, const void * caller) {
    if (in.depth++ > 0) return;
    if (__builtin_expect(__atomic_load_n(&ggs_reads_loading, __ATOMIC_RELAXED) != 0, 0) && ggs_reads_settle())
        ggs_residency_tell(GGS_MOMENT_LOAD); // of a load whose end no hook saw
    in.run = 0;
    if (ggs_prove_wanted) ggs_prove_enter();
    if (!ggs_capture_wake(caller) || graph == NULL || graph->n_nodes <= 0) return;
    if (ggs_engine.graph_n_nodes((void *) graph) != graph->n_nodes ||
        ggs_engine.graph_node((void *) graph, 0) != graph->nodes[0]) {
        ggs_capture_give_up("this ggml's graph is not laid out as expected: the program runs on, recording ends here");
        return;
    }
    in.graph = ggs_graphs_identify(graph, &ggs_engine);
    if (in.graph == NULL) {
        ggs_capture_stop_full();
        return;
    }
    const char *           name = backend == NULL ? "CPU" : ggs_engine.backend_name(backend);
    struct ggs_journal_run run  = {.graph     = in.graph->id,
                                   .schedule  = in.schedule,
                                   .decode    = in.decode,
                                   .os_thread = ggs_recorder_thread_id(),
                                   .host      = backend == NULL};
    ggs_ticks_pair(&run.ticks, &run.monotonic_ns);
    struct ggs_piece pieces[] = {{&run, sizeof(run)}, {name, strlen(name) + 1}};
    if (ggs_journal_append_next(GGS_JOURNAL_RUN, pieces, 2, &run.run, &n_runs) != 0) {
        ggs_capture_stop_full();
        return;
    }
    in.run = run.run;
}

static void run_leave(int64_t status) {
    if (--in.depth > 0) return;
    if (ggs_prove_wanted) ggs_prove_leave();
    if (in.run == 0) return; // its end is told though the spool may be full by now
    struct ggs_journal_run_end end = {.run = in.run, .status = status};
    ggs_ticks_pair(&end.ticks, &end.monotonic_ns);
    struct ggs_piece piece = {&end, sizeof(end)};
    ggs_journal_append(GGS_JOURNAL_RUN_END, &piece, 1);
    in.run = 0;
    if (in.schedule == 0) ggs_residency_tell(GGS_MOMENT_GRAPH);
}

EXPORT int ggml_backend_graph_compute_async(void * backend, struct abi_graph * graph);
EXPORT int ggml_backend_graph_compute_async(void * backend, struct abi_graph * graph) {
    REAL(ggml_backend_graph_compute_async);
    run_enter(graph, backend, CALLER);
    int status = real(backend, graph);
    run_leave(status);
    return status;
}

EXPORT int ggml_backend_graph_compute(void * backend, struct abi_graph * graph);
EXPORT int ggml_backend_graph_compute(void * backend, struct abi_graph * graph) {
    REAL(ggml_backend_graph_compute);
    run_enter(graph, backend, CALLER);
    int status = real(backend, graph);
    run_leave(status);
    return status;
}

// Op runs of the run under way, or, if recording has ended for want of room, of one that is not recorded at all.
static void tell_lost(unsigned reason, uint64_t count, uint64_t begin) {
    if (in.run == 0 || ggs_journal_loss(reason, count, in.run, begin, ggs_ticks_now()) != 0)
        ggs_recorder_count_loss(reason, count);
}

// Reached by every graph that the CPU computes, directly or through a backend: here the threads are known.
EXPORT int ggml_graph_compute(struct abi_graph * graph, struct abi_plan * plan);
EXPORT int ggml_graph_compute(struct abi_graph * graph, struct abi_plan * plan) {
    REAL(ggml_graph_compute);
    run_enter(graph, NULL, CALLER);
    struct ggs_slot * run    = NULL;
    uint64_t          lost   = 0;
    unsigned          reason = GGS_LOSS_SPACE;
    if (in.run != 0 && plan != NULL && in.graph->n_nodes == (uint32_t) graph->n_nodes) {
        run = ggs_slot_open((uint32_t) in.run, graph, in.graph, plan->threadpool, plan->n_threads);
        if (run == NULL && errno == EBUSY)
            reason = GGS_LOSS_SLOTS;
        else if (run == NULL)
            ggs_capture_stop_full();
        ggs_journal_numbers(GGS_JOURNAL_RUN_THREADS, in.run, (uint64_t) plan->n_threads, ggs_slot_number(run), 0, NULL);
        if (run == NULL) lost = (uint64_t) graph->n_nodes * (uint64_t) plan->n_threads;
    } else if (in.run == 0 && ggs_capture_full() && graph != NULL && plan != NULL) {
        lost = (uint64_t) graph->n_nodes * (uint64_t) plan->n_threads;
    }
    uint64_t begin   = ggs_ticks_now();
    bool     proving = ggs_prove_wanted && run != NULL && ggs_prove_begin();
    int      status  = real(graph, plan);
    if (proving) ggs_prove_end();
    if (run != NULL) lost = ggs_slot_close(run);
    if (lost > 0) tell_lost(reason, lost, begin);
    run_leave(status);
    return status;
}

static void schedule_enter(void * scheduler, const struct abi_graph * graph, const void * caller) {
    if (in.schedule != 0 || !ggs_capture_wake(caller)) return;
    struct ggs_journal_number numbers = {{0, (uint64_t) scheduler, in.decode, (uint64_t) graph->n_nodes}};
    struct ggs_piece          piece   = {&numbers, sizeof(numbers)};
    if (ggs_journal_append_next(GGS_JOURNAL_SCHEDULE, &piece, 1, &numbers.value[0], &n_schedules) == 0)
        in.schedule = numbers.value[0];
}

static void schedule_leave(bool outermost, int status) {
    if (!outermost || in.schedule == 0) return;
    if (ggs_capture_recording())
        ggs_journal_numbers(GGS_JOURNAL_SCHEDULE_END, in.schedule, (uint64_t) (int64_t) status, 0, 0, NULL);
    in.schedule = 0;
    ggs_residency_tell(GGS_MOMENT_GRAPH);
}

EXPORT int ggml_backend_sched_graph_compute_async(void * scheduler, struct abi_graph * graph);
EXPORT int ggml_backend_sched_graph_compute_async(void * scheduler, struct abi_graph * graph) {
    REAL(ggml_backend_sched_graph_compute_async);
    bool outermost = in.schedule == 0;
    schedule_enter(scheduler, graph, CALLER);
    int status = real(scheduler, graph);
    schedule_leave(outermost, status);
    return status;
}

EXPORT int ggml_backend_sched_graph_compute(void * scheduler, struct abi_graph * graph);
EXPORT int ggml_backend_sched_graph_compute(void * scheduler, struct abi_graph * graph) {
    REAL(ggml_backend_sched_graph_compute);
    bool outermost = in.schedule == 0;
    schedule_enter(scheduler, graph, CALLER);
    int status = real(scheduler, graph);
    schedule_leave(outermost, status);
    return status;
}

// ---- buffers ----

static void tell_buffer(void * buffer) {
    if (buffer == NULL || !ggs_capture_recording()) return;
    void *                    type     = ggs_engine.buffer_type(buffer);
    const char *              name     = type == NULL ? "" : ggs_engine.buffer_type_name(type);
    struct ggs_journal_buffer told     = {.address = (uint64_t) ggs_engine.buffer_base(buffer),
                                          .size    = ggs_engine.buffer_size(buffer),
                                          .host    = ggs_engine.buffer_is_host(buffer)};
    struct ggs_piece          pieces[] = {{&told, sizeof(told)}, {name, strlen(name) + 1}};
    if (ggs_journal_append_next(GGS_JOURNAL_BUFFER, pieces, 2, &told.id, &n_buffers) == 0)
        ggs_buffer_add(buffer, told.id);
}

// A buffer type may make its buffer from another type's and rename it afterwards: only the outermost allocation knows.
EXPORT void * ggml_backend_buft_alloc_buffer(void * type, size_t size);
EXPORT void * ggml_backend_buft_alloc_buffer(void * type, size_t size) {
    REAL(ggml_backend_buft_alloc_buffer);
    ggs_capture_wake(CALLER);
    in.alloc_depth++;
    void * buffer = real(type, size);
    if (--in.alloc_depth == 0 && size > 0) tell_buffer(buffer);
    return buffer;
}

// The interface is a structure of function pointers that the engine passes by value, of a size that differs by release. It
// lies in the caller's frame, so it is passed on as it lies.
union interface {
    void * functions[32];
};

EXPORT void * ggml_backend_buffer_init(void * type, union interface interface, void * context, size_t size);
EXPORT void * ggml_backend_buffer_init(void * type, union interface interface, void * context, size_t size) {
    REAL(ggml_backend_buffer_init);
    ggs_capture_wake(CALLER);
    void * buffer = real(type, interface, context, size);
    if (in.alloc_depth == 0) tell_buffer(buffer);
    return buffer;
}

EXPORT void ggml_backend_buffer_free(void * buffer);
EXPORT void ggml_backend_buffer_free(void * buffer) {
    REAL(ggml_backend_buffer_free);
    uint64_t id = buffer == NULL ? 0 : ggs_buffer_remove(buffer);
    real(buffer);
    if (id != 0 && ggs_capture_recording()) ggs_journal_numbers(GGS_JOURNAL_BUFFER_FREE, id, 0, 0, 0, NULL);
}

EXPORT void ggml_backend_buffer_set_usage(void * buffer, int usage);
EXPORT void ggml_backend_buffer_set_usage(void * buffer, int usage) {
    REAL(ggml_backend_buffer_set_usage);
    real(buffer, usage);
    uint64_t id = ggs_buffer_id(buffer);
    if (id != 0 && ggs_capture_recording())
        ggs_journal_numbers(GGS_JOURNAL_BUFFER_USAGE, id, (uint64_t) usage, 0, 0, NULL);
}

// ---- transfers ----

static uint64_t tensor_buffer(const struct abi_tensor * t) {
    return ggs_buffer_id(t->view_src != NULL ? t->view_src->buffer : t->buffer);
}

static void tell_transfer(struct ggs_journal_transfer * transfer, const struct abi_tensor * tensor) {
    // The engine unmaps what it has copied, so a source that lies in a mapping is looked up while it does.
    if (transfer->kind == GGS_TRANSFER_SET) ggs_maps_see_source(transfer->from);
    transfer->end             = ggs_ticks_now();
    size_t           length   = strnlen(tensor->name, ABI_NAME - 1);
    struct ggs_piece pieces[] = {{transfer, sizeof(*transfer)}, {tensor->name, length}, {"", 1}};
    ggs_journal_append(GGS_JOURNAL_TRANSFER, pieces, 3);
}

// TRANSFER(kind, async, tensor, call): runs `call`, and tells of it where it is the outermost of nested transfers.
#define TRANSFER(transfer_kind, is_async, tensor_, from_, to_, from_buffer_, to_buffer_, bytes_, call) \
    if (in.transfer_depth > 0 || !ggs_capture_wake(CALLER)) {                                          \
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
    in.transfer_depth++;                                                                               \
    call;                                                                                              \
    in.transfer_depth--;                                                                               \
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

EXPORT void ggml_backend_tensor_set(struct abi_tensor * tensor, const void * data, size_t offset, size_t size);
EXPORT void ggml_backend_tensor_set(struct abi_tensor * tensor, const void * data, size_t offset, size_t size) {
    REAL(ggml_backend_tensor_set);
    TRANSFER(GGS_TRANSFER_SET, 0, tensor, data, (char *) tensor->data + offset, 0, tensor_buffer(tensor), size,
             real(tensor, data, offset, size));
}

EXPORT void ggml_backend_tensor_get(const struct abi_tensor * tensor, void * data, size_t offset, size_t size);
EXPORT void ggml_backend_tensor_get(const struct abi_tensor * tensor, void * data, size_t offset, size_t size) {
    REAL(ggml_backend_tensor_get);
    TRANSFER(GGS_TRANSFER_GET, 0, tensor, (char *) tensor->data + offset, data, tensor_buffer(tensor), 0, size,
             real(tensor, data, offset, size));
}

EXPORT void ggml_backend_tensor_set_async(void * backend, struct abi_tensor * tensor, const void * data, size_t offset,
                                          size_t size);
EXPORT void ggml_backend_tensor_set_async(void * backend, struct abi_tensor * tensor, const void * data, size_t offset,
                                          size_t size) {
    REAL(ggml_backend_tensor_set_async);
    TRANSFER(GGS_TRANSFER_SET, 1, tensor, data, (char *) tensor->data + offset, 0, tensor_buffer(tensor), size,
             real(backend, tensor, data, offset, size));
}

EXPORT void ggml_backend_tensor_get_async(void * backend, const struct abi_tensor * tensor, void * data, size_t offset,
                                          size_t size);
EXPORT void ggml_backend_tensor_get_async(void * backend, const struct abi_tensor * tensor, void * data, size_t offset,
                                          size_t size) {
    REAL(ggml_backend_tensor_get_async);
    TRANSFER(GGS_TRANSFER_GET, 1, tensor, (char *) tensor->data + offset, data, tensor_buffer(tensor), 0, size,
             real(backend, tensor, data, offset, size));
}

EXPORT void ggml_backend_tensor_copy(struct abi_tensor * from, struct abi_tensor * to);
EXPORT void ggml_backend_tensor_copy(struct abi_tensor * from, struct abi_tensor * to) {
    REAL(ggml_backend_tensor_copy);
    TRANSFER(GGS_TRANSFER_COPY, 0, from, from->data, to->data, tensor_buffer(from), tensor_buffer(to),
             tensor_bytes(from), real(from, to));
}

EXPORT void ggml_backend_tensor_copy_async(void * backend_from, void * backend_to, struct abi_tensor * from,
                                           struct abi_tensor * to);
EXPORT void ggml_backend_tensor_copy_async(void * backend_from, void * backend_to, struct abi_tensor * from,
                                           struct abi_tensor * to) {
    REAL(ggml_backend_tensor_copy_async);
    TRANSFER(GGS_TRANSFER_COPY, 1, from, from->data, to->data, tensor_buffer(from), tensor_buffer(to),
             tensor_bytes(from), real(backend_from, backend_to, from, to));
}

// ---- model files ----

struct gguf_params { // small enough to travel in registers
    bool   no_alloc;
    void * context;
};

EXPORT void * gguf_init_from_file(const char * path, struct gguf_params params);
EXPORT void * gguf_init_from_file(const char * path, struct gguf_params params) {
    REAL(gguf_init_from_file);
    if (path != NULL && ggs_capture_wake(CALLER)) {
        char * absolute = realpath(path, NULL);
        ggs_journal_text(GGS_JOURNAL_FILE, absolute == NULL ? path : absolute);
        ggs_files_add(absolute == NULL ? path : absolute);
        ggs_maps_expect_load();
        ggs_reads_expect();
        free(absolute);
    }
    return real(path, params);
}

// ---- models, contexts, decodes ----

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

EXPORT void * llama_model_load_from_file(const char * path, union abi_by_value params);
EXPORT void * llama_model_load_from_file(const char * path, union abi_by_value params) {
    REAL(llama_model_load_from_file);
    uint64_t load  = ggs_capture_wake(CALLER) ? tell_load(path) : 0;
    void *   model = real(path, params);
    tell_load_end(load, model);
    return model;
}

EXPORT void * llama_model_load_from_splits(const char ** paths, size_t n_paths, union abi_by_value params);
EXPORT void * llama_model_load_from_splits(const char ** paths, size_t n_paths, union abi_by_value params) {
    REAL(llama_model_load_from_splits);
    uint64_t load  = ggs_capture_wake(CALLER) ? tell_load(n_paths > 0 ? paths[0] : "") : 0;
    void *   model = real(paths, n_paths, params);
    tell_load_end(load, model);
    return model;
}

EXPORT void * llama_init_from_model(void * model, union abi_by_value params);
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

static uint64_t tell_decode(void * context, const struct abi_batch * batch, bool encode) {
    uint32_t                  n    = batch->n_tokens < 0 ? 0 : (uint32_t) batch->n_tokens;
    struct ggs_journal_decode head = {.context = (uint64_t) context, .tokens = n, .encode = encode};
    head.has = (batch->token != NULL ? 1u : 0) | (batch->pos != NULL ? 2u : 0) | (batch->seq_id != NULL ? 4u : 0) |
               (batch->logits != NULL ? 8u : 0);
    int32_t * numbers = calloc(n + 1, 3 * sizeof(int32_t) + 1);
    if (numbers == NULL) return 0;
    int32_t * tokens = numbers, *positions = numbers + n, *sequences = numbers + 2 * n;
    uint8_t * outputs = (uint8_t *) (numbers + 3 * n);
    for (uint32_t i = 0; i < n; i++) {
        if (batch->token != NULL) tokens[i] = batch->token[i];
        if (batch->pos != NULL) positions[i] = batch->pos[i];
        if (batch->seq_id != NULL && batch->seq_id[i] != NULL && (batch->n_seq_id == NULL || batch->n_seq_id[i] > 0))
            sequences[i] = batch->seq_id[i][0];
        if (batch->logits != NULL) outputs[i] = batch->logits[i] != 0;
    }
    struct ggs_piece pieces[] = {{&head, sizeof(head)}, {numbers, n * (3 * sizeof(int32_t) + 1)}};
    int              result   = ggs_journal_append_next(GGS_JOURNAL_DECODE, pieces, 2, &head.decode, &n_decodes);
    free(numbers);
    return result == 0 ? head.decode : 0;
}

// What llama_decode and llama_encode have in common.
static int decode(int (*real)(void *, union abi_by_value), void * context, union abi_by_value * batch, bool encode,
                  const void * caller) {
    if (in.decode != 0 || !ggs_capture_wake(caller)) return real(context, *batch);
    in.decode  = tell_decode(context, &batch->batch, encode);
    int status = real(context, *batch);
    if (in.decode != 0 && ggs_capture_recording())
        ggs_journal_numbers(GGS_JOURNAL_DECODE_END, in.decode, (uint64_t) (int64_t) status, 0, 0, NULL);
    in.decode = 0;
    return status;
}

EXPORT int llama_decode(void * context, union abi_by_value batch);
EXPORT int llama_decode(void * context, union abi_by_value batch) {
    REAL(llama_decode);
    return decode(real, context, &batch, false, CALLER);
}

EXPORT int llama_encode(void * context, union abi_by_value batch);
EXPORT int llama_encode(void * context, union abi_by_value batch) {
    REAL(llama_encode);
    return decode(real, context, &batch, true, CALLER);
}

EXPORT void llama_set_warmup(void * context, bool on);
EXPORT void llama_set_warmup(void * context, bool on) {
    REAL(llama_set_warmup);
    real(context, on);
    if (ggs_capture_recording()) ggs_journal_numbers(GGS_JOURNAL_WARMUP, (uint64_t) context, on, 0, 0, NULL);
}

// Releases differ in how a context's memory is cleared; the journal tells of the object that was given.
EXPORT void llama_memory_clear(void * memory, bool data);
EXPORT void llama_memory_clear(void * memory, bool data) {
    REAL(llama_memory_clear);
    real(memory, data);
    if (ggs_capture_recording()) ggs_journal_numbers(GGS_JOURNAL_CLEAR, (uint64_t) memory, 0, 0, 0, NULL);
}

EXPORT void llama_kv_self_clear(void * context);
EXPORT void llama_kv_self_clear(void * context) {
    REAL(llama_kv_self_clear);
    real(context);
    if (ggs_capture_recording()) ggs_journal_numbers(GGS_JOURNAL_CLEAR, (uint64_t) context, 0, 0, 0, NULL);
}

EXPORT void llama_kv_cache_clear(void * context);
EXPORT void llama_kv_cache_clear(void * context) {
    REAL(llama_kv_cache_clear);
    real(context);
    if (ggs_capture_recording()) ggs_journal_numbers(GGS_JOURNAL_CLEAR, (uint64_t) context, 0, 0, 0, NULL);
}

// ---- the dynamic linker ----

EXPORT int dlclose(void * handle);
EXPORT int dlclose(void * handle) {
    int result = ggs_resolve_close(handle);
    if (__atomic_load_n(&ggs_capture_state, __ATOMIC_RELAXED) != GGS_CAPTURE_OFF) ggs_resolve_forget();
    return result;
}
