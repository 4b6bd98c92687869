#include "trials/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/system/clock.h"
#include "record/memory/limit.h"

enum { MOST_WORDS = 1024 };

void ggs_halt_begin(struct ggs_halt * halt) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t         child;
    halt->stopped = 0;
    ggs_interrupt_hold(&halt->interrupt);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigaction(SIGCHLD, &action, NULL); // if it is ignored, waiting is impossible
    pthread_sigmask(SIG_BLOCK, &child, &halt->children);
}

void ggs_halt_end(struct ggs_halt * halt) {
    pthread_sigmask(SIG_SETMASK, &halt->children, NULL);
    ggs_interrupt_release(&halt->interrupt);
}

int ggs_halt_stopped(struct ggs_halt * halt) {
    struct timespec at_once = {0};
    if (halt->stopped != 0) return halt->stopped;
    int number    = sigtimedwait(&halt->interrupt.held, NULL, &at_once);
    halt->stopped = number > 0 ? number : 0;
    return halt->stopped;
}

static void open_as(const char * path, int flags, int fd) {
    int opened = open(path, flags);
    if (opened < 0 || dup2(opened, fd) < 0) _exit(127);
    if (opened != fd) close(opened);
}

static void become(const struct ggs_halt * halt, const struct ggs_child * child, pid_t parent) {
    const char *     words[MOST_WORDS], *prefix[GGS_LIMIT_PREFIX] = {NULL};
    struct ggs_error error;
    size_t           n = 0;
    prctl(PR_SET_PDEATHSIG, SIGTERM); // the program ends if this process is killed
    if (getppid() != parent) _exit(127);
    open_as("/dev/null", O_RDONLY, STDIN_FILENO);
    open_as("/dev/null", O_WRONLY, STDOUT_FILENO);
    if (dup2(child->log, STDERR_FILENO) < 0) _exit(127);
    pthread_sigmask(SIG_SETMASK, &halt->interrupt.before, NULL);
    if (child->memory > 0 && ggs_limit_enter(child->memory, prefix, &error) != 0) {
        fprintf(stderr, "%s\n", error.text);
        _exit(126);
    }
    for (size_t i = 0; prefix[i] != NULL; i++) words[n++] = prefix[i];
    for (size_t i = 0; child->words[i] != NULL && n < MOST_WORDS - 1; i++) words[n++] = child->words[i];
    words[n] = NULL;
    if (child->path != NULL && prefix[0] == NULL)
        execv(child->path, (char **) words);
    else
        execvp(words[0], (char **) words);
    fprintf(stderr, "cannot start %s: %s\n", words[0], strerror(errno));
    _exit(127);
}

// SIGCHLD is blocked, so that one between the check and the wait is not lost.
static int wait_for(struct ggs_halt * halt, pid_t process) {
    sigset_t any = halt->interrupt.held;
    int      status;
    sigaddset(&any, SIGCHLD);
    while (waitpid(process, &status, WNOHANG) == 0) {
        int number = sigwaitinfo(&any, NULL);
        if (number <= 0 || number == SIGCHLD) continue;
        halt->stopped = number;
        kill(process, SIGTERM);
    }
    return status;
}

int ggs_child_run(struct ggs_halt * halt, const struct ggs_child * child, struct ggs_child_end * end,
                  struct ggs_error * error) {
    uint64_t begin = ggs_clock_now();
    if (ggs_halt_stopped(halt) != 0) return ggs_fail(error, GGS_UNSUPPORTED, "interrupted");
    fflush(NULL);
    pid_t parent = getpid(), process = fork();
    if (process < 0) return ggs_fail_errno(error, "cannot start %s", child->words[0]);
    if (process == 0) become(halt, child, parent);
    if (child->started != NULL) child->started(child->context, process);
    end->status = wait_for(halt, process);
    end->ns     = ggs_clock_now() - begin;
    return halt->stopped != 0 ? ggs_fail(error, GGS_UNSUPPORTED, "interrupted") : 0;
}

enum { LOOKED_AT = 4096 };

static void read_log(int log, off_t from, char text[LOOKED_AT]) {
    ssize_t length                = pread(log, text, LOOKED_AT - 1, from < 0 ? 0 : from);
    text[length < 0 ? 0 : length] = '\0';
}

static bool is_about_an_error(const char * line, size_t length) {
    static const char * const words[] = {"error", "Error", "ERROR", "failed", "cannot"};
    bool                      found   = false;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const char * at = strstr(line, words[i]);
        found |= at != NULL && at < line + length;
    }
    return found;
}

void ggs_child_log_line(int log, char * line, size_t size) {
    static const char ended[] = "ggscope: the program was ended by";
    char              head[LOOKED_AT], tail[LOOKED_AT];
    const char *      signal = NULL, *error = NULL;
    read_log(log, 0, head);
    read_log(log, lseek(log, 0, SEEK_END) - LOOKED_AT + 1, tail);
    for (const char * at = tail; *at != '\0'; at += *at == '\n') {
        size_t length = strcspn(at, "\n");
        if (strncmp(at, ended, strlen(ended)) == 0) signal = at;
        if (error == NULL && is_about_an_error(at, length)) error = at;
        at += length;
    }
    const char * said = signal != NULL ? signal : error != NULL ? error : head + strspn(head, "\n");
    snprintf(line, size, "%.*s", (int) strcspn(said, "\n"), said);
}
