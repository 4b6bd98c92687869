// What existed before the library came into the program: learned when it is first used.
#pragma once

#include <stdbool.h>

struct abi_graph;

// A recording begins in a program that ran before.
void ggs_existing_begin(void);

// A decode of `context` begins: tells of the context and its model, once.
void ggs_existing_context(void * context, const void * caller);

// A graph is seen for the first time: tells of the model files before it, once. Also for engines
// whose functions that open files are not seen.
void ggs_existing_files(void);
