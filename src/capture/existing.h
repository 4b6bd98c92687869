// Objects that existed before the library was attached: recorded when they are first used.
#pragma once

#include <stdbool.h>

struct abi_graph;
struct ggs_journal_memory;

// Begins the search in an attached program.
void ggs_existing_begin(void);

// Records a context that is used, and its model, once.
void ggs_existing_context(void * context, const void * caller);
// The context was made while attached, and is recorded.
void ggs_existing_skip(const void * context, const void * memory);
// Keeps a change of a memory whose context is not recorded: it follows the context. False if the
// context is recorded.
bool ggs_existing_hold(const struct ggs_journal_memory * change);

// Records the model files once, before the first graph. Also for engines whose functions that open
// files are not hooked.
void ggs_existing_files(void);
