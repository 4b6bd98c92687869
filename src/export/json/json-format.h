// Shared by the files of the json format. ggscope-export(1) describes the layout.
#pragma once

#include "base/json.h"
#include "export/export.h"

// The map of the model: every tensor of its files, with separate entries for experts, as in
// memory-map.json.
struct ggs_map_entry {
    uint64_t file; // number in the trace
    uint64_t offset, size;
    uint64_t number; // index in memory-map.json
};

struct ggs_memory_map {
    struct ggs_map_entry * entries; // by (file, offset)
    uint64_t               n, capacity;
};
void ggs_memory_map_release(struct ggs_memory_map * map);

// Writes memory-map.json and fills `map`.
int ggs_json_memory_map(struct ggs_export * export, struct ggs_memory_map * map, struct ggs_error * error);
// Returns the entry that contains this byte of a file, NULL if there is none.
const struct ggs_map_entry * ggs_memory_map_find(const struct ggs_memory_map * map, uint64_t file, uint64_t offset);

// Writes buffer-timeline.json.
int ggs_json_buffers(struct ggs_export * export, struct ggs_error * error);

// Writes graphs/ and traces/, a file per token step in each. `map` is a struct ggs_memory_map.
int ggs_json_tokens(struct ggs_export * export, void * map, struct ggs_error * error);

// Writes graphs/token-NNNNN.json: all graphs of the step with consecutive node ids.
struct ggs_step_graph {
    uint64_t graph;
    uint64_t first_node; // id of its node 0
};
int ggs_json_graph(struct ggs_export * export, int64_t step, const struct ggs_step_graph * graphs, uint64_t n_graphs,
                   int64_t generated_ns, struct ggs_error * error);

// A file of the export: one JSON object whose first member is experiment_id.
struct ggs_json_file {
    struct ggs_target target;
    struct ggs_json   json;
};
int ggs_json_file_open(struct ggs_export * export, struct ggs_json_file * file, const char * name,
                       struct ggs_error * error);
int ggs_json_file_close(struct ggs_export * export, struct ggs_json_file * file, int status, struct ggs_error * error);

void ggs_json_address(struct ggs_json * json, const char * key, uint64_t address);
void ggs_json_id(struct ggs_json * json, const char * key, const char * prefix,
                 uint64_t number); // "node_7"; prefix: at most 19 bytes
void ggs_json_ms(struct ggs_json * json, const char * key, int64_t ns);
