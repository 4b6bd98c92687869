#include "analyze/check/check-json.h"

#include <dirent.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/check/check.h"
#include "base/error.h"

enum { MOST_LAYERS = 4096 };

struct context {
    struct ggs_checks *  checks;
    const char *         directory;
    struct json_object * map;     // memory-map.json
    struct json_object * buffers; // buffer-timeline.json
    char                 id[64];
    // gathered from the token files
    uint64_t tokens, entries, wrong_counts, backwards, lost_nodes, outside;
    bool     layer_seen[MOST_LAYERS];
    char     stranger[PATH_MAX]; // a file of another experiment
    char     example[PATH_MAX];  // the first problem
};

bool ggs_is_json_export(const char * directory) {
    char path[PATH_MAX];
    return snprintf(path, sizeof(path), "%s/experiment_metadata.json", directory) < (int) sizeof(path) &&
           access(path, F_OK) == 0;
}

static struct json_object * load(struct context * c, const char * name) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/%s", c->directory, name) >= (int) sizeof(path)) return NULL;
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) return NULL; // opening a FIFO would block
    struct json_object * object = json_object_from_file(path);
    if (object == NULL) return NULL;
    const char * id = json_object_get_string(json_object_object_get(object, "experiment_id"));
    if (id == NULL) id = "none";
    if (c->id[0] == '\0') snprintf(c->id, sizeof(c->id), "%s", id);
    if (strcmp(id, c->id) != 0 && c->stranger[0] == '\0')
        snprintf(c->stranger, sizeof(c->stranger), "%s (experiment %.40s)", name, id);
    return object;
}

static uint64_t number(const struct json_object * object, const char * key) {
    struct json_object * value = json_object_object_get(object, key);
    return value == NULL ? 0 : json_object_get_uint64(value);
}

static void keep_example(struct context * c, const char * file) {
    if (c->example[0] == '\0') snprintf(c->example, sizeof(c->example), "%s", file);
}

// ---- token files ----

static bool has_buffer(const struct context * c, uint64_t id) {
    struct json_object * list = json_object_object_get(c->buffers, "buffers");
    for (size_t i = 0; list != NULL && i < json_object_array_length(list); i++) {
        if (number(json_object_array_get_idx(list, i), "id") == id) return true;
    }
    return false;
}

static void check_sources(struct context * c, const struct json_object * entry, const char * file) {
    struct json_object * sources = json_object_object_get(entry, "sources");
    for (size_t i = 0; sources != NULL && i < json_object_array_length(sources); i++) {
        struct json_object * source = json_object_array_get_idx(sources, i);
        const char *         where  = json_object_get_string(json_object_object_get(source, "memory_source"));
        bool                 good   = true;
        if (where != NULL && strcmp(where, "DISK") == 0)
            good = number(source, "disk_offset") < number(c->map, "total_size_bytes");
        if (where != NULL && strcmp(where, "BUFFER") == 0 && json_object_object_get(source, "buffer_id") != NULL)
            good = has_buffer(c, number(source, "buffer_id"));
        if (!good) c->outside++, keep_example(c, file);
    }
}

static void check_entries(struct context * c, const struct json_object * trace, const struct json_object * graph,
                          const char * file) {
    struct json_object * entries = json_object_object_get(trace, "entries");
    size_t               n = entries == NULL ? 0 : json_object_array_length(entries), nodes = 0;
    uint64_t             last = 0;
    struct json_object * list = json_object_object_get(graph, "nodes");
    if (list != NULL) nodes = json_object_array_length(list);
    if (number(json_object_object_get(trace, "metadata"), "total_entries") != n)
        c->wrong_counts++, keep_example(c, file);
    for (size_t i = 0; i < n; i++) {
        struct json_object * entry = json_object_array_get_idx(entries, i);
        const char *         node  = json_object_get_string(json_object_object_get(entry, "node_id"));
        uint64_t             time = number(entry, "timestamp_ns"), index = UINT64_MAX;
        struct json_object * layer = json_object_object_get(entry, "layer_id");
        if (node != NULL && strncmp(node, "node_", 5) == 0) index = strtoull(node + 5, NULL, 10);
        if (index >= nodes) c->lost_nodes++, keep_example(c, file);
        if (time < last) c->backwards++, keep_example(c, file);
        last = time;
        if (layer != NULL && json_object_get_int(layer) >= 0 && json_object_get_int(layer) < MOST_LAYERS)
            c->layer_seen[json_object_get_int(layer)] = true;
        check_sources(c, entry, file);
    }
    c->entries += n;
}

static int check_tokens(struct context * c, struct ggs_error * error) {
    char path[PATH_MAX], trace_name[NAME_MAX + 16], graph_name[NAME_MAX + 16];
    snprintf(path, sizeof(path), "%s/traces", c->directory);
    DIR * folder = opendir(path);
    if (folder == NULL) return ggs_fail_errno(error, "cannot open %s", path);
    const struct dirent * file;
    while ((file = readdir(folder)) != NULL) {
        if (strncmp(file->d_name, "token-", 6) != 0) continue;
        snprintf(trace_name, sizeof(trace_name), "traces/%s", file->d_name);
        snprintf(graph_name, sizeof(graph_name), "graphs/%s", file->d_name);
        struct json_object *trace = load(c, trace_name), *graph = load(c, graph_name);
        if (trace == NULL || graph == NULL) {
            c->wrong_counts++;
            keep_example(c, trace == NULL ? trace_name : graph_name);
        } else {
            check_entries(c, trace, graph, trace_name);
        }
        json_object_put(trace);
        json_object_put(graph);
        c->tokens++;
    }
    closedir(folder);
    return 0;
}

static uint64_t count_files(const struct context * c, const char * name) {
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", c->directory, name);
    DIR *                 folder = opendir(path);
    uint64_t              n      = 0;
    const struct dirent * file;
    while (folder != NULL && (file = readdir(folder)) != NULL) n += strncmp(file->d_name, "token-", 6) == 0;
    if (folder != NULL) closedir(folder);
    return n;
}

// ---- the map and the buffers ----

static int by_offset(const void * a, const void * b) {
    struct json_object *x = *(struct json_object *const *) a, *y = *(struct json_object *const *) b;
    const char *        fx    = json_object_get_string(json_object_object_get(x, "file"));
    const char *        fy    = json_object_get_string(json_object_object_get(y, "file"));
    int                 order = strcmp(fx == NULL ? "" : fx, fy == NULL ? "" : fy);
    if (order != 0) return order;
    uint64_t ox = number(x, "offset_start"), oy = number(y, "offset_start");
    return ox < oy ? -1 : ox > oy;
}

static void check_map(struct context * c) {
    struct json_object * list = json_object_object_get(c->map, "tensors");
    size_t               n    = list == NULL ? 0 : json_object_array_length(list);
    uint64_t             end = 0, overlaps = 0;
    const char *         file = NULL;
    if (n > 0) json_object_array_sort(list, by_offset);
    for (size_t i = 0; i < n; i++) {
        struct json_object * tensor = json_object_array_get_idx(list, i);
        const char *         name   = json_object_get_string(json_object_object_get(tensor, "file"));
        if (file == NULL || name == NULL || strcmp(file, name) != 0) end = 0;
        file = name;
        overlaps += number(tensor, "offset_start") < end;
        end = number(tensor, "offset_end");
    }
    if (n == 0) {
        ggs_checks_add(c->checks, "no overlap in the map", GGS_CHECK_SKIPPED, "memory-map.json lists no tensors");
    } else {
        ggs_checks_add(c->checks, "no overlap in the map", overlaps == 0 ? GGS_CHECK_OK : GGS_CHECK_FAIL,
                       "%zu tensors, %" PRIu64 " overlaps", n, overlaps);
    }
}

static void check_buffers(struct context * c) {
    struct json_object * list  = json_object_object_get(c->buffers, "timeline");
    size_t               n     = list == NULL ? 0 : json_object_array_length(list);
    int64_t              level = 0;
    uint64_t             wrong = 0;
    for (size_t i = 0; i < n; i++) {
        struct json_object * event = json_object_array_get_idx(list, i);
        const char *         kind  = json_object_get_string(json_object_object_get(event, "event"));
        int64_t              size  = (int64_t) number(event, "size");
        level += kind != NULL && strcmp(kind, "alloc") == 0 ? size : -size;
        wrong += level < 0 || level != (int64_t) number(event, "cumulative_size");
    }
    ggs_checks_add(c->checks, "buffer events", wrong == 0 ? GGS_CHECK_OK : GGS_CHECK_FAIL,
                   "%zu events, %" PRIu64 " of them do not add up", n, wrong);
}

// ---- all checks ----

static void report(struct context * c) {
    struct ggs_checks * k = c->checks;
    if (c->stranger[0] != '\0') {
        ggs_checks_add(k, "one experiment", GGS_CHECK_FAIL, "%s is of another experiment than %s", c->stranger, c->id);
    } else {
        ggs_checks_add(k, "one experiment", GGS_CHECK_OK, "%s in every file", c->id);
    }
    uint64_t traces = count_files(c, "traces"), graphs = count_files(c, "graphs");
    ggs_checks_add(k, "tokens", traces == graphs && traces > 0 ? GGS_CHECK_OK : GGS_CHECK_FAIL,
                   "%" PRIu64 " traces, %" PRIu64 " graphs", traces, graphs);
    ggs_checks_add(
        k, "entries", c->wrong_counts + c->lost_nodes == 0 ? GGS_CHECK_OK : GGS_CHECK_FAIL,
        "%" PRIu64 " entries; %" PRIu64 " files with a wrong count or missing, %" PRIu64 " entries without a node%s%s",
        c->entries, c->wrong_counts, c->lost_nodes, c->wrong_counts + c->lost_nodes == 0 ? "" : ", first in ",
        c->wrong_counts + c->lost_nodes == 0 ? "" : c->example);
    ggs_checks_add(k, "times", c->backwards == 0 ? GGS_CHECK_OK : GGS_CHECK_FAIL,
                   "%" PRIu64 " entries begin before the previous one", c->backwards);
    ggs_checks_add(k, "operands inside", c->outside == 0 ? GGS_CHECK_OK : GGS_CHECK_FAIL,
                   "%" PRIu64 " operands outside of the file or in no buffer", c->outside);
    uint64_t layers = 0, wanted = number(json_object_object_get(c->map, "metadata"), "n_layers");
    for (unsigned i = 0; i < MOST_LAYERS; i++) layers += c->layer_seen[i];
    ggs_checks_add(k, "all layers seen", layers >= wanted ? GGS_CHECK_OK : GGS_CHECK_FAIL, "%" PRIu64 " of %" PRIu64,
                   layers, wanted);
}

int ggs_check_json(struct ggs_checks * checks, const char * directory, struct ggs_error * error) {
    *checks            = (struct ggs_checks){0};
    struct context * c = calloc(1, sizeof(*c));
    if (c == NULL) return ggs_fail_memory(error);
    c->checks                     = checks;
    c->directory                  = directory;
    struct json_object * metadata = load(c, "experiment_metadata.json");
    c->map                        = load(c, "memory-map.json");
    c->buffers                    = load(c, "buffer-timeline.json");
    int status                    = 0;
    if (metadata == NULL || c->map == NULL || c->buffers == NULL) {
        status = ggs_fail(
            error, GGS_FORMAT,
            "%s: experiment_metadata.json, memory-map.json or buffer-timeline.json is missing or is no JSON (files that --gzip made must be unpacked first)",
            directory);
    } else {
        status = check_tokens(c, error);
    }
    if (status == 0) {
        report(c);
        check_map(c);
        check_buffers(c);
    }
    json_object_put(metadata);
    json_object_put(c->map);
    json_object_put(c->buffers);
    free(c);
    return status;
}
