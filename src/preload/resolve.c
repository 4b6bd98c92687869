#include "preload/resolve.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system/ticks.h"
#include "preload/objects.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

_Thread_local void *        ggs_resolve_last;
_Thread_local const void *  ggscope_caller;
GGS_WITH_EVERY_OP uintptr_t ggs_resolve_other[2];

const struct ggs_resolve_inside * ggs_resolve_inside;

enum { MOST_HOOKS = 128 };
static struct ggs_hook * bound[MOST_HOOKS]; // hooks with bindings
static unsigned          n_bound;

struct object {
    uintptr_t address; // address to find
    uintptr_t low, high;
    char      path[4096];
};

static int match_object(struct dl_phdr_info * info, size_t size, void * data) {
    (void) size;
    struct object * object = data;
    uintptr_t       low = UINTPTR_MAX, high = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) * segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD) continue;
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
        uintptr_t end   = begin + segment->p_memsz;
        if (begin < low) low = begin;
        if (end > high) high = end;
    }
    if (object->address < low || object->address >= high) return 0;
    object->low  = low;
    object->high = high;
    snprintf(object->path, sizeof(object->path), "%s", info->dlpi_name == NULL ? "" : info->dlpi_name);
    return 1;
}

static int find_object(struct object * object, const void * address) {
    object->address = (uintptr_t) address;
    object->path[0] = '\0';
    return ggs_objects_visit(match_object, object);
}

// True if the address lies in this library.
static bool is_ours(const void * address) {
    extern const char __ehdr_start[] __attribute__((visibility("hidden"))); // set by the linker: start of this library
    extern const char _end[] __attribute__((visibility("hidden")));         // its end
    return (uintptr_t) address - (uintptr_t) __ehdr_start < (uintptr_t) _end - (uintptr_t) __ehdr_start;
}

const void * ggs_resolve_outside(const void * caller) {
    if ((uintptr_t) caller - ggs_resolve_other[0] < ggs_resolve_other[1])
        caller = ggscope_caller;
    else if (is_ours(caller))
        caller = ggs_resolve_last; // a tail call: this library's own address would lead the other hook back here
    ggscope_caller = caller;
    return caller;
}

static int close_library(void * library) {
    static int (*real)(void *);
    if (real == NULL) real = (int (*)(void *)) dlsym(RTLD_NEXT, "dlclose");
    return real == NULL ? -1 : real(library);
}

// Returns the function that the library at `path` would find, in itself or its dependencies.
static void * find_in_library(const char * path, const char * name) {
    if (path[0] == '\0') return NULL; // the main program uses the global scope
    void * library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) return NULL;
    void * function = dlsym(library, name);
    close_library(library); // drops the reference taken by dlopen
    return is_ours(function) ? NULL : function;
}

struct engine_paths {
    char     path[16][4096];
    unsigned n;
};

static int collect_engine(struct dl_phdr_info * info, size_t size, void * data) {
    (void) size;
    struct engine_paths * paths = data;
    const char *          name  = info->dlpi_name == NULL ? NULL : strrchr(info->dlpi_name, '/');
    if (name == NULL || paths->n == 16 || (strncmp(name, "/libggml", 8) != 0 && strncmp(name, "/libllama", 9) != 0))
        return 0;
    snprintf(paths->path[paths->n++], sizeof(paths->path[0]), "%s", info->dlpi_name);
    return 0;
}

static int is_engine(struct dl_phdr_info * info, size_t size, void * data) {
    (void) size, (void) data;
    return info->dlpi_name != NULL && strstr(info->dlpi_name, "libggml") != NULL;
}

bool ggs_resolve_has_engine(void) {
    return ggs_objects_visit(is_engine, NULL) != 0;
}

static bool is_other(const char * path) {
    const char * name = strrchr(path, '/');
    return name != NULL && (strstr(name, "/libggscope-capture") == name || strstr(name, "/libggscope-stream") == name);
}

static int find_other_base(struct dl_phdr_info * info, size_t size, void * data) {
    (void) size;
    uintptr_t base = info->dlpi_addr + info->dlpi_phdr[0].p_vaddr;
    if (info->dlpi_name == NULL || !is_other(info->dlpi_name) || is_ours((const void *) base)) return 0;
    *(uintptr_t *) data = base;
    return 1;
}

// Preloaded libraries are loaded before this runs.
__attribute__((constructor)) static void find_other(void) {
    uintptr_t     address = 0;
    struct object object;
    if (ggs_objects_visit(find_other_base, &address) == 0 || !find_object(&object, (const void *) address)) return;
    ggs_resolve_other[0] = object.low;
    ggs_resolve_other[1] = object.high - object.low;
}

// Returns the hook of the other preload library if it comes after this one.
static void * find_in_other(const char * name) {
    void *        function = dlsym(RTLD_NEXT, name);
    struct object object;
    return function != NULL && find_object(&object, function) && is_other(object.path) ? function : NULL;
}

// True if `caller` lies in `function`: another preloaded library wraps it and asks for the next.
static bool is_wrapper(const void * function, const void * caller) {
    Dl_info symbol;
    return function != NULL && dladdr(caller, &symbol) != 0 && symbol.dli_saddr == function;
}

// Searches the caller's library, then the global scope after this library, then any engine library.
static void * find_function(const char * name, const char * path, const void * caller) {
    void * function = find_in_library(path, name);
    if (is_wrapper(function, caller)) function = NULL;
    if (function == NULL) function = dlsym(RTLD_NEXT, name);
    if (function == NULL) function = dlsym(RTLD_DEFAULT, name); // this library was loaded late: nothing comes after it
    if (function != NULL && !is_ours(function)) return function;
    struct engine_paths paths = {.n = 0};
    ggs_objects_visit(collect_engine, &paths);
    function = NULL;
    for (unsigned i = 0; i < paths.n && function == NULL; i++) function = find_in_library(paths.path[i], name);
    return function;
}

static bool find_inside(const char * name, const void * caller, struct ggs_binding * binding) {
    return ggs_resolve_inside != NULL && ggs_resolve_inside->find(name, caller, binding);
}

// Returns the original function if its entry was patched: the result must not be a hook.
static void * before_hook(void * function) {
    return ggs_resolve_inside != NULL ? ggs_resolve_inside->before(function) : function;
}

void * ggs_resolve_name(const char * name, const void * caller) {
    struct object      object;
    struct ggs_binding inside;
    if (find_inside(name, caller, &inside)) return inside.function;
    find_object(&object, caller);
    return before_hook(find_function(name, object.path, caller));
}

static void remember(struct ggs_hook * hook, const struct object * object, void * function) {
    pthread_mutex_lock(&lock);
    bool                 first   = hook->first.function == NULL;
    struct ggs_binding * binding = first ? &hook->first : calloc(1, sizeof(*binding));
    if (binding != NULL && (!first || n_bound < MOST_HOOKS)) {
        if (first) bound[n_bound++] = hook;
        binding->low      = object->low;
        binding->function = function;
        binding->next     = hook->bindings;
        __atomic_store_n(&binding->size, object->high - object->low, __ATOMIC_RELEASE);
        __atomic_store_n(&hook->bindings, binding, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
}

static void * find_binding(struct ggs_hook * hook, const void * caller) {
    const struct ggs_binding * binding = __atomic_load_n(&hook->bindings, __ATOMIC_ACQUIRE);
    while (binding != NULL && !ggs_binding_of(binding, caller))
        binding = __atomic_load_n(&binding->next, __ATOMIC_ACQUIRE);
    if (binding == NULL) return NULL;
    __atomic_store_n(&hook->before, __atomic_load_n(&hook->last, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
    __atomic_store_n(&hook->last, binding, __ATOMIC_RELAXED);
    return binding->function;
}

void * ggs_resolve_slow(struct ggs_hook * hook, const void * caller) {
    if (is_ours(caller)) caller = ggs_resolve_last; // a tail call: see resolve.h
    void * function = find_binding(hook, caller);
    if (function != NULL) return function;
    struct object      object;
    struct ggs_binding inside;
    int                found = 1;
    if (find_inside(hook->name, caller, &inside)) {
        object.low  = inside.low;
        object.high = inside.low + inside.size;
        function    = inside.function;
    } else {
        found    = find_object(&object, caller);
        function = find_in_other(hook->name);
        if (function == NULL) function = before_hook(find_function(hook->name, object.path, caller));
    }
    if (found && function != NULL) remember(hook, &object, function);
    return function;
}

static bool is_loaded(const struct ggs_binding * binding) {
    struct object object;
    if (ggs_resolve_inside != NULL && ggs_resolve_inside->is_loaded(binding)) return true;
    return find_object(&object, (const void *) binding->low) && object.high == binding->low + binding->size &&
           find_object(&object, binding->function);
}

// A library may have been unloaded and another one loaded at its address.
static void forget_unloaded(void) {
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < n_bound; i++) {
        struct ggs_binding ** at = &bound[i]->bindings;
        while (*at != NULL) {
            struct ggs_binding * binding = *at;
            if (is_loaded(binding)) {
                at = &binding->next;
                continue;
            }
            __atomic_store_n(&binding->size, 0, __ATOMIC_RELAXED);
            __atomic_store_n(at, binding->next, __ATOMIC_RELEASE); // concurrent readers continue from there
        }
    }
    pthread_mutex_unlock(&lock);
}

void ggs_resolve_refresh(void) {
    forget_unloaded();
}

__attribute__((visibility("default"))) int dlclose(void * library) {
    int result = close_library(library);
    forget_unloaded();
    return result;
}

void ggs_resolve_unlock(void) {
    lock = (pthread_mutex_t) PTHREAD_MUTEX_INITIALIZER;
}
