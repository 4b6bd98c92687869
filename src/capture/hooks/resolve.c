#include "capture/hooks/resolve.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/system/ticks.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

_Thread_local void *        ggs_resolve_last;
_Thread_local const void *  ggscope_caller;
GGS_WITH_EVERY_OP uintptr_t ggs_resolve_other[2];

enum { MOST_HOOKS = 128 };
static struct ggs_hook * known[MOST_HOOKS]; // hooks that hold bindings
static unsigned          n_known;

struct object {
    uintptr_t address; // looked for
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
    return dl_iterate_phdr(match_object, object);
}

// Is this address in this library?
static bool is_ours(const void * address) {
    extern const char __ehdr_start[] __attribute__((visibility("hidden"))); // by the linker: where this library begins
    extern const char _end[] __attribute__((visibility("hidden")));         // and where it ends
    return (uintptr_t) address - (uintptr_t) __ehdr_start < (uintptr_t) _end - (uintptr_t) __ehdr_start;
}

int ggs_resolve_close(void * library) {
    static int (*real)(void *);
    if (real == NULL) real = (int (*)(void *)) dlsym(RTLD_NEXT, "dlclose");
    return real == NULL ? -1 : real(library);
}

// As the library at `path` would find it, in itself or in what it depends on.
static void * look_in(const char * path, const char * name) {
    if (path[0] == '\0') return NULL; // the main program, whose scope is the global one
    void * library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) return NULL;
    void * function = dlsym(library, name);
    ggs_resolve_close(library); // drops only the reference that dlopen took
    return is_ours(function) ? NULL : function;
}

struct engine_paths {
    char     path[16][4096];
    unsigned n;
};

static int note_engine(struct dl_phdr_info * info, size_t size, void * data) {
    (void) size;
    struct engine_paths * paths = data;
    const char *          name  = info->dlpi_name == NULL ? NULL : strrchr(info->dlpi_name, '/');
    if (name == NULL || paths->n == 16 || (strncmp(name, "/libggml", 8) != 0 && strncmp(name, "/libllama", 9) != 0))
        return 0;
    snprintf(paths->path[paths->n++], sizeof(paths->path[0]), "%s", info->dlpi_name);
    return 0;
}

static bool is_other(const char * path) {
    const char * name = strrchr(path, '/');
    return name != NULL && (strstr(name, "/libggscope-capture") == name || strstr(name, "/libggscope-stream") == name);
}

static int note_other(struct dl_phdr_info * info, size_t size, void * data) {
    (void) size;
    uintptr_t base = info->dlpi_addr + info->dlpi_phdr[0].p_vaddr;
    if (info->dlpi_name == NULL || !is_other(info->dlpi_name) || is_ours((const void *) base)) return 0;
    *(uintptr_t *) data = base;
    return 1;
}

// Preloaded libraries are there from the start.
__attribute__((constructor)) static void find_other(void) {
    uintptr_t     address = 0;
    struct object object;
    if (dl_iterate_phdr(note_other, &address) == 0 || !find_object(&object, (const void *) address)) return;
    ggs_resolve_other[0] = object.low;
    ggs_resolve_other[1] = object.high - object.low;
}

// The hook of our other library, if it comes after this one.
static void * look_in_other(const char * name) {
    void *        function = dlsym(RTLD_NEXT, name);
    struct object object;
    return function != NULL && find_object(&object, function) && is_other(object.path) ? function : NULL;
}

// The caller's library first; then what comes after us in the global scope; then any library of an engine.
static void * look_up(const char * name, const char * path) {
    void * function = look_in(path, name);
    if (function == NULL) function = dlsym(RTLD_NEXT, name);
    if (function != NULL && !is_ours(function)) return function;
    struct engine_paths paths = {.n = 0};
    dl_iterate_phdr(note_engine, &paths);
    function = NULL;
    for (unsigned i = 0; i < paths.n && function == NULL; i++) function = look_in(paths.path[i], name);
    return function;
}

void * ggs_resolve_name(const char * name, const void * caller) {
    struct object object;
    find_object(&object, caller);
    return look_up(name, object.path);
}

static void remember(struct ggs_hook * hook, const struct object * object, void * function) {
    pthread_mutex_lock(&lock);
    unsigned n = hook->n_bindings;
    if (n < GGS_HOOK_BINDINGS) {
        if (n == 0 && n_known < MOST_HOOKS) known[n_known++] = hook;
        struct ggs_binding * binding = &hook->bindings[n];
        binding->low                 = object->low;
        binding->function            = function;
        __atomic_store_n(&binding->size, object->high - object->low, __ATOMIC_RELEASE);
        __atomic_store_n(&hook->n_bindings, n + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
}

static void * find_known(struct ggs_hook * hook, const void * caller) {
    unsigned n = __atomic_load_n(&hook->n_bindings, __ATOMIC_ACQUIRE);
    for (unsigned i = 0; i < n; i++) {
        if (!ggs_binding_of(&hook->bindings[i], caller)) continue;
        __atomic_store_n(&hook->last, &hook->bindings[i], __ATOMIC_RELAXED);
        return hook->bindings[i].function;
    }
    return NULL;
}

void * ggs_resolve_slow(struct ggs_hook * hook, const void * caller) {
    if (is_ours(caller)) caller = ggs_resolve_last; // a jump: see there
    void * function = find_known(hook, caller);
    if (function != NULL) return function;
    struct object object;
    int           found = find_object(&object, caller);
    function            = look_in_other(hook->name);
    if (function == NULL) function = look_up(hook->name, object.path);
    if (found && function != NULL) remember(hook, &object, function);
    return function;
}

// An entry is emptied, never used again: a thread may be reading it.
void ggs_resolve_forget(void) {
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < n_known; i++) {
        for (unsigned k = 0; k < known[i]->n_bindings; k++) {
            struct ggs_binding * binding = &known[i]->bindings[k];
            struct object        object;
            int                  there = find_object(&object, (const void *) binding->low);
            if (!there || object.high != binding->low + binding->size)
                __atomic_store_n(&binding->size, 0, __ATOMIC_RELAXED);
        }
    }
    pthread_mutex_unlock(&lock);
}

void ggs_resolve_unlock(void) {
    lock = (pthread_mutex_t) PTHREAD_MUTEX_INITIALIZER;
}
