#include "analyze/values/value-names.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t * ggs_value_makers(const struct ggs_trace * trace, const struct ggs_graph * graph) {
    uint32_t * newest = calloc(trace->n_tensors + 1, sizeof(*newest));
    uint32_t * makers = calloc(graph->n_edges + 1, sizeof(*makers));
    uint64_t   made   = 0;
    for (uint64_t i = 0; newest != NULL && makers != NULL && i < graph->n_nodes; i++) {
        ggs_trace_make(trace, graph, newest, &made, i);
        for (uint64_t e = graph->first_edge[i]; e < graph->first_edge[i + 1]; e++)
            makers[e] = newest[graph->edges[e].tensor];
    }
    if (newest == NULL) {
        free(makers);
        makers = NULL;
    }
    free(newest);
    return makers;
}

uint64_t ggs_value_leaf_tensor(const struct ggs_graph * graph, const struct ggs_op_value * value) {
    uint64_t source = value->flags & GGS_OP_VALUE_SOURCE;
    if (source == 0 || value->node >= graph->n_nodes || value->nan > value->elements ||
        value->inf > value->elements - value->nan)
        return 0;
    for (uint64_t e = graph->first_edge[value->node]; e < graph->first_edge[value->node + 1]; e++)
        if (graph->edges[e].slot == source - 1) return graph->edges[e].tensor;
    return 0;
}

// The engine numbers nodes without a name, and what comes from them: "node_12", "node_12 (view)".
static bool is_nameless(const char * name) {
    return name[0] == '\0' || (strncmp(name, "node_", 5) == 0 && isdigit((unsigned char) name[5]));
}

static void copy_name(char * out, const char * name) {
    const char * view = strstr(name, " (");
    size_t       n    = view == NULL ? strlen(name) : (size_t) (view - name);
    snprintf(out, GGS_VALUE_NAME, "%.*s", (int) (n < GGS_VALUE_NAME ? n : GGS_VALUE_NAME - 1), name);
}

static void name_node(const struct ggs_trace * trace, const struct ggs_graph * graph, const uint32_t * makers,
                      struct ggs_value_name * names, uint64_t node) {
    const struct ggs_node *   row    = &graph->nodes[node];
    const struct ggs_tensor * result = ggs_trace_tensor(trace, row->tensor);
    const struct ggs_tensor * root   = result == NULL ? NULL : ggs_trace_root(trace, result);
    enum ggs_op_kind          kind   = ggs_trace_op_kind(trace, row->op);
    const char *              name   = ggs_trace_tensor_name(trace, row->tensor);
    if ((kind == GGS_KIND_SET_ROWS || kind == GGS_KIND_CPY) && root != NULL && root != result) {
        copy_name(names[node].text, ggs_trace_tensor_name(trace, root->tensor));
        return;
    }
    if (!is_nameless(name)) {
        copy_name(names[node].text, name);
        return;
    }
    uint64_t source = ggs_trace_source(graph, node, 0);
    uint32_t maker  = source == 0 ? 0 : makers[graph->first_edge[node]];
    char     inner[GGS_VALUE_NAME];
    if (maker != 0 && maker - 1 < node)
        snprintf(inner, sizeof(inner), "%s", names[maker - 1].text);
    else
        copy_name(inner, ggs_trace_tensor_name(trace, source));
    // A view of a nameless node gets the same name.
    bool nested = inner[0] == '(' || kind == GGS_KIND_EMPTY;
    snprintf(names[node].text, GGS_VALUE_NAME, nested ? "%.90s" : "(%.90s)", inner);
}

struct ggs_value_name * ggs_value_names(const struct ggs_trace * trace, const struct ggs_graph * graph) {
    struct ggs_value_name * names  = calloc(graph->n_nodes + 1, sizeof(*names));
    uint32_t *              makers = ggs_value_makers(trace, graph);
    for (uint64_t i = 0; names != NULL && makers != NULL && i < graph->n_nodes; i++)
        name_node(trace, graph, makers, names, i);
    if (makers == NULL) {
        free(names);
        names = NULL;
    }
    free(makers);
    return names;
}
