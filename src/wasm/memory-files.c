#include "wasm/memory-files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"

struct file {
    char *          path;
    const uint8_t * data;
    size_t          known;
    uint64_t        size;
};

static struct file * files;
static uint64_t      n_files, capacity;

enum { FIRST_FD = 3 };

static int find(const char * path) {
    for (uint64_t i = 0; i < n_files; i++) {
        if (strcmp(files[i].path, path) == 0) return (int) i;
    }
    return -1;
}

int ggs_file_add(const char * path, const void * data, size_t known, uint64_t size) {
    int i = find(path);
    if (i < 0) {
        struct file file = {.path = strdup(path)};
        if (file.path == NULL || !ggs_array_push(files, n_files, capacity, file)) {
            free(file.path);
            return -1;
        }
        i = (int) n_files - 1;
    }
    files[i].data  = data;
    files[i].known = known;
    files[i].size  = size;
    return 0;
}

static const struct file * file_of(int fd) {
    return fd >= FIRST_FD && (uint64_t) (fd - FIRST_FD) < n_files ? &files[fd - FIRST_FD] : NULL;
}

// ---- replacements of libc functions ----

int open(const char * path, int flags, ...) {
    int i = find(path);
    (void) flags;
    if (i < 0) errno = ENOENT;
    return i < 0 ? -1 : FIRST_FD + i;
}

int close(int fd) {
    (void) fd;
    return 0;
}

int fstat(int fd, struct stat * info) {
    const struct file * file = file_of(fd);
    if (file == NULL) {
        errno = EBADF;
        return -1;
    }
    memset(info, 0, sizeof(*info));
    info->st_mode = S_IFREG;
    info->st_size = (off_t) file->size;
    return 0;
}

int stat(const char * restrict path, struct stat * restrict info) {
    int fd = open(path, O_RDONLY);
    return fd < 0 ? -1 : fstat(fd, info);
}

ssize_t pread(int fd, void * to, size_t length, off_t offset) {
    const struct file * file = file_of(fd);
    if (file == NULL || offset < 0 || (uint64_t) offset >= file->size) return 0;
    uint64_t left = file->size - (uint64_t) offset;
    if (length > left) length = (size_t) left;
    size_t known = (uint64_t) offset < file->known ? file->known - (size_t) offset : 0;
    if (known > length) known = length;
    memcpy(to, file->data + offset, known);
    memset((char *) to + known, 0, length - known);
    return (ssize_t) length;
}

void * mmap(void * address, size_t length, int protection, int flags, int fd, off_t offset) {
    const struct file * file = file_of(fd);
    (void) address, (void) length, (void) protection, (void) flags, (void) offset;
    if (file != NULL && file->known == file->size) return (void *) (uintptr_t) file->data;
    errno = EIO;
    return MAP_FAILED;
}
