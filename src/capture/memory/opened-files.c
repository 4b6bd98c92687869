#include "capture/memory/opened-files.h"

#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/sandbox.h"

static struct ggs_model_file * files[GGS_FILES_MOST];
static int                     n_files; // published with release order
static pthread_mutex_t         lock = PTHREAD_MUTEX_INITIALIZER;

int ggs_files_find_inode(uint64_t device, uint64_t inode) {
    int n = __atomic_load_n(&n_files, __ATOMIC_ACQUIRE);
    for (int i = 0; i < n; i++) {
        if (files[i]->inode == inode && files[i]->device == device) return i;
    }
    return -1;
}

int ggs_files_find_open(int fd) {
    struct stat info;
    if (fd < 0 || __atomic_load_n(&n_files, __ATOMIC_RELAXED) == 0 || fstat(fd, &info) != 0) return -1;
    return ggs_files_find_inode(info.st_dev, info.st_ino);
}

bool ggs_file_is_gguf(const char * path, struct stat * info) {
    char magic[4];
    int  fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    bool is = fstat(fd, info) == 0 && S_ISREG(info->st_mode) &&
              pread(fd, magic, sizeof(magic), 0) == (ssize_t) sizeof(magic) && memcmp(magic, "GGUF", 4) == 0;
    close(fd);
    return is;
}

void ggs_files_add(const char * path) {
    struct stat info;
    if (ggs_sandboxed() || stat(path, &info) != 0 || !S_ISREG(info.st_mode)) return;
    pthread_mutex_lock(&lock);
    if (n_files < GGS_FILES_MOST && ggs_files_find_inode(info.st_dev, info.st_ino) < 0) {
        struct ggs_model_file * file = calloc(1, sizeof(*file));
        if (file != NULL) {
            file->device = info.st_dev;
            file->inode  = info.st_ino;
            file->size   = (uint64_t) info.st_size;
            snprintf(file->path, sizeof(file->path), "%s", path);
            files[n_files] = file;
            __atomic_store_n(&n_files, n_files + 1, __ATOMIC_RELEASE);
        }
    }
    pthread_mutex_unlock(&lock);
}

const struct ggs_model_file * ggs_file_get(int number) {
    return number >= 0 && number < __atomic_load_n(&n_files, __ATOMIC_ACQUIRE) ? files[number] : NULL;
}
