// Words for the numbers of a trace.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze/walk/words.h"
#include "base/array.h"
#include "base/text.h"
#include "base/utf8.h"
#include "export/export.h"

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

// Caches the words of a graph's nodes, because most steps run the same graph. False if out of
// memory.
static bool cache_words(struct ggs_export * export, const struct ggs_graph * graph) {
    struct ggs_graph_words * words = &export->words;
    if (words->graph == graph->row.graph) return true;
    words->graph = 0;
    if (!ggs_array_reserve(words->nodes, words->capacity, graph->n_nodes + 1)) return false;
    for (uint64_t n = 0; n < graph->n_nodes; n++) {
        words->nodes[n].category = ggs_word_category(&export->trace, graph, n);
        words->nodes[n].qkv      = ggs_word_qkv(&export->trace, graph, n);
    }
    words->graph = graph->row.graph;
    return true;
}

const char * ggs_node_category(struct ggs_export * export, const struct ggs_graph * graph, uint64_t node) {
    return cache_words(export, graph) ? export->words.nodes[node].category
                                      : ggs_word_category(&export->trace, graph, node);
}

const char * ggs_node_qkv(struct ggs_export * export, const struct ggs_graph * graph, uint64_t node) {
    return cache_words(export, graph) ? export->words.nodes[node].qkv : ggs_word_qkv(&export->trace, graph, node);
}
