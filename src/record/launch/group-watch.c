#include "record/launch/group-watch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/system/clock.h"

enum { SIGNALS = GGS_WATCHED_SIGNALS };

static const uint64_t ms = 1000000, patience = 40 * ms, late = 100 * ms, old = 10000 * ms;

static const char name[] = "group-watch";

// `pkill ggscope` and `pkill -f "ggscope record"` mean us, not the watcher, so it has another name.
static void rename_process(void) {
    char    words[4096];
    int     fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n  = fd < 0 ? 0 : read(fd, words, sizeof(words));
    prctl(PR_SET_NAME, name);
    if (n <= 0 || memcmp(words, program_invocation_name, strlen(program_invocation_name) + 1) != 0) return;
    memset(program_invocation_name, 0, (size_t) n);
    memcpy(program_invocation_name, name, (size_t) n < sizeof(name) ? (size_t) n - 1 : sizeof(name) - 1);
}

// In the child: only what is safe after a fork of a process with threads.
__attribute__((noreturn)) static void watch_signals(uint64_t * seen, pid_t parent) {
    sigset_t  all;
    siginfo_t info;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    rename_process();
    syscall(SYS_close_range, 0u, ~0u, 0u); // others read our pipes to their end
    for (;;) {
        int number = sigwaitinfo(&all, &info);
        if (number > 0 && number < SIGNALS) __atomic_store_n(&seen[number], ggs_clock_now(), __ATOMIC_RELEASE);
    }
}

void ggs_group_watch_start(struct ggs_group_watch * watch) {
    *watch        = (struct ggs_group_watch){0};
    pid_t  parent = getpid();
    void * page   = mmap(NULL, SIGNALS * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    pid_t process = fork();
    if (process == 0) watch_signals(page, parent);
    if (process < 0) {
        munmap(page, SIGNALS * sizeof(uint64_t));
        return;
    }
    watch->process = process;
    watch->seen    = page;
}

// True if the watcher has the signal but has not run yet.
static bool pending(pid_t process, int signal) {
    char path[64], text[4096];
    snprintf(path, sizeof(path), "/proc/%d/status", (int) process);
    int     fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n  = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0) close(fd);
    if (n <= 0) return false;
    text[n]           = '\0';
    const char * line = strstr(text, "\nShdPnd:");
    return line != NULL && (strtoull(line + 8, NULL, 16) >> (signal - 1) & 1) != 0;
}

// Consumes a signal of the watcher that has no match. Old ones were sent to the watcher alone and
// are ignored.
static bool match_signal(struct ggs_group_watch * watch, int signal) {
    uint64_t seen          = __atomic_load_n(&watch->seen[signal], __ATOMIC_ACQUIRE);
    bool new               = seen != watch->matched[signal] && seen + old > ggs_clock_now();
    watch->matched[signal] = seen;
    return new;
}

static bool came(struct ggs_group_watch * watch, int signal) {
    bool waits = pending(watch->process, signal);
    for (uint64_t end = ggs_clock_now() + old; waits && !match_signal(watch, signal) && ggs_clock_now() < end;)
        nanosleep(&(struct timespec){.tv_nsec = (long) ms}, NULL); // it runs soon
    return waits || match_signal(watch, signal);
}

bool ggs_group_watch_had(struct ggs_group_watch * watch, int signal) {
    if (watch->process == 0 || signal <= 0 || signal >= SIGNALS) return false;
    uint64_t begin = ggs_clock_now();
    if (came(watch, signal)) return true; // pending signals merge
    if (begin < watch->expected[signal]) {
        watch->expected[signal] = 0;
        return true;
    }
    while (ggs_clock_now() < begin + patience) {
        nanosleep(&(struct timespec){.tv_nsec = 2 * (long) ms}, NULL);
        if (!came(watch, signal)) continue;
        watch->expected[signal] = ggs_clock_now() + late; // the group's own signal follows
        return true;
    }
    return false;
}

void ggs_group_watch_stop(struct ggs_group_watch * watch) {
    if (watch->process == 0) return;
    kill(watch->process, SIGKILL);
    while (waitpid(watch->process, NULL, 0) < 0 && errno == EINTR) continue;
    munmap(watch->seen, SIGNALS * sizeof(uint64_t));
    *watch = (struct ggs_group_watch){0};
}
