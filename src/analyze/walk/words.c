#include "analyze/walk/words.h"

#include <stddef.h>
#include <string.h>

#include "gguf/gguf-name.h"

const char * ggs_word_phase(uint64_t phase) {
    static const char * const names[GGS_PHASE_COUNT] = {
        [GGS_PHASE_NONE] = "NONE",   [GGS_PHASE_PROMPT] = "PROMPT", [GGS_PHASE_GENERATE] = "GENERATE",
        [GGS_PHASE_MIXED] = "MIXED", [GGS_PHASE_WARMUP] = "WARMUP", [GGS_PHASE_VERIFY] = "VERIFY",
        [GGS_PHASE_GRAPH] = "GRAPH"};
    return phase < GGS_PHASE_COUNT ? names[phase] : "NONE";
}

const char * ggs_word_output_read(uint64_t read) {
    return read == GGS_READ_BY_PROGRAM ? "yes" : read == GGS_READ_NEVER ? "no" : NULL;
}

const char * ggs_word_memory_change(uint64_t kind) {
    static const char * const words[GGS_MEMORY_COUNT] = {
        [GGS_MEMORY_CLEAR] = "clear",     [GGS_MEMORY_REMOVE] = "remove", [GGS_MEMORY_COPY] = "copy",
        [GGS_MEMORY_KEEP] = "keep",       [GGS_MEMORY_ADD] = "add",       [GGS_MEMORY_DIVIDE] = "divide",
        [GGS_MEMORY_SAMPLER] = "sampler", [GGS_MEMORY_LOAD] = "load"};
    return kind < GGS_MEMORY_COUNT && words[kind] != NULL ? words[kind] : "";
}

const char * ggs_word_window(uint64_t kind) {
    return kind == GGS_WINDOW_MARK ? "mark" : "recorded";
}

const char * ggs_word_streamed(uint64_t place) {
    static const char * const words[GGS_STREAMED_COUNT] = {NULL, "mapping", "ring", "kept", "slots"};
    return place > 0 && place < GGS_STREAMED_COUNT ? words[place] : "unknown";
}

const char * ggs_word_step(const struct ggs_trace * trace) {
    return trace->tokenless ? "graph run" : "token";
}

const char * ggs_word_source(uint64_t source) {
    static const char * const names[GGS_SOURCE_COUNT] = {
        [GGS_SOURCE_DISK] = "DISK", [GGS_SOURCE_BUFFER] = "BUFFER", [GGS_SOURCE_VRAM] = "VRAM"};
    return source < GGS_SOURCE_COUNT ? names[source] : NULL;
}

const char * ggs_word_class(uint64_t class_) {
    static const char * const names[GGS_CLASS_COUNT] = {[GGS_CLASS_OTHER]   = "other",
                                                        [GGS_CLASS_WEIGHTS] = "weights",
                                                        [GGS_CLASS_KV]      = "kv",
                                                        [GGS_CLASS_COMPUTE] = "compute",
                                                        [GGS_CLASS_IO]      = "io"};
    return class_ < GGS_CLASS_COUNT ? names[class_] : "other";
}

const char * ggs_word_usage(uint64_t usage) {
    return usage == 1 ? "weights" : usage == 2 ? "compute" : "any";
}

const char * ggs_word_transfer(uint64_t kind) {
    return kind == 1 ? "host to tensor" : kind == 2 ? "tensor to host" : "tensor to tensor";
}

const char * ggs_word_device(uint64_t type) {
    static const char * const names[GGS_DEVICE_COUNT] = {[GGS_DEVICE_UNKNOWN]     = "unknown",
                                                         [GGS_DEVICE_CPU]         = "cpu",
                                                         [GGS_DEVICE_GPU]         = "gpu",
                                                         [GGS_DEVICE_ACCELERATOR] = "accelerator"};
    return names[type < GGS_DEVICE_COUNT ? type : GGS_DEVICE_UNKNOWN];
}

const char * ggs_word_seen(uint64_t seen) {
    static const char * const names[GGS_SEEN_COUNT] = {[GGS_SEEN_NOTHING] = "nothing",
                                                       [GGS_SEEN_GRAPHS]  = "graphs",
                                                       [GGS_SEEN_OPS]     = "ops",
                                                       [GGS_SEEN_KERNELS] = "kernels"};
    return names[seen < GGS_SEEN_COUNT ? seen : GGS_SEEN_NOTHING];
}

// ---- nodes ----

// llama.cpp's names for results, for nodes that read no weight: the first match counts.
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

const char * ggs_word_category(const struct ggs_trace * trace, const struct ggs_graph * graph, uint64_t node) {
    enum ggs_category category = GGS_CATEGORY_OTHER;
    // The weight that a node multiplies with is the best indication.
    for (uint64_t e = graph->first_edge[node]; category == GGS_CATEGORY_OTHER && e < graph->first_edge[node + 1]; e++) {
        const char * name = ggs_trace_tensor_name(trace, graph->edges[e].tensor);
        category          = ggs_name_parse(name, strlen(name)).category;
    }
    if (category == GGS_CATEGORY_OTHER) category = category_of(ggs_trace_tensor_name(trace, graph->nodes[node].tensor));
    for (uint64_t e = graph->first_edge[node]; category == GGS_CATEGORY_OTHER && e < graph->first_edge[node + 1]; e++)
        category = category_of(ggs_trace_tensor_name(trace, graph->edges[e].tensor));
    return ggs_category_name(category);
}

const char * ggs_word_qkv(const struct ggs_trace * trace, const struct ggs_graph * graph, uint64_t node) {
    const char * result = ggs_trace_tensor_name(trace, graph->nodes[node].tensor);
    if (strncmp(result, "Qcur", 4) == 0) return "Q";
    if (strncmp(result, "Kcur", 4) == 0) return "K";
    if (strncmp(result, "Vcur", 4) == 0) return "V";
    for (uint64_t e = graph->first_edge[node]; e < graph->first_edge[node + 1]; e++) {
        const char *    name  = ggs_trace_tensor_name(trace, graph->edges[e].tensor);
        struct ggs_name parts = ggs_name_parse(name, strlen(name));
        if (parts.component_length == 6 && memcmp(parts.component, "attn_q", 6) == 0) return "Q";
        if (parts.component_length == 6 && memcmp(parts.component, "attn_k", 6) == 0) return "K";
        if (parts.component_length == 6 && memcmp(parts.component, "attn_v", 6) == 0) return "V";
    }
    return NULL;
}
