// Turns tokens into text with the vocabulary of a GGUF file.
//
// Vocabularies use a notation that depends on tokenizer.ggml.model:
//     llama, t5   "▁time" is " time", "<0x0A>" is the byte 10
//     gpt2        each byte is a printable character: "Ġtime" is " time"
//     others      used as they are
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ggs_error;
struct ggs_gguf;
struct ggs_text;

struct ggs_vocabulary;

// The file must outlive the result. GGS_ABSENT if the file has no vocabulary.
int  ggs_vocabulary_open(struct ggs_vocabulary ** out, const struct ggs_gguf * gguf, struct ggs_error * error);
void ggs_vocabulary_free(struct ggs_vocabulary * vocabulary); // NULL is fine

// Appends the text of a token; nothing for an invalid number. A token may be only part of a
// character.
void ggs_vocabulary_append(const struct ggs_vocabulary * vocabulary, int64_t token, struct ggs_text * text);
