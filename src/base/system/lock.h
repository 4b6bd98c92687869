// Locks on directories that end with their holder: one for the process that records into an
// experiment, one for each process that writes to a spool.
//
// A mark belongs to an open file, not to a process. It is visible from other PID namespaces and
// containers, is immune to reuse of process ids, and the kernel removes it when its holder dies.
// Checking for a mark takes no lock, so it cannot disturb a holder. On file systems without such
// locks (some network file systems), marks are neither kept nor seen.
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

// Marks an open directory. It can have any number of holders. Inline, because the capture library
// links only libc.
static inline bool ggs_lock_mark(int fd) {
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET}; // all bytes of it
    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

// Removes the mark, also for processes that inherited it.
static inline void ggs_lock_unmark(int fd) {
    struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    fcntl(fd, F_OFD_SETLK, &lock);
}

// Marks a directory on behalf of a program that may become a writer, before an engine is seen in
// it. ggs_lock_acquire and ggs_lock_is_held see this mark, ggs_lock_is_written does not.
static inline bool ggs_lock_expect(int fd) {
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = 1};
    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

// Marks a directory as its only holder. Returns a descriptor for ggs_lock_release. Returns -1 with
// errno EWOULDBLOCK if it is marked or being sealed, ESTALE if it was removed meanwhile, or open's
// errno.
int ggs_lock_acquire(const char * directory);
// Keeps others from acquiring a directory without marking it: ggs_lock_is_held still returns false.
// Returns a descriptor to close, or -1 if the directory is marked, being sealed, or missing.
int  ggs_lock_exclude(const char * directory);
void ggs_lock_release(int * fd); // releases the mark of this process and of those that inherited it; -1 is fine

// True if the directory exists and is marked.
bool ggs_lock_is_held(const char * directory);
// True if another process writes to it.
bool ggs_lock_is_written(int fd);
