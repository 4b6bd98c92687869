#include "capture/inside/backend-proof.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/system/maps.h"
#include "capture/inside/engine-tables.h"
#include "capture/sandbox.h"

// ---- readable memory ----

void ggs_readable_read(struct ggs_readable * all) {
    struct ggs_maps       maps;
    struct ggs_maps_entry entry;
    *all = (struct ggs_readable){0};
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

bool ggs_readable_has(const struct ggs_readable * all, const void * at, uint64_t size) {
    uint64_t address = (uint64_t) (uintptr_t) at;
    for (size_t i = 0; address % sizeof(void *) == 0 && i < all->n; i++)
        if (address - all->items[i].begin < all->items[i].end - all->items[i].begin)
            return size <= all->items[i].end - address;
    return false;
}

void ggs_readable_free(struct ggs_readable * all) {
    free(all->items);
    *all = (struct ggs_readable){0};
}

// ---- what a backend is ----
//
//     name of its kind     the GUID
//     get_name, free       functions; the first returns "CPU"
//     4 to 6 of NULL       what only devices have
//     plan_create, plan_free, NULL, plan_compute, compute
//     2 to 4 of NULL
//     device, context

enum { NAME = 1, FREE = 2, FEWEST_NULLS = 4, MOST_NULLS = 6, FEWEST_LAST = 2, MOST_LAST = 4 };

static bool is_code(const struct ggs_view * object, uint64_t address) {
    for (unsigned i = 0; i < object->n; i++)
        if (object->segments[i].executable && address - object->segments[i].address < object->segments[i].size)
            return true;
    return false;
}

// True if the function only returns the address of "CPU".
static bool returns_cpu(const struct ggs_view * object, uint64_t function) {
    enum { LONGEST = 24 };
    const uint8_t * code = is_code(object, function) ? ggs_view_at(object, function, LONGEST) : NULL;
    uint64_t        text = code == NULL ? 0 : ggs_processor_here()->returned(code, LONGEST, function);
    return text != 0 && ggs_view_has_text(object, text, "CPU");
}

static unsigned count_nulls(const uint64_t * words, unsigned most) {
    unsigned n = 0;
    while (n <= most && words[n] == 0) n++;
    return n;
}

unsigned ggs_backend_find_compute(const struct ggs_view * object, const uint64_t words[GGS_BACKEND_WORDS],
                                  unsigned * context) {
    if (!returns_cpu(object, words[NAME]) || !is_code(object, words[FREE])) return 0;
    unsigned nulls = count_nulls(words + FREE + 1, MOST_NULLS), at = FREE + 1 + nulls;
    if (nulls < FEWEST_NULLS || nulls > MOST_NULLS || !is_code(object, words[at]) || !is_code(object, words[at + 1]) ||
        words[at + 2] != 0 || !is_code(object, words[at + 3]) || !is_code(object, words[at + 4]))
        return 0;
    unsigned last = count_nulls(words + at + 5, MOST_LAST);
    if (last < FEWEST_LAST || last > MOST_LAST) return 0;
    *context = at + 5 + last + 1;
    return at + 4;
}

bool ggs_backend_has_device(const struct ggs_readable * all, const uint64_t * words, unsigned context) {
    return ggs_readable_has(all, (const void *) (uintptr_t) words[context - 1], sizeof(void *));
}

// ---- layout of a graph ----

static bool is_contiguous(const struct abi_tensor * t) {
    int64_t block = ggs_engine_tables.block_size(t->type);
    size_t  size  = ggs_engine_tables.type_size(t->type);
    if (t->nb[0] != size || t->nb[1] != size * (size_t) (t->ne[0] / block)) return false;
    return t->nb[2] == t->nb[1] * (size_t) t->ne[1] && t->nb[3] == t->nb[2] * (size_t) t->ne[2];
}

static bool is_tensor(const struct ggs_readable * all, const struct abi_tensor * t) {
    const int64_t most = 1ll << 40;
    if (!ggs_readable_has(all, t, sizeof(*t)) || !ggs_engine_tables_has_type(t->type) ||
        !ggs_engine_tables_has_op(t->op) || memchr(t->name, '\0', sizeof(t->name)) == NULL || t->flags < 0 ||
        t->flags > UINT16_MAX)
        return false;
    for (unsigned d = 0; d < ABI_DIMS; d++)
        if (t->ne[d] < 0 || t->ne[d] > most || t->nb[d] > (size_t) most) return false;
    return t->view_src == NULL || ggs_readable_has(all, t->view_src, sizeof(*t));
}

static bool is_view(const struct abi_tensor * t) {
    return t->view_src->view_src == NULL && (char *) t->view_src->data + t->view_offs == (char *) t->data;
}

static bool is_node(const struct ggs_readable * all, const struct abi_tensor * node) {
    if (!is_tensor(all, node)) return false;
    for (unsigned s = 0; s < ABI_SOURCES; s++)
        if (node->src[s] != NULL && !is_tensor(all, node->src[s])) return false;
    return true;
}

// An op's output is dense or a view. Very few ops make something else, or read nothing.
static bool is_usual(const struct abi_tensor * node) {
    return node->src[0] != NULL && (node->view_src == NULL ? is_contiguous(node) : is_view(node));
}

bool ggs_graph_is_proved(const struct abi_graph * graph) {
    struct ggs_readable all;
    int                 unusual = 0;
    ggs_readable_read(&all);
    bool good = ggs_readable_has(&all, graph, sizeof(*graph)) && graph->n_nodes > 0 &&
                (graph->n_nodes <= graph->size || graph->size == 0) && // no size: a part
                ggs_readable_has(&all, graph->nodes, (uint64_t) graph->n_nodes * sizeof(*graph->nodes));
    for (int i = 0; good && i < graph->n_nodes; i++) {
        good = is_node(&all, graph->nodes[i]);
        unusual += good && !is_usual(graph->nodes[i]);
    }
    ggs_readable_free(&all);
    return good && unusual <= graph->n_nodes / 8;
}
