// The tables that a trace has almost as they are.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "export/facts.h"
#include "export/tables/tables.h"
#include "gguf/gguf-name.h"

static int put_row(const struct ggs_sink * sink, const struct ggs_row * row, struct ggs_error * error) {
    return sink->row(sink->context, row->cells, error);
}

// ---- runs ----

static void fill_run(struct ggs_row * row, struct ggs_export * export, const struct ggs_run * run) {
    ggs_row_begin(row);
    ggs_row_integer(row, (int64_t) run->run);
    ggs_row_integer(row, (int64_t) run->graph);
    ggs_row_natural(row, run->step);
    ggs_row_text(row, ggs_word_phase(run->phase));
    ggs_row_text(row, ggs_reader_string(export->trace.reader, run->backend));
    ggs_row_integer(row, (int64_t) run->threads);
    ggs_row_integer(row, (int64_t) run->os_thread);
    ggs_row_integer(row, run->begin_ns);
    ggs_row_integer(row, run->end_ns);
    ggs_row_integer(row, run->status);
    ggs_row_integer(row, (run->flags & GGS_RUN_INTERRUPTED) != 0);
    const uint64_t counts[] = {run->nodes,  run->executed, run->absorbed, run->empty,   run->skipped,
                               run->opaque, run->unseen,   run->cut,      run->op_runs, run->lost};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) ggs_row_integer(row, (int64_t) counts[i]);
    ggs_row_id(row, run->decode);
}

int ggs_rows_runs(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_run      run;
    struct ggs_row      row;
    int                 status = ggs_cursor_open(&cursor, export->trace.reader, GGS_TABLE_RUNS, error);
    if (status == 0 && export->options->steps)
        status = ggs_cursor_steps(cursor, export->options->first_step, export->options->last_step, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &run, error)) > 0) {
        fill_run(&row, export, &run);
        status = put_row(sink, &row, error);
    }
    ggs_cursor_close(cursor);
    return status;
}

// ---- tokens ----

// What was fed in a step, as text; NULL where it is not known.
static const char * text_of_step(struct ggs_export * export, struct ggs_cursor * cursor, const struct ggs_step * step,
                                 struct ggs_text * text) {
    struct ggs_token token;
    bool             known = false;
    ggs_text_clear(text);
    ggs_cursor_range(cursor, step->first_token, step->tokens);
    while (ggs_cursor_next(cursor, &token, NULL) > 0) known |= ggs_facts_token(export->facts, token.token, text) != 0;
    ggs_text_make_valid(text);
    return known ? ggs_text_string(text) : NULL;
}

int ggs_rows_tokens(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error) {
    struct ggs_cursor *cursor = NULL, *tokens = NULL;
    struct ggs_step    step;
    struct ggs_row     row;
    struct ggs_text    text   = {0};
    int                status = ggs_export_steps(export, &cursor, error);
    if (status == 0) status = ggs_cursor_open(&tokens, export->trace.reader, GGS_TABLE_TOKENS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &step, error)) > 0) {
        ggs_row_begin(&row);
        ggs_row_integer(&row, step.step);
        ggs_row_text(&row, ggs_word_phase(step.phase));
        ggs_row_integer(&row, (int64_t) step.context);
        ggs_row_integer(&row, step.begin_ns);
        ggs_row_integer(&row, step.end_ns);
        ggs_row_integer(&row, (int64_t) step.runs);
        ggs_row_integer(&row, (int64_t) step.tokens);
        ggs_row_integer(&row, (int64_t) step.decodes);
        ggs_row_text(&row, text_of_step(export, tokens, &step, &text));
        status = text.failed ? ggs_fail_memory(error) : put_row(sink, &row, error);
    }
    ggs_cursor_close(cursor);
    ggs_cursor_close(tokens);
    ggs_text_release(&text);
    return status;
}

int ggs_rows_inputs(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_token    token;
    struct ggs_row      row;
    struct ggs_text     text   = {0};
    int                 status = ggs_cursor_open(&cursor, export->trace.reader, GGS_TABLE_TOKENS, error);
    if (status == 0)
        ggs_cursor_keys(cursor,
                        export->options->steps && export->options->first_step > 0 ? export->options->first_step : 0,
                        export->options->steps ? export->options->last_step : INT64_MAX);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &token, error)) > 0) {
        ggs_text_clear(&text);
        int known = ggs_facts_token(export->facts, token.token, &text);
        ggs_text_make_valid(&text);
        ggs_row_begin(&row);
        ggs_row_integer(&row, token.step);
        ggs_row_integer(&row, (int64_t) token.index);
        ggs_row_natural(&row, token.token);
        ggs_row_integer(&row, token.position);
        ggs_row_integer(&row, token.sequence);
        ggs_row_integer(&row, (int64_t) token.output);
        ggs_row_id(&row, token.decode);
        ggs_row_text(&row, known ? ggs_text_string(&text) : NULL);
        status = text.failed ? ggs_fail_memory(error) : put_row(sink, &row, error);
    }
    ggs_cursor_close(cursor);
    ggs_text_release(&text);
    return status;
}

// ---- tensors, buffers, files, transfers ----

static void fill_tensor(struct ggs_row * row, struct ggs_export * export, const struct ggs_tensor * t,
                        char component[GGS_COMPONENT_LENGTH]) {
    const char *    name  = ggs_tensor_name_of(export, t->tensor);
    struct ggs_name parts = ggs_name_parse(name, strlen(name));
    ggs_row_begin(row);
    ggs_row_integer(row, (int64_t) t->tensor);
    ggs_row_text(row, name);
    ggs_row_text(row, ggs_word_type(export, t->type));
    ggs_row_natural(row, export->trace.layers[t->tensor - 1]);
    ggs_row_text(row, ggs_category_name(parts.category));
    ggs_row_text(row, ggs_name_component(component, GGS_COMPONENT_LENGTH, &parts, -1));
    ggs_row_integer(row, (int64_t) ggs_tensor_extent(&export->trace, t));
    for (int i = 0; i < 4; i++) ggs_row_integer(row, t->ne[i]);
    for (int i = 0; i < 4; i++) ggs_row_integer(row, (int64_t) t->nb[i]);
    ggs_row_integer(row, (int64_t) t->flags);
    ggs_row_integer(row, (int64_t) t->address);
    ggs_row_text(row, ggs_word_source(t->source));
    ggs_row_id(row, t->file);
    ggs_row_natural(row, t->file == 0 ? -1 : (int64_t) t->file_offset);
    ggs_row_id(row, t->buffer);
    ggs_row_natural(row, t->buffer == 0 ? -1 : (int64_t) t->buffer_offset);
    ggs_row_id(row, t->origin_file);
    ggs_row_natural(row, t->origin_file == 0 ? -1 : (int64_t) t->origin_offset);
    ggs_row_id(row, t->view);
    ggs_row_natural(row, t->view == 0 ? -1 : (int64_t) t->view_offset);
}

int ggs_rows_tensors(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error) {
    struct ggs_row row;
    char           component[GGS_COMPONENT_LENGTH];
    int            status = 0;
    for (uint64_t i = 0; status >= 0 && i < export->trace.n_tensors; i++) {
        fill_tensor(&row, export, &export->trace.tensors[i], component);
        status = put_row(sink, &row, error);
    }
    return status;
}

int ggs_rows_buffers(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error) {
    struct ggs_row row;
    int            status = 0;
    for (uint64_t i = 0; status >= 0 && i < export->trace.n_buffers; i++) {
        const struct ggs_buffer * b = &export->trace.buffers[i];
        ggs_row_begin(&row);
        ggs_row_integer(&row, (int64_t) b->buffer);
        ggs_row_text(&row, ggs_reader_string(export->trace.reader, b->type));
        ggs_row_text(&row, ggs_word_class(b->class_));
        ggs_row_text(&row, ggs_word_usage(b->usage));
        ggs_row_integer(&row, (int64_t) b->size);
        ggs_row_integer(&row, (int64_t) b->address);
        ggs_row_integer(&row, (int64_t) b->host);
        ggs_row_id(&row, b->file);
        ggs_row_id(&row, b->load);
        ggs_row_integer(&row, b->begin_ns);
        ggs_row_natural(&row, b->end_ns);
        status = put_row(sink, &row, error);
    }
    return status;
}

int ggs_rows_files(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error) {
    struct ggs_row row;
    int            status = 0;
    for (uint64_t i = 0; status >= 0 && i < export->trace.n_files; i++) {
        const struct ggs_file * f = &export->trace.files[i];
        ggs_row_begin(&row);
        ggs_row_integer(&row, (int64_t) f->file);
        ggs_row_text(&row, ggs_export_valid(export, ggs_reader_string(export->trace.reader, f->path)));
        ggs_row_integer(&row, (int64_t) f->size);
        ggs_row_integer(&row, f->mtime_ns);
        ggs_row_id(&row, f->load);
        ggs_row_integer(&row, f->gguf != 0);
        status = put_row(sink, &row, error);
    }
    return status;
}

int ggs_rows_transfers(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_transfer t;
    struct ggs_row      row;
    int                 status = ggs_cursor_open(&cursor, export->trace.reader, GGS_TABLE_TRANSFERS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &t, error)) > 0) {
        ggs_row_begin(&row);
        ggs_row_integer(&row, (int64_t) ggs_cursor_row(cursor));
        ggs_row_text(&row, ggs_word_transfer(t.kind));
        ggs_row_text(&row, ggs_export_valid(export, ggs_reader_string(export->trace.reader, t.name)));
        ggs_row_integer(&row, (int64_t) t.bytes);
        ggs_row_integer(&row, t.begin_ns);
        ggs_row_integer(&row, (int64_t) t.duration_ns);
        ggs_row_integer(&row, t.async != 0);
        ggs_row_integer(&row, (int64_t) t.from);
        ggs_row_integer(&row, (int64_t) t.to);
        ggs_row_id(&row, t.from_buffer);
        ggs_row_id(&row, t.to_buffer);
        ggs_row_id(&row, t.file);
        ggs_row_natural(&row, t.file == 0 ? -1 : (int64_t) t.file_offset);
        status = put_row(sink, &row, error);
    }
    ggs_cursor_close(cursor);
    return status;
}

// ---- experiment ----

static void put_fact(struct ggs_row * row, const struct ggs_facts * facts, const char * path) {
    int64_t number;
    if (ggs_facts_number(facts, path, &number)) {
        ggs_row_integer(row, number);
    } else {
        ggs_row_null(row);
    }
}

static void command_of(const struct ggs_facts * facts, struct ggs_text * text) {
    struct ggs_json json;
    const char *    word;
    ggs_json_init(&json, ggs_json_to_text, text, false);
    ggs_json_array(&json, NULL);
    for (size_t i = 0; (word = ggs_facts_command(facts, i)) != NULL; i++) ggs_json_string(&json, NULL, word);
    ggs_json_end(&json);
    ggs_json_finish(&json);
}

int ggs_rows_experiment(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error) {
    const struct ggs_facts * facts = export->facts;
    struct ggs_row           row;
    struct ggs_text          command = {0};
    command_of(facts, &command);
    ggs_row_begin(&row);
    ggs_row_text(&row, export->id);
    ggs_row_text(&row, ggs_facts_text(facts, "ggscope_version"));
    ggs_row_text(&row, ggs_facts_text(facts, "state"));
    ggs_row_text(&row, ggs_facts_text(facts, "start_utc"));
    put_fact(&row, facts, "start_monotonic_ns");
    put_fact(&row, facts, "duration_ns");
    ggs_row_text(&row, ggs_text_string(&command));
    ggs_row_text(&row, ggs_facts_text(facts, "working_directory"));
    ggs_row_text(&row, ggs_facts_text(facts, "model"));
    ggs_row_text(&row, ggs_facts_prompt(facts));
    put_fact(&row, facts, "exit_status");
    put_fact(&row, facts, "process_id");
    put_fact(&row, facts, "threads");
    ggs_row_text(&row, ggs_facts_text(facts, "engine.ggml_version"));
    ggs_row_text(&row, ggs_facts_text(facts, "engine.ggml_commit"));
    ggs_row_text(&row, ggs_facts_text(facts, "engine.llama_version"));
    ggs_row_text(&row, ggs_facts_text(facts, "host.cpu"));
    put_fact(&row, facts, "host.cores");
    put_fact(&row, facts, "host.memory_bytes");
    ggs_row_text(&row, ggs_facts_text(facts, "host.kernel"));
    ggs_row_text(&row, ggs_facts_text(facts, "host.os"));
    ggs_row_text(&row, ggs_reader_warning(export->trace.reader));
    int status = command.failed ? ggs_fail_memory(error) : put_row(sink, &row, error);
    ggs_text_release(&command);
    return status;
}
