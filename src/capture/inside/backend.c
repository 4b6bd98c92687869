#include "capture/inside/backend.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/system/maps.h"
#include "capture/capture.h"
#include "capture/inside/engine-tables.h"
#include "capture/sandbox.h"

static struct ggs_view                object;
static uint64_t                       guid; // its address; 0 if no backends are expected
static _Atomic(ggs_backend_compute *) real;
static _Atomic size_t                 context_at; // words from the beginning of a backend
static pthread_mutex_t                lock = PTHREAD_MUTEX_INITIALIZER;

// ---- readable memory ----

struct readable {
    struct ggs_code_range * items;
    size_t                  n, capacity;
};

static void read_mappings(struct readable * all) {
    struct ggs_maps       maps;
    struct ggs_maps_entry entry;
    *all = (struct readable){0};
    if (ggs_sandboxed() || !ggs_maps_open(&maps, "self")) return;
    while (ggs_maps_next(&maps, &entry)) {
        struct ggs_code_range   range = {entry.start, entry.end};
        struct ggs_code_range * last  = all->n == 0 ? NULL : &all->items[all->n - 1];
        if (!entry.readable) continue;
        if (last != NULL && last->end == range.begin)
            last->end = range.end;
        else if (!ggs_array_push(all->items, all->n, all->capacity, range))
            break;
    }
    ggs_maps_close(&maps);
}

static bool is_readable(const struct readable * all, const void * at, uint64_t size) {
    uint64_t address = (uint64_t) (uintptr_t) at;
    for (size_t i = 0; address % sizeof(void *) == 0 && i < all->n; i++)
        if (address - all->items[i].begin < all->items[i].end - all->items[i].begin)
            return size <= all->items[i].end - address;
    return false;
}

// ---- what a backend is ----
//
//     name of its kind     the GUID
//     get_name, free       functions; the first returns "CPU"
//     4 to 6 of NULL       what only devices have
//     plan_create, plan_free, NULL, plan_compute, compute
//     2 to 4 of NULL
//     device, context

enum { NAME = 1, FREE = 2, FEWEST_NULLS = 4, MOST_NULLS = 6, FEWEST_LAST = 2, MOST_LAST = 4, MOST_WORDS = 24 };

static bool is_code(uint64_t address) {
    for (unsigned i = 0; i < object.n; i++)
        if (object.segments[i].executable && address - object.segments[i].address < object.segments[i].size)
            return true;
    return false;
}

// True if the function only returns the address of "CPU".
static bool returns_cpu(uint64_t function) {
    enum { LONGEST = 24 };
    const uint8_t * code = is_code(function) ? ggs_view_at(&object, function, LONGEST) : NULL;
    uint64_t        at   = function, text;
    int32_t         word;
    if (code == NULL) return false;
    const uint8_t * c = code;
    if (c[0] == 0xf3 && c[1] == 0x0f && c[2] == 0x1e && c[3] == 0xfa) c += 4;  // endbr64
    bool frame = c[0] == 0x55 && c[1] == 0x48 && c[2] == 0x89 && c[3] == 0xe5; // push rbp; mov rbp
    if (frame) c += 4;
    bool relative = c[0] == 0x48 && c[1] == 0x8d && c[2] == 0x05; // lea text(%rip), %rax
    bool absolute = c[0] == 0xb8;                                 // mov $text, %eax
    if (!relative && !absolute) return false;
    c += relative ? 3 : 1;
    memcpy(&word, c, sizeof(word));
    c += sizeof(word);
    at += (uint64_t) (c - code);
    text = relative ? at + (uint64_t) (int64_t) word : (uint32_t) word;
    if (frame && *c++ != 0x5d) return false; // pop %rbp
    return *c == 0xc3 && ggs_view_has_text(&object, text, "CPU");
}

static unsigned count_nulls(const uint64_t * words, unsigned most) {
    unsigned n = 0;
    while (n <= most && words[n] == 0) n++;
    return n;
}

// True for a new context: no graph was computed and nothing was set.
static bool is_new_context(const struct readable * all, const struct ggs_backend_context * context) {
    enum { MOST_THREADS = 4096 };
    return is_readable(all, context, sizeof(*context)) && context->n_threads > 0 &&
           context->n_threads <= MOST_THREADS && context->pool == NULL && context->work == NULL &&
           context->work_size == 0 && context->abort == NULL && context->abort_data == NULL;
}

// Returns the index of the word that points to the compute function; 0 if this is no new backend.
static unsigned find_compute(const struct readable * all, const uint64_t * words, unsigned * context) {
    if (!is_readable(all, words, MOST_WORDS * sizeof(*words)) || !returns_cpu(words[NAME]) || !is_code(words[FREE]))
        return 0;
    unsigned nulls = count_nulls(words + FREE + 1, MOST_NULLS), at = FREE + 1 + nulls;
    if (nulls < FEWEST_NULLS || nulls > MOST_NULLS || !is_code(words[at]) || !is_code(words[at + 1]) ||
        words[at + 2] != 0 || !is_code(words[at + 3]) || !is_code(words[at + 4]))
        return 0;
    unsigned last = count_nulls(words + at + 5, MOST_LAST);
    *context      = at + 5 + last + 1;
    if (last < FEWEST_LAST || last > MOST_LAST ||
        !is_readable(all, (const void *) (uintptr_t) words[*context - 1], sizeof(void *)) ||
        !is_new_context(all, (const struct ggs_backend_context *) (uintptr_t) words[*context]))
        return 0;
    return at + 4;
}

// ---- results of the makers ----

static void exchange(uint64_t * words) {
    struct readable all;
    unsigned        context = 0;
    read_mappings(&all);
    bool                  named    = is_readable(&all, words, sizeof(*words)) && words[0] == guid;
    unsigned              compute  = named ? find_compute(&all, words, &context) : 0;
    ggs_backend_compute * function = compute == 0 ? NULL : (ggs_backend_compute *) (uintptr_t) words[compute];
    free(all.items);
    if (!named) return;
    pthread_mutex_lock(&lock);
    ggs_backend_compute * known = atomic_load(&real);
    bool good = function != NULL && (known == NULL || (known == function && atomic_load(&context_at) == context));
    if (good) {
        atomic_store(&context_at, context);
        atomic_store(&real, function);
        __atomic_store_n(&words[compute], (uint64_t) (uintptr_t) ggs_backend_record, __ATOMIC_RELEASE);
    }
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

bool ggs_backends_expect(const struct ggs_view * view, uint64_t address) {
    if (guid != 0 || !ggs_engine_tables_find(view)) return false;
    object = *view;
    guid   = address;
    return true;
}

struct ggs_backend_context * ggs_backend_context(const void * backend) {
    return ((struct ggs_backend_context * const *) backend)[atomic_load_explicit(&context_at, memory_order_relaxed)];
}

ggs_backend_compute * ggs_backend_real(void) {
    return atomic_load_explicit(&real, memory_order_relaxed);
}

// ---- layout of a graph ----

static bool is_contiguous(const struct abi_tensor * t) {
    int64_t block = ggs_engine_tables.block_size(t->type);
    size_t  size  = ggs_engine_tables.type_size(t->type);
    if (t->nb[0] != size || t->nb[1] != size * (size_t) (t->ne[0] / block)) return false;
    return t->nb[2] == t->nb[1] * (size_t) t->ne[1] && t->nb[3] == t->nb[2] * (size_t) t->ne[2];
}

static bool is_tensor(const struct readable * all, const struct abi_tensor * t) {
    const int64_t most = 1ll << 40;
    if (!is_readable(all, t, sizeof(*t)) || !ggs_engine_tables_has_type(t->type) || !ggs_engine_tables_has_op(t->op) ||
        memchr(t->name, '\0', sizeof(t->name)) == NULL || t->flags < 0 || t->flags > UINT16_MAX)
        return false;
    for (unsigned d = 0; d < ABI_DIMS; d++)
        if (t->ne[d] < 0 || t->ne[d] > most || t->nb[d] > (size_t) most) return false;
    return t->view_src == NULL || is_readable(all, t->view_src, sizeof(*t));
}

static bool is_view(const struct abi_tensor * t) {
    return t->view_src->view_src == NULL && (char *) t->view_src->data + t->view_offs == (char *) t->data;
}

static bool is_node(const struct readable * all, const struct abi_tensor * node) {
    if (!is_tensor(all, node)) return false;
    for (unsigned s = 0; s < ABI_SOURCES; s++)
        if (node->src[s] != NULL && !is_tensor(all, node->src[s])) return false;
    return true;
}

// An op's output is dense or a view. Very few ops make something else, or read nothing.
static bool is_usual(const struct abi_tensor * node) {
    return node->src[0] != NULL && (node->view_src == NULL ? is_contiguous(node) : is_view(node));
}

bool ggs_backend_proves_graph(const struct abi_graph * graph) {
    static _Atomic bool proved;
    struct readable     all;
    if (atomic_load_explicit(&proved, memory_order_relaxed)) return true;
    read_mappings(&all);
    int  unusual = 0;
    bool good    = is_readable(&all, graph, sizeof(*graph)) && graph->n_nodes > 0 &&
                (graph->n_nodes <= graph->size || graph->size == 0) && // no size: a part
                is_readable(&all, graph->nodes, (uint64_t) graph->n_nodes * sizeof(*graph->nodes));
    for (int i = 0; good && i < graph->n_nodes; i++) {
        good = is_node(&all, graph->nodes[i]);
        unusual += good && !is_usual(graph->nodes[i]);
    }
    free(all.items);
    good = good && unusual <= graph->n_nodes / 8;
    if (good) atomic_store(&proved, true);
    return good;
}
