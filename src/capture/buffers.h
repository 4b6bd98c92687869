// Runtime buffers: the engine's objects and the ids we give them. Thread-safe.
#pragma once

#include <stdint.h>

void     ggs_buffer_add(const void * buffer, uint64_t id);
uint64_t ggs_buffer_remove(const void * buffer); // its id, 0 if it was not known
uint64_t ggs_buffer_id(const void * buffer);     // its id, 0 if it is not known
