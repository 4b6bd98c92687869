#include "record/spool-place.h"

#include <errno.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/number.h"
#include "trace/spool-reader.h"

static const uint64_t LEAST_MEMORY = 256ull << 20; // free in /dev/shm for it to be used at all
static const uint64_t MOST_DEFAULT = 16ull << 30;
static const char     MEMORY[]     = "/dev/shm";

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

static int make_folder(const char * folder, struct ggs_error * error) {
    if (mkdir(folder, 0700) == 0) return 0;
    return ggs_fail_errno(error, "cannot create the folder %s for the recording", folder);
}

// PARENT/ggscope-ID, and DIRECTORY/spool as a link to it.
static int make_elsewhere(struct ggs_spool_place * place, const char * directory, const char * id, const char * parent,
                          struct ggs_error * error) {
    char absolute[PATH_MAX], link[PATH_MAX];
    if (realpath(parent, absolute) == NULL) return ggs_fail_errno(error, "cannot use %s for the recording", parent);
    int length = snprintf(place->folder, sizeof(place->folder), "%s/ggscope-%s", absolute, id);
    if (length >= (int) sizeof(place->folder) ||
        snprintf(link, sizeof(link), "%s/spool", directory) >= (int) sizeof(link))
        return ggs_fail(error, GGS_USAGE, "the path %s is too long", absolute);
    int status = make_folder(place->folder, error);
    if (status == 0 && symlink(place->folder, link) != 0) {
        status = ggs_fail_errno(error, "cannot create the link %s", link);
        rmdir(place->folder);
    }
    return status;
}

int ggs_spool_place_make(struct ggs_spool_place * place, const char * directory, const char * id, const char * parent,
                         uint64_t max_bytes, struct ggs_error * error) {
    int status;
    if (parent == NULL && memory_will_do(max_bytes)) parent = MEMORY;
    if (parent != NULL) {
        status = make_elsewhere(place, directory, id, parent, error);
    } else if (snprintf(place->folder, sizeof(place->folder), "%s/spool", directory) >= (int) sizeof(place->folder)) {
        status = ggs_fail(error, GGS_USAGE, "the path %s is too long", directory);
    } else {
        status = make_folder(place->folder, error);
    }
    if (status != 0) return status;
    uint64_t half    = free_bytes(place->folder) / 2;
    place->max_bytes = max_bytes != 0 ? max_bytes : half < MOST_DEFAULT ? half : MOST_DEFAULT;
    return 0;
}

// Has the process the folder's files in its memory? A process that is alive but has not is another one with the same number.
static bool has_mapped(pid_t process, const char * folder) {
    char   path[64], line[PATH_MAX + 128];
    size_t length = strlen(folder);
    bool   found  = false;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int) process);
    FILE * maps = fopen(path, "re");
    if (maps == NULL) return errno == EACCES && kill(process, 0) != 0 && errno == EPERM; // somebody else's: be careful
    while (!found && fgets(line, sizeof(line), maps) != NULL) {
        const char * name = strchr(line, '/');
        found             = name != NULL && strncmp(name, folder, length) == 0 && name[length] == '/';
    }
    fclose(maps);
    return found;
}

static pid_t writer_of(const struct ggs_spool_segment * segment) {
    struct ggs_mapping      mapping;
    struct ggs_spool_header header = {0};
    if (ggs_mapping_open(&mapping, segment->path, NULL) != 0) return 0;
    if (mapping.size >= sizeof(header)) memcpy(&header, mapping.data, sizeof(header));
    ggs_mapping_close(&mapping);
    bool good = memcmp(header.magic, GGS_SPOOL_MAGIC, sizeof(header.magic)) == 0 && header.pid <= INT_MAX;
    return good ? (pid_t) header.pid : 0;
}

static int open_spool(struct ggs_spool * spool, const char * directory, char folder[PATH_MAX]) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/spool", directory) >= (int) sizeof(path)) return GGS_USAGE;
    if (realpath(path, folder) == NULL) return GGS_ABSENT;
    return ggs_spool_open(spool, folder, NULL);
}

bool ggs_spool_place_is_live(const char * directory, pid_t * writer) {
    char             folder[PATH_MAX];
    struct ggs_spool spool;
    bool             live = false;
    if (open_spool(&spool, directory, folder) != 0) return false;
    *writer = 0;
    for (size_t i = 0; i < spool.n_segments && !live; i++) {
        pid_t process = writer_of(&spool.segments[i]);
        if (process <= 0 || process == *writer) continue;
        *writer = process;
        live    = has_mapped(process, folder);
    }
    ggs_spool_release(&spool);
    return live;
}

bool ggs_spool_place_has_segments(const char * directory) {
    char             folder[PATH_MAX];
    struct ggs_spool spool;
    if (open_spool(&spool, directory, folder) != 0) return false;
    bool written =
        spool.journal.n_segments + spool.n_lanes > 0; // what we observed ourselves tells nothing without an engine
    ggs_spool_release(&spool);
    return written;
}
