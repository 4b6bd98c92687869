// Runtime buffers: the engine's objects and the ids we give them, which are never used again.
// Thread-safe.
#pragma once

#include <stdbool.h>
#include <stdint.h>

void     ggs_buffer_add(const void * object, uint64_t id, uint64_t address, uint64_t size);
uint64_t ggs_buffer_remove(const void * object); // its id, 0 if it is not known
uint64_t ggs_buffer_id(const void * object);     // its id, 0 if it is not known
// The recording is over: forgets all of them.
void ggs_buffers_reset(bool forked);
// The id of a buffer that a tensor lies in. In a program that ran before us its making was not
// seen: then it is told here (transfers.c).
uint64_t ggs_buffer_of_tensor(void * object);
// True if the address lies in one of them.
bool ggs_buffer_holds(uint64_t address);
