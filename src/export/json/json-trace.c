// traces/token-NNNNN.json: the computed ops of a step.
//
// One walk goes over all runs. Steps of concurrent contexts interleave, so several files can be
// open; each is finished with the last run of its step.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/experts/choices.h"
#include "base/array.h"
#include "base/error.h"
#include "export/json/json-format.h"

struct open_step {
    struct ggs_step         step;
    struct ggs_json_file    file;
    uint64_t                runs, entries;
    int64_t                 first_ns; // of the first entry
    int64_t                 last_ns;  // latest end of an entry
    struct ggs_step_graph * graphs;
    uint64_t                n_graphs, graphs_capacity, next_node;
};

struct tokens {
    struct ggs_export * export;
    const struct ggs_memory_map * map;
    struct ggs_cursor *           steps;
    struct open_step **           open;
    uint64_t                      n_open, open_capacity;
    struct ggs_choices            choices;
};

// ---- steps ----

static int open_step(struct tokens * t, const struct ggs_step * row, struct open_step ** out,
                     struct ggs_error * error) {
    struct open_step * step = calloc(1, sizeof(*step));
    char               name[48];
    if (step == NULL || !ggs_array_reserve(t->open, t->open_capacity, t->n_open + 1)) {
        free(step);
        return ggs_fail_memory(error);
    }
    snprintf(name, sizeof(name), "traces/token-%05" PRId64 ".json", row->step);
    int status = ggs_json_file_open(t->export, &step->file, name, error);
    if (status < 0) {
        free(step);
        return status;
    }
    step->step           = *row;
    t->open[t->n_open++] = step;
    ggs_json_i64(&step->file.json, "token_id", row->step);
    ggs_json_array(&step->file.json, "entries");
    *out = step;
    return 0;
}

static int64_t start_of(const struct open_step * step) {
    return step->entries == 0 ? step->step.begin_ns : step->first_ns;
}

static void put_metadata(struct ggs_json * json, const struct open_step * step) {
    int64_t first    = start_of(step);
    int64_t duration = step->last_ns > first ? step->last_ns - first : 0;
    ggs_json_object(json, "metadata");
    ggs_json_u64(json, "total_entries", step->entries);
    ggs_json_ms(json, "duration_ms", duration);
    ggs_json_i64(json, "timestamp_start_ns", first);
    ggs_json_string(json, "format_version", "1.0");
    ggs_json_end(json);
}

// Writes the end of a step's file and its graph, and frees the step; a negative status discards
// both files. The step must have been removed from t->open.
static int finish_step(struct tokens * t, struct open_step * step, int status, struct ggs_error * error) {
    ggs_json_end(&step->file.json);
    put_metadata(&step->file.json, step); // last, because it has the number of entries
    status = ggs_json_file_close(t->export, &step->file, status, error);
    if (status == 0)
        status = ggs_json_graph(t->export, step->step.step, step->graphs, step->n_graphs, start_of(step), error);
    free(step->graphs);
    free(step);
    return status;
}

static int close_step(struct tokens * t, struct open_step * step, int status, struct ggs_error * error) {
    for (uint64_t i = 0; i < t->n_open; i++) {
        if (t->open[i] != step) continue;
        t->open[i] = t->open[--t->n_open];
        return finish_step(t, step, status, error);
    }
    return status;
}

// Finds the step of a run: an open one, or one further on in the table of steps. *out is NULL if
// there is none.
static int find_step(struct tokens * t, int64_t number, struct open_step ** out, struct ggs_error * error) {
    *out = NULL;
    for (uint64_t i = 0; i < t->n_open; i++) {
        if (t->open[i]->step.step == number) *out = t->open[i];
    }
    struct ggs_step row;
    int             more = 1;
    while (*out == NULL && (more = ggs_export_next_step(t->export, t->steps, &row, error)) > 0) {
        struct open_step * step   = NULL;
        int                status = open_step(t, &row, &step, error);
        if (status == 0 && row.runs == 0) status = close_step(t, step, 0, error);
        if (status < 0) return status;
        if (row.step == number && row.runs > 0) *out = step;
    }
    return more < 0 ? more : 0;
}

// Returns the id of a graph's first node in the step's graph file.
static int find_graph(struct open_step * step, const struct ggs_graph * graph, uint64_t * first,
                      struct ggs_error * error) {
    for (uint64_t i = 0; i < step->n_graphs; i++) {
        if (step->graphs[i].graph != graph->row.graph) continue;
        *first = step->graphs[i].first_node;
        return 0;
    }
    struct ggs_step_graph row = {graph->row.graph, step->next_node};
    if (!ggs_array_push(step->graphs, step->n_graphs, step->graphs_capacity, row)) return ggs_fail_memory(error);
    *first = step->next_node;
    step->next_node += graph->n_nodes;
    return 0;
}

// ---- entries ----

static void put_file(struct tokens * t, struct ggs_json * json, uint64_t file) {
    const struct ggs_trace * trace = &t->export->trace;
    if (file == 0 || file > trace->n_files) {
        ggs_json_null(json, "file");
        return;
    }
    const char * path  = ggs_export_valid(t->export, ggs_reader_string(trace->reader, trace->files[file - 1].path));
    const char * slash = strrchr(path, '/');
    ggs_json_string(json, "file", slash == NULL ? path : slash + 1);
}

// Writes the origin of a tensor's bytes: DISK with the offset in the file, also if the engine
// copied them from there; else BUFFER.
static void put_place(struct tokens * t, struct ggs_json * json, const struct ggs_tensor * tensor, uint64_t first) {
    bool     mapped = tensor->source == GGS_SOURCE_DISK, copied = !mapped && tensor->origin_file != 0;
    uint64_t file                      = mapped ? tensor->file : tensor->origin_file;
    uint64_t offset                    = mapped ? tensor->file_offset : tensor->origin_offset;
    const struct ggs_map_entry * entry = file == 0 ? NULL : ggs_memory_map_find(t->map, file, offset + first);
    ggs_json_string(json, "memory_source", mapped || copied ? "DISK" : "BUFFER");
    if (mapped || copied) ggs_json_u64(json, "disk_offset", offset);
    if (copied) ggs_json_bool(json, "copied", true);
    if (!mapped && tensor->buffer != 0) ggs_json_u64(json, "buffer_id", tensor->buffer); // readers refuse null
    ggs_json_natural(json, "tensor_idx", entry == NULL ? -1 : (int64_t) entry->number);
    ggs_json_natural(json, "origin_offset", file == 0 ? -1 : (int64_t) offset);
    put_file(t, json, file);
}

static void put_source(struct tokens * t, struct ggs_json * json, const struct ggs_access * access) {
    const struct ggs_tensor * tensor = access->tensor;
    uint64_t                  extent = ggs_trace_extent(&t->export->trace, tensor);
    uint64_t                  first  = access->n_ranges == 0 ? 0 : access->ranges[0].offset;
    ggs_json_object_inline(json, NULL);
    ggs_json_string(json, "name", ggs_tensor_name(t->export, tensor));
    ggs_json_address(json, "tensor_ptr", tensor->address);
    ggs_json_u64(json, "size_bytes", extent);
    ggs_json_natural(json, "layer_id", ggs_tensor_layer(t->export, tensor));
    put_place(t, json, tensor, first);
    if (access->n_ranges != 1 || first != 0 || access->ranges[0].length != extent) {
        ggs_json_array_inline(json, "ranges");
        for (uint32_t i = 0; i < access->n_ranges; i++) {
            ggs_json_array_inline(json, NULL);
            ggs_json_u64(json, NULL, access->ranges[i].offset);
            ggs_json_u64(json, NULL, access->ranges[i].length);
            ggs_json_end(json);
        }
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

// Writes the sources of a node.
static void put_sources(struct tokens * t, struct ggs_json * json, const struct ggs_access_list * list) {
    uint64_t n = 0;
    for (unsigned i = 0; i < list->n; i++) n += !list->access[i].write;
    ggs_json_u64(json, "num_sources", n);
    ggs_json_array_inline(json, "sources");
    for (unsigned i = 0; i < list->n; i++) {
        if (!list->access[i].write) put_source(t, json, &list->access[i]);
    }
    ggs_json_end(json);
}

static void put_experts(struct ggs_json * json, const struct ggs_choice * choice) {
    uint64_t n = choice == NULL ? 0 : choice->used * choice->tokens;
    ggs_json_array_inline(json, "expert_ids");
    for (uint64_t i = 0; i < n; i++) ggs_json_i64(json, NULL, choice->experts[i]);
    ggs_json_end(json);
    ggs_json_u64(json, "num_experts", n);
    ggs_json_array_inline(json, "expert_ranks");
    for (uint64_t i = 0; i < n; i++) ggs_json_u64(json, NULL, i % choice->used);
    ggs_json_end(json);
    ggs_json_array_inline(json, "routing_weights");
    for (uint64_t i = 0; choice != NULL && choice->weights != NULL && i < n; i++)
        ggs_json_double(json, NULL, (double) choice->weights[i]);
    ggs_json_end(json);
}

// The subject of an entry: an op, one thread's share of it, or a node fused into it.
struct entry {
    const struct ggs_op_seen *     op;
    const struct ggs_access_list * accesses;
    bool                           fused;
    uint64_t                       thread, os_thread;
    int64_t                        begin_ns;
    int64_t                        duration_ns, wait_ns; // -1: not seen, or counted in another entry
    bool                           bytes;                // true if the entry counts the op's bytes
};

static void put_entry(struct tokens * t, struct open_step * step, const struct ggs_walk * walk, uint64_t first_node,
                      const struct entry * e) {
    const struct ggs_op_seen * op    = e->op;
    struct ggs_json *          json  = &step->file.json;
    struct ggs_access_bytes    bytes = ggs_access_sum(e->accesses);
    int64_t                    end   = e->duration_ns > 0 ? e->begin_ns + e->duration_ns : e->begin_ns;
    if (step->entries == 0) step->first_ns = e->begin_ns;
    if (step->entries == 0 || end > step->last_ns) step->last_ns = end;
    ggs_json_object_inline(json, NULL);
    ggs_json_u64(json, "entry_id", step->entries++);
    ggs_json_i64(json, "timestamp_ns", e->begin_ns);
    ggs_json_ms(json, "timestamp_relative_ms", e->begin_ns - step->first_ns);
    ggs_json_i64(json, "token_id", step->step.step);
    ggs_json_natural(json, "layer_id", op->layer);
    ggs_json_u64(json, "thread_id", e->thread);
    ggs_json_string(json, "phase", ggs_word_phase(walk->run.phase));
    ggs_json_string(json, "operation_type", op->name);
    ggs_json_string(json, "dst_name", op->result == NULL ? "" : ggs_tensor_name(t->export, op->result));
    put_sources(t, json, e->accesses);
    put_experts(json, ggs_choice_of_node(&t->choices, walk->trace, walk->graph, op->node));
    ggs_json_id(json, "node_id", "node_", first_node + op->node);
    if (e->fused) ggs_json_id(json, "fused_into", "node_", first_node + walk->op.node);
    ggs_json_u64(json, "graph_id", walk->run.graph);
    ggs_json_string(json, "backend", ggs_reader_string(walk->trace->reader, walk->run.backend));
    ggs_json_natural(json, "duration_ns", e->duration_ns);
    ggs_json_natural(json, "wait_ns", e->wait_ns);
    ggs_json_u64(json, "bytes_read", e->bytes ? bytes.read : 0);
    ggs_json_u64(json, "bytes_written", e->bytes ? bytes.written : 0);
    ggs_json_string(json, "qkv_type", ggs_node_qkv(t->export, walk->graph, op->node));
    ggs_json_u64(json, "os_thread_id", e->os_thread);
    ggs_json_end(json);
}

static int put_op(struct tokens * t, struct open_step * step, struct ggs_walk * walk, uint64_t first_node,
                  struct ggs_error * error) {
    const struct ggs_op_seen * op     = &walk->op;
    uint64_t                   first  = 0; // index of the op run that begins first
    bool                       unseen = false;
    for (uint64_t i = 0; i < op->n_op_runs; i++) {
        if (op->op_runs[i].begin_ns < op->op_runs[first].begin_ns) first = i;
        unseen |= (op->op_runs[i].flags & GGS_OP_RUN_WAIT_UNSEEN) != 0;
    }
    const struct ggs_op_run * r      = &op->op_runs[first];
    struct ggs_op_seen        part   = *op;
    struct entry              e      = {.op          = &part,
                                        .thread      = r->thread,
                                        .os_thread   = r->os_thread,
                                        .begin_ns    = op->begin_ns,
                                        .duration_ns = op->end_ns - op->begin_ns,
                                        .wait_ns     = unseen ? -1 : (int64_t) op->wait_ns,
                                        .bytes       = true};
    int                       status = ggs_walk_part_accesses(walk, 0, &e.accesses, error);
    if (status < 0) return status;
    if (!t->export->options->per_thread) put_entry(t, step, walk, first_node, &e);
    for (uint64_t i = 0; t->export->options->per_thread && i < op->n_op_runs; i++) {
        r                  = &op->op_runs[i == 0 ? first : i <= first ? i - 1 : i]; // the first to begin comes first
        struct entry share = e;
        share.thread = r->thread, share.os_thread = r->os_thread, share.begin_ns = r->begin_ns;
        share.duration_ns = (int64_t) r->duration_ns, share.bytes = i == 0;
        if (!unseen) share.wait_ns = (int64_t) (r->wait_ns + r->inner_wait_ns);
        put_entry(t, step, walk, first_node, &share);
    }
    e.fused = true, e.duration_ns = -1, e.wait_ns = -1;
    for (uint64_t i = 1; status == 0 && ggs_walk_part(walk, i, &part); i++) {
        status = ggs_walk_part_accesses(walk, i, &e.accesses, error);
        if (status == 0) put_entry(t, step, walk, first_node, &e);
    }
    return status;
}

static int put_run(struct tokens * t, struct ggs_walk * walk, struct ggs_error * error) {
    struct open_step * step;
    uint64_t           first  = 0;
    int                status = find_step(t, walk->run.step, &step, error);
    if (status < 0 || step == NULL) return status;
    if (walk->graph != NULL) {
        status = find_graph(step, walk->graph, &first, error);
        if (status == 0) status = ggs_choices_of(&t->choices, walk, error);
        while (status == 0 && ggs_walk_op(walk)) status = put_op(t, step, walk, first, error);
    }
    if (status == 0 && ++step->runs == step->step.runs) status = close_step(t, step, 0, error);
    return status;
}

int ggs_json_tokens(struct ggs_export * export, void * map, struct ggs_error * error) {
    struct tokens      t    = {.export = export, .map = map};
    struct ggs_walk *  walk = NULL;
    struct open_step * none;
    int                status = ggs_export_steps(export, &t.steps, error);
    if (status == 0) status = ggs_export_walk(export, &walk, error);
    while (walk != NULL && status >= 0 && (status = ggs_walk_run(walk, error)) > 0) {
        if (walk->run.step >= 0) status = put_run(&t, walk, error);
        if (status >= 0) ggs_export_step(export);
    }
    if (status == 0) status = find_step(&t, -1, &none, error); // steps after the last run
    while (t.n_open > 0) {                                     // fewer runs than stated: writes what there is
        // The analyzer loses track of a step that left the list:
        // NOLINTNEXTLINE(clang-analyzer-unix.Malloc)
        int closed = finish_step(&t, t.open[--t.n_open], status, status < 0 ? NULL : error);
        if (status == 0) status = closed;
    }
    free(t.open);
    ggs_walk_close(walk);
    ggs_cursor_close(t.steps);
    ggs_choices_release(&t.choices);
    return status;
}
