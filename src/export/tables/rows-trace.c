// Tables that are nearly the same in the trace: runs, tokens, inputs, tensors, buffers, files,
// transfers.
#include <stdlib.h>
#include <string.h>

#include "analyze/requests/cell-numbers.h"
#include "base/array.h"
#include "base/error.h"
#include "base/text.h"
#include "export/metadata.h"
#include "export/tables/tables.h"
#include "gguf/gguf-name.h"

// Converts a time of the recording to UTC; null if the trace has no start time.
static void put_utc(const struct ggs_export * export, int64_t ns, struct ggs_cell * cell) {
    cell->null    = export->start_utc_ns < 0 || ns < 0;
    cell->integer = export->start_utc_ns + ns;
}

// ---- runs ----

static void run_utc(struct ggs_export * export, const void * const * parts, struct ggs_cell * cell) {
    put_utc(export, ((const struct ggs_run *) parts[0])->begin_ns, cell);
}

#define RUN(member) GGS_MEMBER(0, struct ggs_run, member)
static const struct ggs_table_field runs[] = {
    {"run", GGS_CELL_INTEGER, RUN(run), "graph run, from 1"},
    {"graph", GGS_CELL_INTEGER, RUN(graph), "graphs.graph"},
    {"token", GGS_CELL_INTEGER, GGS_MEMBER_OR_NONE(0, struct ggs_run, step), "token step: tokens.token"},
    {"phase", GGS_CELL_TEXT, GGS_MEMBER_WORD(0, struct ggs_run, phase, ggs_word_phase),
     "PROMPT, GENERATE, MIXED, VERIFY, GRAPH, WARMUP or NONE"},
    {"backend", GGS_CELL_TEXT, GGS_MEMBER_STRING(0, struct ggs_run, backend), "the backend's name"},
    {"threads", GGS_CELL_INTEGER, RUN(threads), "threads that computed it"},
    {"os_thread", GGS_CELL_INTEGER, RUN(os_thread), "the thread that called for it"},
    {"begin_ns", GGS_CELL_INTEGER, RUN(begin_ns), "begin"},
    {"end_ns", GGS_CELL_INTEGER, RUN(end_ns), "end"},
    {"begin_utc", GGS_CELL_TIME, GGS_CALL_OR_NONE(run_utc), "begin, UTC"},
    {"status", GGS_CELL_INTEGER, RUN(status), "what the engine returned"},
    {"interrupted", GGS_CELL_BOOLEAN, GGS_MEMBER_TEST(0, struct ggs_run, flags, GGS_RUN_INTERRUPTED),
     "cut off, no end was seen"},
    {"nodes", GGS_CELL_INTEGER, RUN(nodes), "nodes of the graph: the sum of the next seven"},
    {"executed", GGS_CELL_INTEGER, RUN(executed), "computed: one op each"},
    {"absorbed", GGS_CELL_INTEGER, RUN(absorbed), "computed together with the node before"},
    {"empty", GGS_CELL_INTEGER, RUN(empty), "views and the like, which compute nothing"},
    {"skipped", GGS_CELL_INTEGER, RUN(skipped),
     "not computed by the engine's choice; or by a server, whose run is peer"},
    {"opaque", GGS_CELL_INTEGER, RUN(opaque), "on a backend that is seen as a whole only"},
    {"unseen", GGS_CELL_INTEGER, RUN(unseen), "seen by no hook"},
    {"cut", GGS_CELL_INTEGER, RUN(cut), "not reached when the run was interrupted"},
    {"op_runs", GGS_CELL_INTEGER, RUN(op_runs), "rows of op_runs"},
    {"lost", GGS_CELL_INTEGER, RUN(lost), "op runs that could not be kept"},
    {"decode", GGS_CELL_INTEGER, GGS_MEMBER_OR_0(0, struct ggs_run, decode), "number of the llama_decode call"},
    {"process", GGS_CELL_INTEGER, GGS_MEMBER_OR_0(0, struct ggs_run, process), "processes.process"},
    {"device", GGS_CELL_INTEGER, GGS_MEMBER_OR_0(0, struct ggs_run, device), "devices.device that computed it"},
    {"context", GGS_CELL_INTEGER, GGS_MEMBER_OR_NONE(0, struct ggs_run, context), "which of the program's contexts"},
    {"peer", GGS_CELL_INTEGER, GGS_MEMBER_OR_0(0, struct ggs_run, peer),
     "the same run in another process: that of the server, or of its client"},
};

static bool run_wanted(const struct ggs_export * export, const void * row) {
    return ggs_export_has_step(export, ((const struct ggs_run *) row)->step);
}

const struct ggs_flat_table ggs_table_runs = {
    .name        = "runs",
    .description = "One row per graph run.",
    .keys        = 1,
    GGS_FIELDS(runs),
    .rows    = GGS_TABLE_RUNS,
    .wanted  = run_wanted,
    .foreign = {{"graph", "graphs", NULL},
                {"token", "tokens", NULL},
                {"process", "processes", NULL},
                {"device", "devices", NULL}},
};

// ---- tokens ----

static void step_utc(struct ggs_export * export, const void * const * parts, struct ggs_cell * cell) {
    put_utc(export, ((const struct ggs_step *) parts[0])->begin_ns, cell);
}

#define STEP(member) GGS_MEMBER(0, struct ggs_step, member)
#define TEXT \
    { .from = GGS_FROM_TEXT, .null = GGS_NULL_TEXT, .part = 1 }
static const struct ggs_table_field tokens[] = {
    {"token", GGS_CELL_INTEGER, STEP(step),
     "token step: 0 is the prompt; in programs without tokens (phase GRAPH) a graph run"},
    {"phase", GGS_CELL_TEXT, GGS_MEMBER_WORD(0, struct ggs_step, phase, ggs_word_phase),
     "PROMPT, GENERATE, MIXED, VERIFY or GRAPH"},
    {"context", GGS_CELL_INTEGER, STEP(context), "which of the program's contexts, from 0"},
    {"begin_ns", GGS_CELL_INTEGER, STEP(begin_ns), "begin"},
    {"end_ns", GGS_CELL_INTEGER, STEP(end_ns), "end"},
    {"begin_utc", GGS_CELL_TIME, GGS_CALL_OR_NONE(step_utc), "begin, UTC"},
    {"runs", GGS_CELL_INTEGER, STEP(runs), "graph runs that belong to it"},
    {"inputs", GGS_CELL_INTEGER, STEP(tokens), "tokens that were fed: rows of inputs"},
    {"decodes", GGS_CELL_INTEGER, STEP(decodes), "llama_decode calls"},
    {"text", GGS_CELL_TEXT, TEXT, "what was fed, as text; null if the model's vocabulary cannot be read"},
};

// Returns the input of a step as text; NULL if it is unknown.
static const char * text_of_step(const struct ggs_export * export, struct ggs_cursor * cursor,
                                 const struct ggs_step * step, struct ggs_text * text) {
    struct ggs_token token;
    bool             known = false;
    ggs_text_clear(text);
    ggs_cursor_range(cursor, step->first_token, step->tokens);
    while (ggs_cursor_next(cursor, &token, NULL) > 0)
        known |= ggs_metadata_token(export->facts, token.token, text) != 0;
    ggs_text_make_valid(text);
    return known ? ggs_text_string(text) : NULL;
}

static int produce_tokens(const struct ggs_sink * sink, struct ggs_error * error) {
    struct ggs_cursor *cursor = NULL, *inputs = NULL;
    struct ggs_step    step;
    struct ggs_text    text   = {0};
    int                status = ggs_export_steps(sink->export, &cursor, error);
    if (status == 0) status = ggs_cursor_open(&inputs, sink->export->trace.reader, GGS_TABLE_TOKENS, error);
    while (status >= 0 && (status = ggs_export_next_step(sink->export, cursor, &step, error)) > 0) {
        const char * words = text_of_step(sink->export, inputs, &step, &text);
        status = text.failed ? ggs_fail_memory(error) : ggs_sink_put(sink, (const void *[]){&step, &words}, error);
    }
    ggs_cursor_close(cursor);
    ggs_cursor_close(inputs);
    ggs_text_release(&text);
    return status;
}

const struct ggs_flat_table ggs_table_tokens = {
    .name        = "tokens",
    .description = "One row per token step, or per graph run in programs without tokens. Warm-up is left out.",
    .keys        = 1,
    GGS_FIELDS(tokens),
    .produce = produce_tokens,
};

// ---- inputs ----

#define INPUT(member) GGS_MEMBER(0, struct ggs_token, member)
static const struct ggs_table_field inputs[] = {
    {"token", GGS_CELL_INTEGER, INPUT(step), "token step: tokens.token"},
    {"input", GGS_CELL_INTEGER, INPUT(index), "which token of the step, from 0"},
    {"id", GGS_CELL_INTEGER, GGS_MEMBER_OR_NONE(0, struct ggs_token, token),
     "the token's number in the vocabulary; null for embeddings"},
    {"position", GGS_CELL_INTEGER, INPUT(position), "position in its sequence"},
    {"sequence", GGS_CELL_INTEGER, INPUT(sequence), "sequence"},
    {"output", GGS_CELL_BOOLEAN, GGS_MEMBER_TEST(0, struct ggs_token, output, UINT64_MAX),
     "the engine was asked for its output"},
    {"output_read", GGS_CELL_TEXT, GGS_MEMBER_WORD_OR_NONE(0, struct ggs_token, read, ggs_word_output_read),
     "whether the program read its output: yes or no; null if it has none, or if reading was not seen"},
    {"decode", GGS_CELL_INTEGER, GGS_MEMBER_OR_0(0, struct ggs_token, decode), "number of the llama_decode call"},
    {"text", GGS_CELL_TEXT, TEXT, "the token as text"},
    {"cell",
     GGS_CELL_INTEGER,
     {.from = GGS_FROM_I64, .null = GGS_NULL_NEGATIVE, .part = 2},
     "the cell of the context's memory that its keys were written to; null if that was not seen"},
};

struct inputs {
    const struct ggs_sink * sink;
    struct ggs_text         text;
    struct ggs_cell_numbers numbers;
    bool                    cells; // wanted
    // of a batch
    struct ggs_token * tokens;
    uint64_t           n, capacity;
    int64_t *          position, *sequence;
    uint64_t           position_capacity, sequence_capacity;
};

static int find_cells(struct inputs * in, struct ggs_error * error) {
    if (!ggs_array_reserve(in->position, in->position_capacity, in->n) ||
        !ggs_array_reserve(in->sequence, in->sequence_capacity, in->n))
        return ggs_fail_memory(error);
    for (uint64_t i = 0; i < in->n; i++)
        in->position[i] = in->tokens[i].position, in->sequence[i] = in->tokens[i].sequence;
    struct ggs_sequence_batch batch = {.decode   = in->tokens[0].decode,
                                       .step     = in->tokens[0].step,
                                       .n        = in->n,
                                       .position = in->position,
                                       .sequence = in->sequence};
    return ggs_cell_numbers_find(&in->numbers, &batch, error);
}

static int put_inputs(struct inputs * in, struct ggs_error * error) {
    int status = in->cells && in->n > 0 ? find_cells(in, error) : 0;
    for (uint64_t i = 0; status == 0 && i < in->n; i++) {
        int64_t cell = in->cells ? in->numbers.cell[i] : -1;
        ggs_text_clear(&in->text);
        int known = ggs_metadata_token(in->sink->export->facts, in->tokens[i].token, &in->text);
        ggs_text_make_valid(&in->text);
        const char * words = known ? ggs_text_string(&in->text) : NULL;
        status             = in->text.failed ? ggs_fail_memory(error)
                                             : ggs_sink_put(in->sink, (const void *[]){&in->tokens[i], &words, &cell}, error);
    }
    in->n = 0;
    return status;
}

static int produce_inputs(const struct ggs_sink * sink, struct ggs_error * error) {
    const struct ggs_export_options * o      = sink->export->options;
    struct inputs                     in     = {.sink = sink};
    struct ggs_cursor *               cursor = NULL;
    struct ggs_token                  token;
    in.cells   = sink->columns == 0 || (sink->columns >> (sizeof(inputs) / sizeof(inputs[0]) - 1) & 1) != 0;
    int status = ggs_cursor_open(&cursor, sink->export->trace.reader, GGS_TABLE_TOKENS, error);
    if (status == 0 && in.cells) status = ggs_cell_numbers_open(&in.numbers, &sink->export->trace, error);
    if (status == 0)
        ggs_cursor_keys(cursor, o->steps && o->first_step > 0 ? o->first_step : 0, o->steps ? o->last_step : INT64_MAX);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &token, error)) > 0) {
        if (!ggs_trace_has_step(&sink->export->trace, token.step)) continue;
        if (in.n > 0 && (in.tokens[0].decode != token.decode || in.tokens[0].step != token.step))
            status = put_inputs(&in, error);
        if (status >= 0 && !ggs_array_push(in.tokens, in.n, in.capacity, token)) status = ggs_fail_memory(error);
    }
    if (status == 0) status = put_inputs(&in, error);
    ggs_cursor_close(cursor);
    ggs_cell_numbers_close(&in.numbers);
    ggs_text_release(&in.text);
    free(in.tokens);
    free(in.position);
    free(in.sequence);
    return status;
}

const struct ggs_flat_table ggs_table_inputs = {
    .name        = "inputs",
    .description = "One row per token that was fed to the model.",
    .keys        = 2,
    GGS_FIELDS(inputs),
    .produce = produce_inputs,
    .foreign = {{"token", "tokens", NULL}},
};

// ---- tensors ----

struct tensor_row {
    const char *name, *type, *category;
    char        component[GGS_COMPONENT_LENGTH];
    int         layer;
    uint64_t    bytes;
};

#define TENSOR(member)             GGS_MEMBER(0, struct ggs_tensor, member)
#define TENSOR_0(member)           GGS_MEMBER_OR_0(0, struct ggs_tensor, member)
#define TENSOR_WITH(member, other) GGS_MEMBER_WITH(0, struct ggs_tensor, member, other)
#define NAMED(member)              GGS_MEMBER(1, struct tensor_row, member)
static const struct ggs_table_field tensors[] = {
    {"tensor", GGS_CELL_INTEGER, TENSOR(tensor), "tensor, from 1"},
    {"name", GGS_CELL_TEXT, NAMED(name), "name"},
    {"type", GGS_CELL_TEXT, NAMED(type), "ggml's name of the type: f32, q4_K"},
    {"layer", GGS_CELL_INTEGER, GGS_MEMBER_OR_NONE(1, struct tensor_row, layer), "layer"},
    {"category", GGS_CELL_TEXT, NAMED(category), "of weights: input, attention, ffn, norm, output; other for all else"},
    {"component", GGS_CELL_TEXT, NAMED(component), "of weights, in words: Attention Q, FFN Down Experts"},
    {"bytes", GGS_CELL_INTEGER, NAMED(bytes), "from its first to its last byte"},
    {"ne0", GGS_CELL_INTEGER, TENSOR(ne[0]), "elements of the first dimension"},
    {"ne1", GGS_CELL_INTEGER, TENSOR(ne[1]), "second dimension"},
    {"ne2", GGS_CELL_INTEGER, TENSOR(ne[2]), "third dimension"},
    {"ne3", GGS_CELL_INTEGER, TENSOR(ne[3]), "fourth dimension"},
    {"nb0", GGS_CELL_INTEGER, TENSOR(nb[0]), "stride of the first dimension in bytes"},
    {"nb1", GGS_CELL_INTEGER, TENSOR(nb[1]), "second dimension"},
    {"nb2", GGS_CELL_INTEGER, TENSOR(nb[2]), "third dimension"},
    {"nb3", GGS_CELL_INTEGER, TENSOR(nb[3]), "fourth dimension"},
    {"flags", GGS_CELL_INTEGER, TENSOR(flags), "ggml's: 1 input, 2 output, 4 parameter, 8 loss, 16 compute"},
    {"address", GGS_CELL_INTEGER, TENSOR(address), "in the program's memory"},
    {"source", GGS_CELL_TEXT, GGS_MEMBER_WORD_OR_NONE(0, struct ggs_tensor, source, ggs_word_source),
     "DISK: in a mapped file; VRAM: in the memory of a device; BUFFER: anything else"},
    {"file", GGS_CELL_INTEGER, TENSOR_0(file), "DISK: files.file"},
    {"file_offset", GGS_CELL_INTEGER, TENSOR_WITH(file_offset, file), "DISK: where it begins in the file"},
    {"buffer", GGS_CELL_INTEGER, TENSOR_0(buffer), "buffers.buffer"},
    {"buffer_offset", GGS_CELL_INTEGER, TENSOR_WITH(buffer_offset, buffer), "where it begins in the buffer"},
    {"origin_file", GGS_CELL_INTEGER, TENSOR_0(origin_file), "BUFFER, VRAM: files.file that it was copied from"},
    {"origin_offset", GGS_CELL_INTEGER, TENSOR_WITH(origin_offset, origin_file), "where it begins in that file"},
    {"view", GGS_CELL_INTEGER, TENSOR_0(view), "the tensor that it is a view of"},
    {"view_offset", GGS_CELL_INTEGER, TENSOR_WITH(view_offset, view), "where it begins in that tensor"},
    {"packed_bytes", GGS_CELL_INTEGER, TENSOR_0(packed_bytes),
     "its size in a layout of the buffer's own (AMX); null: as its type and shape say"},
};

static int produce_tensors(const struct ggs_sink * sink, struct ggs_error * error) {
    const struct ggs_trace * trace  = &sink->export->trace;
    int                      status = 0;
    for (uint64_t i = 0; status >= 0 && i < trace->n_tensors; i++) {
        const struct ggs_tensor * t     = &trace->tensors[i];
        const char *              name  = ggs_tensor_name(sink->export, t);
        struct ggs_name           parts = ggs_name_parse(name, strlen(name));
        struct tensor_row         row   = {.name     = name,
                                           .type     = ggs_word_type(sink->export, t->type),
                                           .category = ggs_category_name(parts.category),
                                           .layer    = trace->layers[i],
                                           .bytes    = ggs_trace_extent(trace, t)};
        ggs_name_component(row.component, sizeof(row.component), &parts, -1);
        status = ggs_sink_put(sink, (const void *[]){t, &row}, error);
    }
    return status;
}

const struct ggs_flat_table ggs_table_tensors = {
    .name        = "tensors",
    .description = "One row per tensor: weights, inputs, results of nodes, views.",
    .keys        = 1,
    GGS_FIELDS(tensors),
    .produce = produce_tensors,
    .foreign = {{"file", "files", NULL},
                {"buffer", "buffers", NULL},
                {"origin_file", "files", "file"},
                {"view", "tensors", "tensor"}},
};

// ---- buffers, files ----

#define BUFFER(member)   GGS_MEMBER(0, struct ggs_buffer, member)
#define BUFFER_0(member) GGS_MEMBER_OR_0(0, struct ggs_buffer, member)
static const struct ggs_table_field buffers[] = {
    {"buffer", GGS_CELL_INTEGER, BUFFER(buffer), "buffer, from 1"},
    {"type", GGS_CELL_TEXT, GGS_MEMBER_STRING(0, struct ggs_buffer, type), "ggml's name of the buffer type"},
    {"class", GGS_CELL_TEXT, GGS_MEMBER_WORD(0, struct ggs_buffer, class_, ggs_word_class),
     "weights, kv, compute, io or other"},
    {"usage", GGS_CELL_TEXT, GGS_MEMBER_WORD(0, struct ggs_buffer, usage, ggs_word_usage),
     "ggml's: any, weights or compute"},
    {"bytes", GGS_CELL_INTEGER, BUFFER(size), "size"},
    {"address", GGS_CELL_INTEGER, BUFFER(address), "in the program's memory"},
    {"host", GGS_CELL_BOOLEAN, GGS_MEMBER_TEST(0, struct ggs_buffer, host, UINT64_MAX), "readable by the CPU"},
    {"file", GGS_CELL_INTEGER, BUFFER_0(file), "it lies in a mapping of this file: files.file"},
    {"load", GGS_CELL_INTEGER, BUFFER_0(load), "number of the model load that made it"},
    {"begin_ns", GGS_CELL_INTEGER, BUFFER(begin_ns), "allocated"},
    {"end_ns", GGS_CELL_INTEGER, GGS_MEMBER_OR_NONE(0, struct ggs_buffer, end_ns), "freed; null if it never was"},
    {"process", GGS_CELL_INTEGER, BUFFER_0(process), "processes.process"},
    {"device", GGS_CELL_INTEGER, BUFFER_0(device), "devices.device whose own memory it is; null for the host's"},
};

const struct ggs_flat_table ggs_table_buffers = {
    .name        = "buffers",
    .description = "One row per buffer of the engine.",
    .keys        = 1,
    GGS_FIELDS(buffers),
    .rows    = GGS_TABLE_BUFFERS,
    .foreign = {{"file", "files", NULL}, {"process", "processes", NULL}, {"device", "devices", NULL}},
};

static const struct ggs_table_field files[] = {
    {"file", GGS_CELL_INTEGER, GGS_MEMBER(0, struct ggs_file, file), "file, from 1"},
    {"path", GGS_CELL_TEXT, GGS_MEMBER_STRING(0, struct ggs_file, path), "path"},
    {"bytes", GGS_CELL_INTEGER, GGS_MEMBER(0, struct ggs_file, size), "size when the trace was sealed"},
    {"mtime_utc", GGS_CELL_TIME, GGS_MEMBER_OR_0(0, struct ggs_file, mtime_ns), "last change; null if it was gone"},
    {"load", GGS_CELL_INTEGER, GGS_MEMBER_OR_0(0, struct ggs_file, load), "number of the model load that opened it"},
    {"gguf", GGS_CELL_BOOLEAN, GGS_MEMBER_TEST(0, struct ggs_file, gguf, UINT64_MAX), "the engine opened it as GGUF"},
};

const struct ggs_flat_table ggs_table_files = {
    .name        = "files",
    .description = "One row per mapped file.",
    .keys        = 1,
    GGS_FIELDS(files),
    .rows = GGS_TABLE_FILES,
};

// ---- transfers ----

#define TRANSFER(member)   GGS_MEMBER(0, struct ggs_transfer, member)
#define TRANSFER_0(member) GGS_MEMBER_OR_0(0, struct ggs_transfer, member)
static const struct ggs_table_field transfers[] = {
    {"transfer", GGS_CELL_INTEGER, {.from = GGS_FROM_U64, .part = 1}, "number, from 0"},
    {"kind", GGS_CELL_TEXT, GGS_MEMBER_WORD(0, struct ggs_transfer, kind, ggs_word_transfer),
     "host to tensor, tensor to host, tensor to tensor"},
    {"name", GGS_CELL_TEXT, GGS_MEMBER_STRING(0, struct ggs_transfer, name), "name of the tensor"},
    {"bytes", GGS_CELL_INTEGER, TRANSFER(bytes), "bytes moved"},
    {"begin_ns", GGS_CELL_INTEGER, TRANSFER(begin_ns), "begin"},
    {"duration_ns", GGS_CELL_INTEGER, TRANSFER(duration_ns), "to its end"},
    {"async", GGS_CELL_BOOLEAN, GGS_MEMBER_TEST(0, struct ggs_transfer, async, UINT64_MAX), "the call did not wait"},
    {"from_address", GGS_CELL_INTEGER, TRANSFER(from), "in the program's memory"},
    {"to_address", GGS_CELL_INTEGER, TRANSFER(to), "in the program's memory"},
    {"from_buffer", GGS_CELL_INTEGER, TRANSFER_0(from_buffer), "buffers.buffer; null for other memory"},
    {"to_buffer", GGS_CELL_INTEGER, TRANSFER_0(to_buffer), "buffers.buffer; null for other memory"},
    {"file", GGS_CELL_INTEGER, TRANSFER_0(file), "the bytes came from a mapping of this file: files.file"},
    {"file_offset", GGS_CELL_INTEGER, GGS_MEMBER_WITH(0, struct ggs_transfer, file_offset, file), "where in that file"},
    {"process", GGS_CELL_INTEGER, TRANSFER_0(process), "processes.process"},
    {"peer", GGS_CELL_INTEGER, TRANSFER_0(peer), "the process at the other end of the wire: processes.process"},
};

const struct ggs_flat_table ggs_table_transfers = {
    .name        = "transfers",
    .description = "One row per copy into, out of or between tensors.",
    .keys        = 1,
    GGS_FIELDS(transfers),
    .rows    = GGS_TABLE_TRANSFERS,
    .foreign = {{"from_buffer", "buffers", "buffer"}, {"to_buffer", "buffers", "buffer"}, {"file", "files", NULL}},
};
