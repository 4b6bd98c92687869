// /api/experiments and /api/x/N/summary: what there is, in a sentence or two. No op run is looked at.
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "serve/routes/routes.h"

int ggs_route_experiments(struct ggs_question * request, struct ggs_error * error) {
    struct ggs_json                json;
    struct ggs_experiments_state * state  = malloc(sizeof(*state));
    int                            status = ggs_query_finish(&request->query, error);
    if (state == NULL) return ggs_fail_memory(error);
    ggs_json_init(&json, ggs_json_to_text, &request->answer->body, false);
    ggs_json_array(&json, NULL);
    for (unsigned i = 0; status == 0 && i < ggs_experiments_count(request->experiments); i++) {
        ggs_experiments_state(request->experiments, i, state);
        ggs_json_object(&json, NULL);
        ggs_json_u64(&json, "index", i);
        ggs_json_string(&json, "id", state->id[0] == '\0' ? NULL : state->id);
        ggs_json_string(&json, "name", state->name);
        ggs_json_string(&json, "directory", state->directory);
        ggs_json_string(&json, "state", state->state);
        ggs_json_bool(&json, "live", state->live);
        ggs_json_string(&json, "error", state->error[0] == '\0' ? NULL : state->error);
        ggs_json_end(&json);
    }
    free(state);
    return status == 0 ? ggs_answer_end(request->answer, &json, error) : status;
}

// ---- experiment.json ----

static struct json_object * member(struct json_object * object, const char * key) {
    struct json_object * value = NULL;
    if (!json_object_is_type(object, json_type_object)) return NULL;
    return json_object_object_get_ex(object, key, &value) ? value : NULL;
}

static const char * text_of(struct json_object * value) {
    return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
}

static void put_text(struct ggs_json * json, const char * key, struct json_object * object, const char * from) {
    ggs_json_string(json, key, text_of(member(object, from)));
}

static void put_number(struct ggs_json * json, const char * key, struct json_object * object, const char * from) {
    struct json_object * value = member(object, from);
    if (json_object_is_type(value, json_type_int))
        ggs_json_u64(json, key, json_object_get_uint64(value));
    else
        ggs_json_null(json, key);
}

static bool is_true(struct json_object * object, const char * key) {
    struct json_object * value = member(object, key);
    return json_object_is_type(value, json_type_boolean) && json_object_get_boolean(value);
}

static void put_command(struct ggs_json * json, struct json_object * command) {
    ggs_json_array(json, "command");
    for (size_t i = 0; json_object_is_type(command, json_type_array) && i < json_object_array_length(command); i++) {
        const char * word = text_of(json_object_array_get_idx(command, i));
        if (word != NULL) ggs_json_string(json, NULL, word);
    }
    ggs_json_end(json);
}

static void put_machine(struct ggs_json * json, struct json_object * root) {
    struct json_object *engine = member(root, "engine"), *host = member(root, "host");
    put_command(json, member(root, "command"));
    ggs_json_object(json, "engine");
    put_text(json, "ggml_version", engine, "ggml_version");
    put_text(json, "llama_version", engine, "llama_version");
    put_text(json, "commit", engine, "ggml_commit");
    ggs_json_end(json);
    ggs_json_object(json, "host");
    put_text(json, "cpu", host, "cpu");
    put_number(json, "cores", host, "cores");
    put_number(json, "memory_bytes", host, "memory_bytes");
    put_text(json, "kernel", host, "kernel");
    ggs_json_end(json);
    put_text(json, "start_utc", root, "start_utc");
}

// ---- the prompt ----

enum { PROMPT_MOST = 4096 };

static const char * asked_for(struct json_object * command) {
    size_t n = json_object_is_type(command, json_type_array) ? json_object_array_length(command) : 0;
    for (size_t i = 0; i + 1 < n; i++) {
        const char * word = text_of(json_object_array_get_idx(command, i));
        if (word != NULL && (strcmp(word, "-p") == 0 || strcmp(word, "--prompt") == 0))
            return text_of(json_object_array_get_idx(command, i + 1));
    }
    return NULL;
}

// The tokens of the first step, as far as their texts are known.
static int read_tokens(struct ggs_question * request, struct ggs_text * text, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_token    token;
    int                 status = ggs_cursor_open(&cursor, request->trace.reader, GGS_TABLE_TOKENS, error);
    if (status < 0) return status;
    ggs_cursor_keys(cursor, 0, 0);
    while (text->length < PROMPT_MOST && (status = ggs_cursor_next(cursor, &token, error)) > 0) {
        uint64_t     length;
        const char * piece = ggs_reader_bytes(request->trace.reader, token.text, &length);
        if (token.text != 0 && piece != NULL) ggs_text_append(text, piece, length);
    }
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

static int put_prompt(struct ggs_question * request, struct ggs_json * json, struct json_object * root,
                      struct ggs_error * error) {
    struct ggs_text text   = {0};
    const char *    asked  = asked_for(member(root, "command"));
    int             status = asked != NULL ? 0 : read_tokens(request, &text, error);
    if (asked == NULL && text.length > 0) asked = ggs_text_string(&text);
    if (asked == NULL)
        ggs_json_null(json, "prompt");
    else
        ggs_json_string_n(json, "prompt", asked, strnlen(asked, PROMPT_MOST));
    ggs_text_release(&text);
    return status;
}

// ---- the model ----

static const char * base_name(const char * path) {
    const char * slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

// The type that most bytes of the model are of.
static const char * quantization_of(const struct ggs_model_map * map) {
    const char * best = NULL;
    uint64_t     most = 0;
    for (uint64_t i = 0; i < map->n; i++) {
        uint64_t sum = 0;
        if (map->places[i].type[0] == '\0' || map->places[i].type == best) continue;
        // Equal texts of a map are one text, and there are few of them: most tensors are of the best already.
        for (uint64_t k = i; k < map->n; k++)
            sum += map->places[k].type == map->places[i].type ? map->places[k].bytes : 0;
        if (sum > most) most = sum, best = map->places[i].type;
    }
    return best;
}

static void put_files(struct ggs_question * request, struct ggs_json * json) {
    const struct ggs_trace * trace = &request->trace;
    ggs_json_array(json, "files");
    for (uint64_t i = 0; i < trace->n_files; i++) {
        const char * path = ggs_request_string(request, trace->files[i].path);
        if (trace->files[i].gguf == 0) continue;
        ggs_json_object(json, NULL);
        ggs_json_u64(json, "file", trace->files[i].file);
        ggs_json_string(json, "name", base_name(path));
        ggs_json_string(json, "path", path);
        ggs_json_u64(json, "bytes", trace->files[i].size);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

static int put_model(struct ggs_question * request, struct ggs_json * json, struct ggs_error * error) {
    const struct ggs_trace *     trace = &request->trace;
    const struct ggs_model_map * map;
    const char *                 name   = NULL;
    uint64_t                     bytes  = 0;
    int                          status = ggs_snapshot_map(request->snapshot, &map, error);
    if (status < 0) return status;
    for (uint64_t i = 0; i < trace->n_files; i++) {
        if (trace->files[i].gguf == 0) continue;
        if (name == NULL) name = base_name(ggs_request_string(request, trace->files[i].path));
        bytes += trace->files[i].size;
    }
    if (name == NULL) {
        ggs_json_null(json, "model");
        return 0;
    }
    ggs_json_object(json, "model");
    ggs_json_string(json, "name", map->model[0] != '\0' ? map->model : name);
    ggs_json_string(json, "architecture", map->architecture[0] != '\0' ? map->architecture : NULL);
    ggs_json_string(json, "quantization", quantization_of(map));
    ggs_json_u64(json, "layers", map->layers);
    ggs_json_u64(json, "experts", map->experts);
    ggs_json_u64(json, "experts_used", map->experts_used);
    ggs_json_u64(json, "bytes", bytes);
    put_files(request, json);
    ggs_json_end(json);
    return 0;
}

// ---- the recording ----

// A report may hold only some token steps: then the times are theirs.
static void put_times(struct ggs_json * json, const struct ggs_overview * o, const struct ggs_report_part * part) {
    bool some = part != NULL && part->last_token != INT64_MAX;
    ggs_json_i64(json, "begin_ns", some ? part->begin_ns : o->begin_ns);
    ggs_json_i64(json, "end_ns", some ? part->end_ns : o->end_ns);
    if (!some) {
        ggs_json_null(json, "part");
        return;
    }
    ggs_json_object(json, "part");
    ggs_json_i64(json, "first", part->first_token);
    ggs_json_i64(json, "last", part->last_token);
    ggs_json_end(json);
}

static void put_counts(struct ggs_json * json, const struct ggs_overview * o) {
    ggs_json_u64(json, "threads", o->threads);
    ggs_json_u64(json, "tokens", o->steps);
    ggs_json_u64(json, "warmup_steps", o->warmup_steps);
    ggs_json_u64(json, "prompt_tokens", o->prompt_tokens);
    ggs_json_u64(json, "generated_tokens", o->generated_tokens);
    if (o->generate_ns > 0)
        ggs_json_double(json, "tokens_per_second", (double) o->generate_steps / ((double) o->generate_ns / 1e9));
    else
        ggs_json_null(json, "tokens_per_second");
    if (o->slowest_step >= 0) {
        ggs_json_object(json, "slowest_token");
        ggs_json_i64(json, "token", o->slowest_step);
        ggs_json_u64(json, "duration_ns", o->slowest_ns);
        ggs_json_end(json);
    } else {
        ggs_json_null(json, "slowest_token");
    }
    ggs_json_u64(json, "runs", o->runs);
    ggs_json_u64(json, "ops", o->ops);
    ggs_json_u64(json, "op_runs", o->op_runs);
    ggs_json_u64(json, "lost", o->lost);
    ggs_json_u64(json, "unseen", o->unseen);
    ggs_json_u64(json, "interrupted_runs", o->interrupted_runs);
}

static void put_lanes(struct ggs_question * request, struct ggs_json * json, const struct ggs_overview * o) {
    bool several = o->n_lanes > 0 && o->lanes[o->n_lanes - 1].slot != o->lanes[0].slot;
    ggs_json_array(json, "lanes");
    for (uint64_t i = 0; i < o->n_lanes; i++) {
        const struct ggs_overview_lane * lane    = &o->lanes[i];
        const char *                     backend = ggs_request_string(request, lane->backend);
        char                             label[160];
        if (lane->slot < 0)
            snprintf(label, sizeof(label), "%.100s", backend[0] == '\0' ? "whole graphs" : backend);
        else if (several)
            snprintf(label, sizeof(label), "%.100s %lld, thread %llu", backend, (long long) lane->slot,
                     (unsigned long long) lane->thread);
        else
            snprintf(label, sizeof(label), "%.100s thread %llu", backend, (unsigned long long) lane->thread);
        ggs_json_object(json, NULL);
        ggs_json_u64(json, "lane", i);
        ggs_json_i64(json, "slot", lane->slot);
        ggs_json_u64(json, "thread", lane->thread);
        ggs_json_string(json, "label", label);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

static int put_levels(struct ggs_question * request, struct ggs_json * json, struct ggs_error * error) {
    uint64_t levels[64];
    unsigned n      = 0;
    int      status = ggs_snapshot_levels(request->snapshot, levels, &n, error);
    ggs_json_array(json, "level_ns");
    for (unsigned i = 0; i < n; i++) ggs_json_u64(json, NULL, 1ull << levels[i]);
    ggs_json_end(json);
    return status;
}

static void put_has(struct ggs_question * request, struct ggs_json * json, const struct ggs_model_map * map) {
    bool experts = map->experts > 0;
    for (uint64_t i = 0; !experts && i < map->n; i++) experts = map->places[i].experts > 0;
    static const enum ggs_trace_table tables[] = {GGS_TABLE_FAULTS, GGS_TABLE_BLOCK_REQUESTS, GGS_TABLE_RESIDENCY,
                                                  GGS_TABLE_PAGES, GGS_TABLE_READS};
    ggs_json_object(json, "has");
    ggs_json_bool(json, "experts", experts);
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        ggs_json_bool(json, ggs_trace_schema(tables[i])->name, ggs_reader_rows(request->trace.reader, tables[i]) > 0);
    ggs_json_end(json);
}

static int put_all(struct ggs_question * request, struct ggs_json * json, struct json_object * root,
                   const struct ggs_overview * overview, struct ggs_error * error) {
    struct ggs_experiments_state state;
    ggs_experiments_state(request->experiments, request->snapshot->index, &state);
    ggs_json_string(json, "id", request->snapshot->id);
    ggs_json_string(json, "name", state.name);
    ggs_json_string(json, "directory", state.directory);
    ggs_json_string(json, "state", state.state);
    ggs_json_bool(json, "live", request->snapshot->live);
    ggs_json_string(json, "warning", ggs_reader_warning(request->trace.reader));
    put_machine(json, root);
    int status = put_model(request, json, error);
    if (status == 0) status = put_prompt(request, json, root, error);
    put_times(json, overview, request->part);
    put_counts(json, overview);
    put_lanes(request, json, overview);
    if (status == 0) status = put_levels(request, json, error);
    put_has(request, json, &request->snapshot->map);
    struct json_object * settings = member(root, "settings");
    ggs_json_bool(json, "proved", is_true(settings, "prove"));
    struct json_object * machine = member(root, "machine");
    put_number(json, "memory_limit", machine, "memory_limit");
    ggs_json_bool(json, "cold", member(machine, "cold") != NULL);
    return status;
}

int ggs_route_summary(struct ggs_question * request, struct ggs_error * error) {
    const struct ggs_overview * overview = NULL;
    struct ggs_json             json;
    int                         status = ggs_query_finish(&request->query, error);
    if (status == 0) status = ggs_snapshot_overview(request->snapshot, &overview, error);
    if (status != 0) return status;
    struct json_object * root = json_tokener_parse(ggs_reader_experiment(request->trace.reader));
    ggs_answer_begin(request->answer, &json);
    status = put_all(request, &json, root, overview, error);
    json_object_put(root);
    int ended = ggs_answer_end(request->answer, &json, error);
    return status < 0 ? status : ended;
}
