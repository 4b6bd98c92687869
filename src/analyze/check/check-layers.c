// Checks that the recording has all layers and tokens.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/check/check-context.h"
#include "analyze/walk/access.h"
#include "base/error.h"
#include "base/map.h"
#include "gguf/gguf-name.h"
#include "gguf/gguf.h"

// The status of a shortfall: no failure if the recording was truncated.
static enum ggs_check_status incomplete(const struct context * c) {
    return c->cut || ggs_reader_rows(c->trace->reader, GGS_TABLE_RUNS) == 0 ? GGS_CHECK_INTERRUPTED : GGS_CHECK_FAIL;
}

enum { MOST_LAYERS = 4096 };

// Ops per layer of a graph, and a hash of the weights that each layer reads: equal layers have
// equal hashes.
struct layers {
    uint64_t ops[MOST_LAYERS], weights[MOST_LAYERS];
    int      last;
};

static uint64_t hash_component(const char * name) {
    struct ggs_name parsed = ggs_name_parse(name, strlen(name));
    uint64_t        hash   = 14695981039346656037u;
    for (size_t i = 0; i < parsed.component_length; i++) hash = (hash ^ (uint8_t) parsed.component[i]) * 1099511628211u;
    return hash;
}

static void count_layers(struct context * c, const struct ggs_graph * graph, struct layers * layers) {
    memset(layers, 0, sizeof(*layers));
    layers->last = -1;
    for (uint64_t i = 0; i < graph->n_nodes; i++) {
        if (ggs_trace_op_kind(c->trace, graph->nodes[i].op) == GGS_KIND_EMPTY) continue;
        int layer = c->trace->layers[graph->nodes[i].tensor - 1];
        if (layer < 0 || layer >= MOST_LAYERS) continue;
        layers->ops[layer]++;
        if (layer > layers->last) layers->last = layer;
        for (uint64_t e = graph->first_edge[i]; e < graph->first_edge[i + 1]; e++) {
            const char * weight = ggs_trace_tensor_name(c->trace, graph->edges[e].tensor);
            if (strncmp(weight, "blk.", 4) == 0) layers->weights[layer] += hash_component(weight);
        }
    }
}

static uint64_t layers_of_model(const struct context * c) {
    uint64_t most = 0, layers;
    for (uint64_t i = 0; i < c->trace->n_files; i++) {
        if (c->gguf[i] != NULL && ggs_gguf_get_hparam(c->gguf[i], "block_count", &layers) && layers > most)
            most = layers;
    }
    return most;
}

// The layers seen in the graphs of a recording.
struct layers_seen {
    bool     met[MOST_LAYERS]; // in any graph: a program's callback may split one
    uint64_t graphs, unlike;
    int      odd; // a layer whose ops differ from its neighbour's
};

static void compare_layers(struct context * c, const struct ggs_graph * graph, struct layers * layers,
                           struct layers_seen * seen) {
    count_layers(c, graph, layers);
    seen->graphs++;
    for (int i = 0; i <= layers->last; i++) seen->met[i] |= layers->ops[i] > 0;
    // The last layer computes only the requested rows, so it differs by design. If devices share a
    // model, a graph is one device's part: its first layer may begin on another device, and its
    // last may end there.
    int first = 0;
    while (first < layers->last && layers->ops[first] == 0) first++;
    for (int i = first == 0 ? 1 : first + 2; i < layers->last; i++) {
        if (layers->ops[i] > 0 && layers->ops[i - 1] > 0 && layers->weights[i] == layers->weights[i - 1] &&
            layers->ops[i] != layers->ops[i - 1])
            seen->unlike++, seen->odd = i;
    }
}

static int compare_all_layers(struct context * c, struct layers_seen * seen, struct ggs_error * error) {
    struct layers *      layers = malloc(sizeof(*layers));
    struct ggs_cursor *  cursor = NULL;
    struct ggs_graph_row row;
    int                  status =
        layers == NULL ? ggs_fail_memory(error) : ggs_cursor_open(&cursor, c->trace->reader, GGS_TABLE_GRAPHS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &row, error)) > 0) {
        const struct ggs_graph * graph;
        if (row.base != 0) continue; // the same ops at other addresses
        status = ggs_trace_graph(c->trace, row.graph, &graph, error);
        if (status == 0) compare_layers(c, graph, layers, seen);
    }
    ggs_cursor_close(cursor);
    free(layers);
    return status < 0 ? status : 0;
}

void ggs_check_layers(struct context * c) {
    static const char *const all = "all layers seen", *alike = "layers alike";
    struct layers_seen *     seen  = calloc(1, sizeof(*seen));
    struct ggs_error         error = {0};
    uint64_t                 n = layers_of_model(c), met = 0;
    if ((seen == NULL ? ggs_fail_memory(&error) : compare_all_layers(c, seen, &error)) < 0) {
        ggs_checks_add(c->checks, all, GGS_CHECK_FAIL, "%s", error.text);
        free(seen);
        return;
    }
    for (int i = 0; i < MOST_LAYERS; i++) met += seen->met[i];
    if (n == 0) {
        bool there = false, opened = false;
        for (uint64_t i = 0; i < c->trace->n_files; i++)
            there |= c->gguf[i] != NULL, opened |= c->trace->files[i].gguf != 0;
        ggs_checks_add(c->checks, all, GGS_CHECK_SKIPPED, "%s",
                       there    ? "the model's file does not say how many there are"
                       : opened ? "the model's file is gone"
                                : "the program opened no GGUF file that says how many there are");
    } else {
        ggs_checks_add(c->checks, all, met >= n ? GGS_CHECK_OK : incomplete(c), "%" PRIu64 " of %" PRIu64, met, n);
    }
    if (seen->unlike > 0) {
        ggs_checks_add(c->checks, alike, GGS_CHECK_FAIL,
                       "layer %d has other ops than its neighbour with the same weights", seen->odd);
    } else {
        ggs_checks_add(c->checks, alike, GGS_CHECK_OK,
                       "layers with the same weights have the same ops in %" PRIu64 " graphs", seen->graphs);
    }
    free(seen);
}

// Returns the tensor of the ids that a graph looks up in the token embedding, 0 for none.
static uint64_t find_token_ids(const struct ggs_trace * trace, const struct ggs_graph * graph) {
    for (uint64_t i = 0; i < graph->n_nodes; i++) {
        if (ggs_trace_op_kind(trace, graph->nodes[i].op) != GGS_KIND_GET_ROWS) continue;
        if (strcmp(ggs_trace_tensor_name(trace, ggs_trace_source(graph, i, 0)), "token_embd.weight") == 0)
            return ggs_trace_source(graph, i, 1);
    }
    return 0;
}

// Counts tokens that graphs look up: inputs given as embeddings (of an image) have no number.
// Decodes that failed are left out: steps have only the tokens that the engine kept.
static int count_tokens(const struct context * c, const struct ggs_map * failed, uint64_t * n,
                        struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_token    row;
    int                 status = ggs_cursor_open(&cursor, c->trace->reader, GGS_TABLE_TOKENS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &row, error)) > 0)
        *n += row.token >= 0 && ggs_map_get(failed, ggs_map_key_number(row.decode)) == 0;
    ggs_cursor_close(cursor);
    return status;
}

static int find_failed(const struct context * c, struct ggs_map * failed, struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_decode   row;
    int                 status = ggs_cursor_open(&cursor, c->trace->reader, GGS_TABLE_DECODES, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &row, error)) > 0) {
        uint64_t * value = row.status == 0 ? NULL : ggs_map_put(failed, ggs_map_key_number(row.decode));
        if (value != NULL) *value = 1;
        if (row.status != 0 && value == NULL) status = ggs_fail_memory(error);
    }
    ggs_cursor_close(cursor);
    return status;
}

// Compares the tokens of the steps with those that embedding lookups of their graph runs read.
void ggs_check_tokens(struct context * c) {
    struct ggs_cursor *    runs  = NULL;
    struct ggs_error       error = {0};
    struct ggs_access_list list  = {0};
    struct ggs_run         run;
    struct ggs_map         failed   = {0};
    uint64_t               expected = 0, read = 0;
    bool                   known  = false;
    int                    status = find_failed(c, &failed, &error);
    if (status >= 0) status = count_tokens(c, &failed, &expected, &error);
    if (status >= 0) status = ggs_cursor_open(&runs, c->trace->reader, GGS_TABLE_RUNS, &error);
    while (status >= 0 && (status = ggs_cursor_next(runs, &run, &error)) > 0) {
        const struct ggs_graph * graph;
        if (ggs_map_get(&failed, ggs_map_key_number(run.decode)) != 0) continue;
        if (ggs_trace_graph(c->trace, run.graph, &graph, NULL) < 0) continue; // truncated before it
        uint64_t ids = find_token_ids(c->trace, graph);
        if (ids == 0) continue;
        status                                 = ggs_access_begin_run(&list, c->trace, &run, graph, &error);
        const struct ggs_access_index * values = status < 0 ? NULL : ggs_access_values(&list, ids);
        known                                  = true;
        if (values != NULL) read += values->n;
    }
    ggs_cursor_close(runs);
    ggs_access_release(&list);
    ggs_map_release(&failed);
    if (status < 0) {
        ggs_checks_add(c->checks, "tokens", GGS_CHECK_FAIL, "%s", error.text);
    } else if (!known) {
        ggs_checks_add(c->checks, "tokens", GGS_CHECK_SKIPPED,
                       c->trace->tokenless ? "the program has no tokens" : "no graph looks tokens up in an embedding");
    } else if (read == expected) {
        ggs_checks_add(c->checks, "tokens", GGS_CHECK_OK, "%" PRIu64 " in the steps and in the graphs", expected);
    } else {
        ggs_checks_add(c->checks, "tokens", incomplete(c), "%" PRIu64 " in the steps, %" PRIu64 " in the graphs",
                       expected, read);
    }
}
