// Opens the llama.cpp libraries.
//
// ggscope-engine is linked with the engine's functions left undefined and bound lazily, at their
// first call. ggs_engine_open() opens the libraries into the global scope before that, so one
// program serves any folder of libraries of the release it was compiled for, and calls still pass
// through the procedure linkage table, where a preloaded library sees them.
//
// Three rules follow for all code of this folder:
// - call nothing of the engine before ggs_engine_open() has succeeded;
// - never take the address of an engine function, never name an engine variable: both are bound
//   when the program starts, if the engine is not there yet;
// - the link needs -rdynamic (else GNU ld drops the undefined functions), -z lazy and no -fno-plt;
//   the gold linker cannot do it. A LD_BIND_NOW in the environment ends the program before main
//   with
//       the
//   dynamic linker's own message, "symbol lookup error: undefined symbol: ...".
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "engine/locate.h"

struct ggs_error;

// What the engine complained about, for error sentences: it logs the cause and returns only NULL.
struct ggs_engine_log {
    bool verbose;    // pass every line on to stderr
    bool continues;  // the last line was kept and has no end yet
    char first[512]; // the first error since ggs_engine_log_clear, without function names; "" for none
};

struct ggs_engine {
    struct ggs_engine_paths paths;
    struct ggs_engine_log   log;
    const char *            version;             // of llama.cpp, "unknown" if the release cannot tell
    const char *            ggml_version;        // of ggml, likewise
    const char *            commit;              // of the build, likewise
    size_t                  model_params_size;   // what the library takes these two structs for; they are
    size_t                  context_params_size; // passed by value, so a difference would be fatal
    char                    cpu_library[256];    // file name of the CPU backend, "" if it is part of another library
    char                    cpu_features[512];   // what it was built for, each name behind a blank: " AVX2 FMA"
};

// Finds the libraries (see ggs_engine_locate), opens them, refuses a release other than the one
// this program was compiled for, and loads the backends. `engine` must live as long as the engine
// is used: its log goes there. Opening is for the life of the process; there is nothing to close.
int ggs_engine_open(struct ggs_engine * engine, const char * directory, bool verbose, struct ggs_error * error);

// The same for programs that want neither the versions nor the log.
int ggs_engine_load(const char * directory, struct ggs_error * error);

// Forgets complaints; call it before the step whose failure is to be explained.
void ggs_engine_log_clear(struct ggs_engine_log * log);
// The first complaint since then, or `otherwise`.
const char * ggs_engine_log_cause(const struct ggs_engine_log * log, const char * otherwise);
