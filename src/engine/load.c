#include "engine/load.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

#include "ggml-backend.h"
#include "ggml.h"
#include "llama.h"

// ---- the log ----

void ggs_engine_log_clear(struct ggs_engine_log * log) {
    log->first[0]  = '\0';
    log->continues = false;
}

const char * ggs_engine_log_cause(const struct ggs_engine_log * log, const char * otherwise) {
    return log->first[0] != '\0' ? log->first : otherwise;
}

// "llama_model_load: error loading model: unknown ..." -> "unknown ...". Function names and "error
// loading ..." prefixes mean nothing to users.
static const char * skip_prefixes(const char * text) {
    for (;;) {
        const char * colon = strstr(text, ": ");
        if (colon == NULL) return text;
        size_t length   = (size_t) (colon - text);
        bool   function = strcspn(text, " '\"(/") >= length;
        bool   level    = strncmp(text, "error loading ", 14) == 0 || strncmp(text, "failed to load model", 20) == 0;
        if (!function && !level) return text;
        text = colon + 2;
    }
}

static void keep_first_error(struct ggs_engine_log * log, const char * text) {
    if (log->first[0] != '\0' && !log->continues) return;
    size_t used = strlen(log->first);
    if (used == 0) text = skip_prefixes(text);
    snprintf(log->first + used, sizeof(log->first) - used, "%s", text);
    size_t end      = strcspn(log->first, "\n");
    log->continues  = log->first[end] == '\0';
    log->first[end] = '\0';
    // The text may contain names from the model's file, which must not control the terminal.
    for (char * c = log->first; *c != '\0'; c++) {
        if ((unsigned char) *c < 0x20 || *c == 0x7f) *c = '?';
    }
}

static void on_log(enum ggml_log_level level, const char * text, void * context) {
    struct ggs_engine_log * log = context;
    if (log->verbose) fputs(text, stderr);
    if (level == GGML_LOG_LEVEL_ERROR || (level == GGML_LOG_LEVEL_CONT && log->continues)) keep_first_error(log, text);
}

// ---- libraries ----

// Opens a library. If a dependency is not found, it is opened from the same folders: copied
// libraries often lack their run path. Returns NULL with dlerror's text in `reason`.
static void * open_library(const struct ggs_engine_paths * paths, const char * path, char reason[256]) {
    enum { MOST_DEPENDENCIES = 32 };
    for (int i = 0; i < MOST_DEPENDENCIES; i++) {
        void * library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
        if (library != NULL) return library;
        const char * text = dlerror();
        snprintf(reason, 256, "%s", text != NULL ? text : "no reason given");

        // "libggml-cpu.so.0: cannot open shared object file: ...": the missing library comes first.
        size_t length = strcspn(reason, ":");
        if (length == 0 || memchr(reason, '/', length) != NULL) return NULL;
        const char * folders[] = {paths->directory, paths->backends};
        bool         opened    = false;
        for (size_t j = 0; j < 2 && !opened; j++) {
            char dependency[PATH_MAX];
            int  written = snprintf(dependency, sizeof(dependency), "%s/%.*s", folders[j], (int) length, reason);
            if (written < 0 || written >= PATH_MAX || strcmp(dependency, path) == 0) continue;
            opened = dlopen(dependency, RTLD_LAZY | RTLD_GLOBAL) != NULL;
        }
        if (!opened) return NULL;
    }
    return NULL;
}

static int open_libraries(struct ggs_engine * engine, void ** llama, struct ggs_error * error) {
    // Opens dependencies first, by path: an open library is not searched by its short name, so
    // another llama.cpp of the system cannot be loaded instead.
    const char * order[] = {engine->paths.ggml_base, engine->paths.ggml, engine->paths.llama};
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        if (order[i][0] == '\0') continue;
        char reason[256] = "";
        *llama           = open_library(&engine->paths, order[i], reason);
        if (*llama == NULL)
            return ggs_fail(error, GGS_UNSUPPORTED, "the engine library %s cannot be opened: %s", order[i], reason);
    }
    return GGS_OK;
}

// ---- versions ----

// Looked up and not linked, because old releases lack these functions.
static const char * ask_version(void * library, const char * function) {
    const char * (*version)(void);
    *(void **) &version = dlsym(library, function);
    const char * text   = version != NULL ? version() : NULL;
    return text != NULL && text[0] != '\0' ? text : "unknown";
}

// Returns the library's size of a parameter struct, or `expected` if it cannot be determined. The
// function is called with a buffer for its result, which the x86-64 calling convention passes as a
// hidden first argument; the bytes it writes are the size. This detects builds of one version with
// different structs, and covers releases without a version.
static size_t returned_size(void * library, const char * function, size_t expected) {
#ifdef __x86_64__
    void * (*defaults)(void * result);
    *(void **) &defaults = dlsym(library, function);
    if (defaults == NULL) return expected;
    size_t size = 0;
    // A field that equals the filling looks untouched, hence two fillings.
    static const uint8_t fillings[] = {0x5a, 0xa5};
    for (size_t i = 0; i < sizeof(fillings); i++) {
        _Alignas(64) uint8_t bytes[4096];
        memset(bytes, fillings[i], sizeof(bytes));
        defaults(bytes);
        size_t end = sizeof(bytes);
        while (end > 0 && bytes[end - 1] == fillings[i]) end--;
        if (end > size) size = end;
    }
    return (size + 7) / 8 * 8;
#else
    (void) library, (void) function;
    return expected;
#endif
}

// Builds from a checkout report "0.5.0-dev"; their headers are those of 0.5.0.
static bool same_version(const char * found, const char * wanted) {
    size_t length = strcspn(wanted, "-");
    return strcspn(found, "-") == length && strncmp(found, wanted, length) == 0;
}

static int check_versions(struct ggs_engine * engine, void * llama, struct ggs_error * error) {
    engine->version           = ask_version(llama, "llama_version");
    engine->ggml_version      = ask_version(llama, "ggml_version");
    engine->commit            = ask_version(llama, "ggml_commit");
    engine->model_params_size = returned_size(llama, "llama_model_default_params", sizeof(struct llama_model_params));
    engine->context_params_size =
        returned_size(llama, "llama_context_default_params", sizeof(struct llama_context_params));

    const char * directory = engine->paths.directory;
    if (!same_version(engine->version, GGSCOPE_ENGINE_VERSION) ||
        !same_version(engine->ggml_version, GGSCOPE_GGML_VERSION)) {
        return ggs_fail(
            error, GGS_UNSUPPORTED,
            "the engine in %s is llama.cpp %s (ggml %s), this ggscope-engine was built for %s (ggml %s); rebuild with make GGSCOPE_ENGINE=%s",
            directory, engine->version, engine->ggml_version, GGSCOPE_ENGINE_VERSION, GGSCOPE_GGML_VERSION, directory);
    }
    if (engine->model_params_size != sizeof(struct llama_model_params) ||
        engine->context_params_size != sizeof(struct llama_context_params)) {
        return ggs_fail(
            error, GGS_UNSUPPORTED,
            "the engine in %s has parameter structs of %zu and %zu bytes, this ggscope-engine was built for %zu and %zu: another "
            "revision of llama.cpp %s; rebuild with make GGSCOPE_ENGINE=%s",
            directory, engine->model_params_size, engine->context_params_size, sizeof(struct llama_model_params),
            sizeof(struct llama_context_params), engine->version, directory);
    }
    return GGS_OK;
}

// ---- the CPU library ----

static int record_cpu_library(struct dl_phdr_info * info, size_t size, void * context) {
    (void) size;
    struct ggs_engine * engine = context;
    const char *        slash  = strrchr(info->dlpi_name, '/');
    const char *        name   = slash != NULL ? slash + 1 : info->dlpi_name;
    if (strncmp(name, "libggml-cpu", 11) != 0) return 0;
    snprintf(engine->cpu_library, sizeof(engine->cpu_library), "%s", name);
    return 1;
}

// Empty for releases that do not report features.
static void record_cpu_features(struct ggs_engine * engine) {
    ggml_backend_reg_t registry = ggml_backend_dev_backend_reg(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU));
    ggml_backend_get_features_t ask;
    *(void **) &ask = ggml_backend_reg_get_proc_address(registry, "ggml_backend_get_features");
    size_t used     = 0;
    for (const struct ggml_backend_feature * f = ask == NULL ? NULL : ask(registry); f != NULL && f->name != NULL;
         f++) {
        int n = snprintf(engine->cpu_features + used, sizeof(engine->cpu_features) - used, " %s", f->name);
        if (n < 0 || (size_t) n >= sizeof(engine->cpu_features) - used) return;
        used += (size_t) n;
    }
}

// ---- opening ----

int ggs_engine_open(struct ggs_engine * engine, const char * directory, bool verbose, struct ggs_error * error) {
    memset(engine, 0, sizeof(*engine));
    engine->log.verbose = verbose;
    int status          = ggs_engine_locate(directory, &engine->paths, error);
    if (status < 0) return status;
    void * llama = NULL;
    status       = open_libraries(engine, &llama, error);
    if (status < 0) return status;
    status = check_versions(engine, llama, error);
    if (status < 0) return status;

    llama_log_set(on_log, &engine->log);
    // In some releases llama_log_set does not reach ggml's log.
    ggml_log_set(on_log, &engine->log);
    // A linked-in CPU backend has registered itself; loading it again would fail.
    if (ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU) == NULL) {
        ggml_backend_load_all_from_path(engine->paths.backends[0] != '\0' ? engine->paths.backends
                                                                          : engine->paths.directory);
    }
    if (ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU) == NULL) {
        return ggs_fail(error, GGS_UNSUPPORTED,
                        "the engine in %s has no CPU backend for this machine (libggml-cpu*.so): %s",
                        engine->paths.directory, ggs_engine_log_cause(&engine->log, "none was found"));
    }
    dl_iterate_phdr(record_cpu_library, engine);
    record_cpu_features(engine);
    llama_backend_init();
    return GGS_OK;
}

int ggs_engine_load(const char * directory, struct ggs_error * error) {
    // The engine keeps a pointer to its log for the life of the process.
    static struct ggs_engine engine;
    return ggs_engine_open(&engine, directory, false, error);
}
