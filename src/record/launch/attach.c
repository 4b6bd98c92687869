#include "record/launch/attach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/bootstrap.h"
#include "attach/filter.h"
#include "attach/image.h"
#include "attach/quiesce.h"
#include "base/code/entry.h"
#include "base/error.h"
#include "base/system/clock.h"
#include "record/inspect/capture-library.h"
#include "record/memory/limit-group.h"
#include "trace/spool.h"

static const uint64_t PATIENCE_NS = 20000000000;

// ---- before anything is touched ----

static int check_state(const struct ggs_tracee * tracee, struct ggs_error * error) {
    char text[64];
    int  pid = (int) tracee->pid;
    if (ggs_tracee_status(tracee, tracee->pid, "TracerPid", text, sizeof(text)) && strcmp(text, "0") != 0)
        return ggs_fail(error, GGS_USAGE, "cannot attach to process %d (%s): process %s traces it (a debugger?)", pid,
                        tracee->name, text);
    if (ggs_tracee_state(tracee, tracee->pid) == 'T')
        return ggs_fail(error, GGS_USAGE,
                        "cannot attach to process %d (%s): it is stopped; continue it (kill -CONT %d)", pid,
                        tracee->name, pid);
    return 0;
}

// The library and its memory count as the process's own. Beyond its limit, the kernel kills it.
static int check_room(const struct ggs_tracee * tracee, struct ggs_error * error) {
    enum { NEEDED = 8 << 20 }; // 2 MiB were seen, with 2 threads
    struct ggs_limit_place group;
    uint64_t room = ggs_limit_group_of("", tracee->pid, &group) ? ggs_limit_group_room(&group) : UINT64_MAX;
    if (room >= NEEDED) return 0;
    return ggs_fail(error, GGS_USAGE,
                    "cannot attach to process %d (%s): its memory limit leaves it %llu KiB, a recording needs %d MiB, "
                    "and the kernel would kill it; raise the limit of %s",
                    (int) tracee->pid, tracee->name, (unsigned long long) (room >> 10), NEEDED >> 20, group.folder);
}

// The library may be loaded from an earlier attach. It is the same if its first page, which has its
// build id, is the same.
static bool find_loaded(struct ggs_attach * attach) {
    static const char * const names[] = {"libggscope-capture.so", "memfd:ggscope_attach"};
    uint8_t                   own[4096], theirs[4096];
    int                       fd    = open(attach->library, O_RDONLY | O_CLOEXEC);
    bool                      known = fd >= 0 && read(fd, own, sizeof(own)) == (ssize_t) sizeof(own);
    if (fd >= 0) close(fd);
    for (size_t i = 0; known && i < sizeof(names) / sizeof(names[0]); i++) {
        struct ggs_image image;
        for (size_t next = 0; ggs_image_find(&image, &attach->tracee, names[i], &next);) {
            if (!ggs_tracee_read(&attach->tracee, image.base, theirs, sizeof(theirs)) ||
                memcmp(own, theirs, sizeof(own)) != 0)
                continue;
            attach->entry    = ggs_image_symbol(&image, "ggscope_attach");
            attach->block_at = ggs_image_symbol(&image, "ggscope_attach_block");
            return attach->entry != 0;
        }
    }
    return false;
}

// A process with other mounts may not see the file, and one of another user may not read it.
static bool sees_library(const struct ggs_attach * attach) {
    return !attach->tracee.other_root && (attach->tracee.user == geteuid() || access(attach->library, R_OK) == 0);
}

// The library goes through a file without a name, which the dynamic linker opens below /proc.
static int open_image(struct ggs_attach * attach, struct ggs_error * error) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/root/proc/stat", (int) attach->tracee.pid);
    if (attach->tracee.other_root && access(path, F_OK) != 0)
        return ggs_fail(error, GGS_UNSUPPORTED,
                        "cannot attach to process %d (%s): it has no /proc, by which it would load the capture library",
                        (int) attach->tracee.pid, attach->tracee.name);
    return ggs_mapping_open(&attach->image, attach->library, error);
}

static int read_command(struct ggs_attach * attach, struct ggs_error * error) {
    enum { MOST = 1 << 20 };
    size_t n = 0, used = 0;
    int    fd     = openat(attach->tracee.proc, "cmdline", O_RDONLY | O_CLOEXEC);
    attach->words = malloc(MOST);
    for (ssize_t got = 1; fd >= 0 && attach->words != NULL && got > 0 && used < MOST - 1; used += (size_t) got)
        if ((got = read(fd, attach->words + used, MOST - 1 - used)) < 0) got = 0;
    if (fd >= 0) close(fd);
    if (attach->words == NULL) return ggs_fail_memory(error);
    attach->words[used] = '\0';
    for (size_t i = 0; i < used; i += strlen(attach->words + i) + 1) n++;
    attach->command = calloc(n + 2, sizeof(*attach->command));
    if (attach->command == NULL) return ggs_fail_memory(error);
    n = 0;
    for (size_t i = 0; i < used; i += strlen(attach->words + i) + 1) attach->command[n++] = attach->words + i;
    if (n == 0) attach->command[0] = attach->tracee.name;
    return 0;
}

int ggs_attach_open(struct ggs_attach * attach, const char * word, struct ggs_error * error) {
    pid_t pid;
    *attach    = GGS_ATTACH_NONE;
    int status = ggs_bootstrap_check(error);
    if (status == 0) status = ggs_capture_library_find(attach->library, error);
    if (status == 0) status = ggs_tracee_find(word, &pid, error);
    if (status == 0) status = ggs_tracee_open(&attach->tracee, pid, error);
    if (status == 0) status = check_state(&attach->tracee, error);
    if (status == 0) status = check_room(&attach->tracee, error);
    if (status == 0) status = ggs_c_library_find(&attach->c_library, &attach->tracee, error);
    if (status == 0) status = ggs_filter_check(&attach->tracee, error);
    if (status == 0) status = read_command(attach, error);
    if (status == 0 && !find_loaded(attach) && !sees_library(attach)) status = open_image(attach, error);
    return status;
}

// ---- a shared spool ----

static bool holds_spools(const char * path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode) && access(path, W_OK | X_OK) == 0;
}

int ggs_attach_find_parent(struct ggs_attach * attach, const char * wanted, struct ggs_error * error) {
    const char * const usual[] = {"/dev/shm", "/tmp"};
    char               path[PATH_MAX + 64];
    for (size_t i = 0; attach->parent < 0 && i < (wanted == NULL ? 2 : 1); i++) {
        const char * inside = wanted == NULL ? usual[i] : wanted;
        snprintf(path, sizeof(path), "/proc/%d/root%s", (int) attach->tracee.pid, inside);
        if (inside[0] != '/' || !holds_spools(path)) continue;
        attach->parent = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        snprintf(attach->parent_inside, sizeof(attach->parent_inside), "%s", inside);
    }
    if (attach->parent < 0)
        return ggs_fail(error, GGS_USAGE,
                        "process %d (%s) has other mounts than ggscope, and ggscope cannot write to %s there: name a "
                        "folder, as the process sees it, with --spool",
                        (int) attach->tracee.pid, attach->tracee.name, wanted == NULL ? "/dev/shm or /tmp" : wanted);
    snprintf(attach->parent_outside, sizeof(attach->parent_outside), "/proc/%d/fd/%d", (int) getpid(), attach->parent);
    return 0;
}

// ---- loading ----

// Makes the file by which the two sides communicate. The process must be able to write to it.
static int make_state(struct ggs_attach * attach, const char * folder, struct ggs_error * error) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/%s", folder, GGS_SPOOL_ATTACH) >= (int) sizeof(path))
        return ggs_fail(error, GGS_USAGE, "the path %s is too long", folder);
    int    fd    = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    void * state = MAP_FAILED;
    if (fd >= 0 && posix_fallocate(fd, 0, sizeof(*attach->state)) == 0)
        state = mmap(NULL, sizeof(*attach->state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0 && geteuid() == 0 && fchown(fd, attach->tracee.user, attach->tracee.group) != 0) state = MAP_FAILED;
    if (fd >= 0) close(fd);
    if (state == MAP_FAILED) return ggs_fail_errno(error, "cannot create %s", path);
    attach->state = state;
    memcpy(attach->state->magic, GGS_ATTACH_MAGIC, sizeof(attach->state->magic));
    attach->state->wanted = GGS_ATTACH_RECORD;
    return 0;
}

// The lines that attached.c of the capture library reads.
static int write_request(const struct ggs_attach * attach, const struct ggs_attach_settings * settings, char * text,
                         size_t size, struct ggs_error * error) {
    const struct passwd * user  = getpwuid(getuid());
    bool                  quiet = settings->quiet && (geteuid() == 0 || geteuid() == attach->tracee.user);
    int                   n     = snprintf(
                              text, size,
                              "spool=%s\noutput=%s\nmax_size=%llu\npolicy=%s\ngpu_ops=%s\nresidency=%d\nfollow=%d\nquiet=%d\nwho=%s\nmodel=%s\n",
                              settings->inside, settings->output, (unsigned long long) settings->max_size, settings->ring ? "ring" : "stop",
        settings->gpu_ops == NULL ? "" : settings->gpu_ops, settings->residency, settings->follow, quiet,
        user == NULL ? "" : user->pw_name, settings->model == NULL ? "" : settings->model);
    if (n >= (int) size) return ggs_fail(error, GGS_USAGE, "the path %s is too long", settings->output);
    const char * paths[] = {settings->output, settings->inside, settings->model};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        if (paths[i] != NULL && strchr(paths[i], '\n') != NULL)
            return ggs_fail(error, GGS_USAGE, "a path with a line break in it cannot be used: %s", paths[i]);
    return 0;
}

static uint32_t state_of(const struct ggs_attach * attach) {
    return __atomic_load_n(&attach->state->state, __ATOMIC_ACQUIRE);
}

static int fail_ended(const struct ggs_attach * attach, struct ggs_error * error) {
    return ggs_fail(error, GGS_ABSENT, "process %d (%s) ended, or became another program, while ggscope attached to it",
                    (int) attach->tracee.pid, attach->tracee.name);
}

static int fail_reason(const struct ggs_attach * attach, struct ggs_error * error) {
    char text[sizeof(attach->state->text)];
    memcpy(text, attach->state->text, sizeof(text));
    text[sizeof(text) - 1] = '\0';
    return ggs_fail(error, GGS_IO, "process %d (%s): %s", (int) attach->tracee.pid, attach->tracee.name,
                    text[0] == '\0' ? "the recording ended by itself" : text);
}

// False once the process has ended or called exec: its memory is gone.
static bool is_there(const struct ggs_attach * attach) {
    uint8_t byte;
    return ggs_tracee_lives(&attach->tracee) && ggs_tracee_read(&attach->tracee, attach->c_library.munmap, &byte, 1);
}

// Changes code of the process at the library's request, which is checked there.
static int change_code(struct ggs_attach * attach, struct ggs_error * error) {
    static struct ggs_code_place places[GGS_CODE_PLACES_MOST];
    struct ggs_spool_attach *    state  = attach->state;
    uint32_t                     asked  = __atomic_load_n(&state->asked, __ATOMIC_ACQUIRE);
    uint64_t                     n      = state->n_places;
    int                          status = 0;
    struct ggs_quiesced          result = {0};
    if (asked == state->done || (asked != GGS_ATTACH_CODE && asked != GGS_ATTACH_CODE_BACK)) return 0;
    if (n > GGS_CODE_PLACES_MOST || !ggs_tracee_read(&attach->tracee, state->places, places, n * sizeof(*places)))
        status = ggs_fail(error, GGS_FORMAT, "process %d (%s) asks for changes of its code and does not say where",
                          (int) attach->tracee.pid, attach->tracee.name);
    if (status == 0) status = ggs_quiesce(&result, &attach->tracee, places, n, asked == GGS_ATTACH_CODE_BACK, error);
    if (result.stood_ns > attach->all_stood_ns) attach->all_stood_ns = result.stood_ns;
    state->stopped = status != 0;
    __atomic_store_n(&state->done, asked, __ATOMIC_RELEASE);
    syscall(SYS_futex, &state->done, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
    return status;
}

static int await_slots(struct ggs_attach * attach, struct ggs_error * error) {
    for (uint64_t end = ggs_clock_now() + PATIENCE_NS; state_of(attach) == GGS_ATTACH_STARTING; usleep(500)) {
        int status = change_code(attach, error);
        if (status != 0) return status;
        if (!is_there(attach)) return fail_ended(attach, error);
        if (ggs_clock_now() > end)
            return ggs_fail(
                error, GGS_IO,
                "process %d (%s) does not answer: one of its threads holds the dynamic linker's lock, or it "
                "is stopped",
                (int) attach->tracee.pid, attach->tracee.name);
    }
    return state_of(attach) == GGS_ATTACH_FAILED ? fail_reason(attach, error) : 0;
}

int ggs_attach_start(struct ggs_attach * attach, const struct ggs_attach_settings * settings,
                     struct ggs_error * error) {
    char                 request[sizeof(((struct ggs_stub *) 0)->request)];
    struct ggs_bootstrap bootstrap = {.path       = attach->library,
                                      .image      = attach->image.data,
                                      .image_size = attach->image.size,
                                      .entry      = attach->entry,
                                      .block_at   = attach->block_at,
                                      .request    = request};
    int                  result = 0, status = write_request(attach, settings, request, sizeof(request), error);
    if (status == 0) status = make_state(attach, settings->folder, error);
    if (status == 0) status = ggs_bootstrap_start(&bootstrap, &attach->tracee, &attach->c_library, error);
    if (status != 0) return status;
    attach->loaded   = true;
    attach->stood_ns = bootstrap.stood_ns;
    status           = ggs_bootstrap_finish(&bootstrap, &attach->tracee, PATIENCE_NS, &result, error);
    if (status == 0 && result == GGS_ATTACH_BUSY)
        status = ggs_fail(error, GGS_USAGE, "process %d (%s) is being recorded already", (int) attach->tracee.pid,
                          attach->tracee.name);
    if (status == 0 && result != GGS_ATTACH_STARTED)
        status = ggs_fail(error, GGS_IO,
                          "the capture library in process %d (%s) cannot write to %s, or the process cannot have one "
                          "more thread",
                          (int) attach->tracee.pid, attach->tracee.name, settings->inside);
    return status == 0 ? await_slots(attach, error) : status;
}

// ---- recording ----

static bool read_signal(int signals) {
    struct signalfd_siginfo info;
    bool                    came = false;
    while (read(signals, &info, sizeof(info)) == (ssize_t) sizeof(info)) came = true;
    return came;
}

enum ggs_attach_end ggs_attach_wait(const struct ggs_attach * attach, int stop, int signals) {
    enum { CHECK_MS = 100 };
    for (;;) {
        struct pollfd fds[] = {{.fd = stop, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
        poll(fds, 2, CHECK_MS);
        if ((fds[0].revents & POLLIN) != 0) return GGS_ATTACH_WANTED;
        if ((fds[1].revents & POLLIN) != 0 && read_signal(signals)) return GGS_ATTACH_SIGNAL;
        if (!is_there(attach)) return GGS_ATTACH_EXITED;
        if (state_of(attach) >= GGS_ATTACH_ENDING) return GGS_ATTACH_STOPPED;
    }
}

int ggs_attach_finish(struct ggs_attach * attach, int signals, bool * pending, struct ggs_error * error) {
    enum { CHECK_MS = 5 };
    const uint64_t noticed_ns = 2000000000;
    uint64_t       begin      = ggs_clock_now();
    bool           warned     = false;
    *pending                  = false;
    __atomic_store_n(&attach->state->wanted, GGS_ATTACH_DETACH, __ATOMIC_RELEASE);
    syscall(SYS_futex, &attach->state->wanted, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
    while (state_of(attach) < GGS_ATTACH_DETACHED && is_there(attach)) {
        struct ggs_error problem;
        if (change_code(attach, &problem) != 0) fprintf(stderr, "ggscope: %s\n", problem.text);
        struct pollfd fd = {.fd = signals, .events = POLLIN};
        if (poll(&fd, 1, CHECK_MS) > 0 && read_signal(signals) && warned) {
            *pending = true;
            return 0;
        }
        if (!warned && ggs_clock_now() - begin > noticed_ns)
            fprintf(stderr, "ggscope: waiting for the graph run under way to end; Ctrl-C leaves that to the process\n"),
                warned = true;
    }
    return state_of(attach) == GGS_ATTACH_FAILED ? fail_reason(attach, error) : 0;
}

bool ggs_attach_failed(const struct ggs_attach * attach) {
    return attach->state != NULL && state_of(attach) == GGS_ATTACH_FAILED;
}

static bool chown_folder(int folder, uid_t user, gid_t group) {
    const struct dirent * entry;
    DIR *                 listing = fdopendir(folder);
    bool                  good    = listing != NULL;
    if (!good) close(folder);
    while (good && (entry = readdir(listing)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        bool child = strncmp(entry->d_name, "process-", 8) == 0;
        int inner = child ? openat(dirfd(listing), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
        good      = inner >= 0 ? chown_folder(inner, user, group)
                               : fchownat(dirfd(listing), entry->d_name, user, group, AT_SYMLINK_NOFOLLOW) == 0;
    }
    good = good && fchown(dirfd(listing), user, group) == 0;
    if (listing != NULL) closedir(listing);
    return good;
}

void ggs_attach_chown(const struct ggs_attach * attach, const char * folder) {
    uid_t user = attach->tracee.user;
    if (geteuid() != 0 || user == 0) return;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || !chown_folder(fd, user, attach->tracee.group))
        fprintf(stderr, "ggscope: cannot give %s to user %u: %s\n", folder, (unsigned) user, strerror(errno));
}

void ggs_attach_close(struct ggs_attach * attach) {
    if (attach->state != NULL) munmap(attach->state, sizeof(*attach->state));
    ggs_mapping_close(&attach->image);
    free(attach->command);
    free(attach->words);
    ggs_tracee_close(&attach->tracee);
    if (attach->parent >= 0) close(attach->parent);
    *attach = GGS_ATTACH_NONE;
}
