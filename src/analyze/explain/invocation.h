// The recorded program, and how to change its settings: options of llama.cpp's programs and of
// ggscope-engine, arguments of node-llama-cpp and llama-cpp-python, members of the engine's structs
// for others.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json-read.h"
#include "base/text.h"

enum ggs_invocation_kind {
    GGS_PROGRAM_OTHER, // calls the engine
    GGS_PROGRAM_LLAMA, // llama-cli and its siblings
    GGS_PROGRAM_SERVER,
    GGS_PROGRAM_BENCH, // llama-bench
    GGS_PROGRAM_ENGINE,
    GGS_PROGRAM_NODE,
    GGS_PROGRAM_PYTHON,
    GGS_PROGRAM_GRAPHS, // calls ggml alone: whisper.cpp, stable-diffusion.cpp
    GGS_PROGRAM_KINDS,
};

enum ggs_knob {
    GGS_KNOB_NONE,
    GGS_KNOB_THREADS,
    GGS_KNOB_THREADS_BATCH,
    GGS_KNOB_UBATCH,
    GGS_KNOB_BATCH,
    GGS_KNOB_FLASH_ATTENTION,
    GGS_KNOB_MMAP,
    GGS_KNOB_REPACK,
    GGS_KNOB_KV_TYPE, // changes the output
    GGS_KNOB_GPU_LAYERS,
    GGS_KNOB_CPU_EXPERTS,
    GGS_KNOB_CONTEXT,
    GGS_KNOB_SLOTS,
    GGS_KNOB_EVAL_CALLBACK,
    GGS_KNOB_DRAFT,
    GGS_KNOB_MODEL,      // another file, which changes the output
    GGS_KNOB_ENGINE,     // the libraries that it finds by itself
    GGS_KNOB_STREAM,     // under ggscope stream
    GGS_KNOB_INTERLEAVE, // memory over all NUMA nodes
    GGS_KNOB_NO_REPACK,
    GGS_KNOB_MLOCK,
    GGS_KNOB_HUGE_PAGES, // for memory that malloc() gets
    GGS_KNOBS,           // from here on: options of the program's own, in order
};

struct ggs_knob_setting {
    enum ggs_knob knob;
    char          value[24]; // "" for a switch
};

// An option that the user defines (tune --knob), for programs or options unknown here.
struct ggs_own_option {
    char name[32];   // "threads"
    char option[64]; // "--n-threads"
    bool joined;     // its value follows "=" in the word
};

struct ggs_invocation {
    enum ggs_invocation_kind      kind;
    char **                       words; // of its command line
    unsigned                      n, at; // at: the word that is the program; others before it start it
    const struct ggs_own_option * own;   // borrowed; NULL for none
    unsigned                      n_own;
};

// `command` and `executable` are those of experiment.json. When out of memory, the program has no
// words.
void         ggs_invocation_read(struct ggs_invocation * program, struct ggs_json_value command,
                                 struct ggs_json_value executable);
void         ggs_invocation_release(struct ggs_invocation * program);
const char * ggs_invocation_kind_name(uint64_t kind);
const char * ggs_knob_name(uint64_t knob); // "threads"
bool         ggs_knob_is_lossy(enum ggs_knob knob);

// The value of a knob on the command line; NULL if it has none. For a switch: "" if it is set.
const char * ggs_invocation_value(const struct ggs_invocation * program, enum ggs_knob knob);
// Appends the setting in the words of this program: "-t 2", "without --no-mmap", "threads: 2".
// Nothing if it has no words for it, or is not to have an option that it has not.
void ggs_invocation_say(const struct ggs_invocation * program, const struct ggs_knob_setting * setting,
                        struct ggs_text * text);
// True if options of its command line can set all of these. `n` settings; one of knob 0 ends them.
bool ggs_invocation_takes(const struct ggs_invocation * program, const struct ggs_knob_setting * settings, unsigned n);
// Appends the command line with these settings, each word quoted for a shell.
void ggs_invocation_command(const struct ggs_invocation * program, const struct ggs_knob_setting * settings, unsigned n,
                            struct ggs_text * text);
// Appends one word, quoted for a shell if necessary.
void ggs_invocation_quote(struct ggs_text * text, const char * word);
