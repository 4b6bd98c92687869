// Locks on directories that end with their holder: one for the process that records into an
// experiment, one for each that writes to a spool.
//
// A mark belongs to an open file, not to a process: it is seen from other PID namespaces and
// containers, a number that is used again means nothing, and the kernel takes it away when its
// holder is killed. Looking for a mark takes no lock, so it cannot disturb a holder. If the file
// system has no such locks (some network file systems), marks are neither kept nor seen.
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

// Marks a directory that is open. Any number of holders may do so. Inline, because the capture
// library links libc alone.
static inline bool ggs_lock_mark(int fd) {
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET}; // all bytes of it
    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

// Takes the mark away, whoever else has inherited it.
static inline void ggs_lock_unmark(int fd) {
    struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    fcntl(fd, F_OFD_SETLK, &lock);
}

// The mark of a program that was started to be recorded and may come to write, before an engine is
// seen in it: ggs_lock_acquire and ggs_lock_is_held see it, ggs_lock_is_written does not.
static inline bool ggs_lock_expect(int fd) {
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = 1};
    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

// Marks a directory as the only holder. Returns a descriptor for ggs_lock_release; -1 with errno
// EWOULDBLOCK if it is marked already or is being sealed, ESTALE if it was removed meanwhile, or
// what open says.
int  ggs_lock_acquire(const char * directory);
void ggs_lock_release(int * fd); // also for those who inherited it; -1 is fine, and what is left

// Is the directory marked at all? One that is not there is not.
bool ggs_lock_is_held(const char * directory);
// Does another process write to it?
bool ggs_lock_is_written(int fd);
