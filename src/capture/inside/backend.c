#include "capture/inside/backend.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "capture/capture.h"
#include "capture/inside/backend-proof.h"
#include "capture/inside/engine-tables.h"

static struct ggs_view                object;
static uint64_t                       guid;       // its address; 0 if no backends are expected
static _Atomic uint64_t               compute;    // address of the backends' compute function; 0 if not known
static _Atomic(ggs_backend_compute *) real;       // the function that computes: at that address, or displaced
static _Atomic size_t                 context_at; // words from the beginning of a backend
static pthread_mutex_t                lock = PTHREAD_MUTEX_INITIALIZER;

enum { MOST_THREADS = 4096 };

// All backends of a program have the same function, and their context in the same place.
static bool learn(uint64_t function, unsigned context) {
    uint64_t known = atomic_load(&compute);
    if (known != 0) return known == function && atomic_load(&context_at) == context;
    atomic_store(&context_at, context);
    atomic_store(&real, (ggs_backend_compute *) (uintptr_t) function);
    atomic_store(&compute, function);
    return true;
}

// ---- results of the makers ----

// True for a new context: no graph was computed and nothing was set.
static bool is_new_context(const struct ggs_readable * all, const struct ggs_backend_context * context) {
    return ggs_readable_has(all, context, sizeof(*context)) && context->n_threads > 0 &&
           context->n_threads <= MOST_THREADS && context->pool == NULL && context->work == NULL &&
           context->work_size == 0 && context->abort == NULL && context->abort_data == NULL;
}

static void exchange(uint64_t * words) {
    struct ggs_readable all;
    unsigned            at = 0, context = 0;
    ggs_readable_read(&all);
    bool named = ggs_readable_has(&all, words, sizeof(*words)) && words[0] == guid;
    if (named && ggs_readable_has(&all, words, GGS_BACKEND_WORDS * sizeof(*words)))
        at = ggs_backend_find_compute(&object, words, &context);
    bool good = at != 0 && ggs_backend_has_device(&all, words, context) &&
                is_new_context(&all, (const struct ggs_backend_context *) (uintptr_t) words[context]);
    ggs_readable_free(&all);
    if (!named) return;
    pthread_mutex_lock(&lock);
    good = good && learn(words[at], context);
    if (good) __atomic_store_n(&words[at], (uint64_t) (uintptr_t) ggs_backend_record, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    if (!good)
        ggs_capture_disable("the program's ggml has no symbols, and its CPU backend is not laid out as expected: the "
                            "program runs on, nothing is recorded");
}

static void * makers[GGS_MAKERS_MOST];

static void * make(unsigned i, void * a, void * b, void * c) {
    void * made = ((void * (*) (void *, void *, void *) ) makers[i])(a, b, c);
    if (made != NULL && __atomic_load_n(&ggs_capture_state, __ATOMIC_RELAXED) != GGS_CAPTURE_OFF) exchange(made);
    return made;
}

static void * make_0(void * a, void * b, void * c) {
    return make(0, a, b, c);
}
static void * make_1(void * a, void * b, void * c) {
    return make(1, a, b, c);
}
static void * make_2(void * a, void * b, void * c) {
    return make(2, a, b, c);
}
static void * make_3(void * a, void * b, void * c) {
    return make(3, a, b, c);
}
static void * (*const hooks[GGS_MAKERS_MOST])(void *, void *, void *) = {make_0, make_1, make_2, make_3};

void * ggs_backend_maker_hook(unsigned i) {
    return (void *) hooks[i];
}

void ** ggs_backend_maker(unsigned i) {
    return &makers[i];
}

// ---- backends that exist ----

uint64_t ggs_backend_find_existing(void) {
    struct ggs_backend_found found;
    if (atomic_load(&compute) == 0 && ggs_backend_search(&found, &object, guid)) learn(found.compute, found.context);
    return atomic_load(&compute);
}

void ggs_backend_displaced(void * function) {
    atomic_store(&real, (ggs_backend_compute *) function);
}

// ---- interface ----

bool ggs_backends_expect(const struct ggs_view * view, uint64_t address) {
    if (guid != 0) return guid == address;
    if (!ggs_engine_tables_find(view)) return false;
    object = *view;
    guid   = address;
    return true;
}

struct ggs_backend_context * ggs_backend_context(const void * backend) {
    const uint64_t *             words   = backend;
    size_t                       at      = atomic_load_explicit(&context_at, memory_order_relaxed);
    struct ggs_backend_context * context = (struct ggs_backend_context *) (uintptr_t) words[at];
    return words[0] == guid && context->n_threads <= MOST_THREADS ? context : NULL;
}

ggs_backend_compute * ggs_backend_real(void) {
    return atomic_load_explicit(&real, memory_order_relaxed);
}

const void * ggs_backend_engine(void) {
    return (const void *) (uintptr_t) atomic_load_explicit(&compute, memory_order_relaxed);
}

bool ggs_backend_proves_graph(const struct abi_graph * graph) {
    static _Atomic bool proved;
    if (atomic_load_explicit(&proved, memory_order_relaxed)) return true;
    bool good = ggs_graph_is_proved(graph);
    if (good) atomic_store(&proved, true);
    return good;
}
