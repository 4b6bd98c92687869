#include "record/memory/cold.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/system/maps.h"
#include "gguf/gguf-split.h"
#include "gguf/gguf.h"

enum { PAGES_AT_ONCE = 65536 };

// Reads how many bytes of an open file are in memory. Returns false if the kernel does not say.
static bool resident_bytes(int fd, uint64_t * bytes) {
    struct stat info;
    uint64_t    page = (uint64_t) sysconf(_SC_PAGESIZE), n_resident = 0;
    *bytes = 0;
    if (fstat(fd, &info) != 0) return false;
    // For files that are neither ours nor writable, mincore reports everything as resident.
    char self[32];
    snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    if (geteuid() != 0 && geteuid() != info.st_uid && faccessat(AT_FDCWD, self, W_OK, AT_EACCESS) != 0) return false;
    uint64_t size = (uint64_t) info.st_size;
    if (size == 0) return true;
    uint8_t * data = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    uint8_t * seen = malloc(PAGES_AT_ONCE);
    bool      good = data != MAP_FAILED && seen != NULL;
    for (uint64_t at = 0; good && at < size; at += PAGES_AT_ONCE * page) {
        uint64_t part = size - at < PAGES_AT_ONCE * page ? size - at : PAGES_AT_ONCE * page;
        good          = mincore(data + at, part, seen) == 0;
        for (uint64_t i = 0; good && i < (part + page - 1) / page; i++) n_resident += seen[i] & 1;
    }
    if (data != MAP_FAILED) munmap(data, size);
    free(seen);
    *bytes = n_resident * page < size ? n_resident * page : size;
    return good;
}

static int drop_file(struct ggs_cold * cold, const char * path, struct ggs_error * error) {
    struct stat info;
    uint64_t    before = 0, after = 0;
    int         fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &info) != 0) {
        int status = ggs_fail_errno(error, "cannot open %s to drop it from the page cache", path);
        if (fd >= 0) close(fd);
        return status;
    }
    bool known  = resident_bytes(fd, &before);
    int  synced = fdatasync(fd); // if that fails, dirty pages stay and are counted
    (void) synced;
    int refused = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    known       = resident_bytes(fd, &after) && known;
    close(fd);
    if (refused != 0) {
        errno = refused;
        return ggs_fail_errno(error, "cannot drop %s from the page cache", path);
    }
    cold->files++;
    cold->bytes += (uint64_t) info.st_size;
    cold->before += known ? before : 0;
    cold->after += known ? after : 0;
    cold->unknown |= !known;
    return 0;
}

// ---- processes that map it ----

// By device and inode: a file may have several names.
static bool maps_file(const char * process, const struct stat * files, size_t n_files) {
    struct ggs_maps       maps;
    struct ggs_maps_entry entry;
    bool                  found = false;
    if (!ggs_maps_open(&maps, process)) return false;
    while (!found && ggs_maps_next(&maps, &entry)) {
        for (size_t i = 0; i < n_files && !found; i++)
            found = entry.inode != 0 && entry.inode == files[i].st_ino && entry.device == files[i].st_dev;
    }
    ggs_maps_close(&maps);
    return found;
}

static void read_name(const char * process, char * name, size_t size) {
    char path[64 + NAME_MAX];
    snprintf(path, sizeof(path), "/proc/%s/comm", process);
    FILE * file = fopen(path, "re");
    if (file == NULL || fgets(name, (int) size, file) == NULL) name[0] = '\0';
    name[strcspn(name, "\n")] = '\0';
    if (file != NULL) fclose(file);
}

static void find_holder(struct ggs_cold * cold, const struct ggs_model * model) {
    DIR *                 folder = opendir("/proc");
    struct stat *         files  = calloc(model->n_files + 1, sizeof(*files));
    const struct dirent * entry;
    for (size_t i = 0; files != NULL && i < model->n_files; i++) {
        if (stat(model->files[i]->path, &files[i]) != 0) files[i].st_ino = 0;
    }
    while (folder != NULL && files != NULL && cold->holder == 0 && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || !maps_file(entry->d_name, files, model->n_files))
            continue;
        cold->holder = (pid_t) strtol(entry->d_name, NULL, 10);
        read_name(entry->d_name, cold->command, sizeof(cold->command));
    }
    free(files);
    if (folder != NULL) closedir(folder);
}

int ggs_cold_drop(struct ggs_cold * cold, const char * path, struct ggs_error * error) {
    struct ggs_model * model;
    *cold      = (struct ggs_cold){0};
    int status = ggs_model_open(&model, path, error);
    if (status != 0) return status;
    for (size_t i = 0; i < model->n_files && status == 0; i++) status = drop_file(cold, model->files[i]->path, error);
    if (status == 0 && cold->after > 0) find_holder(cold, model);
    ggs_model_free(model);
    return status;
}

static int warm_file(const char * path, char * buffer, size_t size, struct ggs_error * error) {
    int     fd  = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = fd < 0 ? -1 : 1;
    while (got > 0) got = read(fd, buffer, size);
    int status = got < 0 ? ggs_fail_errno(error, "cannot read %s into the page cache", path) : 0;
    if (fd >= 0) close(fd);
    return status;
}

int ggs_cold_warm(const char * path, struct ggs_error * error) {
    enum { SIZE = 1 << 20 };
    struct ggs_model * model;
    int                status = ggs_model_open(&model, path, error);
    if (status != 0) return status;
    char * buffer = malloc(SIZE);
    if (buffer == NULL) status = ggs_fail_memory(error);
    for (size_t i = 0; i < model->n_files && status == 0; i++)
        status = warm_file(model->files[i]->path, buffer, SIZE, error);
    free(buffer);
    ggs_model_free(model);
    return status;
}
