// What the numbers of a trace are called, in every output: tables, JSON, text and the page.
#pragma once

#include <stdint.h>

const char * ggs_word_phase(uint64_t phase);       // "NONE", "PROMPT", "GENERATE", "MIXED", "WARMUP", "VERIFY"
const char * ggs_word_source(uint64_t source);     // "DISK", "BUFFER"; NULL for neither
const char * ggs_word_class(uint64_t class_);      // "weights", "kv", "compute", "io", "other"
const char * ggs_word_usage(uint64_t usage);       // "any", "weights", "compute"
const char * ggs_word_transfer(uint64_t transfer); // "host to tensor", "tensor to host", "tensor to tensor"
