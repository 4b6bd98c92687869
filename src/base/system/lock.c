#include "base/system/lock.h"

#include <errno.h>
#include <sys/file.h>
#include <sys/stat.h>

static bool is_marked(int fd, off_t bytes) { // checks the first `bytes` bytes; 0: all
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = bytes};
    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool ggs_lock_is_written(int fd) {
    return is_marked(fd, 1);
}

bool ggs_lock_is_held(const char * directory) {
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return false;
    bool held = is_marked(fd, 0);
    close(fd);
    return held;
}

int ggs_lock_acquire(const char * directory) {
    int         fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat here, there;
    if (fd < 0) return -1;
    // Held briefly, so that checking and marking are atomic. Sealing holds it longer.
    int  problem = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK ? EWOULDBLOCK : 0;
    bool locked  = problem == 0;
    if (problem == 0 && is_marked(fd, 0)) problem = EWOULDBLOCK;
    if (problem == 0) ggs_lock_mark(fd);
    bool same = fstat(fd, &here) == 0 && stat(directory, &there) == 0 && here.st_dev == there.st_dev &&
                here.st_ino == there.st_ino;
    if (problem == 0 && !same) problem = ESTALE;
    if (locked) flock(fd, LOCK_UN);
    if (problem == 0) return fd;
    close(fd);
    errno = problem;
    return -1;
}

int ggs_lock_exclude(const char * directory) {
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || (flock(fd, LOCK_EX | LOCK_NB) == 0 && !is_marked(fd, 0))) return fd;
    close(fd);
    return -1;
}

void ggs_lock_release(int * fd) {
    if (*fd < 0) return;
    ggs_lock_unmark(*fd);
    close(*fd);
    *fd = -1;
}
