// Vocabularies: GGUF files with a tokenizer and no tensors.
#pragma once

#include <limits.h>
#include <stdint.h>

struct ggs_error;
struct ggs_synth_metadata;

// Finds the vocabulary `name` ("ggml-vocab-gpt-2.gguf"): `chosen` if it is not NULL, else in the
// directory GGSCOPE_VOCAB_DIR, else beside this program, in its build tree or installation.
// GGS_ABSENT with a sentence that lists the places.
int ggs_vocabulary_find(char path[PATH_MAX], const char * chosen, const char * name, struct ggs_error * error);

// Appends the tokenizer's key-values of that file to `metadata` and stores the number of tokens.
// The engine must be loaded.
int ggs_vocabulary_copy(const char * path, struct ggs_synth_metadata * metadata, uint32_t * tokens,
                        struct ggs_error * error);
