// The json format: metadata. json-map.c, json-buffers.c, json-graph.c and json-trace.c have the
// rest.
#include "export/json/json-format.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "export/formats.h"
#include "export/metadata.h"
#include "export/workers.h"

// ---- files ----

int ggs_json_file_open(struct ggs_export * export, struct ggs_json_file * file, const char * name,
                       struct ggs_error * error) {
    int status = ggs_export_open(export, &file->target, name, error);
    if (status < 0) return status;
    ggs_json_init(&file->json, ggs_target_json, &file->target, true);
    ggs_json_object(&file->json, NULL);
    ggs_json_string(&file->json, "experiment_id", export->id);
    return 0;
}

int ggs_json_file_close(struct ggs_export * export, struct ggs_json_file * file, int status, struct ggs_error * error) {
    if (status == 0) {
        ggs_json_end(&file->json);
        ggs_json_finish(&file->json); // failures are kept in the target
    }
    return ggs_export_close(export, &file->target, status, error);
}

// Addresses and ids are a large part of a file: printf would take as long as everything else.
void ggs_json_address(struct ggs_json * json, const char * key, uint64_t address) {
    char   text[18];
    size_t at = sizeof(text);
    do {
        text[--at] = "0123456789abcdef"[address & 15];
        address >>= 4;
    } while (address > 0);
    text[--at] = 'x';
    text[--at] = '0';
    ggs_json_string_n(json, key, text + at, sizeof(text) - at);
}

void ggs_json_id(struct ggs_json * json, const char * key, const char * prefix, uint64_t number) {
    char   text[40];
    size_t at = sizeof(text), length = strlen(prefix);
    do {
        text[--at] = (char) ('0' + number % 10);
        number /= 10;
    } while (number > 0);
    at -= length;
    memcpy(text + at, prefix, length);
    ggs_json_string_n(json, key, text + at, sizeof(text) - at);
}

void ggs_json_ms(struct ggs_json * json, const char * key, int64_t ns) {
    ggs_json_double(json, key, (double) ns / 1e6);
}

// ---- experiment_metadata.json ----

static void put_text(struct ggs_json * json, const struct ggs_metadata * facts, const char * key, const char * path) {
    ggs_json_string(json, key, ggs_metadata_text(facts, path));
}

static void put_number(struct ggs_json * json, const struct ggs_metadata * facts, const char * key, const char * path) {
    int64_t value;
    if (ggs_metadata_number(facts, path, &value)) {
        ggs_json_i64(json, key, value);
    } else {
        ggs_json_null(json, key);
    }
}

static int count_steps(struct ggs_export * export, uint64_t * steps, struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_step     step;
    int                 status = ggs_export_steps(export, &cursor, error);
    *steps                     = 0;
    while (status >= 0 && (status = ggs_export_next_step(export, cursor, &step, error)) > 0) ++*steps;
    ggs_cursor_close(cursor);
    return status;
}

static int write_metadata(struct ggs_export * export, struct ggs_error * error) {
    const struct ggs_metadata * facts = export->facts;
    struct ggs_json_file        file;
    struct ggs_json *           json = &file.json;
    uint64_t                    steps;
    int                         status = count_steps(export, &steps, error);
    if (status == 0) status = ggs_json_file_open(export, &file, "experiment_metadata.json", error);
    if (status < 0) return status;
    put_text(json, facts, "timestamp_start", "start_utc");
    put_text(json, facts, "model_file", "model");
    ggs_json_string(json, "prompt", ggs_export_valid(export, ggs_metadata_prompt(facts)));
    ggs_json_u64(json, "num_tokens_generated", steps);
    ggs_json_array(json, "command");
    const char * word;
    for (size_t i = 0; (word = ggs_metadata_command(facts, i)) != NULL; i++) ggs_json_string(json, NULL, word);
    ggs_json_end(json);
    ggs_json_object(json, "engine");
    ggs_json_string(json, "name", "llama.cpp");
    put_text(json, facts, "version", "engine.llama_version");
    put_text(json, facts, "commit", "engine.ggml_commit");
    put_text(json, facts, "ggml_version", "engine.ggml_version");
    ggs_json_end(json);
    ggs_json_object(json, "host");
    put_text(json, facts, "cpu", "host.cpu");
    put_number(json, facts, "cores", "host.cores");
    put_number(json, facts, "memory_bytes", "host.memory_bytes");
    put_text(json, facts, "kernel", "host.kernel");
    put_text(json, facts, "os", "host.os");
    ggs_json_end(json);
    put_number(json, facts, "threads", "threads");
    put_text(json, facts, "ggscope_version", "ggscope_version");
    put_text(json, facts, "state", "state");
    ggs_json_string(json, "warning", export->warning[0] == '\0' ? NULL : export->warning);
    return ggs_json_file_close(export, &file, 0, error);
}

int ggs_export_json(struct ggs_export * export, struct ggs_error * error) {
    struct ggs_memory_map map    = {0};
    int                   status = write_metadata(export, error);
    if (status == 0) status = ggs_json_memory_map(export, &map, error);
    if (status == 0) status = ggs_json_buffers(export, error);
    if (status == 0) status = ggs_export_mkdir(export, "graphs", error);
    if (status == 0) status = ggs_export_mkdir(export, "traces", error);
    if (status == 0) status = ggs_workers_steps(export, ggs_json_tokens, &map, error);
    if (status == 0) {
        ggs_export_sweep(export, "graphs", ".json");
        ggs_export_sweep(export, "traces", ".json");
    }
    ggs_memory_map_release(&map);
    return status;
}
