#include "capture/cpu/openmp.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "capture/cpu/barrier.h"
#include "preload/loaded.h"
#include "preload/redirect.h"

// ---- of gcc ----

static void (*gomp_barrier)(void);

static void call_gomp(void * unused) {
    (void) unused;
    gomp_barrier();
}

static void on_gomp_barrier(void) {
    ggs_barrier_through(call_gomp, NULL);
}

// ---- of clang ----

struct kmpc_call {
    void *  place;
    int32_t thread;
};

static void (*kmpc_barrier)(void * place, int32_t thread);

static void call_kmpc(void * data) {
    const struct kmpc_call * call = data;
    kmpc_barrier(call->place, call->thread);
}

static void on_kmpc_barrier(void * place, int32_t thread) {
    struct kmpc_call call = {place, thread};
    ggs_barrier_through(call_kmpc, &call);
}

// ---- their slots ----

static const struct barrier {
    const char * name;
    void **      real;
    void *       hook;
} barriers[] = {
    {"GOMP_barrier", (void **) &gomp_barrier, (void *) on_gomp_barrier},
    {"__kmpc_barrier", (void **) &kmpc_barrier, (void *) on_kmpc_barrier},
};
enum { BARRIERS = sizeof(barriers) / sizeof(barriers[0]) };

bool ggs_openmp_is_called(const struct ggs_loaded * object) {
    for (unsigned i = 0; i < BARRIERS; i++)
        if (ggs_loaded_calls(object, barriers[i].name)) return true;
    return false;
}

static void exchange(void * context, const struct ggs_loaded * object, const struct ggs_loaded_slot * slot) {
    const struct barrier * barrier = context;
    (void) object;
    if (strcmp(slot->name, barrier->name) == 0) ggs_loaded_write_slot(slot->place, barrier->hook, slot->locked);
}

// What a slot holds may be the code that binds it: the function comes from the dynamic linker.
static bool find_real(const struct barrier * barrier) {
    if (*barrier->real == NULL) *barrier->real = dlsym(RTLD_DEFAULT, barrier->name);
    return *barrier->real != NULL;
}

void ggs_openmp_redirect(const struct ggs_loaded * object) {
    for (unsigned i = 0; i < BARRIERS; i++)
        if (find_real(&barriers[i])) ggs_loaded_each_slot(object, exchange, (void *) (uintptr_t) &barriers[i]);
}

void ggs_openmp_redirect_attached(uintptr_t object) {
    for (unsigned i = 0; i < BARRIERS; i++)
        if (find_real(&barriers[i])) ggs_redirect_also(object, barriers[i].name, barriers[i].hook);
}
