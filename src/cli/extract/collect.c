#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/values/value-ops.h"
#include "answer/values-diff.h"
#include "base/error.h"
#include "base/options/nearest.h"
#include "cli/extract/extract.h"

// ---- which op ----

static bool is_named(const struct ggs_value_node * node, const char * key) {
    char room[2 * GGS_VALUE_NAME + 64];
    return strcmp(ggs_value_key(node, room, sizeof(room)), key) == 0 ||
           (node->count == 1 && (strcmp(node->name, key) == 0 || strcmp(node->alias, key) == 0));
}

// Finds the node in the run's graph; n_nodes if it has none.
static int find_node(struct ggs_extract * e, struct ggs_value_ops * ops, uint64_t * node, struct ggs_error * error) {
    int status = ggs_value_ops_graph(ops, &e->run, error);
    if (status == 0) status = ggs_trace_graph(e->trace, e->run.graph, &e->graph, error);
    if (status != 0) return status;
    for (*node = 0; *node < e->graph->n_nodes && *node < ops->n_index; ++*node) {
        const struct ggs_value_node * known = &ops->nodes[ops->index[*node]];
        if (!known->empty && is_named(known, e->key)) return 0;
    }
    *node = e->graph->n_nodes;
    return 0;
}

// Finds the nodes fused with it.
static int find_group(struct ggs_extract * e, uint64_t node, struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_op_run   op;
    int                 status = ggs_cursor_open(&cursor, e->trace->reader, GGS_TABLE_OP_RUNS, error);
    e->nodes[0]                = node;
    e->n_nodes                 = 1;
    if (status == 0) ggs_cursor_range(cursor, e->run.first_op_run, e->run.op_runs);
    while (status == 0 && (status = ggs_cursor_next(cursor, &op, error)) > 0) {
        uint64_t list[GGS_EXTRACT_NODES], n = 1;
        bool     has = op.node == node;
        status       = 0;
        list[0]      = op.node;
        for (uint64_t i = op.node; n <= op.absorbed && n < GGS_EXTRACT_NODES; n++) {
            i = list[n] = ggs_trace_next_node(e->trace, e->graph, i);
            has |= i == node;
        }
        if (!has || list[n - 1] >= e->graph->n_nodes) continue;
        memcpy(e->nodes, list, n * sizeof(*list));
        e->n_nodes = (unsigned) n;
        break;
    }
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

// ---- bytes ----

static uint64_t bytes_of(const struct ggs_trace * trace, const struct ggs_tensor * t) {
    const struct ggs_type * type  = t->type < trace->n_types ? &trace->types[t->type] : NULL;
    uint64_t                block = type == NULL || type->block_elements == 0 ? 1 : type->block_elements;
    uint64_t bytes = block == 1 ? (type == NULL ? 0 : type->block_bytes) + (uint64_t) (t->ne[0] - 1) * t->nb[0]
                                : (uint64_t) t->ne[0] / block * t->nb[0];
    for (int d = 1; d < 4; d++) bytes += (uint64_t) (t->ne[d] - 1) * t->nb[d];
    return bytes;
}

static struct ggs_extract_blob * find_blob(struct ggs_extract * e, const struct ggs_op_dump * dump) {
    for (unsigned i = 0; i < e->n_nodes; i++) {
        if (e->nodes[i] != dump->node) continue;
        if (dump->slot < 0) return &e->outputs[i];
        if (dump->slot < GGS_EXTRACT_SOURCES) return &e->sources[i][dump->slot];
    }
    return NULL;
}

static int read_dumps(struct ggs_extract * e, uint64_t * found, struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_op_dump  dump;
    int                 status = ggs_cursor_open(&cursor, e->trace->reader, GGS_TABLE_OP_DUMPS, error);
    if (status == 0) ggs_cursor_keys(cursor, (int64_t) e->run.run, (int64_t) e->run.run);
    while (status == 0 && (status = ggs_cursor_next(cursor, &dump, error)) > 0) {
        struct ggs_extract_blob * blob = dump.run == e->run.run ? find_blob(e, &dump) : NULL;
        status                         = 0;
        if (blob == NULL || blob->node >= 0 || dump.total != blob->bytes || dump.offset > dump.total ||
            dump.length > dump.total - dump.offset)
            continue;
        if (blob->data == NULL) blob->data = calloc(1, dump.total + 1);
        if (blob->data == NULL) status = ggs_fail_memory(error);
        if (status == 0) memcpy(blob->data + dump.offset, dump.data, dump.length);
        ++*found;
    }
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

static int read_file(struct ggs_extract * e, struct ggs_extract_blob * blob, uint64_t number, uint64_t offset,
                     struct ggs_error * error) {
    const struct ggs_file * file = number == 0 || number > e->trace->n_files ? NULL : &e->trace->files[number - 1];
    const char *            path = file == NULL ? "" : ggs_reader_string(e->trace->reader, file->path);
    const char *            name = ggs_trace_tensor_name(e->trace, blob->number);
    struct stat             info;
    int                     fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0) {
        if (fd >= 0) close(fd);
        return ggs_fail_errno(error, "cannot read the weight %s from %s", name, path);
    }
    int64_t changed = (int64_t) info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
    int     status  = 0;
    if ((uint64_t) info.st_size != file->size || changed != file->mtime_ns)
        status =
            ggs_fail(error, GGS_FORMAT, "%s is not the file that was recorded: its weight %s may differ", path, name);
    blob->data = status != 0 ? NULL : malloc(blob->bytes + 1);
    if (status == 0 && blob->data == NULL) status = ggs_fail_memory(error);
    for (uint64_t at = 0; status == 0 && at < blob->bytes;) {
        ssize_t n = pread(fd, blob->data + at, blob->bytes - at, (off_t) (offset + at));
        if (n <= 0) status = ggs_fail_errno(error, "cannot read the weight %s from %s", name, path);
        at += n > 0 ? (uint64_t) n : 0;
    }
    close(fd);
    return status;
}

// Reads weights: inputs that were not dumped.
static int read_weights(struct ggs_extract * e, struct ggs_error * error) {
    int status = 0;
    for (unsigned i = 0; status == 0 && i < e->n_nodes; i++) {
        for (unsigned s = 0; status == 0 && s < GGS_EXTRACT_SOURCES; s++) {
            struct ggs_extract_blob * blob = &e->sources[i][s];
            uint64_t                  file, offset;
            if (blob->tensor == NULL || blob->node >= 0 || blob->data != NULL) continue;
            if (!ggs_trace_origin(blob->tensor, &file, &offset))
                status =
                    ggs_fail(error, GGS_ABSENT,
                             "%s, an input of %s, was not recorded and is in no file: record again with --values-dump",
                             ggs_trace_tensor_name(e->trace, blob->number), e->key);
            else
                status = read_file(e, blob, file, offset, error);
        }
    }
    return status;
}

// ---- interface ----

static void set_blob(const struct ggs_extract * e, struct ggs_extract_blob * blob, uint64_t tensor, unsigned before) {
    *blob = (struct ggs_extract_blob){.tensor = ggs_trace_tensor(e->trace, tensor), .number = tensor, .node = -1};
    if (blob->tensor != NULL) blob->bytes = bytes_of(e->trace, blob->tensor);
    for (unsigned k = 0; k < before; k++)
        if (e->graph->nodes[e->nodes[k]].tensor == tensor) blob->node = (int) k;
}

static void set_blobs(struct ggs_extract * e) {
    for (unsigned i = 0; i < e->n_nodes; i++) {
        set_blob(e, &e->outputs[i], e->graph->nodes[e->nodes[i]].tensor, 0);
        for (unsigned s = 0; s < GGS_EXTRACT_SOURCES; s++)
            set_blob(e, &e->sources[i][s], ggs_trace_source(e->graph, e->nodes[i], s), i);
    }
}

// A name in parentheses and the numbers of ops and models are ggscope's; the engine has none.
void ggs_extract_pattern(const char * key, char * pattern, size_t size) {
    snprintf(pattern, size, "%.*s", (int) strcspn(key, "(~@"), key);
}

int ggs_extract_into(const struct ggs_extract * e, unsigned node) {
    const struct ggs_tensor * out = e->outputs[node].tensor;
    for (int s = 0; s < GGS_EXTRACT_SOURCES && out->view != 0; s++) {
        const struct ggs_tensor * t = e->sources[node][s].tensor;
        if (t != NULL && t->address == out->address && t->type == out->type &&
            memcmp(t->ne, out->ne, sizeof(t->ne)) == 0 && memcmp(t->nb, out->nb, sizeof(t->nb)) == 0)
            return s;
    }
    return -1;
}

static int fail_unknown(const struct ggs_extract * e, const struct ggs_value_ops * ops, struct ggs_error * error) {
    char               room[2][2 * GGS_VALUE_NAME + 64]; // the best key so far stays in one of them
    unsigned           next    = 0;
    struct ggs_nearest nearest = {.word = e->key};
    for (uint64_t i = 0; i < ops->n; i++) {
        if (ops->nodes[i].empty) continue;
        ggs_nearest_try(&nearest, ops->nodes[i].name);
        ggs_nearest_try(&nearest, ggs_value_key(&ops->nodes[i], room[next], sizeof(room[next])));
        if (nearest.best == room[next]) next = 1 - next;
    }
    const char * likely = ggs_nearest_likely(&nearest);
    return ggs_fail(error, GGS_ABSENT, "there is no op %s in these tokens; %s%s", e->key,
                    likely == NULL ? "ggscope values --layer N lists ops as OP name" : "did you mean ",
                    likely == NULL ? "" : likely);
}

static int check(const struct ggs_extract * e, uint64_t found, struct ggs_error * error) {
    if (found == 0) {
        char pattern[256];
        ggs_extract_pattern(e->key, pattern, sizeof(pattern));
        return ggs_fail(error, GGS_ABSENT, "no tensors of %s were kept: record again with --values-dump '%s'", e->key,
                        pattern);
    }
    const struct ggs_tensor * last = e->outputs[e->n_nodes - 1].tensor;
    if (last->view != 0 && ggs_extract_into(e, e->n_nodes - 1) < 0)
        return ggs_fail(error, GGS_UNSUPPORTED, "%s writes into a part of another tensor: extract an op that reads it",
                        e->key);
    return 0;
}

int ggs_extract_collect(struct ggs_extract * e, struct ggs_trace * trace, const char * key, int64_t step,
                        struct ggs_error * error) {
    struct ggs_value_ops ops    = {.trace = trace};
    struct ggs_cursor *  cursor = NULL;
    struct ggs_run       first  = {0};
    bool                 known  = false;
    uint64_t             found  = 0, node;
    *e                          = (struct ggs_extract){.trace = trace, .key = key};
    int status                  = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_RUNS, error);
    while (status == 0 && found == 0 && (status = ggs_cursor_next(cursor, &e->run, error)) > 0) {
        status = 0;
        if (e->run.phase == GGS_PHASE_WARMUP || (step >= 0 && e->run.step != step)) continue;
        status = find_node(e, &ops, &node, error);
        if (status != 0 || node == e->graph->n_nodes) continue;
        if (!known) first = e->run;
        known  = true;
        status = find_group(e, node, error);
        if (status != 0) break;
        set_blobs(e);
        status = read_dumps(e, &found, error);
    }
    ggs_cursor_close(cursor);
    e->not_kept = status >= 0 && known && found == 0;
    if (e->not_kept) {
        e->run = first;
        status = find_node(e, &ops, &node, error);
        if (status == 0) status = find_group(e, node, error);
    }
    if (status >= 0) status = known ? check(e, found, error) : fail_unknown(e, &ops, error);
    ggs_value_ops_release(&ops);
    return status == 0 ? read_weights(e, error) : status;
}

void ggs_extract_release(struct ggs_extract * e) {
    for (unsigned i = 0; i < GGS_EXTRACT_NODES; i++) {
        free(e->outputs[i].data);
        for (unsigned s = 0; s < GGS_EXTRACT_SOURCES; s++) free(e->sources[i][s].data);
    }
}
