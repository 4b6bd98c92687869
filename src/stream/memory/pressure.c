#include "stream/memory/pressure.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "stream/memory/available-memory.h"

static int open_in(const char * folder, const char * name, int flags) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int) sizeof(path)) return -1;
    return (int) syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0);
}

static void close_one(int fd) {
    if (fd >= 0) syscall(SYS_close, fd);
}

static void add_event(struct ggs_pressure * p, int fd, short events) {
    if (p->n_events == GGS_PRESSURE_EVENTS) {
        close_one(fd);
        return;
    }
    p->events[p->n_events++] = (struct pollfd){.fd = fd, .events = events};
}

// Version 1: makes an eventfd that signals `what` of the group's file `name`. The kernel needs the
// file only during registration.
static bool ask_version_1(struct ggs_pressure * p, const char * folder, const char * name, const char * what) {
    char line[96];
    int  file = open_in(folder, name, O_RDONLY), control = open_in(folder, "cgroup.event_control", O_WRONLY);
    int  event = file < 0 || control < 0 ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int  size  = snprintf(line, sizeof(line), "%d %d %s", event, file, what);
    bool ok    = event >= 0 && write(control, line, (size_t) size) == size;
    if (ok) {
        add_event(p, event, POLLIN);
    } else {
        close_one(event);
    }
    close_one(file);
    close_one(control);
    return ok;
}

// Version 2: signals when members wait for memory for 100 ms of 2 s, which any user may request,
// and when limits were met.
static void ask_version_2(struct ggs_pressure * p, const char * folder) {
    static const char trigger[] = "some 100000 2000000";
    int               stalls    = open_in(folder, "memory.pressure", O_RDWR | O_NONBLOCK);
    if (stalls >= 0 && write(stalls, trigger, sizeof(trigger)) == sizeof(trigger)) {
        add_event(p, stalls, POLLPRI);
    } else {
        close_one(stalls);
    }
    int events = open_in(folder, "memory.events", O_RDONLY);
    if (events >= 0) add_event(p, events, POLLPRI);
}

static void open_group(const char * folder, bool version_2, bool own, void * context) {
    struct ggs_pressure * p     = context;
    uint64_t              limit = ggs_memory_group_limit(folder, version_2);
    (void) own;
    if (limit == UINT64_MAX || p->n_groups == GGS_PRESSURE_GROUPS) return;
    unsigned i             = p->n_groups++;
    p->groups[i].usage     = open_in(folder, version_2 ? "memory.current" : "memory.usage_in_bytes", O_RDONLY);
    p->groups[i].stat      = open_in(folder, "memory.stat", O_RDONLY);
    p->groups[i].limits[0] = open_in(folder, version_2 ? "memory.max" : "memory.limit_in_bytes", O_RDONLY);
    p->groups[i].limits[1] = version_2 ? open_in(folder, "memory.high", O_RDONLY) : -1;
    p->groups[i].limit     = limit;
    p->groups[i].version_2 = version_2;
    if (version_2) {
        ask_version_2(p, folder);
        return;
    }
    char threshold[32];
    snprintf(threshold, sizeof(threshold), "%llu", (unsigned long long) (limit > p->margin ? limit - p->margin : 0));
    p->n_thresholds += ask_version_1(p, folder, "memory.usage_in_bytes", threshold);
    ask_version_1(p, folder, "memory.pressure_level", "medium");
}

void ggs_pressure_open(struct ggs_pressure * p, const char * proc, const char * groups, uint64_t margin) {
    *p         = (struct ggs_pressure){.margin = margin};
    p->meminfo = open_in(proc, "meminfo", O_RDONLY);
    ggs_memory_groups(proc, groups, open_group, p);
}

void ggs_pressure_close(struct ggs_pressure * p) {
    for (unsigned i = 0; i < p->n_events; i++) close_one(p->events[i].fd);
    for (unsigned i = 0; i < p->n_groups; i++) {
        close_one(p->groups[i].usage);
        close_one(p->groups[i].stat);
        for (int k = 0; k < 2; k++) close_one(p->groups[i].limits[k]);
    }
    close_one(p->meminfo);
}

bool ggs_pressure_wait(struct ggs_pressure * p, int ms) {
    bool notified = false;
    if (poll(p->events, p->n_events, ms) <= 0) return false;
    for (unsigned i = 0; i < p->n_events; i++) {
        short came = p->events[i].revents;
        char  text[512]; // an eventfd restarts; memory.events signals again after it was read
        if (came == 0) continue;
        if (came & (POLLNVAL | POLLHUP)) {
            p->events[i].fd = -1; // the group was removed
            continue;
        }
        notified |= (came & p->events[i].events) != 0;
        if (p->events[i].events == POLLIN) {
            syscall(SYS_read, p->events[i].fd, text, 8);
        } else {
            syscall(SYS_pread64, p->events[i].fd, text, sizeof(text), 0);
        }
    }
    return notified;
}

static bool text_of(int fd, char * text, size_t size) {
    ssize_t n = fd < 0 ? -1 : syscall(SYS_pread64, fd, text, size - 1, 0);
    if (n <= 0) return false;
    text[n] = '\0';
    return true;
}

// The limit of a group as it is now, UINT64_MAX if it has none.
static uint64_t limit_of(const struct ggs_pressure * p, unsigned group) {
    uint64_t least = UINT64_MAX;
    char     text[64];
    for (int k = 0; k < 2; k++) {
        if (!text_of(p->groups[group].limits[k], text, sizeof(text)) || text[0] < '0' || text[0] > '9') continue;
        uint64_t limit = strtoull(text, NULL, 10);
        if (limit < least) least = limit;
    }
    return least;
}

uint64_t ggs_pressure_left(struct ggs_pressure * p, bool * notified) {
    char     text[8192];
    uint64_t least = text_of(p->meminfo, text, sizeof(text)) ? ggs_memory_available_in(text) : UINT64_MAX;
    *notified      = p->n_groups > 0 && p->n_thresholds == p->n_groups;
    for (unsigned i = 0; i < p->n_groups; i++) {
        if (!text_of(p->groups[i].usage, text, sizeof(text))) continue;
        uint64_t used = strtoull(text, NULL, 10), limit = limit_of(p, i), cache = 0;
        // Already beyond the threshold, perhaps only by page cache, or the threshold is for another
        // limit.
        if (used + p->margin > limit || limit != p->groups[i].limit) *notified = false;
        if (text_of(p->groups[i].stat, text, sizeof(text)))
            cache = ggs_memory_group_cache(text, p->groups[i].version_2);
        used -= cache < used ? cache : used;
        uint64_t left = used < limit ? limit - used : 0;
        if (left < least) least = left;
    }
    return least;
}
