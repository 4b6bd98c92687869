#include "export/tables/tables.h"

#include <string.h>

#include "base/text.h"

#define INTEGER  GGS_CELL_INTEGER, false
#define INTEGER_ GGS_CELL_INTEGER, true // may be null
#define REAL_    GGS_CELL_REAL, true
#define TEXT     GGS_CELL_TEXT, false
#define TEXT_    GGS_CELL_TEXT, true

static const struct ggs_field ops[] = {
    {"run", INTEGER, "graph run: runs.run"},
    {"node", INTEGER, "node of the run's graph: nodes.node"},
    {"graph", INTEGER, "graphs.graph"},
    {"token", INTEGER_, "token step: tokens.token; null for warm-up and for what belongs to no step"},
    {"phase", TEXT, "PROMPT, GENERATE, MIXED, WARMUP or NONE"},
    {"op", TEXT, "ggml's name of the operation"},
    {"name", TEXT, "name of the tensor that it computes"},
    {"tensor", INTEGER, "tensors.tensor of the same"},
    {"layer", INTEGER_, "layer, null outside of layers"},
    {"absorbed", INTEGER, "nodes that were computed together with this one"},
    {"threads", INTEGER, "op runs that it consists of"},
    {"begin_ns", INTEGER, "first thread's begin"},
    {"duration_ns", INTEGER, "first thread's begin to last thread's end"},
    {"busy_ns", INTEGER, "sum over threads, without waits"},
    {"wait_ns", INTEGER, "sum over threads: in barriers inside the op and after it"},
    {"bytes_read", INTEGER, "all operands that it reads: exact rows and experts where it is sparse"},
    {"bytes_written", INTEGER, "of its result"},
    {"bytes_disk", INTEGER, "how much of both lies in mapped files"},
    {"cut", INTEGER, "1: some thread's end was not seen"},
};

static const struct ggs_field op_runs[] = {
    {"run", INTEGER, "graph run: runs.run"},
    {"node", INTEGER, "with run: the op, ops.(run, node)"},
    {"thread", INTEGER, "index in the engine's pool"},
    {"token", INTEGER_, "token step: tokens.token"},
    {"os_thread", INTEGER, "the operating system's number of the thread"},
    {"begin_ns", INTEGER, "begin of the thread's share"},
    {"duration_ns", INTEGER, "to its end, waits inside included"},
    {"wait_ns", INTEGER, "in the barrier after the end"},
    {"inner_wait_ns", INTEGER, "in barriers inside; part of duration_ns"},
    {"ended", INTEGER, "0: it was cut off and its times are 0"},
    {"fused", INTEGER, "1: computed together with the nodes that follow"},
    {"extra", INTEGER, "1: computed by an extra buffer type (repacked weights, AMX)"},
};

static const struct ggs_field accesses[] = {
    {"run", INTEGER, "graph run: runs.run"},
    {"node", INTEGER, "with run: the op, ops.(run, node)"},
    {"token", INTEGER_, "token step: tokens.token"},
    {"slot", INTEGER_, "which source of the node; null for the result"},
    {"write", INTEGER, "1: written, 0: read"},
    {"tensor", INTEGER, "tensors.tensor"},
    {"exact", INTEGER, "1: rows or experts that index data named, 0: the whole operand"},
    {"offset", INTEGER, "where the range begins, from the operand's first byte"},
    {"bytes", INTEGER, "length of the range"},
    {"source", TEXT_, "DISK: in a mapped file; BUFFER: anything else"},
    {"file", INTEGER_, "DISK: files.file. BUFFER: the file that the bytes were copied from, where known"},
    {"file_offset", INTEGER_, "where the range begins in that file"},
    {"buffer", INTEGER_, "buffers.buffer that it lies in"},
    {"buffer_offset", INTEGER_, "where the range begins in that buffer"},
};

static const struct ggs_field experts[] = {
    {"run", INTEGER, "graph run: runs.run"},
    {"node", INTEGER, "the first MUL_MAT_ID node that uses the choice"},
    {"input", INTEGER, "which of the tokens that the layer computes: the last layer leaves out those without output"},
    {"rank", INTEGER, "which of its experts: 0 is the first choice"},
    {"token", INTEGER_, "token step: tokens.token"},
    {"layer", INTEGER_, "layer"},
    {"expert", INTEGER, "number of the expert"},
    {"weight", REAL_, "routing weight: what multiplies the expert's output"},
    {"probability", REAL_, "what the router gave, before it was scaled"},
};

static const struct ggs_field runs[] = {
    {"run", INTEGER, "graph run, from 1"},
    {"graph", INTEGER, "graphs.graph"},
    {"token", INTEGER_, "token step: tokens.token"},
    {"phase", TEXT, "PROMPT, GENERATE, MIXED, WARMUP or NONE"},
    {"backend", TEXT, "the backend's name"},
    {"threads", INTEGER, "threads that computed it"},
    {"os_thread", INTEGER, "the thread that called for it"},
    {"begin_ns", INTEGER, "begin"},
    {"end_ns", INTEGER, "end"},
    {"status", INTEGER, "what the engine returned"},
    {"interrupted", INTEGER, "1: cut off, no end was seen"},
    {"nodes", INTEGER, "nodes of the graph: the sum of the next seven"},
    {"executed", INTEGER, "computed: one op each"},
    {"absorbed", INTEGER, "computed together with the node before"},
    {"empty", INTEGER, "views and the like, which compute nothing"},
    {"skipped", INTEGER, "not computed by the engine's choice"},
    {"opaque", INTEGER, "on a backend that is seen as a whole only"},
    {"unseen", INTEGER, "seen by no hook"},
    {"cut", INTEGER, "not reached when the run was interrupted"},
    {"op_runs", INTEGER, "rows of op_runs"},
    {"lost", INTEGER, "op runs that could not be kept"},
    {"decode", INTEGER_, "number of the llama_decode call"},
};

static const struct ggs_field tokens[] = {
    {"token", INTEGER, "token step: 0 is the prompt"},
    {"phase", TEXT, "PROMPT, GENERATE or MIXED"},
    {"context", INTEGER, "which of the program's contexts, from 0"},
    {"begin_ns", INTEGER, "begin"},
    {"end_ns", INTEGER, "end"},
    {"runs", INTEGER, "graph runs that belong to it"},
    {"inputs", INTEGER, "tokens that were fed: rows of inputs"},
    {"decodes", INTEGER, "llama_decode calls"},
    {"text", TEXT_, "what was fed, as text; null where the model's vocabulary cannot be read"},
};

static const struct ggs_field inputs[] = {
    {"token", INTEGER, "token step: tokens.token"},
    {"input", INTEGER, "which token of the step, from 0"},
    {"id", INTEGER_, "the token's number in the vocabulary; null for embeddings"},
    {"position", INTEGER, "position in its sequence"},
    {"sequence", INTEGER, "sequence"},
    {"output", INTEGER, "1: the engine was asked for its output"},
    {"decode", INTEGER_, "number of the llama_decode call"},
    {"text", TEXT_, "the token as text"},
};

static const struct ggs_field graphs[] = {
    {"graph", INTEGER, "graph, from 1"},
    {"base", INTEGER_, "the graph that it differs from only in addresses"},
    {"nodes", INTEGER, "rows of nodes"},
    {"edges", INTEGER, "rows of edges"},
    {"begin_ns", INTEGER, "when it was first seen"},
    {"hash", TEXT, "of its topology, hexadecimal"},
};

static const struct ggs_field nodes[] = {
    {"graph", INTEGER, "graphs.graph"},
    {"node", INTEGER, "number in the graph, from 0, in the order of execution"},
    {"op", TEXT, "ggml's name of the operation"},
    {"name", TEXT, "name of the tensor that it computes"},
    {"tensor", INTEGER, "tensors.tensor of the same"},
    {"layer", INTEGER_, "layer"},
    {"category", TEXT, "input, attention, ffn, norm, output or other"},
    {"flags", INTEGER, "ggml's: 1 input, 2 output, 4 parameter, 8 loss, 16 compute"},
    {"parameters", TEXT_, "ggml's op_params: 16 numbers of 32 bits, hexadecimal, little endian; null where all are 0"},
};

static const struct ggs_field edges[] = {
    {"graph", INTEGER, "graphs.graph"},
    {"node", INTEGER, "the node that reads"},
    {"slot", INTEGER, "which of its sources, from 0"},
    {"tensor", INTEGER, "what it reads: tensors.tensor"},
    {"source_node", INTEGER_, "the node that computes it; null for weights and inputs"},
};

static const struct ggs_field tensors[] = {
    {"tensor", INTEGER, "tensor, from 1"},
    {"name", TEXT, "name"},
    {"type", TEXT, "ggml's name of the type: f32, q4_K"},
    {"layer", INTEGER_, "layer"},
    {"category", TEXT, "of weights: input, attention, ffn, norm, output; other for all else"},
    {"component", TEXT, "of weights, in words: Attention Q, FFN Down Experts"},
    {"bytes", INTEGER, "from its first to its last byte"},
    {"ne0", INTEGER, "elements of the first dimension"},
    {"ne1", INTEGER, "second dimension"},
    {"ne2", INTEGER, "third dimension"},
    {"ne3", INTEGER, "fourth dimension"},
    {"nb0", INTEGER, "stride of the first dimension in bytes"},
    {"nb1", INTEGER, "second dimension"},
    {"nb2", INTEGER, "third dimension"},
    {"nb3", INTEGER, "fourth dimension"},
    {"flags", INTEGER, "ggml's: 1 input, 2 output, 4 parameter, 8 loss, 16 compute"},
    {"address", INTEGER, "in the program's memory"},
    {"source", TEXT_, "DISK: in a mapped file; BUFFER: anything else"},
    {"file", INTEGER_, "DISK: files.file"},
    {"file_offset", INTEGER_, "DISK: where it begins in the file"},
    {"buffer", INTEGER_, "buffers.buffer"},
    {"buffer_offset", INTEGER_, "where it begins in the buffer"},
    {"origin_file", INTEGER_, "BUFFER: files.file that it was copied from"},
    {"origin_offset", INTEGER_, "where it begins in that file"},
    {"view", INTEGER_, "the tensor that it is a view of"},
    {"view_offset", INTEGER_, "where it begins in that tensor"},
};

static const struct ggs_field buffers[] = {
    {"buffer", INTEGER, "buffer, from 1"},
    {"type", TEXT, "ggml's name of the buffer type"},
    {"class", TEXT, "weights, kv, compute, io or other"},
    {"usage", TEXT, "ggml's: any, weights or compute"},
    {"bytes", INTEGER, "size"},
    {"address", INTEGER, "in the program's memory"},
    {"host", INTEGER, "1: readable by the CPU"},
    {"file", INTEGER_, "it lies in a mapping of this file: files.file"},
    {"load", INTEGER_, "number of the model load that made it"},
    {"begin_ns", INTEGER, "allocated"},
    {"end_ns", INTEGER_, "freed; null where it never was"},
};

static const struct ggs_field files[] = {
    {"file", INTEGER, "file, from 1"},
    {"path", TEXT, "path"},
    {"bytes", INTEGER, "size when the trace was sealed"},
    {"mtime_ns", INTEGER, "last change, nanoseconds since 1970"},
    {"load", INTEGER_, "number of the model load that opened it"},
    {"gguf", INTEGER, "1: the engine opened it as GGUF"},
};

static const struct ggs_field transfers[] = {
    {"transfer", INTEGER, "number, from 0"},
    {"kind", TEXT, "host to tensor, tensor to host, tensor to tensor"},
    {"name", TEXT, "name of the tensor"},
    {"bytes", INTEGER, "bytes moved"},
    {"begin_ns", INTEGER, "begin"},
    {"duration_ns", INTEGER, "to its end"},
    {"async", INTEGER, "1: the call did not wait"},
    {"from_address", INTEGER, "in the program's memory"},
    {"to_address", INTEGER, "in the program's memory"},
    {"from_buffer", INTEGER_, "buffers.buffer; null for other memory"},
    {"to_buffer", INTEGER_, "buffers.buffer; null for other memory"},
    {"file", INTEGER_, "the bytes came from a mapping of this file: files.file"},
    {"file_offset", INTEGER_, "where in that file"},
};

static const struct ggs_field faults[] = {
    {"fault", INTEGER, "number, from 0, in order of time"},
    {"begin_ns", INTEGER, "begin"},
    {"duration_ns", INTEGER, "how long the thread was held up; 0 where the end was not seen"},
    {"kind", TEXT,
     "minor: the page was in memory, or read ahead; major: it had to be read; open: its end was not seen"},
    {"os_thread", INTEGER, "the operating system's number of the thread"},
    {"address", INTEGER, "in the program's memory"},
    {"file", INTEGER_, "files.file that is mapped there; null for other memory"},
    {"file_offset", INTEGER_, "where in that file"},
    {"run", INTEGER_, "the op that the thread was computing, ops.(run, node); null for none"},
    {"node", INTEGER_, "with run: the op"},
    {"token", INTEGER_, "token step: tokens.token"},
};

static const struct ggs_field block_requests[] = {
    {"block_request", INTEGER, "number, from 0, in order of time"},
    {"begin_ns", INTEGER, "issued to the disk"},
    {"duration_ns", INTEGER, "until it was completed; 0 where the kernel did not tell of that"},
    {"device", TEXT, "the disk, as major:minor"},
    {"sector", INTEGER, "on the disk, of 512 bytes"},
    {"bytes", INTEGER, "asked for; a request over several pieces of files has a row for each"},
    {"write", INTEGER, "1: written, 0: read"},
    {"os_thread", INTEGER, "the thread that issued it"},
    {"file", INTEGER_, "files.file that lies there; null for anything else on the disk"},
    {"file_offset", INTEGER_, "where in that file"},
    {"run", INTEGER_, "the op under way, ops.(run, node): of that thread, else of any; null for none"},
    {"node", INTEGER_, "with run: the op"},
    {"token", INTEGER_, "token step: tokens.token"},
};

static const struct ggs_field reads[] = {
    {"read", INTEGER, "number, from 0"},
    {"kind", TEXT, "read, populate (mmap that reads ahead), advice (madvise that does), lock (mlock)"},
    {"file", INTEGER_, "files.file"},
    {"file_offset", INTEGER, "where in it"},
    {"bytes", INTEGER, "how many"},
    {"begin_ns", INTEGER, "begin of the first call"},
    {"duration_ns", INTEGER, "spent in the calls"},
    {"os_thread", INTEGER, "thread"},
    {"load", INTEGER_, "number of the model load; null where its begin was not seen"},
};

static const struct ggs_field residency[] = {
    {"snapshot", INTEGER, "number, from 1"},
    {"file", INTEGER, "files.file"},
    {"page", INTEGER, "first page of the area, in units of the machine's page size"},
    {"pages", INTEGER, "how many; 0 in the one row of a file of which none is in memory"},
    {"moment", TEXT, "load, graph, end: after a model was loaded, after graphs were computed, at the program's end"},
    {"begin_ns", INTEGER, "when"},
    {"token", INTEGER_, "tokens.token that was computed; null for none"},
};

static const struct ggs_field experiment[] = {
    {"experiment_id", TEXT, "UUID"},
    {"ggscope_version", TEXT_, "that recorded it"},
    {"state", TEXT_, "complete, or what else became of it"},
    {"start_utc", TEXT_, "what 0 ns is, ISO 8601"},
    {"start_monotonic_ns", INTEGER_, "the same as CLOCK_MONOTONIC"},
    {"duration_ns", INTEGER_, "of the program"},
    {"command", TEXT_, "words of the command as a JSON array"},
    {"working_directory", TEXT_, "where it ran"},
    {"model", TEXT_, "as the command named it"},
    {"prompt", TEXT_, "what was asked"},
    {"exit_status", INTEGER_, "of the program"},
    {"process_id", INTEGER_, "of the program"},
    {"threads", INTEGER_, "of the engine"},
    {"ggml_version", TEXT_, "of the engine"},
    {"ggml_commit", TEXT_, "of the engine"},
    {"llama_version", TEXT_, "of the engine"},
    {"cpu", TEXT_, "the machine"},
    {"cores", INTEGER_, "the machine"},
    {"memory_bytes", INTEGER_, "the machine"},
    {"kernel", TEXT_, "the machine"},
    {"os", TEXT_, "the machine"},
    {"warning", TEXT_, "what is missing of the trace; null where it is whole"},
};

#define FIELDS(name) name, sizeof(name) / sizeof((name)[0])

static const struct ggs_flat_table tables[] = {
    {"ops", "One row per op: one node that was executed in one graph run.", 2, true, FIELDS(ops), ggs_rows_ops},
    {"op_runs", "One row per op and thread.", 3, true, FIELDS(op_runs), ggs_rows_op_runs},
    {"accesses", "One row per range of bytes that an op reads or writes.", 0, true, FIELDS(accesses),
     ggs_rows_accesses},
    {"experts", "One row per expert that was chosen for a token in a layer.", 4, true, FIELDS(experts),
     ggs_rows_experts},
    {"runs", "One row per graph run.", 1, false, FIELDS(runs), ggs_rows_runs},
    {"tokens", "One row per token step. Warm-up is left out.", 1, false, FIELDS(tokens), ggs_rows_tokens},
    {"inputs", "One row per token that was fed to the model.", 2, false, FIELDS(inputs), ggs_rows_inputs},
    {"graphs", "One row per distinct graph.", 1, false, FIELDS(graphs), ggs_rows_graphs},
    {"nodes", "One row per node of a graph.", 2, false, FIELDS(nodes), ggs_rows_nodes},
    {"edges", "One row per source of a node.", 3, false, FIELDS(edges), ggs_rows_edges},
    {"tensors", "One row per tensor: weights, inputs, results of nodes, views.", 1, false, FIELDS(tensors),
     ggs_rows_tensors},
    {"buffers", "One row per buffer of the engine.", 1, false, FIELDS(buffers), ggs_rows_buffers},
    {"files", "One row per mapped file.", 1, false, FIELDS(files), ggs_rows_files},
    {"transfers", "One row per copy into, out of or between tensors.", 1, false, FIELDS(transfers), ggs_rows_transfers},
    {"faults", "One row per page fault of the program. Empty where they were not recorded.", 1, false, FIELDS(faults),
     ggs_rows_faults},
    {"block_requests", "One row per request to the disks under the model. Empty without --io.", 1, false,
     FIELDS(block_requests), ggs_rows_requests},
    {"reads",
     "One row per part of a model file that the engine asked for by a call, not by touching it, while it loaded. Adjacent calls may be "
     "one row.",
     1, false, FIELDS(reads), ggs_rows_reads},
    {"residency", "One row per area of a mapped model file that is in memory in a snapshot; only with --residency.", 0,
     false, FIELDS(residency), ggs_rows_residency},
    {"experiment", "One row.", 1, false, FIELDS(experiment), ggs_rows_experiment},
};
enum { N_TABLES = sizeof(tables) / sizeof(tables[0]) };

const struct ggs_flat_table * ggs_table(unsigned i) {
    return i < N_TABLES ? &tables[i] : NULL;
}

const struct ggs_flat_table * ggs_table_find(const char * name) {
    for (unsigned i = 0; i < N_TABLES; i++) {
        if (strcmp(tables[i].name, name) == 0) return &tables[i];
    }
    return NULL;
}

bool ggs_table_wanted(const struct ggs_export_options * options, const struct ggs_flat_table * table) {
    if (options->n_tables == 0) return true;
    for (unsigned i = 0; i < options->n_tables; i++) {
        if (strcmp(options->tables[i], table->name) == 0) return true;
    }
    return false;
}

unsigned ggs_tables_passes(const struct ggs_export_options * options) {
    unsigned passes = 0;
    for (unsigned i = 0; i < N_TABLES; i++) passes += tables[i].walks && ggs_table_wanted(options, &tables[i]);
    return passes;
}

void ggs_tables_describe(struct ggs_text * text) {
    static const char * const types[] = {
        [GGS_CELL_INTEGER] = "integer", [GGS_CELL_REAL] = "real", [GGS_CELL_TEXT] = "text"};
    ggs_text_puts(
        text,
        "# The tables of an export\n\n"
        "`ggscope export DIR --format csv|sqlite|parquet -o OUT` writes these tables; `ggscope export --tables`\n"
        "writes this page. Times are integer nanoseconds since the experiment's start. Columns of the same name join;\n"
        "an op is known by (run, node). Integers are 64 bits wide. Where a column may be null that is said behind its\n"
        "type; csv leaves such a field empty. With `--token A..B` the tables ops, op_runs, accesses, experts, runs,\n"
        "tokens, inputs, faults and block_requests have only what belongs to those token steps; the others are always whole.\n");
    for (unsigned i = 0; i < N_TABLES; i++) {
        const struct ggs_flat_table * table = &tables[i];
        ggs_text_printf(text, "\n## %s\n%s", table->name, table->description);
        for (unsigned k = 0; k < table->keys; k++)
            ggs_text_printf(text, "%s%s", k == 0 ? " Key: " : ", ", table->fields[k].name);
        ggs_text_puts(text, table->keys > 0 ? ".\n\n" : "\n\n");
        ggs_text_puts(text, "| column | type | what it is |\n|---|---|---|\n");
        for (unsigned f = 0; f < table->n_fields; f++) {
            const struct ggs_field * field = &table->fields[f];
            ggs_text_printf(text, "| %s | %s%s | %s |\n", field->name, types[field->type],
                            field->nullable ? " or null" : "", field->description);
        }
    }
}
