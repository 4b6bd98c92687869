// What an experiment says about itself: experiment.json, the prompt, and the text of tokens.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ggs_error;
struct ggs_text;
struct ggs_trace;
struct ggs_facts;

int  ggs_facts_open(struct ggs_facts ** out, struct ggs_trace * trace, struct ggs_error * error);
void ggs_facts_free(struct ggs_facts * facts); // NULL is fine

// A value of experiment.json by its path ("host.cores"). Text: NULL if it is absent or no text.
// Lives as long as the facts.
const char * ggs_facts_text(const struct ggs_facts * facts, const char * path);
// False if it is absent or no number.
int ggs_facts_number(const struct ggs_facts * facts, const char * path, int64_t * value);
// The same for a number that may have a fraction, and for true and false.
int ggs_facts_real(const struct ggs_facts * facts, const char * path, double * value);
int ggs_facts_boolean(const struct ggs_facts * facts, const char * path, int64_t * value);
// The words of the command, NULL beyond the last.
const char * ggs_facts_command(const struct ggs_facts * facts, size_t i);

// What was asked of the model: the command's -p, else the tokens of the first step as text. NULL if
// neither is known.
const char * ggs_facts_prompt(const struct ggs_facts * facts);

// Appends a token's text. Returns 0 if the model's vocabulary cannot be read.
int ggs_facts_token(const struct ggs_facts * facts, int64_t token, struct ggs_text * text);
