#include "attach/tracee.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/number.h"
#include "base/system/maps.h"

// ---- /proc ----

// Reads a small file below /proc/PID as a string. False if it is not readable.
static bool read_small(int proc, const char * name, char * text, size_t size) {
    int fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t n = read(fd, text, size - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

// Returns the fields of a stat file after the name, which may contain blanks and parentheses: "S 1
// 2 ...".
static const char * stat_fields(int proc, const char * name, char text[1024]) {
    if (!read_small(proc, name, text, 1024)) return NULL;
    const char * bracket = strrchr(text, ')');
    return bracket == NULL || bracket[1] != ' ' ? NULL : bracket + 2;
}

static uint64_t start_time(int proc) {
    enum { FIELD = 22, FIRST = 3 }; // proc(5) counts from 1; these fields begin with the state
    char         text[1024];
    const char * at = stat_fields(proc, "stat", text);
    for (int i = FIRST; at != NULL && i < FIELD; i++) {
        at = strchr(at, ' ');
        if (at != NULL) at++;
    }
    return at == NULL ? 0 : strtoull(at, NULL, 10);
}

static int open_proc(pid_t pid) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d", (int) pid);
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

// ---- finding the process ----

static bool has_name(pid_t pid, const char * name) {
    char text[256], path[64], target[4096];
    int  proc = open_proc(pid);
    if (proc < 0) return false;
    bool same = false;
    if (read_small(proc, "comm", text, sizeof(text))) {
        text[strcspn(text, "\n")] = '\0';
        same                      = strcmp(text, name) == 0;
    }
    snprintf(path, sizeof(path), "/proc/%d/exe", (int) pid); // the kernel truncates the name
    ssize_t n = same ? -1 : readlink(path, target, sizeof(target) - 1);
    close(proc);
    if (n <= 0) return same;
    target[n]            = '\0';
    const char * deleted = " (deleted)";
    char *       tail    = n > (ssize_t) strlen(deleted) ? target + n - strlen(deleted) : NULL;
    if (tail != NULL && strcmp(tail, deleted) == 0) *tail = '\0';
    const char * slash = strrchr(target, '/');
    return strcmp(slash == NULL ? target : slash + 1, name) == 0;
}

static int find_by_name(const char * name, pid_t * pid, struct ggs_error * error) {
    enum { LISTED = 8 };
    char                  list[128] = "";
    size_t                found = 0, used = 0;
    DIR *                 processes = opendir("/proc");
    const struct dirent * entry;
    if (processes == NULL) return ggs_fail_errno(error, "cannot read /proc");
    while ((entry = readdir(processes)) != NULL) {
        uint64_t number;
        if (!ggs_parse_u64(entry->d_name, 1, INT32_MAX, &number) || (pid_t) number == getpid()) continue;
        if (!has_name((pid_t) number, name)) continue;
        *pid = (pid_t) number;
        if (found++ < LISTED)
            used += (size_t) snprintf(list + used, sizeof(list) - used, "%s%s", used > 0 ? ", " : "", entry->d_name);
    }
    closedir(processes);
    if (found == 0) return ggs_fail(error, GGS_ABSENT, "there is no process named %s", name);
    if (found > 1)
        return ggs_fail(error, GGS_USAGE, "%zu processes are named %s (%s%s): give the number of one", found, name,
                        list, found > LISTED ? ", ..." : "");
    return 0;
}

int ggs_tracee_find(const char * word, pid_t * pid, struct ggs_error * error) {
    uint64_t number;
    if (isdigit((unsigned char) word[0]) && ggs_parse_u64(word, 1, INT32_MAX, &number)) {
        *pid = (pid_t) number;
        return 0;
    }
    return find_by_name(word, pid, error);
}

// ---- opening ----

static int yama_scope(void) {
    char text[16];
    int  scope = -1, fd = open("/proc/sys/kernel/yama", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return -1;
    if (read_small(fd, "ptrace_scope", text, sizeof(text))) scope = text[0] - '0';
    close(fd);
    return scope;
}

static int fail_permission(const struct ggs_tracee * tracee, struct ggs_error * error) {
    int scope = yama_scope();
    if (tracee->user != geteuid() && geteuid() != 0)
        return ggs_fail(
            error, GGS_USAGE,
            "not permitted to attach to process %d (%s): it belongs to user %u; run ggscope as that user or "
            "as root (CAP_SYS_PTRACE)",
            (int) tracee->pid, tracee->name, (unsigned) tracee->user);
    if (scope >= 1)
        return ggs_fail(
            error, GGS_USAGE, "not permitted to attach to process %d (%s): kernel.yama.ptrace_scope is %d, which %s",
            (int) tracee->pid, tracee->name, scope,
            scope >= 3 ? "permits no attaching at all"
                       : "requires CAP_SYS_PTRACE: run ggscope as root (in a container: --cap-add SYS_PTRACE)");
    return ggs_fail(error, GGS_USAGE,
                    "not permitted to attach to process %d (%s): ggscope needs to be the same user with no fewer "
                    "capabilities, or to have CAP_SYS_PTRACE (in a container: --cap-add SYS_PTRACE)",
                    (int) tracee->pid, tracee->name);
}

static bool same_file(const char * a, const char * b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static void read_identity(struct ggs_tracee * tracee) {
    char        text[64], a[64], b[64];
    struct stat info;
    tracee->started = start_time(tracee->proc);
    if (read_small(tracee->proc, "comm", text, sizeof(text))) {
        text[strcspn(text, "\n")] = '\0';
        snprintf(tracee->name, sizeof(tracee->name), "%.31s", text);
    }
    // The /proc files of a process that is not dumpable belong to root; its status still has its
    // user.
    unsigned real, effective;
    if (ggs_tracee_status(tracee, tracee->pid, "Uid", text, sizeof(text)) &&
        sscanf(text, "%u %u", &real, &effective) == 2)
        tracee->user = effective;
    if (ggs_tracee_status(tracee, tracee->pid, "Gid", text, sizeof(text)) &&
        sscanf(text, "%u %u", &real, &effective) == 2)
        tracee->group = effective;
    snprintf(a, sizeof(a), "/proc/%d/ns/mnt", (int) tracee->pid);
    snprintf(b, sizeof(b), "/proc/%d/root", (int) tracee->pid);
    bool same_mounts   = stat(a, &info) != 0 || same_file(a, "/proc/self/ns/mnt");
    bool same_root     = stat(b, &info) != 0 || same_file(b, "/proc/self/root");
    tracee->other_root = !same_mounts || !same_root;
}

static int open_memory(struct ggs_tracee * tracee, struct ggs_error * error) {
    tracee->memory = openat(tracee->proc, "mem", O_RDWR | O_CLOEXEC);
    if (tracee->memory >= 0) return 0;
    if (errno == ENOENT || errno == ESRCH)
        return ggs_fail(error, GGS_ABSENT, "process %d (%s) has ended", (int) tracee->pid, tracee->name);
    if (errno == EACCES || errno == EPERM) return fail_permission(tracee, error);
    return ggs_fail_errno(error, "cannot open the memory of process %d (%s)", (int) tracee->pid, tracee->name);
}

int ggs_tracee_open(struct ggs_tracee * tracee, pid_t pid, struct ggs_error * error) {
    *tracee = (struct ggs_tracee){.pid = pid, .pidfd = -1, .proc = -1, .memory = -1, .name = "?"};
    if (pid == getpid()) return ggs_fail(error, GGS_USAGE, "process %d is this ggscope itself", (int) pid);
    tracee->proc = open_proc(pid);
    if (tracee->proc < 0) return ggs_fail(error, GGS_ABSENT, "there is no process %d", (int) pid);
    tracee->pidfd = (int) syscall(SYS_pidfd_open, pid, 0); // fails for ids of threads
    if (tracee->pidfd < 0 && (errno == EINVAL || errno == ENOENT))
        return ggs_fail(error, GGS_USAGE, "%d is a thread of another process: give the number of the process",
                        (int) pid);
    read_identity(tracee);
    char state = ggs_tracee_state(tracee, pid);
    if (state == 'Z' || state == 'X')
        return ggs_fail(error, GGS_ABSENT, "process %d (%s) has ended", (int) pid, tracee->name);
    int status = open_memory(tracee, error);
    if (status != 0) return status;
    if (flock(tracee->proc, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return ggs_fail(error, GGS_USAGE, "another ggscope attaches to process %d (%s) at this moment", (int) pid,
                        tracee->name);
    return ggs_tracee_read_maps(tracee, error);
}

static void forget_maps(struct ggs_tracee * tracee) {
    for (size_t i = 0; i < tracee->n_maps; i++) free(tracee->maps[i].path);
    tracee->n_maps = 0;
}

void ggs_tracee_close(struct ggs_tracee * tracee) {
    int files[] = {tracee->pidfd, tracee->proc, tracee->memory};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (files[i] >= 0) close(files[i]);
    forget_maps(tracee);
    free(tracee->maps);
    *tracee = (struct ggs_tracee){.pidfd = -1, .proc = -1, .memory = -1};
}

bool ggs_tracee_lives(const struct ggs_tracee * tracee) {
    struct pollfd ended = {.fd = tracee->pidfd, .events = POLLIN};
    if (tracee->pidfd >= 0 && poll(&ended, 1, 0) == 1) return false;
    char state = ggs_tracee_state(tracee, tracee->pid);
    // The first thread may end before the others.
    return state != 'X' && (state != 'Z' || tracee->pidfd >= 0) && start_time(tracee->proc) == tracee->started;
}

// ---- memory ----

int ggs_tracee_read_maps(struct ggs_tracee * tracee, struct ggs_error * error) {
    char                  name[32];
    struct ggs_maps       maps;
    struct ggs_maps_entry entry;
    snprintf(name, sizeof(name), "%d", (int) tracee->pid);
    forget_maps(tracee);
    if (!ggs_maps_open(&maps, name))
        return ggs_fail_errno(error, "cannot read the mappings of process %d", (int) tracee->pid);
    bool good = true;
    while (good && ggs_maps_next(&maps, &entry)) {
        struct ggs_tracee_map map = {entry.start,    entry.end,      entry.offset,     entry.device,      entry.inode,
                                     entry.readable, entry.writable, entry.executable, strdup(entry.path)};
        good = map.path != NULL && ggs_array_push(tracee->maps, tracee->n_maps, tracee->maps_capacity, map);
        if (!good) free(map.path);
    }
    ggs_maps_close(&maps);
    return good ? 0 : ggs_fail_memory(error);
}

const struct ggs_tracee_map * ggs_tracee_map_at(const struct ggs_tracee * tracee, uint64_t address) {
    for (size_t i = 0; i < tracee->n_maps; i++)
        if (address >= tracee->maps[i].start && address < tracee->maps[i].end) return &tracee->maps[i];
    return NULL;
}

bool ggs_tracee_read(const struct ggs_tracee * tracee, uint64_t address, void * to, size_t size) {
    return address <= INT64_MAX && pread(tracee->memory, to, size, (off_t) address) == (ssize_t) size;
}

bool ggs_tracee_write(const struct ggs_tracee * tracee, uint64_t address, const void * from, size_t size) {
    return address <= INT64_MAX && pwrite(tracee->memory, from, size, (off_t) address) == (ssize_t) size;
}

// ---- threads ----

char ggs_tracee_state(const struct ggs_tracee * tracee, pid_t thread) {
    char name[64], text[1024];
    snprintf(name, sizeof(name), "task/%d/stat", (int) thread);
    const char * fields = stat_fields(tracee->proc, name, text);
    return fields == NULL ? 'X' : fields[0];
}

static long current_call(const struct ggs_tracee * tracee, pid_t thread) {
    char name[64], text[256];
    snprintf(name, sizeof(name), "task/%d/syscall", (int) thread);
    if (!read_small(tracee->proc, name, text, sizeof(text)) || !isdigit((unsigned char) text[0])) return -1;
    return strtol(text, NULL, 10);
}

size_t ggs_tracee_threads(const struct ggs_tracee * tracee, struct ggs_tracee_thread * threads, size_t most) {
    int                   fd     = openat(tracee->proc, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *                 folder = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent * entry;
    size_t                n = 0;
    if (folder == NULL && fd >= 0) close(fd);
    while (folder != NULL && n < most && (entry = readdir(folder)) != NULL) {
        uint64_t id;
        if (!ggs_parse_u64(entry->d_name, 1, INT32_MAX, &id)) continue;
        threads[n].id    = (pid_t) id;
        threads[n].state = ggs_tracee_state(tracee, (pid_t) id);
        threads[n].call  = threads[n].state == 'S' ? current_call(tracee, (pid_t) id) : -1;
        n++;
    }
    if (folder != NULL) closedir(folder);
    return n;
}

bool ggs_tracee_status(const struct ggs_tracee * tracee, pid_t thread, const char * key, char * value, size_t size) {
    char name[64], text[4096];
    snprintf(name, sizeof(name), "task/%d/status", (int) thread);
    if (!read_small(tracee->proc, name, text, sizeof(text))) return false;
    size_t length = strlen(key);
    for (char * line = text; line != NULL; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        if (strncmp(line, key, length) != 0 || line[length] != ':') continue;
        line += length + 1;
        while (*line == ' ' || *line == '\t') line++;
        snprintf(value, size, "%.*s", (int) strcspn(line, "\n"), line);
        return true;
    }
    return false;
}
