// What a token reads as: the vocabulary that a GGUF file carries, turned back into text.
//
// Vocabularies write pieces in a notation of their own; which one, the file tells
// (tokenizer.ggml.model):
//     llama, t5   "▁time" is " time", "<0x0A>" is the byte 10
//     gpt2        each byte is a printable character: "Ġtime" is " time"
//     others      as they stand
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ggs_error;
struct ggs_gguf;
struct ggs_text;

struct ggs_vocabulary;

// The file must outlive the result. GGS_ABSENT if it has no vocabulary.
int  ggs_vocabulary_open(struct ggs_vocabulary ** out, const struct ggs_gguf * gguf, struct ggs_error * error);
void ggs_vocabulary_free(struct ggs_vocabulary * vocabulary); // NULL is fine

// Appends the text of a token; nothing for a number that is none. A piece may hold part of a
// character only.
void ggs_vocabulary_append(const struct ggs_vocabulary * vocabulary, int64_t token, struct ggs_text * text);
