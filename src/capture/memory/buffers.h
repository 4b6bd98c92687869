// Runtime buffers: the engine's objects and the ids we give them. Thread-safe.
#pragma once

#include <stdbool.h>
#include <stdint.h>

void     ggs_buffer_add(const void * buffer, uint64_t id, uint64_t address, uint64_t size);
uint64_t ggs_buffer_remove(const void * buffer); // its id, 0 if it was not known
uint64_t ggs_buffer_id(const void * buffer);     // its id, 0 if it is not known
// Is the address in one of them?
bool ggs_buffer_holds(uint64_t address);
