#include "trace/schema.h"

#include <stddef.h>

// Each table is a list of its columns in the order of the members of its row's struct (ggscope.h).
// The compiler compares them: column k is member k, by name and type, and there are as many columns
// as members.
//
// Encodings were chosen by measurement: DELTA if a value is near the previous one, PLAIN otherwise.

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

// Evaluates to 0. Fails to compile unless the member is the next one of ROW and has that type.
// __COUNTER__ counts the columns.
#define CHECK(member, c_type)                                                                                    \
    (0 * sizeof(struct {                                                                                         \
         _Static_assert(offsetof(struct ROW, member) == 8 * (__COUNTER__ - PASTE(ROW, _first)), "column order"); \
         _Static_assert(_Generic(((struct ROW *) 0)->member, c_type : 1, default : 0), "column type");           \
         char nothing;                                                                                           \
     }))
#define COLUMN(name, member, c_type, type, encoding, role) \
    { name, GGS_COLUMN_##type, GGS_ENCODING_##encoding, GGS_ROLE_##role + CHECK(member, c_type) }

#define U64(n, e)     COLUMN(#n, n, uint64_t, U64, e, NONE)
#define I64(n, e)     COLUMN(#n, n, int64_t, I64, e, NONE)
#define STRING(n)     COLUMN(#n, n, uint64_t, STRING, DELTA, NONE)
#define TIME(n, e, r) COLUMN(#n, n, int64_t, TIME, e, r)
#define SPAN(n, r)    COLUMN(#n, n, uint64_t, SPAN, PLAIN, r)
#define THREAD(e)     COLUMN("thread", thread, uint64_t, U64, e, THREAD)
#define PROCESS()     COLUMN("process", process, uint64_t, U64, PLAIN, PROCESS)
#define CLASS(e)      COLUMN("class", class_, uint64_t, U64, e, NONE)
#define I64_4(n)      FOUR(n, int64_t, I64)
#define U64_4(n)      FOUR(n, uint64_t, U64)
#define FOUR(n, c, t)                                                                 \
    COLUMN(#n "0", n[0], c, t, PLAIN, NONE), COLUMN(#n "1", n[1], c, t, PLAIN, NONE), \
        COLUMN(#n "2", n[2], c, t, PLAIN, NONE), COLUMN(#n "3", n[3], c, t, PLAIN, NONE)
#define TEXT(n) COLUMN(#n, n, const char *, BYTES, BYTES, NONE)
#define DATA(n) COLUMN(#n, n, const void *, BYTES, BYTES, NONE)
#define REAL(n) COLUMN(#n, n, double, REAL, PLAIN, NONE)

// A list of columns, followed by LIST_END with the number of members that have no column (1 for a
// length beside its bytes).
#define LIST(name)                                 \
    enum { PASTE(ROW, _first) = __COUNTER__ + 1 }; \
    static const struct ggs_column name[] =
#define LIST_END(name, bytes) \
    _Static_assert(sizeof(struct ROW) == 8 * (COUNT(name) + (bytes)) && COUNT(name) < GGS_COLUMNS_MAX, #name)

#define ROW ggs_experiment
LIST(experiment){TEXT(text)};
LIST_END(experiment, 1);
#undef ROW

#define ROW ggs_process
LIST(processes){U64(process, DELTA),
                U64(pid, PLAIN),
                STRING(executable),
                STRING(engine),
                TIME(begin_ns, PLAIN, BEGIN),
                TIME(end_ns, PLAIN, END),
                U64(realtime_ns, PLAIN),
                U64(page_size, PLAIN),
                U64(ended, PLAIN),
                STRING(host),
                STRING(recording),
                STRING(boot),
                U64(clock, PLAIN),
                I64(offset_ns, PLAIN),
                I64(drift_ppb, PLAIN),
                I64(error_ns, PLAIN),
                U64(pairs, PLAIN)};
LIST_END(processes, 0);
#undef ROW

#define ROW ggs_string
LIST(strings){TEXT(text)};
LIST_END(strings, 1);
#undef ROW

#define ROW ggs_file
LIST(files){U64(file, DELTA), STRING(path), U64(size, PLAIN), I64(mtime_ns, PLAIN), U64(load, PLAIN), U64(gguf, PLAIN)};
LIST_END(files, 0);
#undef ROW

#define ROW ggs_file_mapping
LIST(mappings){TIME(begin_ns, DELTA, BEGIN), U64(start, DELTA), U64(end, DELTA),
               U64(offset, DELTA),           STRING(path),      PROCESS()};
LIST_END(mappings, 0);
#undef ROW

#define ROW ggs_buffer
LIST(buffers){U64(buffer, DELTA),       U64(address, DELTA),
              U64(size, PLAIN),         STRING(type),
              U64(usage, PLAIN),        CLASS(PLAIN),
              U64(host, PLAIN),         U64(load, PLAIN),
              U64(file, PLAIN),         TIME(begin_ns, DELTA, BEGIN),
              TIME(end_ns, PLAIN, END), PROCESS(),
              U64(device, PLAIN)};
LIST_END(buffers, 0);
#undef ROW

#define ROW ggs_type
LIST(types){U64(type, DELTA), STRING(name), U64(block_elements, PLAIN), U64(block_bytes, PLAIN)};
LIST_END(types, 0);
#undef ROW

#define ROW ggs_op
LIST(ops){U64(op, DELTA), STRING(name)};
LIST_END(ops, 0);
#undef ROW

#define ROW ggs_tensor
LIST(tensors){U64(tensor, DELTA),
              STRING(name),
              U64(type, PLAIN),
              U64(flags, PLAIN),
              I64_4(ne),
              U64_4(nb),
              U64(address, DELTA),
              U64(source, PLAIN),
              U64(file, PLAIN),
              U64(file_offset, DELTA),
              U64(buffer, PLAIN),
              U64(buffer_offset, DELTA),
              U64(origin_file, PLAIN),
              U64(origin_offset, DELTA),
              U64(view, DELTA),
              U64(view_offset, DELTA),
              PROCESS(),
              U64(packed_bytes, PLAIN)};
LIST_END(tensors, 0);
#undef ROW

#define ROW ggs_graph_row
LIST(graphs){U64(graph, DELTA), U64(base, DELTA),    U64(hash, PLAIN),
             U64(nodes, PLAIN), U64(tensors, PLAIN), TIME(begin_ns, DELTA, BEGIN),
             PROCESS()};
LIST_END(graphs, 0);
#undef ROW

#define ROW ggs_node
LIST(nodes){U64(graph, DELTA), U64(node, DELTA),  U64(tensor, DELTA),
            U64(op, PLAIN),    U64(flags, PLAIN), STRING(parameters)};
LIST_END(nodes, 0);
#undef ROW

#define ROW ggs_edge
LIST(edges){U64(graph, DELTA), U64(node, DELTA), U64(slot, PLAIN), U64(tensor, DELTA)};
LIST_END(edges, 0);
#undef ROW

#define ROW ggs_run
LIST(runs){U64(run, DELTA),          U64(graph, DELTA),    U64(schedule, DELTA),
           U64(decode, DELTA),       I64(step, DELTA),     U64(phase, PLAIN),
           STRING(backend),          U64(host, PLAIN),     TIME(begin_ns, DELTA, BEGIN),
           TIME(end_ns, DELTA, END), U64(threads, PLAIN),  I64(slot, PLAIN),
           U64(os_thread, DELTA),    I64(status, PLAIN),   U64(flags, PLAIN),
           U64(nodes, PLAIN),        U64(executed, PLAIN), U64(absorbed, PLAIN),
           U64(empty, PLAIN),        U64(skipped, PLAIN),  U64(opaque, PLAIN),
           U64(unseen, PLAIN),       U64(cut, PLAIN),      U64(first_op_run, DELTA),
           U64(op_runs, PLAIN),      U64(lost, PLAIN),     PROCESS(),
           U64(device, PLAIN),       I64(context, PLAIN),  U64(peer, DELTA)};
LIST_END(runs, 0);
#undef ROW

#define ROW ggs_decode
LIST(decodes){U64(decode, DELTA), U64(context, PLAIN),          I64(step, DELTA),         U64(encode, PLAIN),
              U64(tokens, PLAIN), TIME(begin_ns, DELTA, BEGIN), TIME(end_ns, DELTA, END), I64(status, PLAIN),
              PROCESS(),          U64(embeddings, PLAIN),       U64(verify, PLAIN)};
LIST_END(decodes, 0);
#undef ROW

#define ROW ggs_step
LIST(steps){I64(step, DELTA),         U64(phase, PLAIN),     U64(context, PLAIN),  TIME(begin_ns, DELTA, BEGIN),
            TIME(end_ns, DELTA, END), U64(first_run, DELTA), U64(last_run, DELTA), U64(runs, PLAIN),
            U64(first_token, DELTA),  U64(tokens, PLAIN),    U64(decodes, PLAIN),  PROCESS()};
LIST_END(steps, 0);
#undef ROW

#define ROW ggs_token
LIST(tokens){I64(step, DELTA),   U64(index, DELTA),  I64(token, PLAIN), I64(position, DELTA), I64(sequence, DELTA),
             U64(output, PLAIN), U64(decode, DELTA), STRING(text),      U64(read, PLAIN)};
LIST_END(tokens, 0);
#undef ROW

#define ROW ggs_op_run
LIST(op_runs){U64(run, DELTA),
              U64(node, DELTA),
              THREAD(DELTA),
              U64(os_thread, DELTA),
              TIME(begin_ns, FOLLOW, BEGIN),
              SPAN(duration_ns, DURATION),
              SPAN(wait_ns, WAIT),
              SPAN(inner_wait_ns, NONE),
              U64(flags, PLAIN),
              U64(absorbed, PLAIN),
              TIME(submit_ns, DELTA, NONE)};
LIST_END(op_runs, 0);
#undef ROW

#define ROW ggs_index
LIST(indices){U64(run, DELTA),   U64(node, DELTA), U64(slot, PLAIN), U64(width, PLAIN),
              U64(flags, PLAIN), U64_4(ne),        DATA(data)};
LIST_END(indices, 1);
#undef ROW

#define ROW ggs_transfer
LIST(transfers){U64(kind, PLAIN),
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
                U64(file_offset, DELTA),
                PROCESS(),
                U64(peer, PLAIN)};
LIST_END(transfers, 0);
#undef ROW

#define ROW ggs_load
LIST(loads){U64(load, DELTA),         STRING(path),      TIME(begin_ns, DELTA, BEGIN),
            TIME(end_ns, DELTA, END), U64(model, PLAIN), PROCESS()};
LIST_END(loads, 0);
#undef ROW

#define ROW ggs_context
LIST(contexts){U64(context, DELTA),          U64(address, PLAIN), U64(model, PLAIN),  U64(memory, PLAIN),
               TIME(begin_ns, DELTA, BEGIN), PROCESS(),           U64(target, PLAIN), U64(read, PLAIN)};
LIST_END(contexts, 0);
#undef ROW

#define ROW ggs_schedule
LIST(schedules){U64(schedule, DELTA),         U64(scheduler, PLAIN),    U64(decode, DELTA), U64(nodes, PLAIN),
                TIME(begin_ns, DELTA, BEGIN), TIME(end_ns, DELTA, END), I64(status, PLAIN), PROCESS()};
LIST_END(schedules, 0);
#undef ROW

#define ROW ggs_loss
LIST(losses){U64(reason, PLAIN),           U64(lane, PLAIN),         U64(count, PLAIN), U64(run, DELTA),
             TIME(begin_ns, DELTA, BEGIN), TIME(end_ns, DELTA, END), PROCESS()};
LIST_END(losses, 0);
#undef ROW

#define ROW ggs_lod
LIST(lod){U64(level, PLAIN),       I64(slot, PLAIN),         THREAD(PLAIN),     TIME(begin_ns, DELTA, BEGIN),
          U64(busy_ns, PLAIN),     U64(wait_ns, PLAIN),      U64(count, PLAIN), U64(longest_ns, PLAIN),
          U64(longest_run, DELTA), U64(longest_node, PLAIN), U64(lane, PLAIN)};
LIST_END(lod, 0);
#undef ROW

#define ROW ggs_fault
LIST(faults){TIME(begin_ns, DELTA, BEGIN),
             SPAN(duration_ns, DURATION),
             U64(kind, PLAIN),
             U64(os_thread, DELTA),
             U64(address, DELTA),
             U64(file, PLAIN),
             U64(file_offset, DELTA),
             U64(run, DELTA),
             U64(node, DELTA),
             I64(step, DELTA),
             PROCESS()};
LIST_END(faults, 0);
#undef ROW

#define ROW ggs_read
LIST(reads){U64(kind, PLAIN),
            U64(file, PLAIN),
            U64(file_offset, DELTA),
            U64(bytes, PLAIN),
            TIME(begin_ns, DELTA, BEGIN),
            SPAN(duration_ns, DURATION),
            U64(os_thread, DELTA),
            U64(load, PLAIN),
            PROCESS()};
LIST_END(reads, 0);
#undef ROW

#define ROW ggs_residency
LIST(residency){U64(snapshot, DELTA), U64(moment, PLAIN), TIME(begin_ns, DELTA, BEGIN),
                I64(step, DELTA),     U64(file, PLAIN),   U64(page, DELTA),
                U64(pages, PLAIN),    PROCESS()};
LIST_END(residency, 0);
#undef ROW

#define ROW ggs_block_request
LIST(block_requests){TIME(begin_ns, DELTA, BEGIN),
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
                     I64(step, DELTA),
                     U64(process, PLAIN)};
LIST_END(block_requests, 0);
#undef ROW

#define ROW ggs_pages
LIST(pages){U64(run, DELTA),  U64(node, DELTA),  U64(file, PLAIN),
            U64(page, DELTA), U64(pages, PLAIN), U64(flags, PLAIN)};
LIST_END(pages, 0);
#undef ROW

#define ROW ggs_device
LIST(devices){U64(device, DELTA), PROCESS(),          STRING(name),    STRING(description),
              U64(type, PLAIN),   U64(memory, PLAIN), STRING(backend), U64(seen, PLAIN)};
LIST_END(devices, 0);
#undef ROW

#define ROW ggs_lane
LIST(lanes){U64(lane, DELTA),  PROCESS(),        U64(device, PLAIN), I64(slot, PLAIN),
            U64(queue, DELTA), U64(kind, PLAIN), STRING(name)};
LIST_END(lanes, 0);
#undef ROW

#define ROW ggs_kernel
LIST(kernels){U64(run, DELTA),
              U64(node, DELTA),
              U64(nodes, PLAIN),
              U64(lane, DELTA),
              STRING(name),
              TIME(submit_ns, DELTA, NONE),
              TIME(begin_ns, DELTA, BEGIN),
              SPAN(duration_ns, DURATION),
              U64(flags, PLAIN),
              U64(bytes, PLAIN),
              U64(grid_x, PLAIN),
              U64(grid_y, PLAIN),
              U64(grid_z, PLAIN),
              U64(block_x, PLAIN),
              U64(block_y, PLAIN),
              U64(block_z, PLAIN)};
LIST_END(kernels, 0);
#undef ROW

#define ROW ggs_memory_change
LIST(memory_changes){
    U64(decode, DELTA), U64(context, PLAIN), U64(kind, PLAIN),  I64(sequence, DELTA),         I64(other, PLAIN),
    I64(from, DELTA),   I64(to, DELTA),      I64(delta, PLAIN), TIME(begin_ns, DELTA, BEGIN), I64(step, DELTA),
    PROCESS()};
LIST_END(memory_changes, 0);
#undef ROW

#define ROW ggs_submit
LIST(submits){U64(run, DELTA), U64(node, DELTA), TIME(submit_ns, DELTA, BEGIN), SPAN(host_ns, DURATION)};
LIST_END(submits, 0);
#undef ROW

#define ROW ggs_window
LIST(windows){U64(window, DELTA),       U64(kind, PLAIN), TIME(begin_ns, DELTA, BEGIN),
              TIME(end_ns, PLAIN, END), STRING(text),     PROCESS()};
LIST_END(windows, 0);
#undef ROW

#define ROW ggs_streamed
LIST(streamed){U64(run, DELTA),        U64(node, DELTA),           U64(source, PLAIN), U64(place, PLAIN),
               U64(bytes_read, PLAIN), U64(bytes_early, PLAIN),    U64(hits, PLAIN),   U64(misses, PLAIN),
               U64(predicted, PLAIN),  U64(predicted_used, PLAIN), SPAN(wait_ns, NONE)};
LIST_END(streamed, 0);
#undef ROW

#define ROW ggs_op_value
LIST(op_values){U64(run, DELTA),
                U64(node, DELTA),
                I64(row, DELTA),
                I64(position, DELTA),
                U64(elements, DELTA),
                U64(nan, PLAIN),
                U64(inf, PLAIN),
                REAL(min),
                REAL(max),
                REAL(mean),
                REAL(rms),
                U64(largest, PLAIN),
                U64(hash, PLAIN),
                U64(flags, PLAIN),
                DATA(sketch)};
LIST_END(op_values, 1);
#undef ROW

#define ROW ggs_op_dump
LIST(op_dumps){U64(run, DELTA), U64(node, DELTA), I64(slot, PLAIN), U64(offset, PLAIN), U64(total, PLAIN), DATA(data)};
LIST_END(op_dumps, 1);
#undef ROW

#define ROW ggs_off_cpu
LIST(off_cpu){TIME(begin_ns, DELTA, BEGIN),
              SPAN(duration_ns, DURATION),
              U64(kind, PLAIN),
              U64(os_thread, DELTA),
              U64(cpu, PLAIN),
              U64(other, PLAIN),
              STRING(name),
              U64(run, DELTA),
              U64(node, DELTA),
              I64(step, DELTA),
              PROCESS()};
LIST_END(off_cpu, 0);
#undef ROW

// The key is the first column in all tables that have one.
#define TABLE(number, name, columns, bytes, key, sorted) \
    [GGS_TABLE_##number] = {name, columns, COUNT(columns), COUNT(columns) + (bytes), key, sorted}

static const struct ggs_schema schemas[] = {
    TABLE(EXPERIMENT, "experiment", experiment, 1, -1, 0),
    TABLE(PROCESSES, "processes", processes, 0, 0, 0),
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
    TABLE(DEVICES, "devices", devices, 0, 0, 1),
    TABLE(LANES, "lanes", lanes, 0, 0, 1),
    TABLE(KERNELS, "kernels", kernels, 0, 0, 1),
    TABLE(MEMORY_CHANGES, "memory_changes", memory_changes, 0, 0, 0),
    TABLE(WINDOWS, "windows", windows, 0, 0, 1),
    TABLE(STREAMED, "streamed", streamed, 0, 0, 1),
    TABLE(SUBMITS, "submits", submits, 0, 0, 1),
    TABLE(OP_VALUES, "op_values", op_values, 1, 0, 1),
    TABLE(OP_DUMPS, "op_dumps", op_dumps, 1, 0, 1),
    TABLE(OFF_CPU, "off_cpu", off_cpu, 0, -1, 0),
};
_Static_assert(COUNT(schemas) == GGS_TABLE_COUNT, "every table has a schema");

const struct ggs_schema * ggs_trace_schema(enum ggs_trace_table table) {
    return (unsigned) table < GGS_TABLE_COUNT && schemas[table].name != NULL ? &schemas[table] : NULL;
}

int ggs_schema_role(const struct ggs_schema * schema, enum ggs_role role) {
    for (uint32_t i = 0; i < schema->n_columns; i++)
        if (schema->columns[i].role == role) return (int) i;
    return -1;
}

const char * ggs_clock_source_name(uint64_t clock) {
    static const char * const names[GGS_CLOCK_COUNT] = {"own", "same boot", "graph runs", "wall clock"};
    return clock < GGS_CLOCK_COUNT ? names[clock] : "unknown";
}
