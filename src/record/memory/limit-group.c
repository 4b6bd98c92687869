#include "record/memory/limit-group.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

// ---- small files ----

static bool path_in(char path[PATH_MAX], const char * folder, const char * name) {
    return snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX;
}

// Writes `text` to an existing file. Returns 0 or an errno.
static int put(const char * folder, const char * name, const char * text) {
    char path[PATH_MAX];
    if (!path_in(path, folder, name)) return ENAMETOOLONG;
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return errno;
    ssize_t n      = write(fd, text, strlen(text));
    int     result = n < 0 ? errno : 0;
    close(fd);
    return result;
}

// Reads the number in a file, or after `key` in a file of "key number" lines; 0 for none.
static uint64_t number_in(const char * folder, const char * name, const char * key) {
    char     path[PATH_MAX], line[256];
    uint64_t number = 0;
    FILE *   file   = path_in(path, folder, name) ? fopen(path, "re") : NULL;
    size_t   length = key == NULL ? 0 : strlen(key);
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (key != NULL && (strncmp(line, key, length) != 0 || strchr(" \t", line[length]) == NULL)) continue;
        number = strtoull(line + length, NULL, 10);
        break;
    }
    if (file != NULL) fclose(file);
    return number;
}

// True if `word` is among the words of `text`, which `separators` divide.
static bool has_word(const char * text, const char * word, const char * separators) {
    size_t length = strlen(word);
    for (const char * at = text; *at != '\0';) {
        size_t n = strcspn(at, separators);
        if (n == length && memcmp(at, word, n) == 0) return true;
        at += n + strspn(at + n, separators);
    }
    return false;
}

// ---- our group ----

// Reads /proc/<process>/cgroup: the path of the group in the hierarchy that accounts memory.
// Version 1 wins if both exist, because a controller belongs to one hierarchy only.
static bool find_group(const char * root, const char * process, int version, char group[PATH_MAX]) {
    char path[PATH_MAX], line[PATH_MAX + 256];
    bool found = false;
    if (snprintf(path, sizeof(path), "%s/proc/%s/cgroup", root, process) >= (int) sizeof(path)) return false;
    FILE * file = fopen(path, "re");
    while (file != NULL && !found && fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char * controllers        = strchr(line, ':');
        char * where              = controllers == NULL ? NULL : strchr(controllers + 1, ':');
        if (where == NULL) continue;
        *where++ = '\0';
        found    = version == 1 ? has_word(controllers + 1, "memory", ",") : strcmp(line, "0:") == 0;
        if (found) found = snprintf(group, PATH_MAX, "%s", where) < PATH_MAX;
    }
    if (file != NULL) fclose(file);
    return found;
}

// If the hierarchy is mounted, and which of its groups is seen there, in /proc/self/mountinfo:
//     36 35 0:30 /the/group /mount/point rw,relatime shared:1 - cgroup cgroup rw,memory
static bool find_mount(const char * root, int version, char seen[PATH_MAX], char mount[PATH_MAX]) {
    char path[PATH_MAX], line[2 * PATH_MAX + 256];
    bool found = false;
    if (snprintf(path, sizeof(path), "%s/proc/self/mountinfo", root) >= (int) sizeof(path)) return false;
    FILE * file = fopen(path, "re");
    while (file != NULL && !found && fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char *       rest         = line;
        const char * field[5];
        for (int i = 0; i < 5; i++) field[i] = strsep(&rest, " ");
        char * type = rest == NULL ? NULL : strstr(rest, "- ");
        if (type == NULL) continue;
        rest            = type + 2;
        type            = strsep(&rest, " ");
        const char * of = strsep(&rest, " ");
        (void) of;
        if (version == 2) {
            found = strcmp(type, "cgroup2") == 0;
        } else {
            found = strcmp(type, "cgroup") == 0 && rest != NULL && has_word(rest, "memory", ",");
        }
        if (found)
            found = snprintf(seen, PATH_MAX, "%s", field[3]) < PATH_MAX &&
                    snprintf(mount, PATH_MAX, "%s%s", root, field[4]) < PATH_MAX;
    }
    if (file != NULL) fclose(file);
    return found;
}

// Finds the folder of the group of a process. In a container the mount may show only the part of
// the hierarchy below the container's own group.
static bool find_folder(const char * root, const char * process, int version, char folder[PATH_MAX], size_t * mounted) {
    char   group[PATH_MAX], seen[PATH_MAX], mount[PATH_MAX];
    size_t length;
    if (!find_group(root, process, version, group) || !find_mount(root, version, seen, mount)) return false;
    const char * below = group;
    length             = strlen(seen);
    if (length > 1 && strncmp(group, seen, length) == 0) below = group + length;
    if (strcmp(below, "/") == 0 || strncmp(below, "/..", 3) == 0) below = "";
    *mounted = strlen(mount);
    return snprintf(folder, PATH_MAX, "%s%s", mount, below) < PATH_MAX && access(folder, F_OK) == 0;
}

// In version 2 a group has the controllers that its parent enables for it.
static bool hands_memory_on(const char * folder) {
    char   path[PATH_MAX], line[1024] = "";
    FILE * file = path_in(path, folder, "cgroup.subtree_control") ? fopen(path, "re") : NULL;
    bool   good = file != NULL && fgets(line, sizeof(line), file) != NULL && has_word(line, "memory", " \n");
    if (file != NULL) fclose(file);
    return good;
}

size_t ggs_limit_places(const char * root, struct ggs_limit_place * places, size_t most) {
    char   folder[PATH_MAX];
    size_t n = 0, mounted;
    if (find_folder(root, "self", 2, folder, &mounted)) {
        for (;;) {
            if (n < most && hands_memory_on(folder)) {
                places[n].version = 2;
                memcpy(places[n++].folder, folder, sizeof(folder));
            }
            char * slash = strrchr(folder, '/');
            if (slash == NULL || strlen(folder) <= mounted || (size_t) (slash - folder) < mounted) break;
            *slash = '\0';
        }
    }
    if (n < most && find_folder(root, "self", 1, folder, &mounted)) {
        places[n].version = 1;
        memcpy(places[n++].folder, folder, sizeof(folder));
    }
    return n;
}

bool ggs_limit_group_of(const char * root, pid_t process, struct ggs_limit_place * place) {
    char   name[16];
    size_t mounted;
    snprintf(name, sizeof(name), "%d", (int) process);
    place->version = 1;
    if (find_folder(root, name, 1, place->folder, &mounted)) return true;
    place->version = 2;
    return find_folder(root, name, 2, place->folder, &mounted);
}

// ---- the files of a group ----

int ggs_limit_group_set(const char * group, int version, uint64_t bytes, struct ggs_error * error) {
    char number[32];
    snprintf(number, sizeof(number), "%" PRIu64, bytes);
    errno = put(group, version == 1 ? "memory.limit_in_bytes" : "memory.max", number);
    if (errno != 0) return ggs_fail_errno(error, "cannot limit the memory of the control group %s", group);
    // Swap would extend the memory. Kernels without it lack the files; with one limit on both, that
    // would be reached first and not counted.
    if (version == 1) {
        if (put(group, "memory.swappiness", "0") != 0) put(group, "memory.memsw.limit_in_bytes", number);
    } else {
        put(group, "memory.swap.max", "0");
    }
    return 0;
}

int ggs_limit_group_join(const char * group, pid_t process) {
    char number[16];
    snprintf(number, sizeof(number), "%d", (int) process);
    return put(group, "cgroup.procs", number);
}

// Private memory of the members, from their page tables: "RssAnon:     1234 kB".
static uint64_t anonymous_of_members(const char * root, const char * group) {
    char     path[PATH_MAX], line[256];
    uint64_t sum     = 0;
    FILE *   members = path_in(path, group, "cgroup.procs") ? fopen(path, "re") : NULL;
    while (members != NULL && fgets(line, sizeof(line), members) != NULL) {
        snprintf(path, sizeof(path), "%s/proc/%lu", root, strtoul(line, NULL, 10));
        sum += number_in(path, "status", "RssAnon:") << 10;
    }
    if (members != NULL) fclose(members);
    return sum;
}

void ggs_limit_group_read(const char * root, const char * group, int version, struct ggs_limit_use * use) {
    if (version == 1) {
        use->peak = number_in(group, "memory.max_usage_in_bytes", NULL);
        // Where swap is accounted, memory and swap together reach the same limit first.
        use->hits  = number_in(group, "memory.failcnt", NULL) + number_in(group, "memory.memsw.failcnt", NULL);
        use->kills = number_in(group, "memory.oom_control", "oom_kill");
    } else {
        uint64_t now = number_in(group, "memory.current", NULL);
        use->peak    = number_in(group, "memory.peak", NULL); // kernels from 5.19 on
        use->peak    = use->peak < now ? now : use->peak;
        use->hits    = number_in(group, "memory.events", "max");
        use->kills   = number_in(group, "memory.events", "oom_kill");
    }
    use->anonymous = anonymous_of_members(root, group);
}

uint64_t ggs_limit_group_shared(const char * group) {
    return number_in(group, "memory.stat", "shmem");
}

// The room in one group. Pages of files can be dropped, so they are no obstacle.
static uint64_t room_in(const char * group, int version) {
    bool     first = version == 1;
    uint64_t limit = number_in(group, first ? "memory.limit_in_bytes" : "memory.max", NULL); // "max" is 0
    uint64_t used  = number_in(group, first ? "memory.usage_in_bytes" : "memory.current", NULL);
    uint64_t files = number_in(group, "memory.stat", first ? "total_active_file" : "active_file") +
                     number_in(group, "memory.stat", first ? "total_inactive_file" : "inactive_file");
    used = used < files ? 0 : used - files;
    return limit == 0 ? UINT64_MAX : used > limit ? 0 : limit - used;
}

uint64_t ggs_limit_group_room(const struct ggs_limit_place * place) {
    char     group[PATH_MAX], path[PATH_MAX];
    uint64_t least = UINT64_MAX;
    snprintf(group, sizeof(group), "%s", place->folder);
    for (char * end = group + strlen(group); end != NULL && end != group; end = strrchr(group, '/')) {
        *end = '\0';
        if (!path_in(path, group, place->version == 1 ? "memory.usage_in_bytes" : "memory.current") ||
            access(path, R_OK) != 0)
            break;
        uint64_t room = room_in(group, place->version);
        if (room < least) least = room;
    }
    return least;
}
