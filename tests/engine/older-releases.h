// What older releases call otherwise, for the programs that tests/full/matrix.test.mjs compiles
// against their headers. Include it last.
#pragma once

#ifdef OLDER_MEMORY // sequences belong to a context, which stands for its memory
typedef struct llama_context * llama_memory_t;
#define llama_get_memory(context)        (context)
#define llama_memory_clear(memory, data) llama_kv_cache_clear(memory)
#define llama_memory_seq_rm              llama_kv_cache_seq_rm
#define llama_memory_seq_cp              llama_kv_cache_seq_cp
#define llama_memory_seq_keep            llama_kv_cache_seq_keep
#define llama_memory_seq_add             llama_kv_cache_seq_add
#endif

#ifdef OLDER_CELLS // sequences always share the cells: there is nothing to choose
#define kv_unified no_perf
#endif

#ifdef OLDER_GGML
#define ggml_backend_tensor_alloc(buffer, tensor, address) (ggml_backend_tensor_alloc(buffer, tensor, address), 0)
#define ggml_backend_sched_new(backends, types, n, size, parallel, offload) \
    ggml_backend_sched_new(backends, types, n, size, parallel)
#endif
