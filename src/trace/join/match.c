#include "trace/join/match.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "base/search.h"

// ---- signatures ----

// Hashes what RPC transmits of a node: op, name and shape.
static uint64_t node_hash(struct ggs_reader * reader, uint64_t hash, const struct ggs_node * node,
                          const struct ggs_tensor * tensors, uint64_t n_tensors, const char * const * ops,
                          uint64_t n_ops) {
    const char * op = node->op < n_ops && ops[node->op] != NULL ? ops[node->op] : "";
    hash            = XXH3_64bits_withSeed(op, strlen(op), hash);
    if (node->tensor == 0 || node->tensor > n_tensors) return hash;
    const struct ggs_tensor * tensor = &tensors[node->tensor - 1];
    const char *              name   = ggs_reader_string(reader, tensor->name);
    hash                             = XXH3_64bits_withSeed(name, strlen(name), hash);
    return XXH3_64bits_withSeed(tensor->ne, sizeof(tensor->ne), hash);
}

struct graphs {
    struct ggs_map      signatures; // graph -> signature, never 0
    struct ggs_tensor * tensors;
    uint64_t            n_tensors;
    const char **       ops; // names by number
    uint64_t            n_ops;
};

static int read_tensors(struct graphs * g, struct ggs_reader * reader, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    uint64_t            rows   = ggs_reader_rows(reader, GGS_TABLE_TENSORS);
    int                 status = ggs_cursor_open(&cursor, reader, GGS_TABLE_TENSORS, error);
    if (status < 0) return status;
    g->tensors = calloc(rows + 1, sizeof(*g->tensors));
    if (g->tensors == NULL) status = ggs_fail_memory(error);
    while (status >= 0 && g->n_tensors < rows &&
           (status = ggs_cursor_next(cursor, &g->tensors[g->n_tensors], error)) > 0)
        g->n_tensors++;
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

static int read_ops(struct graphs * g, struct ggs_reader * reader, struct ggs_error * error) {
    enum { MOST = 4096 };
    struct ggs_cursor * cursor;
    struct ggs_op       row;
    int                 status = ggs_cursor_open(&cursor, reader, GGS_TABLE_OPS, error);
    if (status < 0) return status;
    g->n_ops = MOST;
    g->ops   = calloc(MOST, sizeof(*g->ops));
    if (g->ops == NULL) status = ggs_fail_memory(error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &row, error)) > 0)
        if (row.op < MOST) g->ops[row.op] = ggs_reader_string(reader, row.name);
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

// Computes signatures of root graphs first, then of graphs that differ from a root in addresses
// only.
static int sign_graphs(struct graphs * g, struct ggs_reader * reader, bool derived, struct ggs_error * error) {
    struct ggs_cursor *  cursor;
    struct ggs_graph_row row;
    int                  status = ggs_cursor_open(&cursor, reader, GGS_TABLE_GRAPHS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &row, error)) > 0) {
        if ((row.base != 0) != derived) continue;
        struct ggs_graph * graph = NULL;
        uint64_t           hash  = derived ? ggs_map_get(&g->signatures, ggs_map_key_number(row.base)) : row.nodes;
        if (!derived) status = ggs_reader_graph(reader, row.graph, &graph, error);
        for (uint64_t i = 0; graph != NULL && i < graph->n_nodes; i++)
            hash = node_hash(reader, hash, &graph->nodes[i], g->tensors, g->n_tensors, g->ops, g->n_ops);
        ggs_graph_free(graph);
        uint64_t * place = status < 0 ? NULL : ggs_map_put(&g->signatures, ggs_map_key_number(row.graph));
        if (place != NULL) *place = hash == 0 ? 1 : hash;
        if (status >= 0 && place == NULL) status = ggs_fail_memory(error);
        if (status < 0) break;
    }
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

// ---- sides ----

int ggs_join_side_read(struct ggs_join_side * side, struct ggs_reader * reader, struct ggs_error * error) {
    struct graphs       graphs = {0};
    struct ggs_cursor * cursor = NULL;
    struct ggs_run      run;
    *side      = (struct ggs_join_side){.reader = reader};
    int status = read_tensors(&graphs, reader, error);
    if (status == 0) status = read_ops(&graphs, reader, error);
    if (status == 0) status = sign_graphs(&graphs, reader, false, error);
    if (status == 0) status = sign_graphs(&graphs, reader, true, error);
    if (status == 0) status = ggs_cursor_open(&cursor, reader, GGS_TABLE_RUNS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &run, error)) > 0) {
        struct ggs_join_run row = {.run         = run.run,
                                   .graph       = run.graph,
                                   .device      = run.device,
                                   .backend     = run.backend,
                                   .begin_ns    = run.begin_ns,
                                   .end_ns      = run.end_ns,
                                   .flags       = run.flags,
                                   .signature   = ggs_map_get(&graphs.signatures, ggs_map_key_number(run.graph)),
                                   .peer_source = UINT32_MAX,
                                   .remote      = ggs_reader_run_is_remote(reader, &run),
                                   .step        = run.step,
                                   .context     = run.context,
                                   .phase       = run.phase,
                                   .decode      = run.decode,
                                   .slot        = run.slot};
        if (side->n > 0 && run.run <= side->runs[side->n - 1].run) continue; // damaged: runs ascend
        if (!ggs_array_push(side->runs, side->n, side->capacity, row)) status = ggs_fail_memory(error);
    }
    ggs_cursor_close(cursor);
    ggs_map_release(&graphs.signatures);
    free(graphs.tensors);
    free(graphs.ops);
    return status < 0 ? status : 0;
}

void ggs_join_side_release(struct ggs_join_side * side) {
    free(side->runs);
    *side = (struct ggs_join_side){0};
}

struct ggs_join_run * ggs_join_side_find(const struct ggs_join_side * side, uint64_t run) {
    uint64_t i = ggs_search(side->n, at, side->runs[at].run < run);
    return i < side->n && side->runs[i].run == run ? &side->runs[i] : NULL;
}

// ---- sequences ----

// Some runs of a side, in order.
struct sequence {
    uint32_t   side;
    uint64_t * run; // indices
    uint64_t   n, capacity;
};

// Collects the runs of the side on that device or backend.
static int gather(struct sequence * s, const struct ggs_join_side * side, uint32_t index, bool remote, uint64_t key,
                  struct ggs_error * error) {
    *s = (struct sequence){.side = index};
    for (uint64_t i = 0; i < side->n; i++) {
        const struct ggs_join_run * run = &side->runs[i];
        if (run->remote != remote || (remote ? run->backend : run->device) != key) continue;
        if (!ggs_array_push(s->run, s->n, s->capacity, i)) return ggs_fail_memory(error);
    }
    return 0;
}

// Distinct values of the key among the side's runs, in order of appearance.
static int keys_of(const struct ggs_join_side * side, bool remote, uint64_t ** keys, uint64_t * n,
                   struct ggs_error * error) {
    uint64_t capacity = 0;
    *keys             = NULL;
    *n                = 0;
    for (uint64_t i = 0; i < side->n; i++) {
        if (side->runs[i].remote != remote) continue;
        uint64_t key = remote ? side->runs[i].backend : side->runs[i].device, k = 0;
        while (k < *n && (*keys)[k] != key) k++;
        if (k == *n && !ggs_array_push(*keys, *n, capacity, key)) return ggs_fail_memory(error);
    }
    return 0;
}

// ---- matching ----

struct attempt {
    int64_t  shift;   // run i + shift of the server is run i of the client
    uint64_t matched; // runs that are alike
    int64_t  apart;   // implied distance of the clocks beyond what is known
    int64_t  within;  // uncertainty of what is known
};

static const struct ggs_join_run * at(const struct ggs_join_side * sides, const struct sequence * s, uint64_t i) {
    return &sides[s->side].runs[s->run[i]];
}

static bool alike(const struct ggs_join_run * client, const struct ggs_join_run * server) {
    return client->signature == server->signature && client->signature != 0 && server->peer_source == UINT32_MAX;
}

static struct attempt try_shift(const struct ggs_join_side * sides, const struct sequence * client,
                                const struct sequence * server, int64_t shift, int64_t apart, int64_t within) {
    struct attempt attempt = {.shift = shift, .apart = INT64_MAX / 2, .within = within};
    for (uint64_t i = shift < 0 ? (uint64_t) -shift : 0; i < client->n; i++) {
        uint64_t j = (uint64_t) ((int64_t) i + shift);
        if (j >= server->n) break;
        const struct ggs_join_run *c = at(sides, client, i), *s = at(sides, server, j);
        if (!alike(c, s)) continue;
        if (attempt.matched++ == 0) attempt.apart = llabs(c->begin_ns - s->begin_ns - apart);
    }
    return attempt;
}

// Runs of one graph look alike. Among alignments with equally many matches the clocks decide; if
// they cannot, the alignment at the first run of both wins.
static bool is_better(const struct attempt * a, const struct attempt * b) {
    if (a->matched != b->matched) return a->matched > b->matched;
    if (a->apart - b->apart <= a->within && b->apart - a->apart <= a->within) return llabs(a->shift) < llabs(b->shift);
    return a->apart < b->apart;
}

// Both sides recorded every run, but either may begin earlier or end sooner, so one sequence is
// shifted along the other. Candidates are shifts that align the first run of one with an equal run
// of the other.
static struct attempt best_shift(const struct ggs_join_side * sides, const struct sequence * client,
                                 const struct sequence * server, int64_t apart, int64_t within) {
    enum { MOST_TRIES = 256 };
    struct attempt best  = {0};
    unsigned       tries = 0;
    for (uint64_t i = 0; client->n > 0 && server->n > 0 && i < client->n + server->n && tries < MOST_TRIES; i++) {
        bool     in_server = i < server->n;
        uint64_t k         = in_server ? i : i - server->n;
        if (!alike(at(sides, client, in_server ? 0 : k), at(sides, server, in_server ? k : 0))) continue;
        struct attempt attempt =
            try_shift(sides, client, server, in_server ? (int64_t) k : -(int64_t) k, apart, within);
        if (is_better(&attempt, &best)) best = attempt;
        tries++;
    }
    return best;
}

static void marry(struct ggs_join_side * sides, const struct sequence * client, const struct sequence * server,
                  int64_t shift) {
    for (uint64_t i = shift < 0 ? (uint64_t) -shift : 0; i < client->n; i++) {
        uint64_t j = (uint64_t) ((int64_t) i + shift);
        if (j >= server->n) break;
        struct ggs_join_run *c = &sides[client->side].runs[client->run[i]],
                            *s = &sides[server->side].runs[server->run[j]];
        if (!alike(c, s)) continue;
        c->peer_source = server->side, c->peer_run = server->run[j];
        s->peer_source = client->side, s->peer_run = client->run[i];
    }
}

// Finds the server of a client's backend among the other recordings.
static int find_server(struct ggs_join_side * sides, uint32_t n, const struct sequence * client, ggs_join_apart apart,
                       void * context, struct ggs_join_link * link, struct ggs_error * error) {
    struct attempt  best   = {0};
    struct sequence chosen = {0};
    int             status = 0;
    for (uint32_t side = 0; status == 0 && side < n; side++) {
        uint64_t *devices = NULL, n_devices = 0;
        if (side == client->side) continue;
        status = keys_of(&sides[side], false, &devices, &n_devices, error);
        for (uint64_t k = 0; status == 0 && k < n_devices; k++) {
            struct sequence server;
            status                 = gather(&server, &sides[side], side, false, devices[k], error);
            struct attempt attempt = {0};
            int64_t        within = 0, known = apart(context, client->side, side, &within);
            if (status == 0) attempt = best_shift(sides, client, &server, known, within);
            if (status == 0 && attempt.matched > 0 && is_better(&attempt, &best)) {
                struct sequence other = chosen;
                best                  = attempt;
                chosen                = server;
                server                = other;
            }
            free(server.run);
        }
        free(devices);
    }
    if (status == 0 && best.matched > 0) {
        marry(sides, client, &chosen, best.shift);
        link->server  = chosen.side;
        link->matched = best.matched;
    }
    free(chosen.run);
    return status;
}

int ggs_join_match(struct ggs_join_side * sides, uint32_t n, ggs_join_apart apart, void * context,
                   struct ggs_join_link ** links, uint64_t * n_links, struct ggs_error * error) {
    uint64_t capacity = 0;
    int      status   = 0;
    *links            = NULL;
    *n_links          = 0;
    for (uint32_t side = 0; status == 0 && side < n; side++) {
        uint64_t *backends = NULL, n_backends = 0;
        status = keys_of(&sides[side], true, &backends, &n_backends, error);
        for (uint64_t k = 0; status == 0 && k < n_backends; k++) {
            struct sequence      client;
            struct ggs_join_link link = {.client = side, .server = UINT32_MAX, .backend = backends[k]};
            status                    = gather(&client, &sides[side], side, true, backends[k], error);
            link.runs                 = client.n;
            if (status == 0) status = find_server(sides, n, &client, apart, context, &link, error);
            if (status == 0 && !ggs_array_push(*links, *n_links, capacity, link)) status = ggs_fail_memory(error);
            free(client.run);
        }
        free(backends);
    }
    return status;
}
