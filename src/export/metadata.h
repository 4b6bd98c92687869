// Metadata of an experiment: experiment.json, the prompt, and the text of tokens.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ggs_error;
struct ggs_text;
struct ggs_trace;
struct ggs_metadata;

int  ggs_metadata_open(struct ggs_metadata ** out, struct ggs_trace * trace, struct ggs_error * error);
void ggs_metadata_free(struct ggs_metadata * facts); // NULL is fine

// Looks up a value of experiment.json by path ("host.cores"). NULL if it is missing or not a
// string. Lives as long as the facts.
const char * ggs_metadata_text(const struct ggs_metadata * facts, const char * path);
// False if it is missing or not a number.
int ggs_metadata_number(const struct ggs_metadata * facts, const char * path, int64_t * value);
// The same for numbers with fractions, and for booleans.
int ggs_metadata_real(const struct ggs_metadata * facts, const char * path, double * value);
int ggs_metadata_boolean(const struct ggs_metadata * facts, const char * path, int64_t * value);
// Returns the words of the command, NULL beyond the last.
const char * ggs_metadata_command(const struct ggs_metadata * facts, size_t i);

// Returns the prompt: the command's -p, else the text of the first step's tokens. NULL if both are
// unknown.
const char * ggs_metadata_prompt(const struct ggs_metadata * facts);

// Appends a token's text. Returns 0 if the model's vocabulary cannot be read.
int ggs_metadata_token(const struct ggs_metadata * facts, int64_t token, struct ggs_text * text);
