// Model files, models and contexts as the engine opens them.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/capture.h"
#include "capture/existing.h"
#include "capture/journal.h"
#include "capture/memory/mapped-files.h"
#include "capture/memory/opened-files.h"
#include "capture/memory/reads.h"
#include "capture/memory/residency.h"
#include "capture/sandbox.h"
#include "preload/ggml-abi.h"
#include "preload/hook.h"
#include "trace/spool.h"

// ---- model files ----

struct gguf_params { // passed in registers
    bool   no_alloc;
    void * context;
};

// The path as other processes can use it, NULL if unknown. A descriptor (/proc/self/fd/N) may lead
// to a file without a path; its name is returned, which cannot be opened.
static char * absolute_path(const char * path) {
    enum { MOST = 4096 };
    char * found = ggs_sandboxed() ? NULL : realpath(path, NULL);
    if (found != NULL || ggs_sandboxed() || (found = malloc(MOST)) == NULL) return found;
    ssize_t length = readlink(path, found, MOST - 1);
    if (length > 0) found[length] = '\0';
    if (length > 0 && found[0] == '/') return found;
    free(found);
    return NULL;
}

static void add_model_file(const char * path) {
    char * absolute = absolute_path(path);
    ggs_journal_text(GGS_JOURNAL_FILE, absolute == NULL ? path : absolute);
    ggs_files_add(absolute == NULL ? path : absolute);
    ggs_mapped_files_expect_load();
    ggs_reads_expect();
    free(absolute);
}

EXPORT void * gguf_init_from_file(const char * path, struct gguf_params params) {
    REAL(gguf_init_from_file);
    if (path != NULL && ggs_capture_wake(CALLER)) add_model_file(path);
    return real(path, params);
}

// The path of a stream, as a link to it; "" if the stream has no file.
static void path_of_stream(FILE * stream, char path[32]) {
    int fd  = stream == NULL ? -1 : fileno(stream);
    path[0] = '\0';
    if (fd >= 0) snprintf(path, 32, "/proc/self/fd/%d", fd);
}

EXPORT void * gguf_init_from_file_ptr(FILE * stream, struct gguf_params params) {
    REAL(gguf_init_from_file_ptr);
    char path[32];
    path_of_stream(stream, path);
    if (path[0] != '\0' && ggs_capture_wake(CALLER)) add_model_file(path);
    return real(stream, params);
}

// ---- models, contexts ----

static uint64_t emit_load(const char * path) {
    struct ggs_journal_number numbers  = {{0, 0, 0, 0}};
    struct ggs_piece          pieces[] = {{&numbers, sizeof(numbers)}, {path, strlen(path) + 1}};
    if (ggs_journal_append_next(GGS_JOURNAL_LOAD, pieces, 2, &numbers.value[0], GGS_COUNT_LOADS) != 0) return 0;
    ggs_reads_begin(numbers.value[0]);
    return numbers.value[0];
}

static void emit_load_end(uint64_t load, const void * model) {
    if (load == 0) return;
    ggs_reads_end();
    if (!ggs_capture_recording()) return;
    ggs_mapped_files_emit();
    ggs_journal_numbers(GGS_JOURNAL_LOAD_END, load, (uint64_t) model, 0, 0, NULL);
    ggs_residency_emit(GGS_MOMENT_LOAD);
}

EXPORT void * llama_model_load_from_file(const char * path, union abi_by_value params) {
    REAL(llama_model_load_from_file);
    uint64_t load  = ggs_capture_wake(CALLER) ? emit_load(path) : 0;
    void *   model = real(path, params);
    emit_load_end(load, model);
    return model;
}

EXPORT void * llama_model_load_from_file_ptr(FILE * stream, union abi_by_value params) {
    REAL(llama_model_load_from_file_ptr);
    char path[32];
    path_of_stream(stream, path);
    char *   absolute = path[0] == '\0' ? NULL : absolute_path(path);
    uint64_t load     = ggs_capture_wake(CALLER) ? emit_load(absolute == NULL ? "" : absolute) : 0;
    free(absolute);
    void * model = real(stream, params);
    emit_load_end(load, model);
    return model;
}

EXPORT void * llama_model_load_from_splits(const char ** paths, size_t n_paths, union abi_by_value params) {
    REAL(llama_model_load_from_splits);
    uint64_t load  = ggs_capture_wake(CALLER) ? emit_load(n_paths > 0 ? paths[0] : "") : 0;
    void *   model = real(paths, n_paths, params);
    emit_load_end(load, model);
    return model;
}

EXPORT void * llama_init_from_model(void * model, union abi_by_value params) {
    REAL(llama_init_from_model);
    void * context = real(model, params);
    if (context != NULL && ggs_capture_wake(CALLER)) {
        void * (*get_memory)(void *) = (void * (*) (void *) ) ggs_resolve_name("llama_get_memory", CALLER);
        void * memory                = get_memory == NULL ? context : get_memory(context);
        ggs_journal_numbers(GGS_JOURNAL_CONTEXT, (uint64_t) context, (uint64_t) model, (uint64_t) memory, 0, NULL);
        ggs_existing_skip(context, memory);
    }
    return context;
}
