#include "capture/resolve.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

enum { MOST_HOOKS = 64 };
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

// Is this function one of ours? dlsym on the main program finds the preloaded library first.
static int is_ours(const void * function) {
    Dl_info theirs, ours;
    return function != NULL && dladdr(function, &theirs) != 0 && dladdr((const void *) is_ours, &ours) != 0 &&
           theirs.dli_fbase == ours.dli_fbase;
}

int ggs_resolve_close(void * library) {
    static int (*real)(void *);
    if (real == NULL) real = (int (*)(void *)) dlsym(RTLD_NEXT, "dlclose");
    return real == NULL ? -1 : real(library);
}

static void * look_up(const char * name, const struct object * object) {
    void * function = NULL;
    if (object->path[0] != '\0') { // "" is the main program, whose scope is the global one
        void * library = dlopen(object->path, RTLD_LAZY | RTLD_NOLOAD);
        if (library != NULL) {
            function = dlsym(library, name);
            ggs_resolve_close(library); // drops only the reference that dlopen took
        }
    }
    if (function == NULL || is_ours(function)) function = dlsym(RTLD_NEXT, name);
    return is_ours(function) ? NULL : function;
}

void * ggs_resolve_name(const char * name, const void * caller) {
    struct object object;
    if (!find_object(&object, caller)) object.path[0] = '\0';
    return look_up(name, &object);
}

void * ggs_resolve_slow(struct ggs_hook * hook, const void * caller) {
    struct object object;
    int           found    = find_object(&object, caller);
    void *        function = look_up(hook->name, &object);
    if (!found || function == NULL) return function;

    pthread_mutex_lock(&lock);
    unsigned n = hook->n_bindings;
    if (n < GGS_HOOK_BINDINGS) {
        if (n == 0 && n_known < MOST_HOOKS) known[n_known++] = hook;
        hook->bindings[n] = (struct ggs_binding){object.low, object.high, function};
        __atomic_store_n(&hook->n_bindings, n + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
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
            if (!there || object.high != binding->high) __atomic_store_n(&binding->high, binding->low, __ATOMIC_RELAXED);
        }
    }
    pthread_mutex_unlock(&lock);
}

void ggs_resolve_path(const void * address, char * path, unsigned long size) {
    struct object object;
    find_object(&object, address);
    snprintf(path, size, "%s", object.path);
}
