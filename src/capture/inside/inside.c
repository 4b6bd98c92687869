#include "capture/inside/inside.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/code/backend-plan.h"
#include "base/code/entry.h"
#include "base/code/patch-plan.h"
#include "base/code/symbols.h"
#include "base/code/view.h"
#include "capture/capture.h"
#include "capture/cpu/barrier.h"
#include "capture/cpu/openmp.h"
#include "capture/inside/backend.h"
#include "capture/inside/engine-tables.h"
#include "capture/inside/island.h"
#include "preload/exports.h"
#include "preload/loaded.h"
#include "preload/objects.h"
#include "preload/redirect.h"
#include "preload/resolve.h"

// ---- engines found ----

struct function {
    char *    name;
    uintptr_t address;
    void *    before; // the original function if its entry leads to a hook; else NULL
};

struct inside {
    char              path[PATH_MAX]; // "" for the program
    uintptr_t         low, high;
    struct ggs_island island;
    struct function * functions; // of the engine; sorted by name
    size_t            count, capacity;
    bool              gone;   // unloaded
    bool              openmp; // its threads meet in OpenMP's barrier
    // In an attached program, where its code is changed:
    struct ggs_code_place places[GGS_PATCHES_MOST];
    size_t                n_places;
};

enum { MOST_INSIDE = 8 };
static struct inside    found[MOST_INSIDE]; // never moved or freed: hooks read it without a lock
static _Atomic unsigned n_found;
static pthread_mutex_t  lock = PTHREAD_MUTEX_INITIALIZER;

bool ggs_inside_found(void) {
    return n_found > 0;
}

static int by_name(const void * a, const void * b) {
    return strcmp(((const struct function *) a)->name, ((const struct function *) b)->name);
}

static const struct function * find_function(const struct inside * inside, const char * name) {
    struct function wanted = {.name = (char *) (uintptr_t) name};
    return bsearch(&wanted, inside->functions, inside->count, sizeof(*inside->functions), by_name);
}

static int is_there(struct dl_phdr_info * info, size_t size, void * data) {
    const struct inside * inside = data;
    struct ggs_loaded     object;
    (void) size;
    ggs_loaded_read(&object, info);
    return object.low == inside->low && object.high == inside->high;
}

// ---- for resolve.h ----

// The caller of a hook is in the object, or in its island if the way preserves registers.
static struct inside * inside_around(uintptr_t address, bool * near) {
    for (unsigned i = 0; i < n_found; i++) {
        struct inside * inside = &found[i];
        *near                  = address - (uintptr_t) inside->island.base < inside->island.size;
        if (!inside->gone && (*near || address - inside->low < inside->high - inside->low)) return inside;
    }
    return NULL;
}

static bool find(const char * name, const void * caller, struct ggs_binding * binding) {
    bool                    near;
    const struct inside *   inside   = inside_around((uintptr_t) caller, &near);
    const struct function * function = inside == NULL ? NULL : find_function(inside, name);
    if (function == NULL || function->address == 0) return false;
    binding->low      = near ? (uintptr_t) inside->island.base : inside->low;
    binding->size     = near ? inside->island.size : inside->high - inside->low;
    binding->function = function->before != NULL ? function->before : (void *) function->address;
    return true;
}

static void * before(void * function) {
    bool                  near;
    const struct inside * inside = inside_around((uintptr_t) function, &near);
    for (size_t i = 0; inside != NULL && i < inside->count; i++)
        if (inside->functions[i].address == (uintptr_t) function && inside->functions[i].before != NULL)
            return inside->functions[i].before;
    return function;
}

static bool is_loaded(const struct ggs_binding * binding) {
    bool            near;
    struct inside * inside = inside_around(binding->low, &near);
    if (inside == NULL) return false;
    if (ggs_objects_visit(is_there, inside) == 0) inside->gone = true;
    return !inside->gone;
}

static const struct ggs_resolve_inside resolve = {find, before, is_loaded};

// ---- one object ----

struct candidate {
    char                  path[PATH_MAX];
    struct ggs_loaded     object;
    struct ggs_symbols_of of;
    struct ggs_view       view;
    uintptr_t             code;
    size_t                code_size;
    bool                  calls; // it calls the marker through a slot, which hooks observe
};

// Converts addresses of the file to addresses in memory.
static void relocate(struct ggs_symbols * symbols, uintptr_t bias) {
    for (size_t i = 0; i < symbols->count; i++) symbols->items[i].address += bias;
    for (unsigned i = 0; i < symbols->n_stubs; i++) {
        symbols->stubs[i].begin += bias;
        symbols->stubs[i].end += bias;
    }
}

// Stores the engine's functions by name. A name that occurs twice is dropped.
static bool keep_names(struct inside * inside, const struct ggs_symbols * symbols) {
    for (size_t i = 0; i < symbols->count; i++) {
        const struct ggs_code_function * symbol = &symbols->items[i];
        if (strncmp(symbol->name, "ggml_", 5) != 0 && strncmp(symbol->name, "gguf_", 5) != 0 &&
            strncmp(symbol->name, "llama_", 6) != 0)
            continue;
        struct function function = {.name = strdup(symbol->name), .address = symbol->address};
        if (function.name == NULL || !ggs_array_push(inside->functions, inside->count, inside->capacity, function)) {
            free(function.name);
            return false;
        }
    }
    qsort(inside->functions, inside->count, sizeof(*inside->functions), by_name);
    for (size_t i = 1; i < inside->count; i++) {
        struct function *here = &inside->functions[i], *before = here - 1;
        if (strcmp(here->name, before->name) == 0 && here->address != before->address)
            here->address = before->address = 0;
    }
    return true;
}

static bool drop_names(struct inside * inside) {
    while (inside->count > 0) free(inside->functions[--inside->count].name);
    free(inside->functions);
    inside->functions = NULL;
    return false;
}

// Adds the code that leads from a function to its hook; NULL if there is no room.
static const uint8_t * add_way(struct ggs_island * island, const struct ggs_patch * patch) {
    const void * hook = ggs_exports_find(patch->function->name);
    if (!patch->entry.preserve) return ggs_island_add_way(island, &patch->entry, hook);
#ifdef __x86_64__
    if (strcmp(patch->function->name, "ggml_barrier") == 0)
        return ggs_island_add_way(island, &patch->entry, (const void *) ggs_barrier_preserving);
#endif
    return ggs_island_add_preserving_way(island, &patch->entry, hook, patch->shape == GGS_SHAPE_RETURNS);
}

// With a shadow stack, a function can return only to a place that a call came from.
static bool has_shadow_stack(void) {
    enum { ENABLED = 1 };
    unsigned long features = 0;
#ifdef SYS_arch_prctl
    enum { ARCH_SHSTK_STATUS = 0x5005 };
    if (syscall(SYS_arch_prctl, ARCH_SHSTK_STATUS, &features) != 0) return false;
#else
    enum { GET_SHADOW_STACK_STATUS = 74 }; // PR_GET_SHADOW_STACK_STATUS, of Linux 6.13
    if (prctl(GET_SHADOW_STACK_STATUS, &features, 0, 0, 0) != 0) return false;
#endif
    return (features & ENABLED) != 0;
}

// Fills the island.
static void prepare(struct inside * inside, const struct ggs_code * code, struct ggs_patch * patches,
                    const uint8_t ** ways, size_t n) {
    for (size_t i = 0; i < n; i++) {
        struct ggs_patch * patch    = &patches[i];
        struct function *  function = (struct function *) (uintptr_t) find_function(inside, patch->function->name);
        if (patch->refused == NULL && patch->entry.calls && has_shadow_stack())
            patch->refused = "its first instructions cannot be moved";
        if (patch->refused != NULL || function == NULL) continue;
        ways[i]          = add_way(&inside->island, patch);
        function->before = ways[i] == NULL ? NULL : ggs_island_add_function(&inside->island, &patch->entry, code);
        if (function->before == NULL) patch->refused = "there is no room for it near the program";
    }
}

// For systems that forbid to change code.
static void forget(struct inside * inside, const char * name) {
    struct function * function = (struct function *) (uintptr_t) find_function(inside, name);
    if (function != NULL) function->before = NULL;
}

// Describes the change that leads an entry to its way. False if the way is out of reach.
static bool describe_place(struct ggs_code_place * place, const struct ggs_code_entry * entry, const void * way) {
    *place = (struct ggs_code_place){.at = entry->at, .length = entry->length};
    memcpy(place->before, (const void *) (uintptr_t) entry->at, ggs_processor_here()->jump_length);
    return ggs_processor_here()->jump(place->after, entry->at, (uint64_t) (uintptr_t) way);
}

static bool change(const struct ggs_code_place * place, bool alone) {
    return ggs_code_overwrite((void *) (uintptr_t) place->at, place->after, ggs_processor_here()->jump_length, alone);
}

static void apply(struct inside * inside, const struct ggs_patch * patches, const uint8_t ** ways, size_t n,
                  bool alone) {
    for (size_t i = 0; i < n; i++) {
        struct ggs_code_place place;
        if (patches[i].refused != NULL) continue;
        if (!describe_place(&place, &patches[i].entry, ways[i]) || !change(&place, alone))
            forget(inside, patches[i].function->name);
    }
}

// Who may be executing the code that is changed.
enum who { NOBODY, NOBODY_YET, ANYBODY };

static void add_places(struct inside * inside, const struct ggs_patch * patches, const uint8_t ** ways, size_t n) {
    for (size_t i = 0; i < n; i++) {
        struct ggs_code_place place;
        if (patches[i].refused == NULL && describe_place(&place, &patches[i].entry, ways[i]))
            inside->places[inside->n_places++] = place;
    }
}

static bool is_hooked(void * unused, const char * name) {
    (void) unused;
    return ggs_exports_find(name) != NULL;
}

static struct ggs_code code_of(const struct candidate * candidate, const struct ggs_symbols * symbols) {
    struct ggs_code code = {.processor   = ggs_processor_here(),
                            .bytes       = (const uint8_t *) candidate->code,
                            .address     = candidate->code,
                            .size        = candidate->code_size,
                            .functions   = symbols->items,
                            .n_functions = symbols->count,
                            .n_stubs     = symbols->n_stubs};
    memcpy(code.stubs, symbols->stubs, sizeof(code.stubs));
    return code;
}

static bool open_island(struct inside * inside, const struct ggs_code * code) {
    static bool warned;
    if (ggs_island_open(&inside->island, (struct ggs_code_range){inside->low, inside->high}, ggs_code_extent(code)))
        return true;
    if (!warned) ggs_capture_warn("ggml inside the program is not recorded: no memory is free in reach of its code");
    warned = true;
    return false;
}

static void begin(struct inside * inside, const struct candidate * candidate) {
    *inside = (struct inside){.low = candidate->object.low, .high = candidate->object.high};
    memcpy(inside->path, candidate->path, sizeof(inside->path));
}

static bool fill(struct inside * inside, const struct candidate * candidate, const struct ggs_symbols * symbols,
                 enum who who) {
    struct ggs_patch patches[GGS_PATCHES_MOST];
    const uint8_t *  ways[GGS_PATCHES_MOST] = {NULL};
    const char *     reason;
    struct ggs_code  code   = code_of(candidate, symbols);
    bool             openmp = ggs_openmp_is_called(&candidate->object);
    size_t           n      = ggs_patch_plan(patches, &code, is_hooked, NULL, openmp);
    begin(inside, candidate);
    inside->openmp = openmp;
    if (ggs_patch_plan_lacks(patches, n, &code, &reason) != NULL || !keep_names(inside, symbols) ||
        !open_island(inside, &code))
        return drop_names(inside);
    prepare(inside, &code, patches, ways, n);
    if (!ggs_island_seal(&inside->island)) return drop_names(inside);
    n_found++; // hooks may run from here on
    ggs_resolve_inside = &resolve;
    if (who == ANYBODY) {
        add_places(inside, patches, ways, n);
        return true;
    }
    apply(inside, patches, ways, n, who == NOBODY);
    if (openmp) ggs_openmp_redirect(&candidate->object);
    return true;
}

// ---- an object without functions to hook: stripped, or link-time optimised ----

static const char * problem; // why the engine of a program that runs is not recorded; NULL: none

// Adds the way from an entry to a hook, and the original function. `place` says what to write.
static bool prepare_entry(struct ggs_island * island, const struct ggs_code_entry * entry, const struct ggs_code * code,
                          const void * hook, void ** original, struct ggs_code_place * place) {
    if (entry->refused != NULL || (entry->calls && has_shadow_stack())) return false;
    const void * way = entry->preserve ? ggs_island_add_preserving_way(island, entry, hook, true)
                                       : ggs_island_add_way(island, entry, hook);
    *original        = ggs_island_add_function(island, entry, code);
    return way != NULL && *original != NULL && describe_place(place, entry, way);
}

static bool finish(struct inside * inside) {
    if (!ggs_island_seal(&inside->island)) return false;
    n_found++;
    ggs_resolve_inside = &resolve;
    return true;
}

// Changes the entries of the maker functions: all of them, or nothing is recorded if the system
// forbids it.
static void hook_makers(struct inside * inside, const struct ggs_backend_plan * plan, const struct ggs_code * code,
                        bool alone) {
    struct ggs_code_place places[GGS_MAKERS_MOST];
    bool                  good = open_island(inside, code);
    for (unsigned i = 0; good && i < plan->n; i++)
        good = prepare_entry(&inside->island, &plan->makers[i], code, ggs_backend_maker_hook(i), ggs_backend_maker(i),
                             &places[i]);
    if (!good || !finish(inside)) return;
    for (unsigned i = 0; i < plan->n; i++) change(&places[i], alone);
}

// Backends exist: the entry of the function that computes their graphs is to be changed.
static const char * hook_compute(struct inside * inside, const struct ggs_code * code) {
    struct ggs_code_entry entry;
    void *                original = NULL;
    uint64_t              compute  = ggs_backend_find_existing();
    if (compute == 0) return "it has made no CPU backend yet: attach when its model is loaded";
    const struct ggs_code_function * function = ggs_code_function_at(code, compute);
    if (function == NULL || function->address != compute) return "the function that computes is not found";
    ggs_entry_examine(&entry, code, function->address, function->size);
    ggs_entries_check(&entry, 1, code);
    if (!open_island(inside, code)) return "there is no room near it";
    if (!prepare_entry(&inside->island, &entry, code, (const void *) ggs_backend_record, &original, inside->places)) {
        ggs_island_drop(&inside->island);
        return "the entry of the function that computes cannot be changed";
    }
    ggs_backend_displaced(original);
    inside->n_places = 1;
    return finish(inside) ? NULL : "the system forbids to add code";
}

static void fill_blind(struct inside * inside, const struct candidate * candidate, struct ggs_symbols * symbols,
                       enum who who) {
    struct ggs_backend_plan plan;
    if (!ggs_backend_plan_is_engine(&candidate->view)) return;
    free(symbols->items);
    symbols->items       = ggs_view_functions(&candidate->view, &symbols->count);
    struct ggs_code code = code_of(candidate, symbols);
    ggs_backend_plan(&plan, &candidate->view, &code);
    if (who == ANYBODY) problem = "it is not laid out as expected";
    if ((plan.refused != NULL && who != ANYBODY) || !ggs_backends_expect(&candidate->view, plan.guid)) return;
    ggs_abi_adopt(&ggs_engine_tables, candidate->object.low, candidate->object.high - candidate->object.low);
    begin(inside, candidate);
    if (who == ANYBODY)
        problem = hook_compute(inside, &code);
    else
        hook_makers(inside, &plan, &code, who == NOBODY);
}

static void examine(const struct candidate * candidate, enum who who) {
    struct ggs_symbols symbols;
    const char *       path = candidate->path[0] == '\0' ? "/proc/self/exe" : candidate->path;
    if (n_found == MOST_INSIDE || candidate->calls || candidate->code == 0) return;
    bool named = ggs_symbols_read(&symbols, path, &candidate->of, GGS_ENGINE_MARKER);
    relocate(&symbols, candidate->object.bias);
    if (!named || !fill(&found[n_found], candidate, &symbols, who))
        fill_blind(&found[n_found], candidate, &symbols, who);
    ggs_symbols_release(&symbols);
}

// ---- all objects ----

struct candidates {
    struct candidate * items;
    size_t             count, capacity;
    unsigned long long seen; // objects ever loaded
};

static unsigned long long n_seen; // objects ever loaded at the last search

static bool is_known(const struct ggs_loaded * object) {
    for (unsigned i = 0; i < n_found; i++)
        if (!found[i].gone && found[i].low == object->low && found[i].high == object->high) return true;
    return false;
}

// preload/loaded.h lists what must not be called here. Room was reserved.
static int collect(struct dl_phdr_info * info, size_t size, void * data) {
    enum { CODE = PF_R | PF_X }; // the code of --execute-only cannot be read
    struct candidates * candidates = data;
    const char *        path       = info->dlpi_name == NULL ? "" : info->dlpi_name;
    struct ggs_loaded   object;
    (void) size;
    candidates->seen = info->dlpi_adds;
    ggs_loaded_read(&object, info);
    bool own = (uintptr_t) found - object.low < object.high - object.low;
    if (own || object.dynamic == NULL || is_known(&object) || candidates->count == candidates->capacity ||
        strstr(path, "linux-vdso") != NULL)
        return 0;
    struct candidate * c = &candidates->items[candidates->count];
    *c = (struct candidate){.object = object, .of = {info->dlpi_phdr, info->dlpi_phnum * sizeof(ElfW(Phdr)), {{0}, 0}}};
    if (snprintf(c->path, sizeof(c->path), "%s", path) >= (int) sizeof(c->path)) return 0;
    ggs_view_of_memory(&c->view, info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr);
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) * segment = &info->dlpi_phdr[i];
        uintptr_t at               = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && (segment->p_flags & CODE) == CODE && segment->p_memsz > c->code_size)
            c->code = at, c->code_size = segment->p_memsz;
        if (segment->p_type == PT_NOTE && c->of.id.size == 0)
            ggs_build_id_find(&c->of.id, (const uint8_t *) at, segment->p_memsz);
    }
    c->calls = ggs_loaded_calls(&object, GGS_ENGINE_MARKER);
    candidates->count++;
    return 0;
}

static int count(struct dl_phdr_info * info, size_t size, void * data) {
    (void) size;
    *(unsigned long long *) data = info->dlpi_adds;
    return 1;
}

// Keeps an object loaded while it is examined: other threads may close it at any time. Returns
// false if it is gone. The program itself is never unloaded and has no name.
static bool pin(const struct candidate * candidate, void ** handle) {
    *handle = NULL;
    if (candidate->path[0] == '\0') return true;
    const struct link_map * map = *handle = dlopen(candidate->path, RTLD_LAZY | RTLD_NOLOAD);
    if (map == NULL) return false;
    if (map->l_addr == candidate->object.bias && map->l_ld == candidate->object.dynamic) return true;
    dlclose(*handle); // another object has its name
    return false;
}

static void search_objects(enum who who) {
    enum { MOST = 1024 };
    struct candidates candidates = {.capacity = MOST, .items = calloc(MOST, sizeof(struct candidate))};
    if (candidates.items == NULL) return;
    for (unsigned i = 0; i < n_found; i++)
        if (!found[i].gone) found[i].gone = ggs_objects_visit(is_there, &found[i]) == 0;
    ggs_objects_visit(collect, &candidates);
    n_seen = candidates.seen;
    for (size_t i = 0; i < candidates.count; i++) {
        void * handle = NULL;
        if (who != NOBODY && !pin(&candidates.items[i], &handle)) continue;
        examine(&candidates.items[i], who);
        if (handle != NULL) dlclose(handle);
    }
    free(candidates.items);
}

static bool begun;

void ggs_inside_begin(void) {
    if (ggs_processor_here() == NULL) return;
    begun = true;
    ggs_exports_read();
    search_objects(NOBODY);
}

const char * ggs_inside_problem(void) {
    return problem;
}

size_t ggs_inside_attach(const struct ggs_code_place ** places) {
    static struct ggs_code_place all[GGS_CODE_PLACES_MOST];
    size_t                       n = 0;
    *places                        = all;
    if (ggs_processor_here() == NULL) return 0;
    ggs_exports_read();
    problem = NULL;
    search_objects(ANYBODY);
    for (unsigned i = 0; i < n_found; i++) {
        if (found[i].gone) continue;
        if (found[i].openmp) ggs_openmp_redirect_attached(found[i].low);
        for (size_t k = 0; k < found[i].n_places && n < GGS_CODE_PLACES_MOST; k++) all[n++] = found[i].places[k];
    }
    ggs_redirect_again();
    return n;
}

void ggs_inside_search_new(void) {
    unsigned long long now = 0;
    if (!begun) return;
    ggs_objects_visit(count, &now);
    if (now == n_seen) return;
    if (pthread_mutex_trylock(&lock) != 0) return; // another thread, or one of before a fork
    if (now != n_seen) search_objects(NOBODY_YET);
    pthread_mutex_unlock(&lock);
}
