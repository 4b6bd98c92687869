// ggscope doctor: the functions that the capture library hooks.
//
// A call is recorded if it goes through the dynamic linker: the calling library has a relocation
// for the function, and the defining library does not insist on its own definition (-Bsymbolic).
#include <stdio.h>
#include <string.h>

#include "base/code/patch-plan.h"
#include "base/text.h"
#include "record/inspect/doctor-findings.h"
#include "record/inspect/libraries.h"

// What is lost without a hook, and what remains. Other hooks are found by their prefix.
struct loss {
    const char *           name; // or its prefix
    enum ggs_finding_level level;
    const char *           topic;
    const char *           lost;
};

static const struct loss losses[] = {
    {"ggml_cpu_extra_compute_forward", GGS_FINDING_FAIL, "ops",
     "single operations are not seen, only whole graph runs"},
    {"ggml_barrier", GGS_FINDING_WARN, "ops",
     "an operation's wait is not seen, and its end only as far as the next one's begin tells"},
    {"ggml_compute_forward_", GGS_FINDING_WARN, "ops", "fused operations are reported as not seen"},
    {"ggml_graph_compute", GGS_FINDING_FAIL, "graphs",
     "graphs on the CPU are seen only as a whole, if a backend runs them"},
    {"ggml_backend_graph_compute", GGS_FINDING_WARN, "graphs", "graphs on other backends than the CPU are not seen"},
    {"ggml_backend_sched", GGS_FINDING_WARN, "graphs",
     "graphs that the engine cuts into pieces are not put together again"},
    {"ggml_backend_buf", GGS_FINDING_WARN, "buffers", "some buffers are not seen: what lies in them has no buffer"},
    {"ggml_backend_tensor", GGS_FINDING_WARN, "transfers",
     "some transfers are not seen; the origin of copied weights is found by name"},
    {"gguf_", GGS_FINDING_WARN, "files", "the model's files are known only if they are mapped into memory"},
    {"llama_memory_", GGS_FINDING_WARN, "tokens", "changes of sequences are not seen, and are derived from positions"},
    {"llama_kv_", GGS_FINDING_WARN, "tokens", "changes of sequences are not seen, and are derived from positions"},
    {"llama_get_embeddings", GGS_FINDING_WARN, "tokens",
     "a request for embeddings of one token looks like a completion"},
    {"llama_", GGS_FINDING_WARN, "tokens", "token steps are found from the graphs alone"},
    {"ggml_graph_next_uid", GGS_FINDING_WARN, "graphs",
     "every graph is compared node by node, which takes microseconds"},
    {"ggml_backend_free", GGS_FINDING_WARN, "graphs", "a backend at the address of a freed one is taken for that one"},
    {"ggml_", GGS_FINDING_WARN, "engine", "less is seen"},
};

static const struct loss * loss_of(const char * function) {
    for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
        if (strncmp(function, losses[i].name, strlen(losses[i].name)) == 0) return &losses[i];
    }
    return NULL;
}

// Appends file names, with the many CPU backends as one.
struct names {
    struct ggs_text text;
    unsigned        backends;
    const char *    backend;
};

static void add_word(struct ggs_text * text, const char * word) {
    ggs_text_printf(text, "%s%s", text->length == 0 ? "" : ", ", word);
}

static void add_name(struct names * names, const char * path) {
    const char * name = ggs_file_name(path);
    if (strncmp(name, "libggml-cpu", 11) != 0) {
        add_word(&names->text, name);
        return;
    }
    names->backends++;
    names->backend = name;
}

static const char * finish_names(struct names * names) {
    char word[64];
    snprintf(word, sizeof(word), "libggml-cpu-*.so (%u files)", names->backends);
    if (names->backends > 0) add_word(&names->text, names->backends == 1 ? names->backend : word);
    return ggs_text_string(&names->text);
}

static bool called_elsewhere(const struct ggs_libraries * engine, const char * function) {
    for (size_t i = 0; i < engine->count; i++) {
        const struct ggs_elf * elf = &engine->items[i].elf;
        if (ggs_elf_defines(elf, function) != GGS_ELF_EXPORTED && ggs_elf_calls(elf, function)) return true;
    }
    return false;
}

static bool has_cpu_backend(const struct ggs_libraries * engine) {
    for (size_t i = 0; i < engine->count; i++) {
        if (ggs_elf_defines(&engine->items[i].elf, "ggml_backend_cpu_reg") != GGS_ELF_UNDEFINED) return true;
    }
    return false;
}

static void check_hook(struct ggs_findings * report, const struct ggs_libraries * engine, const char * function) {
    const struct loss * loss = loss_of(function);
    if (loss == NULL) return; // not a function of the engine
    struct names defined = {0}, called = {0}, blind = {0};
    bool         programs = strncmp(function, "llama_", 6) == 0 || strncmp(function, "gguf_", 5) == 0;
    bool         alone    = false; // only a program or addon calls it
    bool         local = false, elsewhere = called_elsewhere(engine, function);
    for (size_t i = 0; i < engine->count; i++) {
        const struct ggs_library * library    = &engine->items[i];
        bool                       calls      = ggs_elf_calls(&library->elf, function);
        enum ggs_elf_definition    definition = ggs_elf_defines(&library->elf, function);
        if (definition == GGS_ELF_LOCAL) local = true;
        if (calls) add_name(&called, library->path);
        if (definition != GGS_ELF_EXPORTED) continue;
        add_name(&defined, library->path);
        if (!ggs_library_is_engine(ggs_file_name(library->path))) alone = true;
        if (library->elf.symbolic || !(calls || elsewhere || (programs && !alone))) add_name(&blind, library->path);
    }
    const char * where = finish_names(&defined);
    const char * by    = finish_names(&called);
    const char * not   = finish_names(&blind);
    static const char fix[] =
        "build llama.cpp without -Bsymbolic-functions and without link-time optimisation (cmake -DGGML_LTO=OFF), as shared libraries";
    if (not [0] != '\0') {
        ggs_findings_add(report, loss->level, loss->topic, fix,
                         "%s cannot be hooked in %s, which calls it directly: %s", function, not, loss->lost);
    } else if (where[0] != '\0') {
        ggs_findings_add(report, GGS_FINDING_OK, loss->topic, NULL, "%s: in %s, called by %s%s%s", function, where, by,
                         programs && !alone && by[0] != '\0' ? " and " : "", programs && !alone ? "programs" : "");
    } else if (local) {
        ggs_findings_add(report, loss->level, loss->topic, fix, "%s is there but not exported: %s", function,
                         loss->lost);
    } else {
        // Releases differ: what a release lacks it does in another way, which has a hook of its
        // own.
        bool needed = loss->level == GGS_FINDING_FAIL, no_cpu = needed && !has_cpu_backend(engine);
        ggs_findings_add(report, needed ? GGS_FINDING_FAIL : GGS_FINDING_OK, loss->topic,
                         no_cpu   ? "add ggml's CPU backend (libggml-cpu*.so)"
                         : needed ? "use a llama.cpp of 2025 or later"
                                  : NULL,
                         "%s: %s%s%s", function,
                         no_cpu ? "not there, as ggml's CPU backend is not" : "not in this release", needed ? ": " : "",
                         needed ? loss->lost : "");
    }
    ggs_text_release(&defined.text);
    ggs_text_release(&called.text);
    ggs_text_release(&blind.text);
}

// A compiler may inline the barrier into the loop over the nodes (clang does), while other files of
// the same library still call it.
static void check_barrier(struct ggs_findings * report, const struct ggs_libraries * engine) {
    struct names inlined = {0};
    for (size_t i = 0; i < engine->count; i++) {
        const struct ggs_elf * elf = &engine->items[i].elf;
        if (ggs_elf_defines(elf, "ggml_barrier") == GGS_ELF_EXPORTED &&
            ggs_elf_calls_beside(elf, "ggml_cpu_extra_compute_forward", "ggml_barrier") == GGS_ELF_NO)
            add_name(&inlined, engine->items[i].path);
    }
    const char * where = finish_names(&inlined);
    if (where[0] != '\0')
        ggs_findings_add(
            report, GGS_FINDING_WARN, "ops", "build llama.cpp with gcc, or with clang and -fsemantic-interposition",
            "the loop over the operations in %s has ggml_barrier inlined: an operation's wait is not seen, and its end only as far as the next one's begin tells",
            where);
    ggs_text_release(&inlined.text);
}

void ggs_findings_lost(struct ggs_findings * report, const char * function, const char * reason) {
    const struct loss * loss = loss_of(function);
    if (loss == NULL) return;
    ggs_findings_add(report, loss->level, loss->topic, NULL, "%s is not hooked (%s): %s", function, reason, loss->lost);
}

// Engines that are older, or not of llama.cpp's line: they have some of the functions and lack
// others that a recording needs.
static void check_line(struct ggs_findings * report, const struct ggs_libraries * engine) {
    const char * asked;
    for (size_t i = 0; (asked = ggs_engine_asked(i)) != NULL; i++) {
        bool found = false, base = false;
        for (size_t k = 0; k < engine->count && !found; k++) {
            found = ggs_elf_defines(&engine->items[k].elf, asked) != GGS_ELF_UNDEFINED;
            base  = base || ggs_elf_defines(&engine->items[k].elf, "ggml_init") != GGS_ELF_UNDEFINED;
        }
        if (found || !base) continue;
        ggs_findings_add(report, GGS_FINDING_FAIL, "engine", "use a llama.cpp of 2025 or later",
                         "this ggml has no %s: it is older, or of another line (such as ik_llama.cpp), and nothing of "
                         "it can be recorded",
                         asked);
        return;
    }
}

void ggs_findings_hooks(struct ggs_findings * report, const struct ggs_libraries * capture,
                        const struct ggs_libraries * engine) {
    const char * name;
    check_line(report, engine);
    // In the order of the table above, so that related functions are adjacent.
    for (size_t k = 0; k < sizeof(losses) / sizeof(losses[0]); k++) {
        for (size_t i = 0; capture->count > 0 && ggs_elf_exports(&capture->items[0].elf, i, &name); i++) {
            if (name != NULL && loss_of(name) == &losses[k]) check_hook(report, engine, name);
        }
    }
    check_barrier(report, engine);
}
