#include "answer/summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/walk/words.h"
#include "answer/answer.h"
#include "base/error.h"
#include "base/json-read.h"
#include "base/system/file.h"
#include "base/text.h"
#include "trace/schema.h"

// ---- experiment.json ----

// A string of the file, null if there is none.
static void put_text(struct ggs_json * json, const char * key, struct ggs_json_value object, const char * from) {
    struct ggs_text text  = {0};
    bool            found = ggs_json_append_to(ggs_json_member(object, from), &text);
    ggs_json_string(json, key, found ? ggs_text_string(&text) : NULL);
    ggs_text_release(&text);
}

static void put_number(struct ggs_json * json, const char * key, struct ggs_json_value object, const char * from) {
    uint64_t number;
    if (ggs_json_to_u64(ggs_json_member(object, from), &number))
        ggs_json_u64(json, key, number);
    else
        ggs_json_null(json, key);
}

static void put_command(struct ggs_json * json, struct ggs_json_value command) {
    struct ggs_json_value word = {0};
    struct ggs_text       text = {0};
    ggs_json_array(json, "command");
    while (ggs_json_next(command, &word)) {
        if (ggs_json_append_to(word, &text)) ggs_json_string(json, NULL, ggs_text_string(&text));
        ggs_text_clear(&text);
    }
    ggs_text_release(&text);
    ggs_json_end(json);
}

static void put_machine(struct ggs_json * json, struct ggs_json_value root) {
    struct ggs_json_value engine = ggs_json_member(root, "engine"), host = ggs_json_member(root, "host");
    put_command(json, ggs_json_member(root, "command"));
    ggs_json_object(json, "engine");
    put_text(json, "ggml_version", engine, "ggml_version");
    put_text(json, "llama_version", engine, "llama_version");
    put_text(json, "ggml_commit", engine, "ggml_commit");
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

// What stands behind -p; false if there is no such thing.
static bool asked_for(struct ggs_json_value command, struct ggs_text * prompt) {
    struct ggs_json_value word = {0};
    char                  option[16];
    while (ggs_json_next(command, &word)) {
        ggs_json_to_buffer(word, option, sizeof(option));
        if (strcmp(option, "-p") == 0 || strcmp(option, "--prompt") == 0)
            return ggs_json_next(command, &word) && ggs_json_append_to(word, prompt);
    }
    return false;
}

// The tokens of the first step, as far as their texts are known.
static int read_tokens(const struct ggs_trace * trace, struct ggs_text * text, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_token    token;
    int                 status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_TOKENS, error);
    if (status < 0) return status;
    ggs_cursor_keys(cursor, 0, 0);
    while (text->length < PROMPT_MOST && (status = ggs_cursor_next(cursor, &token, error)) > 0) {
        uint64_t     length;
        const char * piece = ggs_reader_bytes(trace->reader, token.text, &length);
        if (token.text != 0 && piece != NULL) ggs_text_append(text, piece, length);
    }
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

static int put_prompt(const struct ggs_trace * trace, struct ggs_json * json, struct ggs_json_value root,
                      struct ggs_error * error) {
    struct ggs_text text   = {0};
    bool            asked  = asked_for(ggs_json_member(root, "command"), &text);
    int             status = asked ? 0 : read_tokens(trace, &text, error);
    if (asked || text.length > 0)
        ggs_json_string_n(json, "prompt", ggs_text_string(&text), strnlen(ggs_text_string(&text), PROMPT_MOST));
    else
        ggs_json_null(json, "prompt");
    ggs_text_release(&text);
    return status;
}

// ---- the model ----

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

// The name of its first file, and its bytes; false if no model was opened.
static bool find_model(const struct ggs_trace * trace, const char ** name, uint64_t * bytes) {
    *name  = NULL;
    *bytes = 0;
    for (uint64_t i = 0; i < trace->n_files; i++) {
        if (!trace->models[i]) continue;
        if (*name == NULL) *name = ggs_file_name(ggs_reader_string(trace->reader, trace->files[i].path));
        *bytes += trace->files[i].size;
    }
    return *name != NULL;
}

static void put_model(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_model_map * map) {
    static const struct ggs_field fields[] = {
        GGS_FIELD(struct ggs_model_map, layers, "layers"),
        GGS_FIELD(struct ggs_model_map, experts, "experts"),
        GGS_FIELD(struct ggs_model_map, experts_used, "experts_used"),
        {0},
    };
    const char * name;
    uint64_t     bytes;
    if (!find_model(trace, &name, &bytes)) {
        ggs_json_null(json, "model");
        return;
    }
    ggs_json_object(json, "model");
    ggs_json_string(json, "name", map->model[0] != '\0' ? map->model : name);
    ggs_json_string(json, "architecture", map->architecture[0] != '\0' ? map->architecture : NULL);
    ggs_json_string(json, "quantization", quantization_of(map));
    ggs_fields_members(json, fields, map);
    ggs_json_u64(json, "bytes", bytes);
    ggs_map_write_files(json, trace);
    ggs_json_end(json);
}

// ---- the recording ----

static void put_counts(struct ggs_json * json, const struct ggs_overview * o) {
    static const struct ggs_field fields[] = {
        GGS_FIELD(struct ggs_overview, threads, "threads"),
        GGS_FIELD(struct ggs_overview, steps, "tokens"),
        GGS_FIELD(struct ggs_overview, warmup_steps, "warmup_steps"),
        GGS_FIELD(struct ggs_overview, prompt_tokens, "prompt_tokens"),
        GGS_FIELD(struct ggs_overview, generated_tokens, "generated_tokens"),
        GGS_FIELD(struct ggs_overview, runs, "runs"),
        GGS_FIELD(struct ggs_overview, ops, "ops"),
        GGS_FIELD(struct ggs_overview, op_runs, "op_runs"),
        GGS_FIELD(struct ggs_overview, lost, "lost"),
        GGS_FIELD(struct ggs_overview, unseen, "unseen"),
        GGS_FIELD(struct ggs_overview, interrupted_runs, "interrupted_runs"),
        GGS_FIELD(struct ggs_overview, runs_without_waits, "runs_without_waits"),
        {0},
    };
    static const struct ggs_field slowest[] = {GGS_FIELD(struct ggs_overview, slowest_step, "token"),
                                               GGS_FIELD(struct ggs_overview, slowest_ns, "duration_ns"),
                                               {0}};
    ggs_fields_members(json, fields, o);
    ggs_answer_speed(json, o->decoded_tokens, o->generate_ns + o->drafting_ns);
    if (o->slowest_step >= 0) {
        ggs_fields_object(json, "slowest_token", slowest, o);
    } else {
        ggs_json_null(json, "slowest_token");
    }
}

// The name of a lane, as sealing wrote it; what it is made of if the trace has none (it was cut off).
static void lane_label(char * label, size_t size, const struct ggs_trace * trace,
                       const struct ggs_overview_lane * lane) {
    struct ggs_cursor * cursor;
    struct ggs_lane     row;
    const char *        name = "";
    if (ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_LANES, NULL) == 0) {
        while (name[0] == '\0' && ggs_cursor_next(cursor, &row, NULL) > 0) {
            if (row.slot == lane->slot && (lane->slot < 0 ? row.device == lane->device : row.queue == lane->thread))
                name = ggs_reader_string(trace->reader, row.name);
        }
        ggs_cursor_close(cursor);
    }
    const char * backend = ggs_reader_string(trace->reader, lane->backend);
    if (name[0] != '\0')
        snprintf(label, size, "%.150s", name);
    else if (lane->slot < 0)
        snprintf(label, size, "%.100s", backend[0] == '\0' ? "whole graphs" : backend);
    else
        snprintf(label, size, "%.100s thread %llu", backend, (unsigned long long) lane->thread);
}

static void put_lanes(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_overview * o) {
    ggs_json_array(json, "lanes");
    for (uint64_t i = 0; i < o->n_lanes; i++) {
        const struct ggs_overview_lane * lane = &o->lanes[i];
        char                             label[160];
        lane_label(label, sizeof(label), trace, lane);
        ggs_json_object_inline(json, NULL);
        ggs_json_u64(json, "lane", i);
        ggs_json_i64(json, "slot", lane->slot);
        ggs_json_u64(json, "thread", lane->thread);
        ggs_json_u64(json, "process", lane->process);
        ggs_json_string(json, "label", label);
        ggs_json_string(json, "device", ggs_overview_lane_device(trace, lane));
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

// Whose lanes they are, if there is more than one.
static void put_processes(struct ggs_json * json, const struct ggs_trace * trace) {
    struct ggs_process_list list;
    struct ggs_trace        borrowed = ggs_trace_borrow(trace);
    if (ggs_process_list_names(&list, &borrowed, NULL) < 0) list = (struct ggs_process_list){0};
    ggs_json_array(json, "processes");
    for (uint64_t i = 0; list.n > 1 && i < list.n; i++) {
        ggs_json_object_inline(json, NULL);
        ggs_json_u64(json, "process", list.process[i].row.process);
        ggs_json_string(json, "name", list.process[i].name);
        ggs_json_string(json, "host", list.process[i].host);
        ggs_json_string(json, "clock", ggs_clock_source_name(list.process[i].row.clock));
        ggs_json_natural(json, "error_ns", list.process[i].row.error_ns);
        ggs_json_end(json);
    }
    ggs_json_end(json);
    ggs_process_list_release(&list);
    ggs_trace_give_back(&borrowed);
}

// Which of the tables that a machine has to tell the recording holds.
static void put_tables(struct ggs_json * json, const struct ggs_trace * trace) {
    static const enum ggs_trace_table tables[] = {GGS_TABLE_FAULTS, GGS_TABLE_BLOCK_REQUESTS, GGS_TABLE_RESIDENCY,
                                                  GGS_TABLE_PAGES, GGS_TABLE_READS};
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        ggs_json_bool(json, ggs_trace_schema(tables[i])->name, ggs_reader_rows(trace->reader, tables[i]) > 0);
}

static void put_recorded(struct ggs_json * json, const struct ggs_trace * trace) {
    ggs_json_object_inline(json, "has");
    put_tables(json, trace);
    ggs_json_end(json);
}

static void put_has(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_model_map * map) {
    bool experts = map->experts > 0;
    for (uint64_t i = 0; !experts && i < map->n; i++) experts = map->places[i].experts > 0;
    ggs_json_object_inline(json, "has");
    ggs_json_bool(json, "experts", experts);
    put_tables(json, trace);
    ggs_json_end(json);
}

static void put_warning(struct ggs_json * json, const struct ggs_trace * trace) {
    const char * warning = ggs_reader_warning(trace->reader);
    char         text[512];
    if (trace->damaged > 0) {
        snprintf(text, sizeof(text), "%s%s%llu damaged chunk%s left out: every figure is of what is intact",
                 warning == NULL ? "" : warning, warning == NULL ? "" : "; ", (unsigned long long) trace->damaged,
                 trace->damaged == 1 ? " is" : "s are");
        warning = text;
    }
    ggs_json_string(json, "warning", warning);
}

static void put_conditions(struct ggs_json * json, struct ggs_json_value root) {
    ggs_json_bool(json, "times_distorted",
                  ggs_json_is_true(ggs_json_member(ggs_json_member(root, "settings"), "prove")));
    struct ggs_json_value machine = ggs_json_member(root, "machine");
    put_number(json, "memory_limit", machine, "memory_limit");
    ggs_json_bool(json, "cold", ggs_json_is_there(ggs_json_member(machine, "cold")));
}

static int put_all(struct ggs_json * json, const struct ggs_summary * summary, struct ggs_json_value root,
                   struct ggs_error * error) {
    static const struct ggs_field fields[] = {
        GGS_FIELD(struct ggs_summary, name, "name"),
        GGS_FIELD(struct ggs_summary, directory, "directory"),
        GGS_FIELD(struct ggs_summary, state, "state"),
        GGS_FIELD(struct ggs_summary, live, "live"),
        {0},
    };
    const struct ggs_trace * trace = summary->trace;
    ggs_answer_experiment(json, trace);
    ggs_fields_members(json, fields, summary);
    put_warning(json, trace);
    put_machine(json, root);
    put_model(json, trace, summary->map);
    int status = put_prompt(trace, json, root, error);
    ggs_json_i64(json, "begin_ns", summary->overview->begin_ns);
    ggs_json_i64(json, "end_ns", summary->overview->end_ns);
    ggs_json_string(json, "step_kind", ggs_word_step(trace));
    struct ggs_windows windows;
    struct ggs_trace   borrowed = ggs_trace_borrow(trace);
    if (status == 0) status = ggs_windows_read(&windows, &borrowed, error);
    if (status < 0) windows = (struct ggs_windows){0};
    ggs_windows_answer(json, trace, &windows);
    ggs_windows_release(&windows);
    ggs_json_u64(json, "page_bytes", ggs_trace_page_size(&borrowed));
    ggs_trace_give_back(&borrowed);
    put_counts(json, summary->overview);
    put_lanes(json, trace, summary->overview);
    put_processes(json, trace);
    ggs_json_array_inline(json, "level_ns");
    for (unsigned i = 0; i < summary->n_levels; i++) ggs_json_u64(json, NULL, 1ull << summary->levels[i]);
    ggs_json_end(json);
    put_has(json, trace, summary->map);
    put_conditions(json, root);
    return status;
}

int ggs_summary_write(struct ggs_json * json, const struct ggs_summary * summary, struct ggs_error * error) {
    const char * experiment = ggs_reader_experiment(summary->trace->reader);
    ggs_json_object(json, NULL);
    int status = put_all(json, summary, ggs_json_read(experiment, strlen(experiment)), error);
    ggs_json_end(json);
    return status;
}

int ggs_summary_write_short(struct ggs_json * json, const struct ggs_summary * summary, struct ggs_error * error) {
    const struct ggs_trace * trace      = summary->trace;
    const char *             experiment = ggs_reader_experiment(trace->reader), *name;
    struct ggs_json_value    root       = ggs_json_read(experiment, strlen(experiment));
    uint64_t                 bytes;
    bool                     model = find_model(trace, &name, &bytes);
    put_machine(json, root);
    if (model) {
        ggs_json_object_inline(json, "model");
        ggs_json_string(json, "name", name);
        ggs_json_u64(json, "bytes", bytes);
        ggs_json_end(json);
    } else {
        ggs_json_null(json, "model");
    }
    int status = put_prompt(trace, json, root, error);
    ggs_json_i64(json, "begin_ns", summary->overview->begin_ns);
    ggs_json_i64(json, "end_ns", summary->overview->end_ns);
    ggs_json_string(json, "step_kind", ggs_word_step(trace));
    put_counts(json, summary->overview);
    put_recorded(json, trace);
    put_conditions(json, root);
    ggs_json_u64(json, "trace_bytes", ggs_reader_size(trace->reader));
    return status;
}
