#undef _FORTIFY_SOURCE

#include "stream/disk/mapped-files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// Uses system calls directly, because some of these functions are hooked, here and in the capture
// library.

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

// Returns the alignment for direct reads of this file; 4096 works where the kernel does not state
// it.
static uint32_t direct_alignment(int fd) {
    // Newer than some systems' headers: a structure of 256 bytes, the two numbers at 152 and 156,
    // bit 13.
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

// ---- the lists; all functions need the lock ----

static struct ggs_stream_file * find_file(const struct ggs_files * f, const struct stat * status) {
    struct ggs_stream_file * file = f->files;
    while (file != NULL && (file->mappings == 0 || file->device != status->st_dev || file->inode != status->st_ino))
        file = file->next;
    return file;
}

// Returns the file's entry: an existing one, a free one, or `fresh`, which is then linked.
static struct ggs_stream_file * entry_of(struct ggs_files * f, int fd, const struct stat * status,
                                         struct ggs_stream_file * fresh) {
    struct ggs_stream_file * file = find_file(f, status);
    if (file != NULL) return file;
    for (file = f->files; file != NULL && file->mappings > 0;) file = file->next;
    if (file == NULL) {
        file        = fresh;
        fresh->next = f->files;
        f->files    = fresh;
    }
    file->device    = status->st_dev;
    file->inode     = status->st_ino;
    file->size      = (uint64_t) status->st_size;
    file->changed   = change_time(status);
    file->direct    = open_again(fd, O_DIRECT);
    file->plain     = open_again(fd, 0);
    file->alignment = direct_alignment(fd);
    file->copied    = 0;
    return file;
}

static void close_file(struct ggs_stream_file * file) {
    if (file->direct >= 0) syscall(SYS_close, file->direct);
    if (file->plain >= 0) syscall(SYS_close, file->plain);
    file->direct = file->plain = -1;
}

static void measure(struct ggs_files * f) {
    uintptr_t low = UINTPTR_MAX, high = 0;
    for (const struct ggs_model_mapping * m = f->mappings; m != NULL; m = m->next) {
        if (m->low < low) low = m->low;
        if (m->high > high) high = m->high;
    }
    __atomic_store_n(&f->low, low, __ATOMIC_RELAXED);
    __atomic_store_n(&f->high, high, __ATOMIC_RELAXED);
}

static void link_mapping(struct ggs_files * f, struct ggs_model_mapping * m, uintptr_t low, uintptr_t high,
                         uint64_t offset, struct ggs_stream_file * file) {
    *m          = (struct ggs_model_mapping){low, high, offset, file, f->mappings};
    f->mappings = m;
    file->mappings++;
}

static void free_mappings(struct ggs_model_mapping * m) {
    while (m != NULL) {
        struct ggs_model_mapping * next = m->next;
        free(m);
        m = next;
    }
}

// ---- interface ----

void ggs_files_release(struct ggs_files * f) {
    free_mappings(f->mappings);
    while (f->files != NULL) {
        struct ggs_stream_file * file = f->files;
        f->files                      = file->next;
        if (file->mappings > 0) close_file(file);
        free(file);
    }
}

bool ggs_files_add_mapping(struct ggs_files * f, int fd, const void * address, size_t length, uint64_t offset) {
    struct stat                status;
    int                        reason  = errno;
    struct ggs_model_mapping * mapping = malloc(sizeof(*mapping));
    struct ggs_stream_file *   fresh   = calloc(1, sizeof(*fresh));
    bool                       ok      = mapping != NULL && fresh != NULL && fstat(fd, &status) == 0;
    if (ok) {
        uintptr_t low = (uintptr_t) address;
        pthread_mutex_lock(&f->lock);
        struct ggs_stream_file * file = entry_of(f, fd, &status, fresh);
        if (file == fresh) fresh = NULL;
        link_mapping(f, mapping, low, low + length, offset, file);
        measure(f);
        pthread_mutex_unlock(&f->lock);
    } else {
        free(mapping);
    }
    free(fresh);
    errno = reason;
    return ok;
}

static bool is_around(const struct ggs_files * f, uintptr_t low, uintptr_t high) {
    return low < __atomic_load_n(&f->high, __ATOMIC_RELAXED) && high > __atomic_load_n(&f->low, __ATOMIC_RELAXED);
}

static bool touches(const struct ggs_files * f, uintptr_t low, uintptr_t high) {
    const struct ggs_model_mapping * m = f->mappings;
    while (m != NULL && (m->low >= high || low >= m->high)) m = m->next;
    return m != NULL;
}

bool ggs_files_touches(struct ggs_files * f, const void * address, size_t length) {
    uintptr_t low = (uintptr_t) address;
    if (!is_around(f, low, low + length)) return false;
    pthread_mutex_lock(&f->lock);
    bool any = touches(f, low, low + length);
    pthread_mutex_unlock(&f->lock);
    return any;
}

bool ggs_files_may_touch(struct ggs_files * f, const void * address) {
    uintptr_t low = (uintptr_t) address;
    if (!is_around(f, low, low + 1) || pthread_mutex_trylock(&f->lock) != 0) return is_around(f, low, low + 1);
    bool any = touches(f, low, low + 1);
    pthread_mutex_unlock(&f->lock);
    return any;
}

void ggs_files_unmapped(struct ggs_files * f, const void * address, size_t length) {
    uintptr_t                 low = (uintptr_t) address, high = (low + length + 4095) & ~(uintptr_t) 4095;
    struct ggs_model_mapping *gone = NULL, *part = malloc(sizeof(*part)); // for a mapping that is split
    pthread_mutex_lock(&f->lock);
    for (struct ggs_model_mapping ** link = &f->mappings; *link != NULL;) {
        struct ggs_model_mapping * m = *link;
        if (m->low < high && low < m->high && low <= m->low && high >= m->high) {
            *link   = m->next;
            m->next = gone;
            gone    = m;
            if (--m->file->mappings == 0) close_file(m->file);
            continue;
        }
        if (m->low < high && low < m->high && low > m->low) {
            if (high < m->high && part != NULL) {
                link_mapping(f, part, high, m->high, m->offset + (high - m->low), m->file);
                part = NULL;
            }
            m->high = low;
        } else if (m->low < high && low < m->high) {
            m->offset += high - m->low;
            m->low = high;
        }
        link = &m->next;
    }
    measure(f);
    pthread_mutex_unlock(&f->lock);
    free_mappings(gone);
    free(part);
}

const struct ggs_stream_file * ggs_files_find(struct ggs_files * f, const void * address, uint64_t bytes,
                                              uint64_t * offset) {
    uintptr_t                at   = (uintptr_t) address;
    struct ggs_stream_file * file = NULL;
    if (!is_around(f, at, at + 1)) return NULL;
    pthread_mutex_lock(&f->lock);
    for (const struct ggs_model_mapping * m = f->mappings; m != NULL && file == NULL; m = m->next) {
        if (at < m->low || at >= m->high || bytes > m->high - at) continue;
        *offset = m->offset + (at - m->low);
        file    = m->file;
    }
    pthread_mutex_unlock(&f->lock);
    return file;
}

const struct ggs_stream_file * ggs_files_at(struct ggs_files * f, size_t n) {
    pthread_mutex_lock(&f->lock);
    const struct ggs_stream_file * file = f->files;
    for (; file != NULL && (file->mappings == 0 || n > 0); file = file->next) n -= file->mappings > 0;
    pthread_mutex_unlock(&f->lock);
    return file;
}

const struct ggs_stream_file * ggs_files_largest(struct ggs_files * f) {
    const struct ggs_stream_file *largest = NULL, *file;
    for (size_t i = 0; (file = ggs_files_at(f, i)) != NULL; i++) {
        if (file->direct >= 0 && (largest == NULL || file->size > largest->size)) largest = file;
    }
    return largest;
}

const struct ggs_stream_file * ggs_files_changed(struct ggs_files * f, uint64_t * size) {
    const struct ggs_stream_file * file;
    struct stat                    status;
    for (size_t i = 0; (file = ggs_files_at(f, i)) != NULL; i++) {
        if (file->plain < 0 || fstat(file->plain, &status) != 0) continue;
        *size = (uint64_t) status.st_size;
        if (*size != file->size || change_time(&status) != file->changed) return file;
    }
    return NULL;
}

static bool is_mapped(struct ggs_files * f, const struct stat * status) {
    pthread_mutex_lock(&f->lock);
    bool is = find_file(f, status) != NULL;
    pthread_mutex_unlock(&f->lock);
    return is;
}

// Bytes of open model files that are not mapped: all parts of a split model are opened before the
// first is mapped.
static uint64_t total_of_open(struct ggs_files * f) {
    DIR *    folder = opendir("/proc/self/fd");
    uint64_t seen[64], n_seen = 0, total = 0;
    for (struct dirent * entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        struct stat status; // by name, because another thread may close the descriptor
        if (fstatat(dirfd(folder), entry->d_name, &status, 0) != 0 || !S_ISREG(status.st_mode)) continue;
        if (is_mapped(f, &status) || !ggs_files_is_model((int) strtol(entry->d_name, NULL, 10))) continue;
        bool twice = false;
        for (uint64_t i = 0; i < n_seen; i++) twice |= seen[i] == status.st_ino;
        if (twice) continue;
        if (n_seen < 64) seen[n_seen++] = status.st_ino;
        total += (uint64_t) status.st_size;
    }
    if (folder != NULL) closedir(folder);
    return total;
}

uint64_t ggs_files_total(struct ggs_files * f) {
    int      reason = errno;
    uint64_t total  = total_of_open(f);
    pthread_mutex_lock(&f->lock);
    for (const struct ggs_stream_file * file = f->files; file != NULL; file = file->next)
        total += file->mappings > 0 ? file->size : 0;
    pthread_mutex_unlock(&f->lock);
    errno = reason;
    return total;
}

void ggs_files_add_copy(struct ggs_files * f, const void * address, uint64_t bytes) {
    uintptr_t at = (uintptr_t) address;
    if (!is_around(f, at, at + bytes)) return;
    pthread_mutex_lock(&f->lock);
    for (const struct ggs_model_mapping * m = f->mappings; m != NULL; m = m->next) {
        if (at >= m->low && at < m->high && bytes <= m->high - at) m->file->copied += bytes;
    }
    pthread_mutex_unlock(&f->lock);
}

uint64_t ggs_files_copied(struct ggs_files * f) {
    uint64_t copied = 0;
    pthread_mutex_lock(&f->lock);
    for (const struct ggs_stream_file * file = f->files; file != NULL; file = file->next)
        copied += file->mappings > 0 ? file->copied : 0;
    pthread_mutex_unlock(&f->lock);
    return copied;
}

void ggs_files_drop_cache(struct ggs_files * f) {
    const struct ggs_stream_file * file;
    for (size_t i = 0; (file = ggs_files_at(f, i)) != NULL; i++) {
        if (file->plain >= 0) syscall(SYS_fadvise64, file->plain, 0, 0, POSIX_FADV_DONTNEED);
    }
}

void ggs_files_populate(struct ggs_files * f, const char * address, uint64_t bytes) {
    uint64_t offset;
    if (address == NULL || ggs_files_find(f, address, bytes, &offset) == NULL) return;
    uintptr_t page = (uintptr_t) address & ~(uintptr_t) 4095;
    size_t    size = (uintptr_t) address + bytes - page;
    if (syscall(SYS_madvise, page, size, MADV_POPULATE_READ) != 0)
        syscall(SYS_madvise, page, size, MADV_WILLNEED); // for kernels before 5.14
}
