// Room for a file, taken before it is written to.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Does the file lie in memory (tmpfs)?
bool ggs_room_is_memory(int fd);

// Allocates the file in full, as zeros: a hole in a full file system would be a SIGBUS in whoever
// maps it. In memory its pages are there afterwards; on a disk only their room. Returns 0 or an
// errno.
int ggs_room_allocate(int fd, uint64_t size);
