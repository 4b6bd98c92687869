#include "record/observe/disks.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/array.h"
#include "base/error.h"
#include "base/search.h"

enum { SECTOR = 512 };

static bool read_line(const char * path, char * line, size_t size) {
    FILE * file = fopen(path, "re");
    if (file == NULL) return false;
    bool good = fgets(line, (int) size, file) != NULL;
    fclose(file);
    return good;
}

static bool has_entries(const char * path) {
    DIR * folder = opendir(path);
    if (folder == NULL) return false;
    const struct dirent * entry;
    bool                  found = false;
    while ((entry = readdir(folder)) != NULL) found |= entry->d_name[0] != '.';
    closedir(folder);
    return found;
}

// Finds the whole disk under a device, and where on it the device begins.
static int find_disk(struct ggs_disk_file * file, dev_t device, const char * path, struct ggs_error * error) {
    char     name[PATH_MAX], line[64];
    unsigned numbers[2];
    snprintf(name, sizeof(name), "/sys/dev/block/%u:%u", major(device), minor(device));
    char * folder = major(device) == 0 ? NULL : realpath(name, NULL);
    if (folder == NULL)
        return ggs_fail(error, GGS_UNSUPPORTED,
                        "%s: its filesystem lies on no block device of its own, so requests cannot be attributed to it",
                        path);
    snprintf(name, sizeof(name), "%s/slaves", folder);
    int  status    = 0;
    bool partition = false;
    if (has_entries(name))
        status = ggs_fail(error, GGS_UNSUPPORTED,
                          "%s: its disk %s is made of others, so requests cannot be attributed to it", path,
                          strrchr(folder, '/') + 1);
    snprintf(name, sizeof(name), "%s/partition", folder);
    if (status == 0 && (partition = read_line(name, line, sizeof(line)))) {
        snprintf(name, sizeof(name), "%s/start", folder);
        if (read_line(name, line, sizeof(line))) file->start = strtoull(line, NULL, 10) * SECTOR;
    }
    snprintf(name, sizeof(name), "%s/%sdev", folder, partition ? "../" : "");
    if (status == 0 && (!read_line(name, line, sizeof(line)) || sscanf(line, "%u:%u", &numbers[0], &numbers[1]) != 2))
        status = ggs_fail(error, GGS_UNSUPPORTED, "%s: its disk cannot be found in /sys", path);
    if (status == 0) file->device = (uint64_t) numbers[0] << 20 | numbers[1];
    free(folder);
    return status;
}

static int by_place(const void * a, const void * b) {
    const struct ggs_extent *x = a, *y = b;
    return x->physical < y->physical ? -1 : x->physical > y->physical;
}

static int find_extents(struct ggs_disk_file * file, const char * path, struct ggs_error * error) {
    struct stat info;
    if (stat(path, &info) != 0) return ggs_fail_errno(error, "%s: cannot read its attributes", path);
    int status = find_disk(file, info.st_dev, path, error);
    if (status == 0) status = ggs_extents_init(&file->extents, path, error);
    if (status != 0) {
        file->device = 0;
        return status;
    }
    size_t kept = 0;
    for (size_t i = 0; i < file->extents.n_extents; i++)
        if (file->extents.extents[i].placed) file->extents.extents[kept++] = file->extents.extents[i];
    file->extents.n_extents = kept;
    if (kept > 1) qsort(file->extents.extents, kept, sizeof(*file->extents.extents), by_place);
    return 0;
}

int ggs_disks_check(const char * path, struct ggs_error * error) {
    struct ggs_disk_file file   = {0};
    int                  status = find_extents(&file, path, error);
    ggs_extents_release(&file.extents);
    return status;
}

void ggs_disks_release(struct ggs_disks * disks) {
    for (size_t i = 0; i < disks->n_files; i++) {
        free(disks->files[i].path);
        ggs_extents_release(&disks->files[i].extents);
    }
    free(disks->files);
    *disks = (struct ggs_disks){0};
}

// Mostly the same list with more at its end: files are numbered as the recording finds them.
static const struct ggs_disk_file * file_of(struct ggs_disks * disks, size_t i, const char * path) {
    if (i < disks->n_files) return strcmp(disks->files[i].path, path) == 0 ? &disks->files[i] : NULL;
    if (i > disks->n_files) return NULL;
    struct ggs_disk_file file = {.path = strdup(path)};
    if (file.path == NULL || !ggs_array_push(disks->files, disks->n_files, disks->capacity, file)) {
        free(file.path);
        return NULL;
    }
    find_extents(&disks->files[i], path, NULL); // without a disk it has no requests
    return &disks->files[i];
}

// Returns the last extent that begins at the offset or before; `next` is the begin of the next one.
static const struct ggs_extent * extent_at(const struct ggs_extents * extents, uint64_t offset, uint64_t * next) {
    size_t behind = ggs_search(extents->n_extents, at, extents->extents[at].physical <= offset);
    *next         = behind < extents->n_extents ? extents->extents[behind].physical : UINT64_MAX;
    return behind == 0 ? NULL : &extents->extents[behind - 1];
}

enum ggs_disk_place ggs_disks_find(void * context, const char * const * paths, size_t n_paths, uint64_t device,
                                   uint64_t offset, struct ggs_disk_piece * piece) {
    enum ggs_disk_place where = GGS_DISK_FOREIGN;
    *piece                    = (struct ggs_disk_piece){.length = UINT64_MAX};
    for (size_t i = 0; i < n_paths; i++) {
        const struct ggs_disk_file * file = file_of(context, i, paths[i]);
        if (file == NULL || file->device == 0 || file->device != device) continue;
        where = GGS_DISK_OTHER;
        uint64_t next, from = file->start;
        if (offset < from) continue;
        const struct ggs_extent * extent = extent_at(&file->extents, offset - from, &next);
        if (extent != NULL && offset - from - extent->physical < extent->length) {
            uint64_t inside = offset - from - extent->physical;
            *piece          = (struct ggs_disk_piece){i, extent->logical + inside, extent->length - inside};
            return GGS_DISK_FILE;
        }
        if (next != UINT64_MAX && next - (offset - from) < piece->length) piece->length = next - (offset - from);
    }
    return where;
}
