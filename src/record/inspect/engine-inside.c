// ggscope doctor, and the end of a recording: an engine inside a program or an addon.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/code/backend-plan.h"
#include "base/code/patch-plan.h"
#include "base/code/symbols.h"
#include "base/code/view.h"
#include "record/inspect/doctor-findings.h"
#include "record/inspect/libraries.h"

static const char ways_out[] =
    "build it with shared libraries (cmake -DBUILD_SHARED_LIBS=ON), or without link-time optimisation and not stripped";
static const char stripped_ways_out[] =
    "use one that is not stripped, install its debug file (/usr/lib/debug/.build-id), or build it with shared libraries "
    "(cmake -DBUILD_SHARED_LIBS=ON)";

static bool is_hooked(void * context, const char * name) {
    const struct ggs_elf * capture = context;
    const char *           export_;
    for (size_t i = 0; ggs_elf_exports(capture, i, &export_); i++)
        if (export_ != NULL && strcmp(export_, name) == 0) return true;
    return false;
}

// Waits of ops are recorded if the loop over a graph's nodes calls a hooked barrier.
static void add_waits(struct ggs_findings * report, const struct ggs_code * code, const struct ggs_patch * patches,
                      size_t n, bool openmp) {
    const struct ggs_code_function * barrier = ggs_code_find(code, "ggml_barrier");
    bool                             hooked = false, called = false;
    for (size_t i = 0; i < n; i++)
        if (strcmp(patches[i].function->name, "ggml_barrier") == 0) hooked = patches[i].refused == NULL;
    for (size_t i = 0; barrier != NULL && i < code->n_functions && !called; i++)
        called = strncmp(code->functions[i].name, "ggml_graph_compute_thread", 25) == 0 &&
                 ggs_code_calls(code, &code->functions[i], barrier->address);
    if (openmp)
        ggs_findings_add(report, GGS_FINDING_OK, "program", NULL,
                         "waits are seen by OpenMP's barrier; with one thread there is none to wait for");
    else if (hooked && called)
        ggs_findings_add(report, GGS_FINDING_OK, "program", NULL, "waits are seen by ggml_barrier");
    else
        ggs_findings_add(report, GGS_FINDING_WARN, "ops", "build it with gcc",
                         "the loop over the operations has ggml_barrier inlined: an operation's wait is not seen, and "
                         "its end only as far as the next one's begin tells");
}

static struct ggs_code code_of(const struct ggs_elf * elf, const struct ggs_symbols * symbols) {
    struct ggs_code code = {.processor   = ggs_processor_of(elf->machine),
                            .bytes       = elf->mapping.data + elf->code.offset,
                            .address     = elf->code_address,
                            .size        = elf->code.size,
                            .functions   = symbols->items,
                            .n_functions = symbols->count,
                            .n_stubs     = symbols->n_stubs};
    memcpy(code.stubs, symbols->stubs, sizeof(code.stubs));
    return code;
}

// True if graphs can be recorded by the backends that the program makes, without its functions.
static bool has_backends(const struct ggs_elf * elf, const struct ggs_symbols * symbols) {
    struct ggs_view         view;
    struct ggs_backend_plan plan;
    struct ggs_symbols      own     = *symbols;
    bool                    exports = elf->library && ggs_elf_defines(elf, GGS_ENGINE_MARKER) == GGS_ELF_EXPORTED;
    if (exports || ggs_processor_of(elf->machine) == NULL ||
        !ggs_view_of_file(&view, elf->mapping.data, elf->mapping.size) || !ggs_backend_plan_is_engine(&view))
        return false;
    own.items            = ggs_view_functions(&view, &own.count);
    struct ggs_code code = code_of(elf, &own);
    ggs_backend_plan(&plan, &view, &code);
    free(own.items);
    return plan.refused == NULL;
}

// What is recorded by backends alone. `why` functions are not found, in brackets or behind a comma.
static void add_backends(struct ggs_findings * report, const char * path, const char * why, const char * fix) {
    ggs_findings_add(
        report, GGS_FINDING_WARN, "program", fix,
        "ggml is linked into %s itself%s: graph runs of the CPU with all their nodes, tokens, and the ends "
        "of ops on the first thread are seen; waits, other threads and buffers are not",
        path, why);
}

// Without the functions that every recording needs.
static void add_lack(struct ggs_findings * report, const struct ggs_elf * elf, const char * path,
                     const struct ggs_symbols * symbols, const char * lacks, const char * reason) {
    char why[256];
    snprintf(why, sizeof(why), ", without functions to record single ops by (%s: %s)", lacks, reason);
    if (has_backends(elf, symbols))
        add_backends(report, path, why, ways_out);
    else
        ggs_findings_add(report, GGS_FINDING_FAIL, "program", ways_out,
                         "ggml is linked into %s itself, and its calls cannot be seen, because of %s: %s", path, lacks,
                         reason);
}

static void add_patches(struct ggs_findings * report, const struct ggs_elf * capture, const struct ggs_elf * elf,
                        const char * path, const struct ggs_symbols * symbols) {
    struct ggs_patch patches[GGS_PATCHES_MOST];
    const char *     reason;
    bool             openmp = ggs_elf_calls(elf, "GOMP_barrier") || ggs_elf_calls(elf, "__kmpc_barrier");
    struct ggs_code  code   = code_of(elf, symbols);
    size_t           n = ggs_patch_plan(patches, &code, is_hooked, (void *) (uintptr_t) capture, openmp), hooked = 0;
    const char *     lacks = ggs_patch_plan_lacks(patches, n, &code, &reason);
    if (lacks != NULL) {
        add_lack(report, elf, path, symbols, lacks, reason);
        return;
    }
    for (size_t i = 0; i < n; i++) hooked += patches[i].refused == NULL;
    ggs_findings_add(report, GGS_FINDING_OK, "program", NULL,
                     "ggml is linked into %s itself, with symbols: ops, graphs, buffers and tokens are seen; the "
                     "entries of %zu of %zu functions lead to hooks",
                     path, hooked, n);
    add_waits(report, &code, patches, n, openmp);
    for (size_t i = 0; i < n; i++)
        if (patches[i].refused != NULL) ggs_findings_lost(report, patches[i].function->name, patches[i].refused);
}

bool ggs_findings_inside(struct ggs_findings * report, const struct ggs_libraries * capture, const struct ggs_elf * elf,
                         const char * path, const char * file) {
    struct ggs_symbols symbols;
    if (capture->count == 0 || ggs_elf_calls(elf, GGS_ENGINE_MARKER)) return false;
    bool found = ggs_symbols_read(&symbols, file, NULL, GGS_ENGINE_MARKER),
         blind = !found && has_backends(elf, &symbols);
    if (!found && !blind && (!symbols.stripped || !ggs_elf_contains(elf, "GGML_ASSERT("))) return false;
    if (blind && symbols.stripped)
        add_backends(report, path, " (which is stripped)", stripped_ways_out);
    else if (blind)
        add_lack(report, elf, path, &symbols, GGS_ENGINE_MARKER, "link-time optimisation has left none");
    else if (!found)
        ggs_findings_add(report, GGS_FINDING_FAIL, "program", stripped_ways_out,
                         "ggml is linked into %s itself (which is stripped), so its functions cannot be found", path);
    else if (ggs_processor_of(elf->machine) == NULL)
        ggs_findings_add(report, GGS_FINDING_FAIL, "program",
                         "build it with shared libraries (cmake -DBUILD_SHARED_LIBS=ON)",
                         "ggml is linked into %s itself, so its calls cannot be seen: entries of functions are hooked "
                         "on x86-64 and AArch64 alone",
                         path);
    else
        add_patches(report, &capture->items[0].elf, elf, path, &symbols);
    ggs_symbols_release(&symbols);
    return true;
}
