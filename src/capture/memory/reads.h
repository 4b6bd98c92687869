// What the engine asks the kernel for while it loads a model: read, mmap with MAP_POPULATE, advice,
// locks.
//
// The hooks are functions of libc, which everything calls all the time. Except while loading, each
// of them is one branch and a jump to the real function; while loading, only calls that concern a
// model file are timed. They are also called before our constructor, in forked children and in
// signal handlers.
#pragma once

#include <stdbool.h>
#include <stdint.h>

extern int ggs_reads_loading; // read relaxed; 0 almost always

// Between these the calling thread loads a model; `load` is its number. They do not nest.
void ggs_reads_begin(uint64_t load);
void ggs_reads_end(void);
// A model file is about to be read. Outside of the above a load begins here, and lasts until a
// graph is computed.
void ggs_reads_expect(void);
// A buffer was made: outside of models that llama.cpp loads, what is read until a graph is computed
// may be weights (fills.h).
void ggs_reads_expect_fills(void);
bool ggs_reads_filling(void);
// A graph is about to be computed: ends such a load. True if there was one.
int ggs_reads_settle(void);
// In the child of a fork.
void ggs_reads_forget(void);
