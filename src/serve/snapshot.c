#include "serve/snapshot.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json-read.h"
#include "base/system/file.h"
#include "base/uuid.h"

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

// ---- opening and closing ----

static void free_snapshot(struct ggs_snapshot * snapshot) {
    if (snapshot == NULL) return;
    ggs_overview_release(&snapshot->overview);
    ggs_model_map_release(&snapshot->map);
    ggs_node_ops_release(&snapshot->node_ops);
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

void ggs_snapshot_release(struct ggs_snapshot * snapshot) {
    if (snapshot != NULL && atomic_fetch_sub(&snapshot->holders, 1) == 1) free_snapshot(snapshot);
}

// ---- data computed on first use ----

int ggs_snapshot_overview(struct ggs_snapshot * snapshot, const struct ggs_overview ** out, struct ggs_error * error) {
    int status = 0;
    pthread_mutex_lock(&snapshot->lock);
    if (!snapshot->has_overview) {
        struct ggs_trace trace = ggs_trace_borrow(&snapshot->trace);
        status                 = ggs_overview_compute(&snapshot->overview, &trace, error);
        snapshot->has_overview = status == 0;
        ggs_trace_return(&trace);
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
        ggs_trace_return(&trace);
    }
    pthread_mutex_unlock(&snapshot->lock);
    *out = &snapshot->map;
    return status;
}

int ggs_snapshot_levels(struct ggs_snapshot * snapshot, const struct ggs_timeline_levels ** out,
                        struct ggs_error * error) {
    int status = 0;
    pthread_mutex_lock(&snapshot->lock);
    if (!snapshot->has_levels) {
        status               = ggs_timeline_levels(&snapshot->levels, snapshot->trace.reader, error);
        snapshot->has_levels = status == 0;
    }
    pthread_mutex_unlock(&snapshot->lock);
    *out = &snapshot->levels;
    return status;
}

int ggs_snapshot_ops(struct ggs_snapshot * snapshot, const struct ggs_node_ops ** out, struct ggs_error * error) {
    int status = 0;
    pthread_mutex_lock(&snapshot->lock);
    if (!snapshot->has_ops) {
        struct ggs_trace trace = ggs_trace_borrow(&snapshot->trace);
        status                 = ggs_node_ops_read(&snapshot->node_ops, &trace, error);
        snapshot->has_ops      = true; // those that could be read
        ggs_trace_return(&trace);
    }
    pthread_mutex_unlock(&snapshot->lock);
    *out = &snapshot->node_ops;
    return status;
}
