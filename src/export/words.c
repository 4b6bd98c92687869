// The words of exports: what numbers of a trace are called.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/text.h"
#include "base/utf8.h"
#include "export/export.h"
#include "gguf/gguf-name.h"

// ---- text ----

static size_t valid_length(const char * text, size_t length) {
    size_t   i = 0;
    uint32_t point;
    while (i < length) {
        size_t size = ggs_utf8_decode(text + i, length - i, &point);
        if (size == 0) break;
        i += size;
    }
    return i;
}

static void append_valid(struct ggs_text * out, const char * text, size_t length) {
    while (length > 0) {
        size_t valid = valid_length(text, length);
        ggs_text_append(out, text, valid);
        if (valid == length) break;
        ggs_text_puts(out, "\xef\xbf\xbd");
        text += valid + 1;
        length -= valid + 1;
    }
}

void ggs_text_make_valid(struct ggs_text * text) {
    if (text->length == 0 || valid_length(text->data, text->length) == text->length) return;
    struct ggs_text clean = {0};
    append_valid(&clean, text->data, text->length);
    ggs_text_release(text);
    *text = clean;
}

const char * ggs_export_valid(struct ggs_export * export, const char * text) {
    if (text == NULL || valid_length(text, strlen(text)) == strlen(text)) return text;
    struct ggs_text clean = {0};
    append_valid(&clean, text, strlen(text));
    if (clean.failed || !ggs_array_push(export->copies, export->n_copies, export->copies_capacity, clean.data)) {
        ggs_text_release(&clean);
        return "";
    }
    return clean.data;
}

// ---- words ----

char * ggs_moment_format(char text[GGS_MOMENT_LENGTH], int64_t ns) {
    int64_t   seconds = ns / 1000000000 - (ns % 1000000000 < 0);
    time_t    time    = (time_t) seconds;
    struct tm parts   = {0};
    gmtime_r(&time, &parts);
    size_t length = strftime(text, GGS_MOMENT_LENGTH, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text + length, GGS_MOMENT_LENGTH - length, ".%09dZ", (int) (ns - seconds * 1000000000));
    return text;
}

const char * ggs_word_type(const struct ggs_export * export, uint64_t type) {
    const struct ggs_trace * trace = &export->trace;
    return type < trace->n_types ? ggs_reader_string(trace->reader, trace->types[type].name) : "";
}

const char * ggs_tensor_name_of(const struct ggs_export * export, uint64_t tensor) {
    return tensor == 0 || tensor > export->trace.n_tensors ? "" : export->names[tensor - 1];
}

const char * ggs_tensor_name(const struct ggs_export * export, const struct ggs_tensor * tensor) {
    return export->names[tensor - export->trace.tensors];
}

int ggs_tensor_layer(const struct ggs_export * export, const struct ggs_tensor * tensor) {
    return export->trace.layers[tensor - export->trace.tensors];
}

// What llama.cpp calls the results of nodes, if no weight says it: the first that fits.
static enum ggs_category category_of_result(const char * name) {
    static const struct {
        const char *      part;
        enum ggs_category category;
    } table[] = {
        {"result_norm", GGS_CATEGORY_NORM}, {"result", GGS_CATEGORY_OUTPUT},    {"ffn_norm", GGS_CATEGORY_NORM},
        {"attn_norm", GGS_CATEGORY_NORM},   {"norm", GGS_CATEGORY_NORM},        {"inp_", GGS_CATEGORY_INPUT},
        {"embd", GGS_CATEGORY_INPUT},       {"ffn", GGS_CATEGORY_FFN},          {"attn", GGS_CATEGORY_ATTENTION},
        {"Qcur", GGS_CATEGORY_ATTENTION},   {"Kcur", GGS_CATEGORY_ATTENTION},   {"Vcur", GGS_CATEGORY_ATTENTION},
        {"kq", GGS_CATEGORY_ATTENTION},     {"cache_", GGS_CATEGORY_ATTENTION}, {"__fattn__", GGS_CATEGORY_ATTENTION},
        {"l_out", GGS_CATEGORY_FFN},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (strncmp(name, table[i].part, strlen(table[i].part)) == 0) return table[i].category;
    }
    return GGS_CATEGORY_OTHER;
}

static enum ggs_category category_of(const char * name) {
    enum ggs_category category = ggs_name_parse(name, strlen(name)).category;
    return category != GGS_CATEGORY_OTHER ? category : category_of_result(name);
}

static const char * find_category(const struct ggs_export * export, const struct ggs_graph * graph, uint64_t node) {
    enum ggs_category category = GGS_CATEGORY_OTHER;
    // The weight that a node multiplies with says it best.
    for (uint64_t e = graph->first_edge[node]; category == GGS_CATEGORY_OTHER && e < graph->first_edge[node + 1]; e++) {
        const char * name = ggs_tensor_name_of(export, graph->edges[e].tensor);
        category          = ggs_name_parse(name, strlen(name)).category;
    }
    if (category == GGS_CATEGORY_OTHER) category = category_of(ggs_tensor_name_of(export, graph->nodes[node].tensor));
    for (uint64_t e = graph->first_edge[node]; category == GGS_CATEGORY_OTHER && e < graph->first_edge[node + 1]; e++)
        category = category_of(ggs_tensor_name_of(export, graph->edges[e].tensor));
    return ggs_category_name(category);
}

static const char * find_qkv(const struct ggs_export * export, const struct ggs_graph * graph, uint64_t node) {
    const char * result = ggs_tensor_name_of(export, graph->nodes[node].tensor);
    if (strncmp(result, "Qcur", 4) == 0) return "Q";
    if (strncmp(result, "Kcur", 4) == 0) return "K";
    if (strncmp(result, "Vcur", 4) == 0) return "V";
    for (uint64_t e = graph->first_edge[node]; e < graph->first_edge[node + 1]; e++) {
        const char *    name  = ggs_tensor_name_of(export, graph->edges[e].tensor);
        struct ggs_name parts = ggs_name_parse(name, strlen(name));
        if (parts.component_length == 6 && memcmp(parts.component, "attn_q", 6) == 0) return "Q";
        if (parts.component_length == 6 && memcmp(parts.component, "attn_k", 6) == 0) return "K";
        if (parts.component_length == 6 && memcmp(parts.component, "attn_v", 6) == 0) return "V";
    }
    return NULL;
}

// Most steps run the same graph: what its nodes are is found out once. False: there is no memory to keep it.
static bool know_graph(struct ggs_export * export, const struct ggs_graph * graph) {
    struct ggs_graph_words * words = &export->words;
    if (words->graph == graph->row.graph) return true;
    words->graph = 0;
    if (!ggs_array_reserve(words->nodes, words->capacity, graph->n_nodes + 1)) return false;
    for (uint64_t n = 0; n < graph->n_nodes; n++) {
        words->nodes[n].category = find_category(export, graph, n);
        words->nodes[n].qkv      = find_qkv(export, graph, n);
    }
    words->graph = graph->row.graph;
    return true;
}

const char * ggs_node_category(struct ggs_export * export, const struct ggs_graph * graph, uint64_t node) {
    return know_graph(export, graph) ? export->words.nodes[node].category : find_category(export, graph, node);
}

const char * ggs_node_qkv(struct ggs_export * export, const struct ggs_graph * graph, uint64_t node) {
    return know_graph(export, graph) ? export->words.nodes[node].qkv : find_qkv(export, graph, node);
}

uint64_t ggs_tensor_extent(const struct ggs_trace * trace, const struct ggs_tensor * t) {
    const struct ggs_type * type = t->type < trace->n_types ? &trace->types[t->type] : NULL;
    if (type == NULL || type->block_elements == 0) return 0;
    for (int i = 0; i < 4; i++) {
        if (t->ne[i] <= 0) return 0;
    }
    uint64_t blocks = (uint64_t) t->ne[0] / type->block_elements;
    uint64_t bytes  = blocks == 0 ? 0 : type->block_bytes + (blocks - 1) * t->nb[0];
    for (int i = 1; i < 4; i++) bytes += ((uint64_t) t->ne[i] - 1) * t->nb[i];
    return bytes;
}
