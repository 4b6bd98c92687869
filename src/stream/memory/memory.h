// What the process holds, and memory to read into.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What this process holds already that cannot be dropped.
uint64_t ggs_memory_anonymous(void);

// Memory in huge pages where the kernel has them, hardly touched yet, not handed to children. NULL if there is none. `part`: how much of it is let go of at a time, if it is; a huge page stays charged as
// long as a part of it is held, so small ones are taken where parts are smaller.
void * ggs_memory_take(size_t bytes, size_t part);
void   ggs_memory_give_back(void * memory, size_t bytes);

// Bytes of memory that was taken and has no pages yet, parts that were let go included. From any thread.
uint64_t ggs_memory_empty(void);

// Touches memory that is about to be read into, so that its huge pages are not counted as empty while the kernel clears them: the limit has been charged with them already, and eight threads that
// read can be at it at a time.
void ggs_memory_touch(char * memory, size_t bytes);

// Lets the pages of a part go; the memory stays. Returns how much that was. Allocates nothing.
uint64_t ggs_memory_let_go(char * memory, uint64_t bytes);

// The engine's buffers: those that are allocated may still be untouched, and will be. Where graphs compute is reserved for the largest batch
// that could come; what counts of it is how far graphs have reached. Returns whether this one reaches further than any before.
void     ggs_memory_buffer(const void * buffer, const void * address, uint64_t bytes);
void     ggs_memory_buffer_gone(const void * buffer);
bool     ggs_memory_reach(const void * address, uint64_t bytes);
uint64_t ggs_memory_untouched(void);

// Bytes of a page of this machine.
uint64_t ggs_memory_page(void);
