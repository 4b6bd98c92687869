#include "stream/memory/available-memory.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_text(const char * path, char * text, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t n = read(fd, text, size - 1);
    close(fd);
    if (n <= 0) return false;
    text[n] = '\0';
    return true;
}

static bool read_file(const char * folder, const char * name, char * text, size_t size) {
    char path[PATH_MAX];
    return snprintf(path, sizeof(path), "%s/%s", folder, name) < (int) sizeof(path) && read_text(path, text, size);
}

// Reads a number from a file. "max" and numbers near 2^63 mean no limit.
static uint64_t read_number(const char * folder, const char * name) {
    char text[64];
    if (!read_file(folder, name, text, sizeof(text)) || text[0] < '0' || text[0] > '9') return UINT64_MAX;
    uint64_t value = strtoull(text, NULL, 10);
    return value < (1ull << 60) ? value : UINT64_MAX;
}

static uint64_t line_of(const char * text, const char * name) {
    size_t length = strlen(name);
    for (const char * at = text; at != NULL; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, name, length) == 0 && at[length] == ' ') return strtoull(at + length, NULL, 10);
    }
    return 0;
}

uint64_t ggs_memory_group_cache(const char * stat, bool version_2) {
    return version_2 ? line_of(stat, "inactive_file") + line_of(stat, "active_file")
                     : line_of(stat, "total_inactive_file") + line_of(stat, "total_active_file");
}

// ---- the groups of the process ----

struct found {
    uint64_t limit, left;
    double   stalled;
    bool     wants_left;
};

static double stalled(const char * folder, const char * name) {
    char         text[256];
    const char * full = read_file(folder, name, text, sizeof(text)) ? strstr(text, "full avg10=") : NULL;
    return full == NULL ? 0 : strtod(full + 11, NULL);
}

uint64_t ggs_memory_group_limit(const char * folder, bool version_2) {
    uint64_t limit = read_number(folder, version_2 ? "memory.max" : "memory.limit_in_bytes");
    uint64_t high =
        version_2 ? read_number(folder, "memory.high") : UINT64_MAX; // beyond it the kernel throttles all members
    return limit < high ? limit : high;
}

static void read_group(const char * folder, bool version_2, bool own, void * context) {
    struct found * found = context;
    double         share = own && version_2 && found->wants_left ? stalled(folder, "memory.pressure") : 0;
    if (share > found->stalled) found->stalled = share;
    uint64_t limit = ggs_memory_group_limit(folder, version_2);
    if (limit == UINT64_MAX) return;
    if (limit < found->limit) found->limit = limit;
    if (!found->wants_left) return;
    char     text[8192];
    uint64_t used = read_number(folder, version_2 ? "memory.current" : "memory.usage_in_bytes");
    if (used == UINT64_MAX) return;
    uint64_t cache = read_file(folder, "memory.stat", text, sizeof(text)) ? ggs_memory_group_cache(text, version_2) : 0;
    used -= cache < used ? cache : used;
    uint64_t left = used < limit ? limit - used : 0;
    if (left < found->left) found->left = left;
}

// Visits the group and its parents.
static void walk_up(const char * mount, const char * group, bool version_2, ggs_memory_group_function visit,
                    void * context) {
    char folder[PATH_MAX], place[PATH_MAX];
    snprintf(place, sizeof(place), "%s", group);
    for (bool own = true;; own = false) {
        if (snprintf(folder, sizeof(folder), "%s%s", mount, place) < (int) sizeof(folder))
            visit(folder, version_2, own, context);
        char * slash = strrchr(place, '/');
        if (slash == NULL) return;
        *slash = '\0';
    }
}

static bool has_word(const char * words, const char * word) {
    size_t length = strlen(word);
    for (const char * at = words; (at = strstr(at, word)) != NULL; at += length) {
        if ((at == words || at[-1] == ',') && (at[length] == '\0' || at[length] == ',')) return true;
    }
    return false;
}

void ggs_memory_groups(const char * proc, const char * groups, ggs_memory_group_function visit, void * context) {
    char mount[PATH_MAX], text[8192];
    if (!read_file(proc, "self/cgroup", text, sizeof(text))) return;
    char * rest = NULL;
    for (char * line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        char * controllers = strchr(line, ':');
        char * group       = controllers == NULL ? NULL : strchr(controllers + 1, ':');
        if (group == NULL) continue;
        *group++ = '\0';
        controllers++;
        if (strcmp(group, "/") == 0) group = (char *) "";
        if (controllers[0] == '\0') { // version 2, alone or beside version 1
            walk_up(groups, group, true, visit, context);
            snprintf(mount, sizeof(mount), "%s/unified", groups);
            walk_up(mount, group, true, visit, context);
        } else if (has_word(controllers, "memory")) {
            snprintf(mount, sizeof(mount), "%s/memory", groups);
            walk_up(mount, group, false, visit, context);
        }
    }
}

static struct found read_groups(const char * proc, const char * groups, bool wants_left) {
    struct found found = {.limit = UINT64_MAX, .left = UINT64_MAX, .wants_left = wants_left};
    ggs_memory_groups(proc, groups, read_group, &found);
    return found;
}

uint64_t ggs_memory_available_in(const char * meminfo) {
    const char * line = strstr(meminfo, "MemAvailable:");
    return line == NULL ? UINT64_MAX : strtoull(line + 13, NULL, 10) * 1024;
}

uint64_t ggs_memory_available(const char * proc) {
    char text[4096];
    if (!read_file(proc, "meminfo", text, sizeof(text))) return UINT64_MAX;
    return ggs_memory_available_in(text);
}

uint64_t ggs_memory_anonymous(const char * proc) {
    char          text[128];
    unsigned long size, resident, shared;
    if (!read_file(proc, "self/statm", text, sizeof(text))) return 0;
    if (sscanf(text, "%lu %lu %lu", &size, &resident, &shared) != 3 || resident < shared) return 0;
    return (uint64_t) (resident - shared) * (uint64_t) sysconf(_SC_PAGESIZE);
}

uint64_t ggs_memory_limit(const char * proc, const char * groups) {
    uint64_t limit = read_groups(proc, groups, false).limit;
    uint64_t left  = ggs_memory_available(proc);
    if (left == UINT64_MAX) return limit;
    left = left - left / 16 + ggs_memory_anonymous(proc); // leaves a part for other programs
    return left < limit ? left : limit;
}

uint64_t ggs_memory_left(const char * proc, const char * groups) {
    return read_groups(proc, groups, true).left;
}

double ggs_memory_stalled(const char * proc, const char * groups) {
    double group = read_groups(proc, groups, true).stalled, machine = stalled(proc, "pressure/memory");
    return group > machine ? group : machine;
}
