#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/system/file.h"
#include "base/text.h"
#include "cli/extract/extract.h"
#include "gguf/gguf.h"

enum { TYPE_I8 = 24 };

struct file {
    struct ggs_text pairs, infos;
    uint64_t        n_pairs, n_infos;
    uint64_t        offset; // of the next tensor
};

// ---- key-values ----

#define PUT(text, value) ggs_text_append(text, (const char *) &(value), sizeof(value))

static void put_string(struct ggs_text * text, const char * string) {
    uint64_t length = strlen(string);
    PUT(text, length);
    ggs_text_append(text, string, length);
}

static void begin_pair(struct file * file, const char * key, int32_t type) {
    put_string(&file->pairs, key);
    PUT(&file->pairs, type);
    file->n_pairs++;
}

static void put_text(struct file * file, const char * key, const char * value) {
    begin_pair(file, key, GGS_GGUF_STRING);
    put_string(&file->pairs, value);
}

static void put_number(struct file * file, const char * key, uint32_t value) {
    begin_pair(file, key, GGS_GGUF_U32);
    PUT(&file->pairs, value);
}

static void put_array(struct file * file, const char * key, int32_t type, const void * data, uint64_t n, size_t size) {
    begin_pair(file, key, GGS_GGUF_ARRAY);
    PUT(&file->pairs, type);
    PUT(&file->pairs, n);
    ggs_text_append(&file->pairs, data, n * size);
}

// ---- tensors ----

static uint64_t padded(uint64_t bytes) {
    return (bytes + GGS_GGUF_ALIGNMENT - 1) / GGS_GGUF_ALIGNMENT * GGS_GGUF_ALIGNMENT;
}

static void put_info(struct file * file, const char * name, uint64_t bytes) {
    uint32_t dims = 1, type = TYPE_I8;
    put_string(&file->infos, name);
    PUT(&file->infos, dims);
    PUT(&file->infos, bytes);
    PUT(&file->infos, type);
    PUT(&file->infos, file->offset);
    file->offset += padded(bytes);
    file->n_infos++;
}

static void put_source(struct file * file, unsigned i, unsigned s, const struct ggs_extract_blob * blob) {
    char key[64], value[64];
    if (blob->tensor == NULL) return;
    snprintf(key, sizeof(key), "op.%u.src.%u", i, s);
    snprintf(value, sizeof(value), "node.%d", blob->node);
    put_text(file, key, blob->node >= 0 ? value : key);
    snprintf(value, sizeof(value), "%s.type", key);
    put_number(file, value, (uint32_t) blob->tensor->type);
    snprintf(value, sizeof(value), "%s.ne", key);
    put_array(file, value, GGS_GGUF_I64, blob->tensor->ne, 4, 8);
    snprintf(value, sizeof(value), "%s.nb", key);
    put_array(file, value, GGS_GGUF_I64, blob->tensor->nb, 4, 8);
    if (blob->node < 0) put_info(file, key, blob->bytes);
}

static void put_node(struct file * file, const struct ggs_extract * e, unsigned i) {
    const struct ggs_node *   node     = &e->graph->nodes[e->nodes[i]];
    const struct ggs_tensor * out      = e->outputs[i].tensor;
    int32_t                   none[16] = {0};
    uint64_t                  length   = 0;
    const void *              params   = ggs_reader_bytes(e->trace->reader, node->parameters, &length);
    char                      key[64];
    snprintf(key, sizeof(key), "op.%u.op", i);
    put_text(file, key, ggs_trace_op_name(e->trace, node->op));
    snprintf(key, sizeof(key), "op.%u.type", i);
    put_number(file, key, (uint32_t) out->type);
    snprintf(key, sizeof(key), "op.%u.ne", i);
    put_array(file, key, GGS_GGUF_I64, out->ne, 4, 8);
    snprintf(key, sizeof(key), "op.%u.params", i);
    put_array(file, key, GGS_GGUF_I32, params != NULL && length == sizeof(none) ? params : none, 16, 4);
    int into = ggs_extract_into(e, i);
    snprintf(key, sizeof(key), "op.%u.into", i);
    if (into >= 0) put_number(file, key, (uint32_t) into);
    for (unsigned s = 0; s < GGS_EXTRACT_SOURCES; s++) put_source(file, i, s, &e->sources[i][s]);
    if (e->outputs[i].data == NULL) return;
    snprintf(key, sizeof(key), "op.%u.out", i);
    put_text(file, key, key);
    put_info(file, key, e->outputs[i].bytes);
}

// ---- the file ----

static void write_blob(FILE * out, const struct ggs_extract_blob * blob) {
    static const char zeros[GGS_GGUF_ALIGNMENT];
    if (blob->data == NULL) return;
    fwrite(blob->data, 1, blob->bytes, out);
    fwrite(zeros, 1, padded(blob->bytes) - blob->bytes, out);
}

static void write_all(FILE * out, const struct file * file, const struct ggs_extract * e) {
    static const char zeros[GGS_GGUF_ALIGNMENT];
    uint32_t          version = 3;
    uint64_t          head    = GGS_GGUF_HEADER_SIZE + file->pairs.length + file->infos.length;
    fwrite("GGUF", 1, 4, out);
    fwrite(&version, sizeof(version), 1, out);
    fwrite(&file->n_infos, sizeof(file->n_infos), 1, out);
    fwrite(&file->n_pairs, sizeof(file->n_pairs), 1, out);
    fwrite(file->pairs.data, 1, file->pairs.length, out);
    fwrite(file->infos.data, 1, file->infos.length, out);
    fwrite(zeros, 1, padded(head) - head, out);
    for (unsigned i = 0; i < e->n_nodes; i++) {
        for (unsigned s = 0; s < GGS_EXTRACT_SOURCES; s++) write_blob(out, &e->sources[i][s]);
        write_blob(out, &e->outputs[i]);
    }
}

int ggs_extract_write(const struct ggs_extract * e, const char * path, struct ggs_error * error) {
    struct file       file   = {0};
    struct ggs_output output = {0};
    put_text(&file, "general.architecture", "ggscope-op");
    put_text(&file, "op.key", e->key);
    put_number(&file, "op.nodes", e->n_nodes);
    for (unsigned i = 0; i < e->n_nodes; i++) put_node(&file, e, i);
    int status =
        file.pairs.failed || file.infos.failed ? ggs_fail_memory(error) : ggs_output_open(&output, path, error);
    if (status == 0) {
        write_all(output.file, &file, e);
        status = ggs_output_commit(&output, error);
    }
    ggs_text_release(&file.pairs);
    ggs_text_release(&file.infos);
    return status;
}
