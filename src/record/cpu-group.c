#include "record/cpu-group.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { PATH_ROOM = 1024 };

static FILE * open_in(const char * folder, const char * name) {
    char path[PATH_ROOM + 64];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return fopen(path, "re");
}

static bool read_number(const char * folder, const char * name, int64_t * value) {
    FILE * file  = open_in(folder, name);
    bool   there = file != NULL && fscanf(file, "%" SCNd64, value) == 1;
    if (file != NULL) fclose(file);
    return there;
}

// Reads the CPU time per period in microseconds; false if the group has no quota.
static bool read_quota(const char * folder, int64_t * quota, int64_t * period) {
    FILE * file = open_in(folder, "cpu.max"); // version 2: "100000 100000", or "max 100000"
    if (file != NULL) {
        bool there = fscanf(file, "%" SCNd64 " %" SCNd64, quota, period) == 2;
        fclose(file);
        return there && *quota > 0 && *period > 0;
    }
    return read_number(folder, "cpu.cfs_quota_us", quota) && read_number(folder, "cpu.cfs_period_us", period) &&
           *quota > 0 && *period > 0;
}

static void read_counts(const char * folder, struct ggs_cpu_group * group) {
    FILE *   file = open_in(folder, "cpu.stat");
    char     key[64];
    uint64_t value;
    while (file != NULL && fscanf(file, "%63s %" SCNu64, key, &value) == 2) {
        if (strcmp(key, "nr_periods") == 0) group->periods = value;
        if (strcmp(key, "nr_throttled") == 0) group->throttled_periods = value;
        if (strcmp(key, "throttled_time") == 0) group->throttled_ns = value;        // version 1
        if (strcmp(key, "throttled_usec") == 0) group->throttled_ns = value * 1000; // version 2
    }
    if (file != NULL) fclose(file);
}

// Finds the folder of our group, and the length of the part that all groups share; false if there
// is none.
static bool find_folder(char folder[PATH_ROOM], size_t * root) {
    char   line[PATH_ROOM];
    FILE * file  = fopen("/proc/self/cgroup", "re");
    bool   found = false;
    while (file != NULL && !found && fgets(line, sizeof(line), file) != NULL) {
        char * names = strchr(line, ':');
        char * path  = names == NULL ? NULL : strchr(names + 1, ':');
        if (path == NULL) continue;
        *path++                   = '\0';
        path[strcspn(path, "\n")] = '\0';
        bool one = strcmp(names, ":cpu") == 0 || strstr(names, ":cpu,") != NULL || strstr(names, ",cpu,") != NULL;
        const char * mounted = one ? "/sys/fs/cgroup/cpu" : "/sys/fs/cgroup";
        if (!one && names[1] != '\0') continue;
        *root = strlen(mounted);
        snprintf(folder, PATH_ROOM, "%s%.900s", mounted, strcmp(path, "/") == 0 ? "" : path);
        FILE * stat = open_in(folder, "cpu.stat");
        found       = stat != NULL;
        if (stat != NULL) fclose(stat);
    }
    if (file != NULL) fclose(file);
    return found;
}

bool ggs_cpu_group_read(struct ggs_cpu_group * group) {
    char   folder[PATH_ROOM];
    size_t root;
    double least = 0;
    *group       = (struct ggs_cpu_group){0};
    if (!find_folder(folder, &root)) return false;
    for (;;) {
        int64_t quota, period;
        if (read_quota(folder, &quota, &period) && (least == 0 || (double) quota / (double) period < least)) {
            least            = (double) quota / (double) period;
            group->quota_ns  = (uint64_t) quota * 1000;
            group->period_ns = (uint64_t) period * 1000;
            read_counts(folder, group);
        }
        char * slash = strrchr(folder, '/');
        if (slash == NULL || (size_t) (slash - folder) < root) return true;
        *slash = '\0';
    }
}
