// Words for the numbers of a trace, for every output: tables, JSON, text and the page.
#pragma once

#include <stdint.h>

#include "analyze/walk/trace.h"

const char * ggs_word_phase(uint64_t phase); // "NONE", "PROMPT", "GENERATE", "MIXED", "WARMUP", "VERIFY", "GRAPH"
const char * ggs_word_step(const struct ggs_trace * trace); // a step of this recording: "token", "graph run"
const char * ggs_word_source(uint64_t source);              // "DISK", "BUFFER", "VRAM"; NULL for none
const char * ggs_word_class(uint64_t class_);               // "weights", "kv", "compute", "io", "other"
const char * ggs_word_usage(uint64_t usage);                // "any", "weights", "compute"
const char * ggs_word_window(uint64_t kind);                // "recorded", "mark"
const char * ggs_word_output_read(uint64_t read);           // "yes", "no", NULL if that is not known
const char * ggs_word_memory_change(
    uint64_t kind);                             // "clear", "remove", "copy", "keep", "add", "divide", "sampler", "load"
const char * ggs_word_streamed(uint64_t place); // "mapping", "ring", "kept", "slots"
const char * ggs_word_transfer(uint64_t transfer); // "host to tensor", "tensor to host", "tensor to tensor"
const char * ggs_word_device(uint64_t type);       // "cpu", "gpu", "accelerator", "unknown"
const char * ggs_word_seen(uint64_t seen);         // "nothing", "graphs", "ops", "kernels"

// The purpose of a node, by its weight or by names: "attention", "ffn", ... as in
// ggs_category_name.
const char * ggs_word_category(const struct ggs_trace * trace, const struct ggs_graph * graph, uint64_t node);
// "Q", "K" or "V" for nodes that compute these; NULL for others.
const char * ggs_word_qkv(const struct ggs_trace * trace, const struct ggs_graph * graph, uint64_t node);
