// Names of ops and types of an engine without symbols, read from its own tables.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/code/view.h"
#include "preload/ggml-abi.h"

// Finds the tables of an object in memory. Returns false if one is missing or has another layout.
bool ggs_engine_tables_find(const struct ggs_view * view);

// Functions that answer from these tables. Buffers are unknown.
extern const struct abi_functions ggs_engine_tables;
// True for the number of an op or type with a name.
bool ggs_engine_tables_has_op(int op);
bool ggs_engine_tables_has_type(int type);
