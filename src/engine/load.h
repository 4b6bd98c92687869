// Opens the llama.cpp libraries.
//
// ggscope-engine is linked with the engine's functions undefined and lazily bound.
// ggs_engine_open() opens the libraries into the global scope before the first call, so one program
// works with any folder of libraries of the release it was compiled for. Calls still pass through
// the procedure linkage table, where a preloaded library can intercept them.
//
// Rules for all code of this folder:
// - call no engine function before ggs_engine_open() has succeeded;
// - never take the address of an engine function and never use an engine variable: both are bound
//   at program start, when the engine is not loaded;
// - link with -rdynamic (else GNU ld drops the undefined functions) and -z lazy; do not use
//   -fno-plt or gold. LD_BIND_NOW in the environment ends the program before main with the dynamic
//   linker's message "symbol lookup error: undefined symbol: ...".
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "engine/locate.h"

struct ggs_error;

// The engine's error messages, for error sentences: it logs the cause and only returns NULL.
struct ggs_engine_log {
    bool verbose;    // copy every line to stderr
    bool continues;  // the last line was kept and is incomplete
    char first[512]; // the first error since ggs_engine_log_clear, without function names; "" for none
};

struct ggs_engine {
    struct ggs_engine_paths paths;
    struct ggs_engine_log   log;
    const char *            version;             // of llama.cpp, "unknown" if the release does not report it
    const char *            ggml_version;        // of ggml, likewise
    const char *            commit;              // of the build, likewise
    size_t                  model_params_size;   // the library's sizes of these two structs, which are
    size_t                  context_params_size; // passed by value, so a mismatch would be fatal
    char                    cpu_library[256];    // file name of the CPU backend, "" if it is part of another library
    char                    cpu_features[512];   // its instruction sets, each after a blank: " AVX2 FMA"
};

// Finds the libraries (see ggs_engine_locate), opens them, refuses a release other than the one
// this program was compiled for, and loads the backends. `engine` must live as long as the engine
// is used, because the engine logs to it. The libraries stay open for the life of the process.
int ggs_engine_open(struct ggs_engine * engine, const char * directory, bool verbose, struct ggs_error * error);

// The same for programs that need neither the versions nor the log.
int ggs_engine_load(const char * directory, struct ggs_error * error);

// Clears the log; call it before the step whose failure is to be explained.
void ggs_engine_log_clear(struct ggs_engine_log * log);
// Returns the first error since then, or `otherwise`.
const char * ggs_engine_log_cause(const struct ggs_engine_log * log, const char * otherwise);
