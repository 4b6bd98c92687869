#include "attach/filter-trial.h"

#if defined(__x86_64__)

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/filter-calls.h"
#include "attach/tracee.h"
#include "base/error.h"

// ---- are the filters the same? ----
//
// Only a thread with no_new_privs, or with CAP_SYS_ADMIN in its user namespace, installs a filter.
// Filters are inherited and are never removed. So is no_new_privs; without CAP_SYS_ADMIN in any of
// its sets a thread cannot obtain that again, except by a new user namespace, which it cannot
// leave. A thread that has neither, in the namespaces of the container's first process, has the
// filters that were there when CAP_SYS_ADMIN was dropped: those of the container's runtime. Equal
// numbers of filters alone prove nothing. Each thread has filters of its own.

enum { REASON = 160 };

struct rights {
    unsigned mode, filters, no_new_privileges;
    uint64_t capabilities; // of all sets
};

// False if the kernel does not tell the number of filters (before 5.9), or not of this thread.
static bool read_rights(struct rights * rights, const char * path) {
    static const char * const sets[] = {"CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"};
    char *                    line   = NULL;
    size_t                    size   = 0;
    unsigned                  found  = 0;
    FILE *                    file   = fopen(path, "re");
    *rights                          = (struct rights){0};
    while (file != NULL && getline(&line, &size, file) > 0) {
        found += sscanf(line, "Seccomp: %u", &rights->mode) == 1;
        found += sscanf(line, "Seccomp_filters: %u", &rights->filters) == 1;
        found += sscanf(line, "NoNewPrivs: %u", &rights->no_new_privileges) == 1;
        for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
            if (strncmp(line, sets[i], strlen(sets[i])) != 0) continue;
            rights->capabilities |= strtoull(line + strlen(sets[i]), NULL, 16);
            found++;
        }
    }
    free(line);
    if (file != NULL) fclose(file);
    return found == 3 + sizeof(sets) / sizeof(sets[0]);
}

bool ggs_filter_is_own(void) {
    return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0;
}

// Writes why a process may be in another container, into `reason`; false if it is not.
static bool is_elsewhere(pid_t pid, char reason[REASON]) {
    static const char * const kinds[] = {"user", "pid", "mnt"};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        char        own[64], other[64];
        struct stat a, b;
        snprintf(own, sizeof(own), "/proc/self/ns/%s", kinds[i]);
        snprintf(other, sizeof(other), "/proc/%d/ns/%s", (int) pid, kinds[i]);
        bool known = stat(own, &a) == 0 && stat(other, &b) == 0;
        if (known && a.st_dev == b.st_dev && a.st_ino == b.st_ino) continue;
        snprintf(reason, REASON,
                 known ? "process %d is in another container, or in a sandbox"
                       : "as the user of process %d, or as root, ggscope could find out",
                 (int) pid);
        return true;
    }
    return false;
}

// Writes why a thread may have other filters than this one, into `reason`; false if it cannot.
static bool may_differ(const char * who, const char * path, const struct rights * own, char reason[REASON]) {
    struct rights rights;
    if (!read_rights(&rights, path))
        snprintf(reason, REASON, "the kernel does not tell how many filters %s has", who);
    else if (rights.mode != own->mode || rights.filters != own->filters)
        snprintf(reason, REASON, "%s has %u, ggscope %u", who, rights.filters, own->filters);
    else if (rights.no_new_privileges != 0)
        snprintf(reason, REASON, "%s can have installed one itself (no_new_privs)", who);
    else if ((rights.capabilities >> CAP_SYS_ADMIN & 1) != 0)
        snprintf(reason, REASON, "%s can have installed one itself (CAP_SYS_ADMIN)", who);
    else
        return false;
    return true;
}

static bool any_may_differ(const struct ggs_tracee * tracee, char reason[REASON]) {
    enum { THREADS_MOST = 8192 };
    struct rights              own;
    char                       path[64];
    struct ggs_tracee_thread * threads = calloc(THREADS_MOST, sizeof(*threads));
    size_t                     n       = threads == NULL ? 0 : ggs_tracee_threads(tracee, threads, THREADS_MOST);
    bool                       differs = n == 0 || n == THREADS_MOST;
    if (differs) snprintf(reason, REASON, "its threads cannot be listed");
    read_rights(&own, "/proc/thread-self/status");
    differs = differs || is_elsewhere(tracee->pid, reason) || is_elsewhere(1, reason) ||
              may_differ("ggscope", "/proc/thread-self/status", &own, reason) ||
              may_differ("process 1", "/proc/1/status", &own, reason);
    for (size_t i = 0; !differs && i < n; i++) {
        snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int) tracee->pid, (int) threads[i].id);
        differs = may_differ("one of its threads", path, &own, reason) &&
                  ggs_tracee_state(tracee, threads[i].id) != 'X'; // it has ended
    }
    free(threads);
    return differs;
}

// ---- the trial ----

struct trial {
    bool     began, refused; // written by the child, whatever ends it
    uint32_t at;
    char     stack[4096]; // of the thread that the clone makes
};

static void return_at_once(int signal) {
    (void) signal;
}

// Makes a thread that ends at once.
static long try_clone(const struct ggs_filter_call * call, char * stack) {
    long          result;
    register long no_parent __asm__("rdx") = 0, no_child __asm__("r10") = 0, no_block __asm__("r8") = 0;
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "mov %[exit], %%eax\n\t"
                     "xor %%edi, %%edi\n\t"
                     "syscall\n\t"
                     "ud2\n"
                     "1:"
                     : "=a"(result)
                     : "a"(call->number), "D"(call->arguments[0]), "S"(stack), "r"(no_parent), "r"(no_child),
                       "r"(no_block), [exit] "i"(SYS_exit)
                     : "rcx", "r11", "memory");
    return result;
}

static bool is_refused(const struct ggs_filter_call * call, struct trial * trial, void * page, int file) {
    uint64_t with[6];
    long     result = 0;
    for (int i = 0; i < 6; i++)
        with[i] = call->arguments[i] == GGS_FILTER_PAGE   ? (uint64_t) (uintptr_t) page
                  : call->arguments[i] == GGS_FILTER_FILE ? (uint64_t) file
                                                          : call->arguments[i];
    switch (call->number) {
        case SYS_clone:
            result = try_clone(call, trial->stack + sizeof(trial->stack));
            if (result < 0) errno = (int) -result;
            break;
        case SYS_rt_sigreturn:
            __asm__ volatile("int3"); // its handler returns by that call
            break;
        default:
            result = syscall(call->number, with[0], with[1], with[2], with[3], with[4], with[5]);
            break;
    }
    return result < 0 && call->needed && errno != call->failure;
}

// Nothing here may need a call that is not tried, except for the two of the preparation.
static void try_calls(struct trial * trial, void * page, int file) {
    struct sigaction handler = {.sa_handler = return_at_once};
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); // no core file
    sigaction(SIGTRAP, &handler, NULL);
    trial->began = true;
    while (trial->at < ggs_filter_n_calls && !trial->refused) {
        if (is_refused(&ggs_filter_calls[trial->at], trial, page, file))
            trial->refused = true;
        else
            __atomic_fetch_add(&trial->at, 1, __ATOMIC_SEQ_CST);
    }
    _exit(0);
}

// Returns how the child ended, as waitpid does; -1 if it was still there after two seconds, because
// another process is asked about a call and does not answer.
static int run_trial(struct trial * trial, void * page, int file) {
    enum { ROUNDS = 2000, NAP_US = 1000 };
    int   status = -1;
    pid_t child = fork(), ended = 0;
    if (child == 0) try_calls(trial, page, file);
    for (int i = 0; child > 0 && ended == 0 && i < ROUNDS; i++)
        if ((ended = waitpid(child, &status, WNOHANG)) == 0) usleep(NAP_US);
    if (child > 0 && ended == 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    return status;
}

static int fail_unknown(const struct ggs_tracee * tracee, const char * reason, struct ggs_error * error) {
    return ggs_fail(error, GGS_USAGE,
                    "cannot attach to process %d (%s): it has a seccomp filter, which might end it and cannot be read, "
                    "because ggscope has one too, which might differ (%s); run ggscope as root (CAP_SYS_ADMIN), "
                    "outside of a container",
                    (int) tracee->pid, tracee->name, reason);
}

static int judge(const struct ggs_tracee * tracee, const struct trial * trial, int end, struct ggs_error * error) {
    if (!trial->began) return fail_unknown(tracee, "a child to try it in cannot be made", error);
    if (trial->at + 1 == ggs_filter_n_calls && end == 0) return 0; // the last call is exit
    return ggs_filter_fail(tracee, &ggs_filter_calls[trial->at],
                           trial->refused ? GGS_FILTER_REFUSES
                           : end == -1    ? GGS_FILTER_ASKS
                                          : GGS_FILTER_ENDS,
                           error);
}

int ggs_filter_try(const struct ggs_tracee * tracee, struct ggs_error * error) {
    const size_t page_bytes = 4096;
    char         reason[REASON];
    if (any_may_differ(tracee, reason)) return fail_unknown(tracee, reason, error);
    struct trial * trial = mmap(NULL, sizeof(*trial), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char *         page  = mmap(NULL, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int            file  = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), status;
    if (trial == MAP_FAILED || page == MAP_FAILED || file < 0) {
        status = ggs_fail_errno(error, "cannot try the system calls that attaching makes");
    } else {
        page[0] = '/';
        status  = judge(tracee, trial, run_trial(trial, page, file), error);
    }
    if (page != MAP_FAILED) munmap(page, page_bytes);
    if (trial != MAP_FAILED) munmap(trial, sizeof(*trial));
    if (file >= 0) close(file);
    return status;
}

#endif
