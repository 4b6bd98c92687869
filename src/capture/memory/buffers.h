// Runtime buffers: the engine's objects and their ids in the recording, which are never reused.
// Thread-safe.
#pragma once

#include <stdbool.h>
#include <stdint.h>

void     ggs_buffer_add(const void * object, uint64_t id, uint64_t address, uint64_t size);
uint64_t ggs_buffer_remove(const void * object); // its id, 0 if unknown
uint64_t ggs_buffer_id(const void * object);     // its id, 0 if unknown
// Forgets all buffers after a recording.
void ggs_buffers_reset(bool forked);
// Returns the id of a tensor's buffer. In an attached program no hook observed its creation: it is
// recorded here (transfers.c).
uint64_t ggs_buffer_of_tensor(void * object);
// True if the address lies in a buffer.
bool ggs_buffer_holds(uint64_t address);
