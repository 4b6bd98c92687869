#undef _FORTIFY_SOURCE

#include "stream/disk/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct mapping {
    uintptr_t low, high; // low == high: not in use
    uint64_t  offset;
    int       file;
};

static struct ggs_stream_file files[GGS_STREAM_FILES];
static int                    n_files;
static struct mapping         mappings[GGS_STREAM_MAPPINGS];
static unsigned               n_mappings; // those beyond are not in use
static pthread_mutex_t        lock = PTHREAD_MUTEX_INITIALIZER;
static bool                   left_out; // reading when loading

bool ggs_files_is_model(int fd) {
    char        letters[4] = "";
    struct stat status;
    int         reason = errno;
    bool is = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && syscall(SYS_pread64, fd, letters, 4, 0) == 4 &&
              memcmp(letters, "GGUF", 4) == 0;
    errno = reason;
    return is;
}

static int64_t change_time(const struct stat * status) {
    return (int64_t) status->st_mtim.tv_sec * 1000000000 + status->st_mtim.tv_nsec;
}

// What direct reads of this file must be aligned to; 4096 is right wherever the kernel does not say.
static uint32_t direct_alignment(int fd) {
    // Newer than the headers of some systems: a structure of 256 bytes, the two numbers at 152 and 156, bit 13.
    uint32_t words[64];
    memset(words, 0, sizeof(words));
    if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, 0x2000u, words) == 0 && (words[0] & 0x2000u) != 0) {
        uint32_t most = words[38] > words[39] ? words[38] : words[39];
        if (most >= 1 && most <= 4096 && (most & (most - 1)) == 0) return most < 512 ? 512 : most;
    }
    return 4096;
}

static int open_again(int fd, int flags) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return (int) syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | flags, 0);
}

static int find_file(const struct stat * status) {
    for (int i = 0; i < n_files; i++) {
        if (files[i].device == status->st_dev && files[i].inode == status->st_ino) return i;
    }
    return -1;
}

static int add_file(int fd, const struct stat * status) {
    int file = find_file(status);
    if (file >= 0 && files[file].mappings > 0) return file;
    if (file < 0 && n_files < GGS_STREAM_FILES) file = n_files++;
    if (file < 0) return -1;
    struct ggs_stream_file * f = &files[file];
    *f                         = (struct ggs_stream_file){.device    = status->st_dev,
                                                          .inode     = status->st_ino,
                                                          .size      = (uint64_t) status->st_size,
                                                          .changed   = change_time(status),
                                                          .direct    = open_again(fd, O_DIRECT),
                                                          .plain     = open_again(fd, 0),
                                                          .alignment = direct_alignment(fd)};
    return file;
}

int ggs_files_note(int fd, const void * address, size_t length, uint64_t offset) {
    struct stat status;
    int         reason = errno, file = -1;
    if (fstat(fd, &status) == 0) {
        pthread_mutex_lock(&lock);
        if (n_mappings < GGS_STREAM_MAPPINGS) file = add_file(fd, &status);
        if (file >= 0) {
            uintptr_t low        = (uintptr_t) address;
            mappings[n_mappings] = (struct mapping){low, low + length, offset, file};
            files[file].mappings++;
            __atomic_store_n(&n_mappings, n_mappings + 1, __ATOMIC_RELEASE);
        }
        pthread_mutex_unlock(&lock);
    }
    errno = reason;
    return file;
}

static void drop_mapping(struct mapping * m) {
    struct ggs_stream_file * f = &files[m->file];
    m->low = m->high = 0;
    if (--f->mappings > 0) return;
    if (f->direct >= 0) syscall(SYS_close, f->direct);
    if (f->plain >= 0) syscall(SYS_close, f->plain);
    f->direct = f->plain = -1;
    f->inode = f->device = 0;
}

bool ggs_files_touches(const void * address, size_t length) {
    unsigned  n   = __atomic_load_n(&n_mappings, __ATOMIC_ACQUIRE);
    uintptr_t low = (uintptr_t) address, high = low + length;
    for (unsigned i = 0; i < n; i++) {
        if (mappings[i].low < high && low < mappings[i].high) return true;
    }
    return false;
}

bool ggs_files_unmapped(const void * address, size_t length) {
    uintptr_t low = (uintptr_t) address, high = (low + length + 4095) & ~(uintptr_t) 4095;
    bool      any = false;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < n_mappings; i++) {
        struct mapping * m = &mappings[i];
        if (m->low >= high || low >= m->high) continue;
        any = true;
        if (low <= m->low && high >= m->high) {
            drop_mapping(m);
        } else if (low <= m->low) {
            m->offset += high - m->low;
            m->low = high;
        } else {
            uintptr_t end = m->high;
            m->high       = low;
            if (high < end && n_mappings < GGS_STREAM_MAPPINGS) {
                mappings[n_mappings] = (struct mapping){high, end, m->offset + (high - m->low), m->file};
                files[m->file].mappings++;
                __atomic_store_n(&n_mappings, n_mappings + 1, __ATOMIC_RELEASE);
            }
        }
    }
    pthread_mutex_unlock(&lock);
    return any;
}

int ggs_files_find(const void * address, uint64_t bytes, uint64_t * offset) {
    unsigned  n  = __atomic_load_n(&n_mappings, __ATOMIC_ACQUIRE);
    uintptr_t at = (uintptr_t) address;
    for (unsigned i = 0; i < n; i++) {
        const struct mapping * m = &mappings[i];
        if (at < m->low || at >= m->high || bytes > m->high - at) continue;
        *offset = m->offset + (at - m->low);
        return m->file;
    }
    return -1;
}

struct ggs_stream_file * ggs_files_get(int file) {
    return &files[file];
}

const struct ggs_stream_file * ggs_files_largest(void) {
    const struct ggs_stream_file * largest = NULL;
    for (int i = 0; i < n_files; i++) {
        if (files[i].mappings > 0 && files[i].direct >= 0 && (largest == NULL || files[i].size > largest->size))
            largest = &files[i];
    }
    return largest;
}

int ggs_files_changed(uint64_t * size) {
    for (int i = 0; i < n_files; i++) {
        struct stat status;
        if (files[i].mappings == 0 || files[i].plain < 0 || fstat(files[i].plain, &status) != 0) continue;
        *size = (uint64_t) status.st_size;
        if (*size != files[i].size || change_time(&status) != files[i].changed) return i;
    }
    return -1;
}

uint64_t ggs_files_total(void) {
    uint64_t total  = 0;
    int      reason = errno;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < n_files; i++) total += files[i].mappings > 0 ? files[i].size : 0;
    // The parts of a split model are all open before the first is mapped.
    DIR *    folder = opendir("/proc/self/fd");
    uint64_t seen[64], n_seen = 0;
    for (struct dirent * entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        int         fd = (int) strtol(entry->d_name, NULL, 10);
        struct stat status;
        if (entry->d_name[0] < '0' || fd == dirfd(folder) || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
            continue;
        int known = find_file(&status);
        if ((known >= 0 && files[known].mappings > 0) || !ggs_files_is_model(fd)) continue;
        bool twice = false;
        for (uint64_t i = 0; i < n_seen; i++) twice |= seen[i] == status.st_ino;
        if (twice) continue;
        if (n_seen < 64) seen[n_seen++] = status.st_ino;
        total += (uint64_t) status.st_size;
    }
    if (folder != NULL) closedir(folder);
    pthread_mutex_unlock(&lock);
    errno = reason;
    return total;
}

void ggs_files_drop_cache(void) {
    for (int i = 0; i < n_files; i++) {
        if (files[i].mappings > 0 && files[i].plain >= 0)
            syscall(SYS_fadvise64, files[i].plain, 0, 0, POSIX_FADV_DONTNEED);
    }
}

void ggs_files_leave_out(void) {
    __atomic_store_n(&left_out, true, __ATOMIC_RELAXED);
}

bool ggs_files_catch_up(void) {
    return __atomic_exchange_n(&left_out, false, __ATOMIC_RELAXED);
}

void ggs_files_populate(const char * address, uint64_t bytes) {
    uint64_t offset;
    if (ggs_files_find(address, bytes, &offset) < 0) return;
    uintptr_t page = (uintptr_t) address & ~(uintptr_t) 4095;
    size_t    size = (uintptr_t) address + bytes - page;
    if (syscall(SYS_madvise, page, size, MADV_POPULATE_READ) != 0)
        syscall(SYS_madvise, page, size, MADV_WILLNEED); // a kernel before 5.14
}
