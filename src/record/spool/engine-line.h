// Names for the facts of a spool.
#pragma once

#include <stddef.h>

#include "trace/seal/spool-facts.h"

// "space", "ring", ...; NULL for an unknown number.
const char * ggs_loss_name(unsigned reason);

// Walks the lines of `engine`: stores the key's and the value's place and length, returns the rest,
// NULL at the end.
//     for (const char * at = facts->engine; (at = ggs_engine_line(at, &line)) != NULL;) ...
struct ggs_engine_line {
    const char * key;
    size_t       key_length;
    const char * value;
    size_t       value_length;
};
const char * ggs_engine_line(const char * text, struct ggs_engine_line * line);
