// Space for a file, allocated before it is written.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// True if the file lies in memory (tmpfs).
bool ggs_room_is_memory(int fd);

// Allocates the whole file as zeros: a hole in a full file system would raise SIGBUS in a process
// that maps it. On tmpfs its pages exist afterwards; on a disk only their space. Returns 0 or an
// errno.
int ggs_room_allocate(int fd, uint64_t size);
