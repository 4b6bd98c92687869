// What the verbs that read an experiment have in common: opening it, and the ranges A..B on their command lines.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/trace.h"
#include "base/uuid.h"

struct argp_state;

// For the default case of an option parser: the one argument of most verbs, the directory of an experiment.
int ggs_verb_parse_directory(int key, char * argument, struct argp_state * state, const char ** directory);

// Seals an experiment where that was not done. A trace file is taken as it is.
int ggs_verb_seal(const char * path, struct ggs_error * error);
// Seals the experiment where that was not done, opens it, and passes on the reader's warning. On failure says why on stderr.
int ggs_verb_open(struct ggs_trace * trace, const char * directory);
// Says on stderr what failed.
void ggs_verb_complain(const struct ggs_error * error);

// The experiment's id as text.
char * ggs_verb_uuid(char text[GGS_UUID_LENGTH], const struct ggs_trace * trace);

// Both directions of a range may be left open: "5", "5..9", "5..", "..9". False where the text is no range.
bool ggs_parse_tokens(const char * text, int64_t * first, int64_t * last);   // both included
bool ggs_parse_offsets(const char * text, uint64_t * begin, uint64_t * end); // end not included; "64K..1.5M" is fine
// "1.5s", "300ms", "20us", "5000ns" or "5000", as nanoseconds.
bool ggs_parse_time(const char * text, int64_t * ns);

// A name from a file, written so that it cannot drive the terminal: at most `columns` columns wide, shortened in the middle.
char * ggs_verb_fit(char * buffer, size_t size, const char * name, unsigned columns);
