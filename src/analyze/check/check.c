#include "analyze/check/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/walk/access.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/file.h"
#include "base/uuid.h"
#include "gguf/gguf-map.h"
#include "gguf/gguf-name.h"
#include "gguf/gguf.h"

struct context {
    struct ggs_checks * checks;
    struct ggs_trace *  trace;
    const char *        directory;
    struct ggs_gguf **  gguf; // by file - 1; NULL where it is no GGUF or cannot be read any more
    bool                cut;  // a run was cut off, or records were lost: numbers may fall short
};

// What falls short of a whole means: nothing bad where the recording was cut off.
static enum ggs_check_status incomplete(const struct context * c) {
    return c->cut || ggs_reader_rows(c->trace->reader, GGS_TABLE_RUNS) == 0 ? GGS_CHECK_INTERRUPTED : GGS_CHECK_FAIL;
}

void ggs_checks_add(struct ggs_checks * checks, const char * name, enum ggs_check_status status, const char * format,
                    ...) {
    if (checks->n == GGS_CHECKS) return;
    struct ggs_check * check = &checks->check[checks->n++];
    check->name              = name;
    check->status            = status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(check->text, sizeof(check->text), format, arguments);
    va_end(arguments);
    if (status == GGS_CHECK_FAIL) checks->failed = true;
}

// Calls `see` for every row of a table. Negative where the table cannot be read.
static int each(struct context * c, enum ggs_trace_table table, void * row, void (*see)(void * state, const void * row),
                void * state, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    int                 status = ggs_cursor_open(&cursor, c->trace->reader, table, error);
    if (status < 0) return status;
    while ((status = ggs_cursor_next(cursor, row, error)) > 0) see(state, row);
    ggs_cursor_close(cursor);
    return status;
}

// ---- the file itself ----

static void check_bytes(struct context * c) {
    struct ggs_error error   = {0};
    const char *     warning = ggs_reader_warning(c->trace->reader);
    if (ggs_reader_verify(c->trace->reader, NULL, NULL, &error) < 0) {
        ggs_checks_add(c->checks, "checksums", GGS_CHECK_FAIL, "%s", error.text);
    } else if (warning != NULL) {
        ggs_checks_add(c->checks, "checksums", GGS_CHECK_INTERRUPTED, "%s", warning);
    } else {
        ggs_checks_add(c->checks, "checksums", GGS_CHECK_OK, "every chunk of %" PRIu64 " bytes",
                       ggs_reader_size(c->trace->reader));
    }
}

static void check_identity(struct context * c) {
    char id[GGS_UUID_LENGTH], path[4096];
    ggs_uuid_format(id, ggs_reader_uuid(c->trace->reader));
    snprintf(path, sizeof(path), "%s/experiment.json", c->directory);
    int    fd   = ggs_file_open(path);
    FILE * file = fd < 0 ? NULL : fdopen(fd, "r");
    if (file == NULL) {
        ggs_checks_add(c->checks, "one experiment", GGS_CHECK_SKIPPED, "no experiment.json beside the trace %s", id);
        return;
    }
    char   text[4096] = "";
    size_t n          = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[n]         = '\0';
    const char * at = strstr(text, "\"experiment_id\"");
    bool         ok = at != NULL && strstr(at, id) != NULL && strstr(at, id) < at + 64;
    ggs_checks_add(c->checks, "one experiment", ok ? GGS_CHECK_OK : GGS_CHECK_FAIL,
                   ok ? "%s in the trace and in experiment.json"
                      : "the trace is of experiment %s, experiment.json of another",
                   id);
}

// ---- coverage, losses ----

struct coverage {
    uint64_t runs, interrupted, nodes, unseen, opaque, cut, wrong;
};

static void see_run(void * state, const void * row) {
    struct coverage *      s   = state;
    const struct ggs_run * run = row;
    uint64_t sum = run->executed + run->absorbed + run->empty + run->skipped + run->opaque + run->unseen + run->cut;
    s->runs++;
    s->interrupted += (run->flags & GGS_RUN_INTERRUPTED) != 0;
    s->nodes += run->nodes;
    s->unseen += run->unseen;
    s->opaque += run->opaque;
    s->cut += run->cut;
    s->wrong += sum != run->nodes;
}

static void check_coverage(struct context * c) {
    struct coverage  s = {0};
    struct ggs_run   run;
    struct ggs_error error  = {0};
    int              status = each(c, GGS_TABLE_RUNS, &run, see_run, &s, &error);
    c->cut |= s.interrupted > 0 || s.cut > 0;
    if (status < 0) {
        ggs_checks_add(c->checks, "op coverage", GGS_CHECK_FAIL, "%s", error.text);
    } else if (s.wrong > 0) {
        ggs_checks_add(c->checks, "op coverage", GGS_CHECK_FAIL,
                       "in %" PRIu64 " of %" PRIu64 " graph runs the parts do not add up to the nodes", s.wrong,
                       s.runs);
    } else if (s.unseen > 0) {
        ggs_checks_add(c->checks, "op coverage", GGS_CHECK_FAIL,
                       "%" PRIu64 " of %" PRIu64 " nodes were seen by no hook", s.unseen, s.nodes);
    } else if (s.interrupted > 0 || s.cut > 0) {
        ggs_checks_add(c->checks, "op coverage", GGS_CHECK_INTERRUPTED,
                       "%" PRIu64 " of %" PRIu64 " graph runs had no end, %" PRIu64 " of %" PRIu64
                       " nodes were not reached or not kept",
                       s.interrupted, s.runs, s.cut, s.nodes);
    } else {
        ggs_checks_add(c->checks, "op coverage", GGS_CHECK_OK, "all %" PRIu64 " nodes of %" PRIu64 " graph runs%s",
                       s.nodes, s.runs, s.opaque > 0 ? " (some on backends seen as a whole only)" : "");
    }
}

static void see_loss(void * state, const void * row) {
    const struct ggs_loss * loss = row;
    if (!ggs_loss_is_of_machine(loss->reason)) *(uint64_t *) state += loss->count;
}

static void check_losses(struct context * c) {
    uint64_t         lost = 0;
    struct ggs_loss  loss;
    struct ggs_error error  = {0};
    int              status = each(c, GGS_TABLE_LOSSES, &loss, see_loss, &lost, &error);
    c->cut |= lost > 0;
    if (status < 0) {
        ggs_checks_add(c->checks, "no losses", GGS_CHECK_FAIL, "%s", error.text);
    } else {
        ggs_checks_add(c->checks, "no losses", lost == 0 ? GGS_CHECK_OK : GGS_CHECK_FAIL, "%" PRIu64 " records lost",
                       lost);
    }
}

// ---- times ----

struct times {
    uint64_t rows, backwards, cut;
    uint64_t run, thread;
    int64_t  last_end;
};

static void see_op_run(void * state, const void * row) {
    struct times *            s  = state;
    const struct ggs_op_run * op = row;
    s->rows++;
    if (op->run != s->run || op->thread != s->thread) s->last_end = INT64_MIN;
    s->run = op->run, s->thread = op->thread;
    if (op->begin_ns < s->last_end) s->backwards++;
    s->last_end = op->begin_ns + (int64_t) op->duration_ns;
    s->cut += (op->flags & GGS_OP_RUN_ENDED) == 0;
}

static void check_times(struct context * c) {
    struct times      s = {0};
    struct ggs_op_run op;
    struct ggs_error  error = {0};
    if (each(c, GGS_TABLE_OP_RUNS, &op, see_op_run, &s, &error) < 0) {
        ggs_checks_add(c->checks, "times", GGS_CHECK_FAIL, "%s", error.text);
    } else if (s.backwards > 0) {
        ggs_checks_add(c->checks, "times", GGS_CHECK_FAIL,
                       "%" PRIu64 " op runs begin before the one before them on their thread ended", s.backwards);
    } else {
        ggs_checks_add(c->checks, "times", s.cut == 0 ? GGS_CHECK_OK : GGS_CHECK_INTERRUPTED,
                       "%" PRIu64 " op runs in order on every thread, %" PRIu64 " cut off", s.rows, s.cut);
    }
}

// ---- where data lies ----

// Bytes from a tensor's first to behind its last.
static uint64_t extent_of(const struct ggs_trace * trace, const struct ggs_tensor * t) {
    uint64_t extent = ggs_trace_row_bytes(trace, t);
    for (int d = 1; d < 4; d++) {
        if (t->ne[d] <= 0) return 0;
        uint64_t reach;
        if (ggs_mul((uint64_t) t->ne[d] - 1, t->nb[d], &reach)) extent += reach;
    }
    return extent;
}

static const struct ggs_buffer * find_buffer(const struct ggs_trace * trace, uint64_t buffer) {
    for (uint64_t i = 0; i < trace->n_buffers; i++) {
        if (trace->buffers[i].buffer == buffer) return &trace->buffers[i];
    }
    return NULL;
}

static void check_places(struct context * c) {
    const struct ggs_trace * trace = c->trace;
    uint64_t                 disk = 0, buffer = 0, nowhere = 0, outside = 0;
    const char *             example = "";
    for (uint64_t i = 0; i < trace->n_tensors; i++) {
        const struct ggs_tensor * t      = &trace->tensors[i];
        uint64_t                  extent = extent_of(trace, t);
        bool                      in     = true;
        if (t->source == GGS_SOURCE_DISK) {
            disk++;
            in = t->file >= 1 && t->file <= trace->n_files &&
                 ggs_inside(t->file_offset, extent, trace->files[t->file - 1].size);
        } else if (t->source == GGS_SOURCE_BUFFER && t->buffer != 0) {
            const struct ggs_buffer * b = find_buffer(trace, t->buffer);
            buffer++;
            in = b != NULL && ggs_inside(t->buffer_offset, extent, b->size);
        } else if (extent > 0) {
            nowhere++;
        }
        if (!in) outside++, example = ggs_reader_string(trace->reader, t->name);
    }
    if (outside > 0) {
        ggs_checks_add(c->checks, "operands inside", GGS_CHECK_FAIL,
                       "%" PRIu64 " operands reach out of their file or buffer, such as %s", outside, example);
    } else {
        ggs_checks_add(c->checks, "operands inside", GGS_CHECK_OK,
                       "%" PRIu64 " in files, %" PRIu64 " in buffers, %" PRIu64 " in memory that no buffer owns", disk,
                       buffer, nowhere);
    }
}

static const struct ggs_gguf_tensor * find_weight(const struct ggs_gguf * gguf, const char * name) {
    size_t length = strlen(name);
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        if (gguf->tensors[i].name_length == length && memcmp(gguf->tensors[i].name, name, length) == 0)
            return &gguf->tensors[i];
    }
    return NULL;
}

static void check_map(struct context * c) {
    const struct ggs_trace * trace = c->trace;
    uint64_t                 equal = 0, different = 0, files = 0;
    const char *             example = "";
    for (uint64_t i = 0; i < trace->n_files; i++) files += c->gguf[i] != NULL;
    for (uint64_t i = 0; i < trace->n_tensors; i++) {
        const struct ggs_tensor * t      = &trace->tensors[i];
        uint64_t                  file   = t->source == GGS_SOURCE_DISK ? t->file : t->origin_file;
        uint64_t                  offset = t->source == GGS_SOURCE_DISK ? t->file_offset : t->origin_offset;
        if (file == 0 || file > trace->n_files || c->gguf[file - 1] == NULL || t->view != 0) continue;
        const char *                   name   = ggs_reader_string(trace->reader, t->name);
        const struct ggs_gguf_tensor * weight = find_weight(c->gguf[file - 1], name);
        if (weight == NULL) continue;
        if (weight->offset == offset) {
            equal++;
        } else {
            different++, example = name;
        }
    }
    if (files == 0) {
        ggs_checks_add(c->checks, "model map", GGS_CHECK_SKIPPED, "the model's files are not there any more");
    } else if (different > 0) {
        ggs_checks_add(c->checks, "model map", GGS_CHECK_FAIL,
                       "%" PRIu64 " weights lie elsewhere in their file than the GGUF says, such as %s", different,
                       example);
    } else {
        ggs_checks_add(c->checks, "model map", GGS_CHECK_OK, "%" PRIu64 " weights lie where the GGUF says", equal);
    }
}

static void check_gguf(struct context * c) {
    struct ggs_error error = {0};
    uint64_t         files = 0;
    for (uint64_t i = 0; i < c->trace->n_files; i++) {
        if (c->gguf[i] == NULL) continue;
        struct ggs_gguf_map map;
        if (ggs_gguf_map_init(&map, c->gguf[i], &error) < 0) {
            ggs_checks_add(c->checks, "no overlap in the map", GGS_CHECK_FAIL, "%s", error.text);
            return;
        }
        ggs_gguf_map_release(&map);
        files++;
    }
    if (files == 0) {
        ggs_checks_add(c->checks, "no overlap in the map", GGS_CHECK_SKIPPED,
                       "the model's files are not there any more");
    } else {
        ggs_checks_add(c->checks, "no overlap in the map", GGS_CHECK_OK,
                       "every byte of %" PRIu64 " file%s has one owner", files, files == 1 ? "" : "s");
    }
}

static void check_buffers(struct context * c) {
    uint64_t freed = 0, alive = 0, wrong = 0;
    for (uint64_t i = 0; i < c->trace->n_buffers; i++) {
        const struct ggs_buffer * b = &c->trace->buffers[i];
        if (b->end_ns < 0) {
            alive++;
        } else {
            freed++;
            wrong += b->end_ns < b->begin_ns;
        }
        if (i > 0 && b->buffer <= c->trace->buffers[i - 1].buffer) wrong++;
    }
    if (wrong > 0) {
        ggs_checks_add(c->checks, "buffer events", GGS_CHECK_FAIL,
                       "%" PRIu64 " buffers are freed before they are made, or share a number", wrong);
    } else {
        ggs_checks_add(c->checks, "buffer events", GGS_CHECK_OK,
                       "%" PRIu64 " made and freed, %" PRIu64 " alive at the end", freed, alive);
    }
}

// ---- layers and tokens ----

enum { MOST_LAYERS = 4096 };

// Ops per layer of a graph, and what weights each layer reads (a hash: layers with the same are alike).
struct layers {
    uint64_t ops[MOST_LAYERS], weights[MOST_LAYERS];
    int      last;
};

static uint64_t hash_component(const char * name) {
    struct ggs_name parsed = ggs_name_parse(name, strlen(name));
    uint64_t        hash   = 14695981039346656037u;
    for (size_t i = 0; i < parsed.component_length; i++) hash = (hash ^ (uint8_t) parsed.component[i]) * 1099511628211u;
    return hash;
}

static void count_layers(struct context * c, const struct ggs_graph * graph, struct layers * layers) {
    memset(layers, 0, sizeof(*layers));
    layers->last = -1;
    for (uint64_t i = 0; i < graph->n_nodes; i++) {
        if (ggs_trace_op_kind(c->trace, graph->nodes[i].op) == GGS_KIND_EMPTY) continue;
        const struct ggs_tensor * t     = ggs_trace_tensor(c->trace, graph->nodes[i].tensor);
        const char *              name  = t == NULL ? "" : ggs_reader_string(c->trace->reader, t->name);
        int                       layer = ggs_name_layer(name, strlen(name));
        if (layer < 0 || layer >= MOST_LAYERS) continue;
        layers->ops[layer]++;
        if (layer > layers->last) layers->last = layer;
        for (uint64_t e = graph->first_edge[i]; e < graph->first_edge[i + 1]; e++) {
            const struct ggs_tensor * source = ggs_trace_tensor(c->trace, graph->edges[e].tensor);
            const char *              weight = source == NULL ? "" : ggs_reader_string(c->trace->reader, source->name);
            if (strncmp(weight, "blk.", 4) == 0) layers->weights[layer] += hash_component(weight);
        }
    }
}

static uint64_t layers_of_model(const struct context * c) {
    uint64_t most = 0, layers;
    for (uint64_t i = 0; i < c->trace->n_files; i++) {
        if (c->gguf[i] != NULL && ggs_gguf_get_hparam(c->gguf[i], "block_count", &layers) && layers > most)
            most = layers;
    }
    return most;
}

// What the graphs of a recording show of the layers.
struct layers_seen {
    bool     met[MOST_LAYERS]; // in any graph: a program's own callback may cut one into pieces
    uint64_t graphs, unlike;
    int      odd; // a layer with other ops than its neighbour
};

static void look_at_graph(struct context * c, const struct ggs_graph * graph, struct layers * layers,
                          struct layers_seen * seen) {
    count_layers(c, graph, layers);
    seen->graphs++;
    for (int i = 0; i <= layers->last; i++) seen->met[i] |= layers->ops[i] > 0;
    // The last layer computes only the rows that are wanted, so it differs by design.
    for (int i = 1; i < layers->last; i++) {
        if (layers->weights[i] == layers->weights[i - 1] && layers->ops[i] != layers->ops[i - 1])
            seen->unlike++, seen->odd = i;
    }
}

static int look_at_graphs(struct context * c, struct layers_seen * seen, struct ggs_error * error) {
    struct layers *      layers = malloc(sizeof(*layers));
    struct ggs_cursor *  cursor = NULL;
    struct ggs_graph_row row;
    int                  status =
        layers == NULL ? ggs_fail_memory(error) : ggs_cursor_open(&cursor, c->trace->reader, GGS_TABLE_GRAPHS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &row, error)) > 0) {
        const struct ggs_graph * graph;
        if (row.base != 0) continue; // the same ops at other addresses
        status = ggs_trace_graph(c->trace, row.graph, &graph, error);
        if (status == 0) look_at_graph(c, graph, layers, seen);
    }
    ggs_cursor_close(cursor);
    free(layers);
    return status < 0 ? status : 0;
}

static void check_layers(struct context * c) {
    static const char *const all = "all layers seen", *alike = "layers alike";
    struct layers_seen *     seen  = calloc(1, sizeof(*seen));
    struct ggs_error         error = {0};
    uint64_t                 n = layers_of_model(c), met = 0;
    if (seen == NULL || look_at_graphs(c, seen, &error) < 0) {
        ggs_checks_add(c->checks, all, GGS_CHECK_FAIL, "%s", seen == NULL ? "out of memory" : error.text);
        free(seen);
        return;
    }
    for (int i = 0; i < MOST_LAYERS; i++) met += seen->met[i];
    if (n == 0) {
        ggs_checks_add(c->checks, all, GGS_CHECK_SKIPPED,
                       "the model's file does not tell how many there are, or is not there any more");
    } else {
        ggs_checks_add(c->checks, all, met >= n ? GGS_CHECK_OK : incomplete(c), "%" PRIu64 " of %" PRIu64, met, n);
    }
    if (seen->unlike > 0) {
        ggs_checks_add(c->checks, alike, GGS_CHECK_FAIL,
                       "layer %d has other ops than its neighbour with the same weights", seen->odd);
    } else {
        ggs_checks_add(c->checks, alike, GGS_CHECK_OK,
                       "layers with the same weights have the same ops in %" PRIu64 " graphs", seen->graphs);
    }
    free(seen);
}

// Tokens as the steps tell them, and as the embedding lookups of their graph runs read them.
static void check_tokens(struct context * c) {
    struct ggs_cursor *    runs  = NULL;
    struct ggs_error       error = {0};
    struct ggs_access_list list  = {0};
    struct ggs_run         run;
    uint64_t               told = ggs_reader_rows(c->trace->reader, GGS_TABLE_TOKENS), read = 0;
    bool                   known  = false;
    int                    status = ggs_cursor_open(&runs, c->trace->reader, GGS_TABLE_RUNS, &error);
    while (status >= 0 && (status = ggs_cursor_next(runs, &run, &error)) > 0) {
        const struct ggs_graph * graph;
        if (ggs_trace_graph(c->trace, run.graph, &graph, &error) < 0) continue;
        if (ggs_access_begin_run(&list, c->trace, &run, graph, &error) < 0) continue;
        for (uint64_t i = 0; i < graph->n_nodes; i++) {
            if (ggs_trace_op_kind(c->trace, graph->nodes[i].op) != GGS_KIND_GET_ROWS ||
                graph->first_edge[i + 1] - graph->first_edge[i] < 2)
                continue;
            const struct ggs_tensor * table = ggs_trace_tensor(c->trace, graph->edges[graph->first_edge[i]].tensor);
            if (table == NULL || strcmp(ggs_reader_string(c->trace->reader, table->name), "token_embd.weight") != 0)
                continue;
            const struct ggs_access_index * ids =
                ggs_access_values(&list, graph->edges[graph->first_edge[i] + 1].tensor);
            known = true;
            if (ids != NULL) read += ids->n;
            break;
        }
    }
    ggs_cursor_close(runs);
    ggs_access_release(&list);
    if (status < 0) {
        ggs_checks_add(c->checks, "tokens", GGS_CHECK_FAIL, "%s", error.text);
    } else if (!known) {
        ggs_checks_add(c->checks, "tokens", GGS_CHECK_SKIPPED, "no graph looks tokens up in an embedding");
    } else if (read == told) {
        ggs_checks_add(c->checks, "tokens", GGS_CHECK_OK, "%" PRIu64 " in the steps and in the graphs", told);
    } else {
        ggs_checks_add(c->checks, "tokens", incomplete(c), "%" PRIu64 " in the steps, %" PRIu64 " in the graphs", told,
                       read);
    }
}

// ---- all of them ----

static void open_models(struct context * c) {
    for (uint64_t i = 0; i < c->trace->n_files; i++) {
        const char * path = ggs_reader_string(c->trace->reader, c->trace->files[i].path);
        if (c->trace->files[i].gguf == 1 && ggs_gguf_open(&c->gguf[i], path, NULL) < 0) c->gguf[i] = NULL;
    }
}

int ggs_checks_run(struct ggs_checks * checks, const char * directory, struct ggs_error * error) {
    *checks = (struct ggs_checks){0};
    struct ggs_trace trace;
    int              status = ggs_trace_open(&trace, directory, error);
    if (status < 0) return status;
    struct context c = {.checks = checks, .trace = &trace, .directory = directory};
    c.gguf           = calloc(trace.n_files + 1, sizeof(*c.gguf));
    if (c.gguf == NULL) {
        ggs_trace_close(&trace);
        return ggs_fail_memory(error);
    }
    open_models(&c);
    check_bytes(&c);
    check_identity(&c);
    check_coverage(&c);
    check_losses(&c);
    check_times(&c);
    check_places(&c);
    check_map(&c);
    check_gguf(&c);
    check_buffers(&c);
    check_layers(&c);
    check_tokens(&c);
    ggs_check_faults(checks, &trace);
    ggs_check_requests(checks, &trace);
    ggs_check_pages(checks, &trace);
    for (uint64_t i = 0; i < trace.n_files; i++) ggs_gguf_free(c.gguf[i]);
    free(c.gguf);
    ggs_trace_close(&trace);
    return 0;
}
