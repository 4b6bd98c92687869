#include "serve/snapshot.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json-read.h"
#include "base/system/file.h"
#include "base/uuid.h"
#include "trace/seal/runs/lods.h"

// ---- identity ----

enum { JSON_MOST = 16 << 20 };

void ggs_snapshot_read_fact(const char * directory, const char * key, char * text, size_t size) {
    char               path[PATH_MAX];
    struct ggs_mapping file;
    text[0] = '\0';
    if (snprintf(path, sizeof(path), "%s/experiment.json", directory) >= (int) sizeof(path)) return;
    if (ggs_mapping_open(&file, path, NULL) < 0) return;
    if (file.size > 0 && file.size <= JSON_MOST)
        ggs_json_to_buffer(ggs_json_member(ggs_json_read((const char *) file.data, (size_t) file.size), key), text,
                           size);
    ggs_mapping_close(&file);
}

static int check_identity(const struct ggs_snapshot * snapshot, const char * directory, struct ggs_error * error) {
    char id[64];
    ggs_snapshot_read_fact(directory, "experiment_id", id, sizeof(id));
    if (id[0] == '\0' || strcasecmp(id, snapshot->id) == 0) return 0;
    return ggs_fail(
        error, GGS_FORMAT,
        "%s mixes two experiments: its experiment.json is of %s, its trace.ggs of %s; put each into the directory that it was recorded to",
        directory, id, snapshot->id);
}

// ---- life ----

static void free_snapshot(struct ggs_snapshot * snapshot) {
    if (snapshot == NULL) return;
    ggs_overview_release(&snapshot->overview);
    ggs_model_map_release(&snapshot->map);
    for (uint64_t i = 0; i < snapshot->n_node_ops; i++) {
        if (snapshot->node_ops[i].owned) free(snapshot->node_ops[i].ops);
    }
    free(snapshot->node_ops);
    free(snapshot->disk);
    ggs_log_cache_release(&snapshot->log_cache);
    ggs_trace_close(&snapshot->trace);
    pthread_mutex_destroy(&snapshot->lock);
    pthread_mutex_destroy(&snapshot->disk_lock);
    free(snapshot->directory);
    free(snapshot);
}

int ggs_snapshot_open(struct ggs_snapshot ** out, const char * directory, const char * path, bool damaged,
                      struct ggs_error * error) {
    struct ggs_snapshot * snapshot = calloc(1, sizeof(*snapshot));
    *out                           = NULL;
    if (snapshot == NULL) return ggs_fail_memory(error);
    atomic_init(&snapshot->holders, 1);
    pthread_mutex_init(&snapshot->lock, NULL);
    pthread_mutex_init(&snapshot->disk_lock, NULL);
    ggs_log_cache_init(&snapshot->log_cache);
    snapshot->directory = strdup(directory);
    int status          = snapshot->directory == NULL ? ggs_fail_memory(error)
                          : damaged                   ? ggs_trace_open_damaged(&snapshot->trace, path, error)
                                                      : ggs_trace_open(&snapshot->trace, path, error);
    if (status == 0) {
        ggs_uuid_format(snapshot->id, ggs_reader_uuid(snapshot->trace.reader));
        status = check_identity(snapshot, directory, error);
    }
    if (status < 0) {
        free_snapshot(snapshot);
        return status;
    }
    *out = snapshot;
    return 0;
}

void ggs_snapshot_give_back(struct ggs_snapshot * snapshot) {
    if (snapshot != NULL && atomic_fetch_sub(&snapshot->holders, 1) == 1) free_snapshot(snapshot);
}

// ---- what is made when it is wanted first ----

int ggs_snapshot_overview(struct ggs_snapshot * snapshot, const struct ggs_overview ** out, struct ggs_error * error) {
    int status = 0;
    pthread_mutex_lock(&snapshot->lock);
    if (!snapshot->has_overview) {
        struct ggs_trace trace = ggs_trace_borrow(&snapshot->trace);
        status                 = ggs_overview_compute(&snapshot->overview, &trace, error);
        snapshot->has_overview = status == 0;
        ggs_trace_give_back(&trace);
    }
    pthread_mutex_unlock(&snapshot->lock);
    *out = &snapshot->overview;
    return status;
}

int ggs_snapshot_map(struct ggs_snapshot * snapshot, const struct ggs_model_map ** out, struct ggs_error * error) {
    int status = 0;
    pthread_mutex_lock(&snapshot->lock);
    if (!snapshot->has_map) {
        struct ggs_trace trace = ggs_trace_borrow(&snapshot->trace);
        status                 = ggs_model_map_make(&snapshot->map, &trace, error);
        snapshot->has_map      = status == 0;
        ggs_trace_give_back(&trace);
    }
    pthread_mutex_unlock(&snapshot->lock);
    *out = &snapshot->map;
    return status;
}

// The finest level fills first and the coarsest is written last; they are two apart.
static int find_levels(struct ggs_snapshot * snapshot, struct ggs_error * error) {
    struct ggs_reader * reader = snapshot->trace.reader;
    struct ggs_lod      first, last;
    uint64_t            rows = ggs_reader_rows(reader, GGS_TABLE_LOD);
    if (rows == 0) return 0;
    int status = ggs_reader_row(reader, GGS_TABLE_LOD, 0, &first, error);
    if (status == 0) status = ggs_reader_row(reader, GGS_TABLE_LOD, rows - 1, &last, error);
    for (uint64_t level = first.level; status == 0 && level <= last.level && level < 62; level += GGS_LOD_SHIFT)
        snapshot->levels[snapshot->n_levels++] = level;
    return status;
}

int ggs_snapshot_levels(struct ggs_snapshot * snapshot, uint64_t levels[64], unsigned * n, struct ggs_error * error) {
    int status = 0;
    pthread_mutex_lock(&snapshot->lock);
    if (!snapshot->has_levels) {
        snapshot->n_levels   = 0;
        status               = find_levels(snapshot, error);
        snapshot->has_levels = status == 0;
    }
    *n = snapshot->n_levels;
    memcpy(levels, snapshot->levels, sizeof(snapshot->levels));
    pthread_mutex_unlock(&snapshot->lock);
    return status;
}

static int by_graph(const void * a, const void * b) {
    const struct ggs_node_ops *x = a, *y = b;
    return x->graph < y->graph ? -1 : x->graph > y->graph;
}

static struct ggs_node_ops * find_graph(const struct ggs_snapshot * snapshot, uint64_t graph) {
    struct ggs_node_ops key = {.graph = (uint32_t) graph};
    if (snapshot->n_node_ops == 0 || graph > UINT32_MAX) return NULL;
    return bsearch(&key, snapshot->node_ops, snapshot->n_node_ops, sizeof(key), by_graph);
}

enum { NODES_MOST = 1 << 22 }; // of one graph: beyond that the trace is wrong

// Graphs that differ from another one only in addresses share its ops.
static int meet_graphs(struct ggs_snapshot * snapshot, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_cursor *  cursor;
    struct ggs_graph_row row;
    uint64_t             rows   = ggs_reader_rows(trace->reader, GGS_TABLE_GRAPHS);
    int                  status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_GRAPHS, error);
    if (status < 0) return status;
    snapshot->node_ops = calloc(rows + 1, sizeof(*snapshot->node_ops));
    if (snapshot->node_ops == NULL) status = ggs_fail_memory(error);
    while (status >= 0 && snapshot->n_node_ops < rows && (status = ggs_cursor_next(cursor, &row, error)) > 0) {
        struct ggs_node_ops * ops = &snapshot->node_ops[snapshot->n_node_ops];
        if (row.graph > UINT32_MAX || row.nodes > NODES_MOST) continue;
        *ops = (struct ggs_node_ops){
            .graph = (uint32_t) row.graph, .n_nodes = (uint32_t) row.nodes, .owned = row.base == 0};
        if (ops->owned) ops->ops = calloc((size_t) row.nodes + 1, sizeof(*ops->ops));
        if (ops->owned && ops->ops == NULL) status = ggs_fail_memory(error);
        snapshot->n_node_ops++;
    }
    if (snapshot->node_ops != NULL && snapshot->n_node_ops > 1)
        qsort(snapshot->node_ops, snapshot->n_node_ops, sizeof(*snapshot->node_ops), by_graph);
    if (status >= 0) ggs_cursor_rewind(cursor);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &row, error)) > 0) {
        struct ggs_node_ops *ops = find_graph(snapshot, row.graph), *base = find_graph(snapshot, row.base);
        if (ops == NULL || ops->owned || base == NULL || !base->owned) continue;
        ops->ops     = base->ops;
        ops->n_nodes = base->n_nodes;
    }
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

static int read_ops(struct ggs_snapshot * snapshot, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_cursor *      cursor;
    const uint64_t * const * words;
    uint64_t                 rows;
    int                      status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_NODES, error);
    if (status < 0) return status;
    struct ggs_node_ops * last = NULL;
    while ((status = ggs_cursor_next_chunk(cursor, &words, &rows, error)) > 0) {
        for (uint64_t i = 0; i < rows; i++) {
            uint64_t graph = words[0][i], node = words[1][i], op = words[3][i];
            if (last == NULL || last->graph != graph) last = find_graph(snapshot, graph);
            if (last != NULL && last->owned && node < last->n_nodes)
                last->ops[node] = op < UINT16_MAX ? (uint16_t) op : UINT16_MAX;
        }
    }
    ggs_cursor_close(cursor);
    return status;
}

int ggs_snapshot_ops(struct ggs_snapshot * snapshot, struct ggs_error * error) {
    int status = 0;
    pthread_mutex_lock(&snapshot->lock);
    if (!snapshot->has_ops && snapshot->node_ops == NULL) {
        struct ggs_trace trace = ggs_trace_borrow(&snapshot->trace);
        status                 = meet_graphs(snapshot, &trace, error);
        if (status == 0) status = read_ops(snapshot, &trace, error);
        snapshot->has_ops = true; // as far as they could be read
        ggs_trace_give_back(&trace);
    }
    pthread_mutex_unlock(&snapshot->lock);
    return status;
}

uint16_t ggs_snapshot_op(const struct ggs_snapshot * snapshot, uint32_t graph, uint64_t node) {
    const struct ggs_node_ops * ops = find_graph(snapshot, graph);
    return ops == NULL || ops->ops == NULL || node >= ops->n_nodes ? UINT16_MAX : ops->ops[node];
}
