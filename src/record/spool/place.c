#include "record/spool/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/system/lock.h"
#include "base/uuid.h"
#include "trace/spool-reader.h"

static const uint64_t LEAST_MEMORY = 256ull << 20; // least free memory in /dev/shm
static const uint64_t MOST_DEFAULT = 16ull << 30;
static const char     MEMORY[]     = "/dev/shm";

#define PREFIX "ggscope-" // prefix of shared folders, followed by the experiment's id

static uint64_t free_bytes(const char * folder) {
    struct statfs space;
    if (statfs(folder, &space) != 0) return 0;
    return (uint64_t) space.f_bavail * (uint64_t) space.f_frsize;
}

static bool memory_will_do(uint64_t max_bytes) {
    struct statfs space;
    if (statfs(MEMORY, &space) != 0 || space.f_type != TMPFS_MAGIC || access(MEMORY, W_OK | X_OK) != 0) return false;
    uint64_t available = free_bytes(MEMORY);
    return available >= LEAST_MEMORY && max_bytes <= available / 2;
}

// ---- leftovers ----

// Our own observations are worthless without an engine.
static bool has_segments(const char * folder) {
    struct ggs_spool spool;
    if (ggs_spool_open(&spool, folder, NULL) != 0) return false;
    bool written = spool.journal.n_segments + spool.n_lanes > 0;
    ggs_spool_release(&spool);
    return written;
}

// Removes folders of recordings that were killed before they had contents. Others can still be
// sealed and stay.
static void sweep(const char * parent) {
    DIR *                 folder = opendir(parent);
    const struct dirent * entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        char        path[PATH_MAX];
        uint8_t     uuid[16];
        struct stat info;
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0 ||
            !ggs_uuid_parse(entry->d_name + strlen(PREFIX), uuid) ||
            snprintf(path, sizeof(path), "%s/%s", parent, entry->d_name) >= (int) sizeof(path) ||
            lstat(path, &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != geteuid())
            continue;
        int lock = ggs_lock_exclude(path);
        if (lock >= 0 && !has_segments(path)) ggs_spool_remove(path, NULL);
        if (lock >= 0) close(lock);
    }
    if (folder != NULL) closedir(folder);
}

// ---- creation ----

// Makes the folder and locks it. Another process's sweep may remove it before it is locked; it is
// made again.
static int make_folder(struct ggs_spool_place * place, struct ggs_error * error) {
    for (int attempts = 0; attempts < 100; attempts++) {
        if (mkdir(place->folder, 0700) != 0) break;
        place->lock = ggs_lock_acquire(place->folder);
        if (place->lock >= 0) return 0;
        if (errno != ESTALE && errno != ENOENT && errno != EWOULDBLOCK) break;
        rmdir(place->folder);
    }
    return ggs_fail_errno(error, "cannot create the folder %s for the recording", place->folder);
}

// PARENT/ggscope-ID, and DIRECTORY/spool as a link to it.
static int make_elsewhere(struct ggs_spool_place * place, const char * directory, const char * id, const char * parent,
                          struct ggs_error * error) {
    char absolute[PATH_MAX], link[PATH_MAX];
    // A folder of another mount namespace, by a descriptor of ours: the kernel would return its
    // name there.
    if (strncmp(parent, "/proc/", 6) == 0)
        snprintf(absolute, sizeof(absolute), "%s", parent);
    else if (realpath(parent, absolute) == NULL)
        return ggs_fail_errno(error, "cannot use %s for the recording", parent);
    int length = snprintf(place->folder, sizeof(place->folder), "%s/" PREFIX "%s", absolute, id);
    if (length >= (int) sizeof(place->folder) ||
        snprintf(link, sizeof(link), "%s/spool", directory) >= (int) sizeof(link))
        return ggs_fail(error, GGS_USAGE, "the path %s is too long", absolute);
    sweep(absolute);
    int status = make_folder(place, error);
    if (status == 0 && symlink(place->folder, link) != 0) {
        status = ggs_fail_errno(error, "cannot create the link %s", link);
        rmdir(place->folder);
        ggs_lock_release(&place->lock);
    }
    return status;
}

int ggs_spool_place_make(struct ggs_spool_place * place, const char * directory, const char * id, const char * parent,
                         uint64_t max_bytes, struct ggs_error * error) {
    int status;
    place->lock = -1;
    if (parent == NULL && memory_will_do(max_bytes)) parent = MEMORY;
    if (parent != NULL) {
        status = make_elsewhere(place, directory, id, parent, error);
    } else if (snprintf(place->folder, sizeof(place->folder), "%s/spool", directory) >= (int) sizeof(place->folder)) {
        status = ggs_fail(error, GGS_USAGE, "the path %s is too long", directory);
    } else {
        status = make_folder(place, error);
    }
    if (status != 0) return status;
    uint64_t half    = free_bytes(place->folder) / 2;
    place->max_bytes = max_bytes != 0 ? max_bytes : half < MOST_DEFAULT ? half : MOST_DEFAULT;
    return 0;
}

// ---- state ----

bool ggs_spool_place_is_live(const char * directory) {
    char path[PATH_MAX];
    return snprintf(path, sizeof(path), "%s/spool", directory) < (int) sizeof(path) && ggs_lock_is_held(path);
}

bool ggs_spool_place_is_written(const char * directory) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/spool", directory) >= (int) sizeof(path)) return false;
    int  fd      = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool written = fd >= 0 && ggs_lock_is_written(fd);
    if (fd >= 0) close(fd);
    return written;
}

bool ggs_spool_place_has_segments(const char * directory) {
    char path[PATH_MAX];
    return snprintf(path, sizeof(path), "%s/spool", directory) < (int) sizeof(path) && has_segments(path);
}

int ggs_spool_place_check(const char * directory, const char * id, struct ggs_error * error) {
    char        path[PATH_MAX], target[PATH_MAX];
    struct stat info;
    if (snprintf(path, sizeof(path), "%s/spool", directory) >= (int) sizeof(path) || lstat(path, &info) != 0) return 0;
    if (S_ISDIR(info.st_mode)) return 0;
    ssize_t      length = readlink(path, target, sizeof(target) - 1);
    const char * name   = NULL;
    if (length > 0) {
        target[length] = '\0';
        name           = strrchr(target, '/');
    }
    if (name != NULL && target[0] == '/' && strncmp(name + 1, PREFIX, strlen(PREFIX)) == 0 &&
        strcasecmp(name + 1 + strlen(PREFIX), id) == 0 &&
        (lstat(target, &info) != 0 || (S_ISDIR(info.st_mode) && info.st_uid == geteuid())))
        return 0;
    return ggs_fail(error, GGS_FORMAT, "%s does not lead to the spool of this experiment: it is left as it is", path);
}
