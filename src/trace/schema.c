#include "trace/schema.h"

// Columns as struct members are checked by the sizes at the end of this file. The encodings were chosen by measurement:
// DELTA where a value is near the one before, PLAIN where it is not.
#define U64(n, e) \
    { #n, GGS_COLUMN_U64, GGS_ENCODING_##e, GGS_ROLE_NONE }
#define I64(n, e) \
    { #n, GGS_COLUMN_I64, GGS_ENCODING_##e, GGS_ROLE_NONE }
#define STRING(n) \
    { #n, GGS_COLUMN_STRING, GGS_ENCODING_DELTA, GGS_ROLE_NONE }
#define TIME(n, e, r) \
    { #n, GGS_COLUMN_TIME, GGS_ENCODING_##e, GGS_ROLE_##r }
#define SPAN(n, r) \
    { #n, GGS_COLUMN_SPAN, GGS_ENCODING_PLAIN, GGS_ROLE_##r }
#define BYTES(n) \
    { #n, GGS_COLUMN_BYTES, GGS_ENCODING_BYTES, GGS_ROLE_NONE }
#define THREAD(e) \
    { "thread", GGS_COLUMN_U64, GGS_ENCODING_##e, GGS_ROLE_THREAD }

static const struct ggs_column experiment[] = {BYTES(text)};
static const struct ggs_column process[]    = {
       U64(pid, PLAIN),          STRING(executable),      STRING(engine),        TIME(begin_ns, PLAIN, BEGIN),
       TIME(end_ns, PLAIN, END), U64(realtime_ns, PLAIN), U64(page_size, PLAIN), U64(ended, PLAIN)};
static const struct ggs_column strings[]  = {BYTES(text)};
static const struct ggs_column files[]    = {U64(file, DELTA),     STRING(path),     U64(size, PLAIN),
                                             I64(mtime_ns, PLAIN), U64(load, PLAIN), U64(gguf, PLAIN)};
static const struct ggs_column mappings[] = {TIME(begin_ns, DELTA, BEGIN), U64(start, DELTA), U64(end, DELTA),
                                             U64(offset, DELTA), STRING(path)};
static const struct ggs_column buffers[]  = {
     U64(buffer, DELTA),      U64(address, DELTA), U64(size, PLAIN), STRING(type),     U64(usage, PLAIN),
     U64(class, PLAIN),       U64(host, PLAIN),    U64(load, PLAIN), U64(file, PLAIN), TIME(begin_ns, DELTA, BEGIN),
     TIME(end_ns, PLAIN, END)};
static const struct ggs_column types[]   = {U64(type, DELTA), STRING(name), U64(block_elements, PLAIN),
                                            U64(block_bytes, PLAIN)};
static const struct ggs_column ops[]     = {U64(op, DELTA), STRING(name)};
static const struct ggs_column tensors[] = {U64(tensor, DELTA),      STRING(name),
                                            U64(type, PLAIN),        U64(flags, PLAIN),
                                            I64(ne0, PLAIN),         I64(ne1, PLAIN),
                                            I64(ne2, PLAIN),         I64(ne3, PLAIN),
                                            U64(nb0, PLAIN),         U64(nb1, PLAIN),
                                            U64(nb2, PLAIN),         U64(nb3, PLAIN),
                                            U64(address, DELTA),     U64(source, PLAIN),
                                            U64(file, PLAIN),        U64(file_offset, DELTA),
                                            U64(buffer, PLAIN),      U64(buffer_offset, DELTA),
                                            U64(origin_file, PLAIN), U64(origin_offset, DELTA),
                                            U64(view, DELTA),        U64(view_offset, DELTA)};
static const struct ggs_column graphs[]  = {U64(graph, DELTA), U64(base, DELTA),    U64(hash, PLAIN),
                                            U64(nodes, PLAIN), U64(tensors, PLAIN), TIME(begin_ns, DELTA, BEGIN)};
static const struct ggs_column nodes[]   = {U64(graph, DELTA), U64(node, DELTA),  U64(tensor, DELTA),
                                            U64(op, PLAIN),    U64(flags, PLAIN), STRING(parameters)};
static const struct ggs_column edges[]   = {U64(graph, DELTA), U64(node, DELTA), U64(slot, PLAIN), U64(tensor, DELTA)};
static const struct ggs_column runs[]    = {U64(run, DELTA),          U64(graph, DELTA),    U64(schedule, DELTA),
                                            U64(decode, DELTA),       I64(step, DELTA),     U64(phase, PLAIN),
                                            STRING(backend),          U64(host, PLAIN),     TIME(begin_ns, DELTA, BEGIN),
                                            TIME(end_ns, DELTA, END), U64(threads, PLAIN),  I64(slot, PLAIN),
                                            U64(os_thread, DELTA),    I64(status, PLAIN),   U64(flags, PLAIN),
                                            U64(nodes, PLAIN),        U64(executed, PLAIN), U64(absorbed, PLAIN),
                                            U64(empty, PLAIN),        U64(skipped, PLAIN),  U64(opaque, PLAIN),
                                            U64(unseen, PLAIN),       U64(cut, PLAIN),      U64(first_op_run, DELTA),
                                            U64(op_runs, PLAIN),      U64(lost, PLAIN)};
static const struct ggs_column decodes[] = {U64(decode, DELTA),       U64(context, PLAIN), I64(step, DELTA),
                                            U64(encode, PLAIN),       U64(tokens, PLAIN),  TIME(begin_ns, DELTA, BEGIN),
                                            TIME(end_ns, DELTA, END), I64(status, PLAIN)};
static const struct ggs_column steps[]   = {
      I64(step, DELTA),         U64(phase, PLAIN),     U64(context, PLAIN),  TIME(begin_ns, DELTA, BEGIN),
      TIME(end_ns, DELTA, END), U64(first_run, DELTA), U64(last_run, DELTA), U64(runs, PLAIN),
      U64(first_token, DELTA),  U64(tokens, PLAIN),    U64(decodes, PLAIN)};
static const struct ggs_column tokens[]    = {I64(step, DELTA),     U64(index, DELTA),    I64(token, PLAIN),
                                              I64(position, DELTA), I64(sequence, DELTA), U64(output, PLAIN),
                                              U64(decode, DELTA),   STRING(text)};
static const struct ggs_column op_runs[]   = {U64(run, DELTA),
                                              U64(node, DELTA),
                                              THREAD(DELTA),
                                              U64(os_thread, DELTA),
                                              TIME(begin_ns, FOLLOW, BEGIN),
                                              SPAN(duration_ns, DURATION),
                                              SPAN(wait_ns, WAIT),
                                              SPAN(inner_wait_ns, NONE),
                                              U64(flags, PLAIN),
                                              U64(absorbed, PLAIN)};
static const struct ggs_column indices[]   = {U64(run, DELTA),   U64(node, DELTA), U64(slot, PLAIN), U64(width, PLAIN),
                                              U64(flags, PLAIN), U64(ne0, PLAIN),  U64(ne1, PLAIN),  U64(ne2, PLAIN),
                                              U64(ne3, PLAIN),   BYTES(data)};
static const struct ggs_column transfers[] = {U64(kind, PLAIN),
                                              U64(async, PLAIN),
                                              U64(from, DELTA),
                                              U64(to, DELTA),
                                              U64(from_buffer, PLAIN),
                                              U64(to_buffer, PLAIN),
                                              U64(bytes, PLAIN),
                                              TIME(begin_ns, DELTA, BEGIN),
                                              SPAN(duration_ns, DURATION),
                                              STRING(name),
                                              U64(file, PLAIN),
                                              U64(file_offset, DELTA)};
static const struct ggs_column loads[]     = {U64(load, DELTA), STRING(path), TIME(begin_ns, DELTA, BEGIN),
                                              TIME(end_ns, DELTA, END), U64(model, PLAIN)};
static const struct ggs_column contexts[]  = {U64(context, DELTA), U64(address, PLAIN), U64(model, PLAIN),
                                              U64(memory, PLAIN), TIME(begin_ns, DELTA, BEGIN)};
static const struct ggs_column schedules[] = {
    U64(schedule, DELTA),         U64(scheduler, PLAIN),    U64(decode, DELTA), U64(nodes, PLAIN),
    TIME(begin_ns, DELTA, BEGIN), TIME(end_ns, DELTA, END), I64(status, PLAIN)};
static const struct ggs_column losses[] = {U64(reason, PLAIN), U64(lane, PLAIN), U64(count, PLAIN), U64(run, DELTA),
                                           TIME(begin_ns, DELTA, BEGIN)};
static const struct ggs_column lod[]    = {
       U64(level, PLAIN),       I64(slot, PLAIN),        THREAD(PLAIN),     TIME(begin_ns, DELTA, BEGIN),
       U64(busy_ns, PLAIN),     U64(wait_ns, PLAIN),     U64(count, PLAIN), U64(longest_ns, PLAIN),
       U64(longest_run, DELTA), U64(longest_node, PLAIN)};

static const struct ggs_column faults[]    = {TIME(begin_ns, DELTA, BEGIN),
                                              SPAN(duration_ns, DURATION),
                                              U64(kind, PLAIN),
                                              U64(os_thread, DELTA),
                                              U64(address, DELTA),
                                              U64(file, PLAIN),
                                              U64(file_offset, DELTA),
                                              U64(run, DELTA),
                                              U64(node, DELTA),
                                              I64(step, DELTA)};
static const struct ggs_column reads[]     = {U64(kind, PLAIN),
                                              U64(file, PLAIN),
                                              U64(file_offset, DELTA),
                                              U64(bytes, PLAIN),
                                              TIME(begin_ns, DELTA, BEGIN),
                                              SPAN(duration_ns, DURATION),
                                              U64(os_thread, DELTA),
                                              U64(load, PLAIN)};
static const struct ggs_column residency[] = {U64(snapshot, DELTA), U64(moment, PLAIN), TIME(begin_ns, DELTA, BEGIN),
                                              I64(step, DELTA),     U64(file, PLAIN),   U64(page, DELTA),
                                              U64(pages, PLAIN)};
static const struct ggs_column block_requests[] = {TIME(begin_ns, DELTA, BEGIN),
                                                   SPAN(duration_ns, DURATION),
                                                   U64(device, PLAIN),
                                                   U64(sector, DELTA),
                                                   U64(bytes, PLAIN),
                                                   U64(write, PLAIN),
                                                   U64(os_thread, DELTA),
                                                   U64(file, PLAIN),
                                                   U64(file_offset, DELTA),
                                                   U64(run, DELTA),
                                                   U64(node, DELTA),
                                                   I64(step, DELTA)};
static const struct ggs_column pages[]          = {U64(run, DELTA),  U64(node, DELTA),  U64(file, PLAIN),
                                                   U64(page, DELTA), U64(pages, PLAIN), U64(flags, PLAIN)};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
// The key is the first column in all tables that have one.
#define TABLE(number, name, columns, bytes, key, sorted) \
    [GGS_TABLE_##number] = {name, columns, COUNT(columns), COUNT(columns) + (bytes), key, sorted}

static const struct ggs_schema schemas[GGS_TABLE_COUNT] = {
    TABLE(EXPERIMENT, "experiment", experiment, 1, -1, 0),
    TABLE(PROCESS, "process", process, 0, 0, 0),
    TABLE(STRINGS, "strings", strings, 1, -1, 0),
    TABLE(FILES, "files", files, 0, 0, 1),
    TABLE(MAPPINGS, "mappings", mappings, 0, -1, 0),
    TABLE(BUFFERS, "buffers", buffers, 0, 0, 1),
    TABLE(TYPES, "types", types, 0, 0, 0),
    TABLE(OPS, "ops", ops, 0, 0, 0),
    TABLE(TENSORS, "tensors", tensors, 0, 0, 1),
    TABLE(GRAPHS, "graphs", graphs, 0, 0, 0),
    TABLE(NODES, "nodes", nodes, 0, 0, 0),
    TABLE(EDGES, "edges", edges, 0, 0, 0),
    TABLE(RUNS, "runs", runs, 0, 0, 1),
    TABLE(DECODES, "decodes", decodes, 0, 0, 0),
    TABLE(STEPS, "steps", steps, 0, 0, 0),
    TABLE(TOKENS, "tokens", tokens, 0, 0, 0),
    TABLE(OP_RUNS, "op_runs", op_runs, 0, 0, 1),
    TABLE(INDEX, "index", indices, 1, 0, 1),
    TABLE(TRANSFERS, "transfers", transfers, 0, -1, 0),
    TABLE(LOADS, "loads", loads, 0, 0, 0),
    TABLE(CONTEXTS, "contexts", contexts, 0, 0, 0),
    TABLE(SCHEDULES, "schedules", schedules, 0, 0, 0),
    TABLE(LOSSES, "losses", losses, 0, -1, 0),
    TABLE(LOD, "lod", lod, 0, 0, 0),
    TABLE(FAULTS, "faults", faults, 0, -1, 0),
    TABLE(READS, "reads", reads, 0, -1, 0),
    TABLE(RESIDENCY, "residency", residency, 0, 0, 1),
    TABLE(BLOCK_REQUESTS, "block_requests", block_requests, 0, -1, 0),
    TABLE(PAGES, "pages", pages, 0, 0, 1),
};

#define FITS(type, columns, bytes) \
    _Static_assert(sizeof(struct type) == 8 * (COUNT(columns) + (bytes)) && COUNT(columns) < GGS_COLUMNS_MAX, #type)
FITS(ggs_experiment, experiment, 1);
FITS(ggs_process, process, 0);
FITS(ggs_string, strings, 1);
FITS(ggs_file, files, 0);
FITS(ggs_file_mapping, mappings, 0);
FITS(ggs_buffer, buffers, 0);
FITS(ggs_type, types, 0);
FITS(ggs_op, ops, 0);
FITS(ggs_tensor, tensors, 0);
FITS(ggs_graph_row, graphs, 0);
FITS(ggs_node, nodes, 0);
FITS(ggs_edge, edges, 0);
FITS(ggs_run, runs, 0);
FITS(ggs_decode, decodes, 0);
FITS(ggs_step, steps, 0);
FITS(ggs_token, tokens, 0);
FITS(ggs_op_run, op_runs, 0);
FITS(ggs_index, indices, 1);
FITS(ggs_transfer, transfers, 0);
FITS(ggs_load, loads, 0);
FITS(ggs_context, contexts, 0);
FITS(ggs_schedule, schedules, 0);
FITS(ggs_loss, losses, 0);
FITS(ggs_lod, lod, 0);
FITS(ggs_fault, faults, 0);
FITS(ggs_read, reads, 0);
FITS(ggs_residency, residency, 0);
FITS(ggs_block_request, block_requests, 0);
FITS(ggs_pages, pages, 0);

const struct ggs_schema * ggs_trace_schema(enum ggs_trace_table table) {
    return (unsigned) table < GGS_TABLE_COUNT && schemas[table].name != NULL ? &schemas[table] : NULL;
}

int ggs_schema_role(const struct ggs_schema * schema, enum ggs_role role) {
    for (uint32_t i = 0; i < schema->n_columns; i++)
        if (schema->columns[i].role == role) return (int) i;
    return -1;
}
