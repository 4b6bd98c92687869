// What the engine requests from the kernel while it loads a model: read, mmap with MAP_POPULATE,
// advice, locks.
//
// The hooks are functions of libc, which everything calls all the time. Outside of loading each of
// them is a branch and a jump to the real function; during loading only calls that concern a model
// file are timed. They are also called before our constructor, in forked children and in signal
// handlers.
#pragma once

#include <stdbool.h>
#include <stdint.h>

extern int ggs_reads_loading; // read relaxed; 0 outside of loading

// The calling thread loads a model between these; `load` is its number. They do not nest.
void ggs_reads_begin(uint64_t load);
void ggs_reads_end(void);
// For a model file that is about to be read. Outside of the above a load begins, which lasts until
// a graph is computed.
void ggs_reads_expect(void);
// For a new buffer: unless llama.cpp loads the models, reads up to the next graph may be weights
// (fills.h).
void ggs_reads_expect_fills(void);
bool ggs_reads_filling(void);
// For a graph that is about to be computed: ends such a load. True if there was one.
int ggs_reads_settle(void);
// For a forked child.
void ggs_reads_forget(void);
