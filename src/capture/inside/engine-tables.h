// What an engine without symbols calls its ops and types, read from its own tables.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/code/view.h"
#include "preload/ggml-abi.h"

// Finds the tables of an object in memory. False if one is missing, or not laid out as known.
bool ggs_engine_tables_find(const struct ggs_view * view);

// Functions that answer from them, for what a recording cannot do without asking. Buffers are not
// known.
extern const struct abi_functions ggs_engine_tables;
// True for the number of an op or type that has a name.
bool ggs_engine_tables_has_op(int op);
bool ggs_engine_tables_has_type(int type);
