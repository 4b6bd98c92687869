#include "record/memory/limit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

enum { MOST_PLACES = 16, FIRST_LOOK_MS = 2, USUAL_LOOK_MS = 50, GUARDIAN_MS = 100, LAST_TRIES = 20 };

// ---- the guardian ----

static void wait_ms(long ms) {
    struct timespec time = {.tv_nsec = ms * 1000000};
    nanosleep(&time, NULL);
}

// Runs in a process of its own, with no open file of ours except its end of the leash.
static void guard(const char * group, int leash) {
    char byte;
    setsid(); // Ctrl-C is not for it
    prctl(PR_SET_NAME, "ggscope-guard");
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    int end = dup2(leash, 0) == 0 ? 0 : leash;
    if (close_range(1, ~0u, 0) != 0) { // kernels before 5.9
        for (int fd = 1; fd < 1024; fd++) close(fd);
    }
    while (read(end, &byte, 1) < 0 && errno == EINTR) {}
    // Processes of the group may outlive us. An empty group is removed at once.
    while (rmdir(group) != 0 && errno == EBUSY) wait_ms(GUARDIAN_MS);
}

static int start_guardian(struct ggs_limit * limit, const char * group, struct ggs_error * error) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return ggs_fail_errno(error, "cannot open a pipe");
    limit->guardian = fork();
    if (limit->guardian == 0) {
        guard(group, ends[0]);
        _Exit(0);
    }
    close(ends[0]);
    limit->leash = ends[1];
    if (limit->guardian > 0) return 0;
    close(limit->leash);
    limit->leash = -1;
    return ggs_fail_errno(error, "cannot start the process that removes the memory limit");
}

// The guardian ends by itself. If that is soon (the group is gone or empty), it is reaped here.
static void dismiss_guardian(struct ggs_limit * limit, bool soon) {
    if (limit->leash >= 0) close(limit->leash);
    limit->leash = -1;
    if (limit->guardian > 0 && soon) waitpid(limit->guardian, NULL, 0);
    limit->guardian = 0;
}

// ---- groups of our own ----

// A group may refuse a process, so an expendable process tries first.
static int try_joining(const char * group) {
    pid_t child  = fork();
    int   status = 0;
    if (child == 0) _Exit(ggs_limit_group_join(group, 0));
    if (child < 0) return errno;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
}

static int make_group(struct ggs_limit * limit, const struct ggs_limit_place * place, struct ggs_error * error) {
    static unsigned        n_made;
    struct ggs_limit_place group = {.version = place->version};
    if (snprintf(group.folder, sizeof(group.folder), "%.*s/ggscope-%d-%u", PATH_MAX - 64, place->folder, (int) getpid(),
                 ++n_made) >= (int) sizeof(group.folder))
        return ggs_fail(error, GGS_UNSUPPORTED, "the path %s is too long", place->folder);
    // The guardian comes first, so that the group is never without one.
    int status = start_guardian(limit, group.folder, error);
    if (status != 0) return status;
    if (mkdir(group.folder, 0755) != 0) {
        status = ggs_fail_errno(error, "cannot make a control group in %s", place->folder);
    } else {
        status = ggs_limit_group_set(group.folder, group.version, limit->bytes, error);
        if (status == 0 && (errno = try_joining(group.folder)) != 0)
            status = ggs_fail_errno(error, "cannot put a process into the control group %s", group.folder);
        if (status != 0) rmdir(group.folder);
    }
    if (status != 0) {
        dismiss_guardian(limit, true);
        return status;
    }
    limit->group     = group;
    limit->made      = true;
    limit->mechanism = group.version == 1 ? "cgroup v1" : "cgroup v2";
    return 0;
}

// ---- scopes of systemd ----

static bool succeeds(const char * const * words) {
    posix_spawn_file_actions_t files;
    pid_t                      child;
    int                        status = -1;
    if (posix_spawn_file_actions_init(&files) != 0) return false;
    for (int fd = 0; fd < 3; fd++) posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
    bool started = posix_spawnp(&child, words[0], &files, NULL, (char * const *) words, environ) == 0;
    posix_spawn_file_actions_destroy(&files);
    while (started && waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    return started && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool make_scope(struct ggs_limit * limit, bool user) {
    size_t n = 0;
    snprintf(limit->properties[0], sizeof(limit->properties[0]), "--property=MemoryMax=%" PRIu64, limit->bytes);
    snprintf(limit->properties[1], sizeof(limit->properties[1]), "--property=MemorySwapMax=0");
    limit->prefix[n++] = "systemd-run";
    if (user) limit->prefix[n++] = "--user";
    limit->prefix[n++]   = "--scope";
    limit->prefix[n++]   = "--quiet";
    limit->prefix[n++]   = "--collect";
    limit->prefix[n++]   = limit->properties[0];
    limit->prefix[n++]   = limit->properties[1];
    limit->prefix[n++]   = "--";
    limit->prefix[n]     = "true";
    limit->prefix[n + 1] = NULL;
    bool good            = succeeds(limit->prefix); // cannot ask for a password
    limit->prefix[n]     = NULL;
    if (good) {
        limit->mechanism = user ? "systemd-run --user" : "systemd-run";
    } else {
        limit->prefix[0] = NULL;
    }
    return good;
}

int ggs_limit_make(struct ggs_limit * limit, uint64_t bytes, struct ggs_error * error) {
    struct ggs_limit_place places[MOST_PLACES];
    struct ggs_error       reason = {0};
    *limit                        = (struct ggs_limit){.bytes = bytes, .leash = -1, .stop = -1};
    if (bytes == 0) return 0;
    size_t n = ggs_limit_places("", places, MOST_PLACES);
    for (size_t i = 0; i < n; i++) {
        struct ggs_error refusal;
        if (make_group(limit, &places[i], &refusal) == 0) return 0;
        if (reason.status == 0) reason = refusal;
    }
    if (make_scope(limit, geteuid() != 0) || (geteuid() != 0 && make_scope(limit, false))) return 0;
    limit->bytes = 0;
    return ggs_fail(
        error, GGS_UNSUPPORTED,
        "memory cannot be limited here: %s, and systemd-run gives no scope either; run ggscope as root, or without --memory",
        n == 0 ? "no control group accounts memory" : reason.text);
}

// ---- while the program runs ----

// Polls figures that are lost when the program ends.
static void sample_use(struct ggs_limit * limit) {
    struct ggs_limit_use now = {0}, *use = &limit->use;
    if (limit->group.version == 0 && limit->program > 0) {
        struct ggs_limit_place found;
        // Until systemd-run has made the scope, the program is in our own group.
        if (!ggs_limit_group_of("", limit->program, &found) || strstr(found.folder, ".scope") == NULL) return;
        struct ggs_limit_place ours;
        if (ggs_limit_group_of("", getpid(), &ours) && strcmp(ours.folder, found.folder) == 0) return;
        limit->group = found;
    }
    if (limit->group.version == 0) return;
    ggs_limit_group_read("", limit->group.folder, limit->group.version, &now);
    if (now.peak > use->peak) use->peak = now.peak;
    if (now.anonymous > use->anonymous) use->anonymous = now.anonymous;
    if (now.hits > use->hits) use->hits = now.hits;
    if (now.kills > use->kills) use->kills = now.kills;
}

static void * watch(void * context) {
    struct ggs_limit * limit = context;
    int                wait  = FIRST_LOOK_MS; // a program may be short
    struct pollfd      stop  = {.fd = limit->stop, .events = POLLIN};
    do {
        sample_use(limit);
        wait = wait * 3 / 2 < USUAL_LOOK_MS ? wait * 3 / 2 : USUAL_LOOK_MS;
    } while (poll(&stop, 1, wait) == 0);
    return NULL;
}

static void start_watching(struct ggs_limit * limit) {
    sigset_t all, before;
    sigfillset(&all);
    limit->stop = eventfd(0, EFD_CLOEXEC);
    if (limit->stop < 0) return;
    pthread_sigmask(SIG_SETMASK, &all, &before); // signals are for the thread that forwards them
    limit->watching = pthread_create(&limit->watcher, NULL, watch, limit) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int ggs_limit_join(struct ggs_limit * limit, pid_t program, struct ggs_error * error) {
    if (limit->bytes == 0) return 0;
    limit->program = program;
    if (limit->made && (errno = ggs_limit_group_join(limit->group.folder, program)) != 0)
        return ggs_fail_errno(error, "cannot put the program into the control group %s", limit->group.folder);
    start_watching(limit);
    return 0;
}

struct entrance {
    struct ggs_limit limit;
    struct ggs_error error;
    int              status;
};

// The guardian must not be a child of the program, which may wait for all its children: another
// process makes the group, moves this one into it and ends. The page stays mapped, because `prefix`
// points into it.
int ggs_limit_enter(uint64_t bytes, const char ** prefix, struct ggs_error * error) {
    struct entrance * e  = mmap(NULL, sizeof(*e), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t             us = getpid(), child = e == MAP_FAILED ? -1 : fork();
    if (child < 0) return ggs_fail_errno(error, "cannot start a process that limits memory");
    if (child == 0) {
        e->status = ggs_limit_make(&e->limit, bytes, &e->error);
        if (e->status == 0 && e->limit.made && (errno = ggs_limit_group_join(e->limit.group.folder, us)) != 0)
            e->status = ggs_fail_errno(&e->error, "cannot enter the control group %s", e->limit.group.folder);
        _Exit(0);
    }
    int ended = 0;
    while (waitpid(child, &ended, 0) < 0 && errno == EINTR) {}
    if (!WIFEXITED(ended)) return ggs_fail(error, GGS_UNSUPPORTED, "the process that limits memory was ended");
    memcpy(prefix, e->limit.prefix, sizeof(e->limit.prefix));
    *error = e->error;
    return e->status;
}

void ggs_limit_end(struct ggs_limit * limit) {
    if (limit->watching) {
        uint64_t one    = 1;
        ssize_t  n      = write(limit->stop, &one, sizeof(one));
        limit->watching = false;
        (void) n;
        pthread_join(limit->watcher, NULL);
        sample_use(limit);
        if (limit->group.version != 0) limit->use.shared = ggs_limit_group_shared(limit->group.folder);
    }
    if (limit->bytes != 0 && limit->stop >= 0) close(limit->stop);
    limit->stop = -1;
    if (!limit->made) return;
    bool gone = rmdir(limit->group.folder) == 0 || errno == ENOENT;
    // The kernel may notice late that the group is empty. If the program left processes, the
    // guardian waits.
    for (int i = 0; !gone && errno == EBUSY && i < LAST_TRIES; i++) {
        wait_ms(1);
        gone = rmdir(limit->group.folder) == 0;
    }
    limit->made = false;
    dismiss_guardian(limit, gone);
}
