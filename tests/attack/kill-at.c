// Runs a program and kills it when it enters its Nth system call, counted over all of its threads;
// or counts them.
//     kill-at N PROGRAM ARGS...      exit 0: killed there; 10 + its status if it ended before
//     kill-at 0 PROGRAM ARGS...      kills nothing
//     kill-at +N PROGRAM ARGS...     the Nth from its first ptrace on
//     kill-at @N PROGRAM ARGS...     the Nth of those that another process can notice
//     kill-at ^N PROGRAM ARGS...     the same, but interrupts it (SIGINT), says so, and lets it end
// A program that ends by itself leaves "N calls, ptrace from N" on stderr.
#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_ptrace(pid_t thread) {
    struct user_regs_struct registers;
    return ptrace(PTRACE_GETREGS, thread, 0, &registers) == 0 && registers.orig_rax == SYS_ptrace;
}

// Only the listed calls stop: thousands of stops take seconds on a busy machine.
static void stop_at(const int * calls, unsigned n) {
    struct sock_filter code[64];
    unsigned short     k = 0;
    code[k++]            = (struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < n; i++) {
        code[k++] = (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned) calls[i], 0, 1);
        code[k++] = (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
    }
    code[k++] = (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);

    const struct sock_fprog filter = {k, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        _exit(126);
}

static const int first_of_ptrace[] = {SYS_ptrace};
// All that changes another process, a file or shared memory, and waits. Between two of them a
// program changes only itself: to be killed there is to be killed at the second.
static const int noticed[] = {SYS_ptrace,   SYS_wait4,     SYS_waitid,     SYS_process_vm_writev,
                              SYS_write,    SYS_writev,    SYS_pwrite64,   SYS_pwritev,
                              SYS_kill,     SYS_tgkill,    SYS_pidfd_open, SYS_pidfd_send_signal,
                              SYS_flock,    SYS_ftruncate, SYS_fallocate,  SYS_rename,
                              SYS_renameat, SYS_renameat2, SYS_unlink,     SYS_unlinkat,
                              SYS_mkdir,    SYS_mkdirat,   SYS_linkat,     SYS_futex,
                              SYS_sendmsg,  SYS_sendto,    SYS_fchown,     SYS_fchmod};
enum { NOTICED = sizeof(noticed) / sizeof(noticed[0]) };

// From their next stop on, their calls stop too.
static void stop_others(pid_t process, pid_t thread) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", (int) process);
    DIR *                 list = opendir(path);
    const struct dirent * entry;
    while (list != NULL && (entry = readdir(list)) != NULL) {
        pid_t other = (pid_t) atoi(entry->d_name);
        if (other > 0 && other != thread) syscall(SYS_tgkill, process, other, SIGSTOP);
    }
    if (list != NULL) closedir(list);
}

// Starts the program, which waits; its calls in the list stop it.
static pid_t launch(const int * calls, unsigned n, char ** words) {
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        if (n > 0) stop_at(calls, n);
        execv(words[0], words);
        _exit(127);
    }
    waitpid(child, NULL, 0);
    ptrace(PTRACE_SETOPTIONS, child, 0,
           PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESECCOMP |
               PTRACE_O_EXITKILL);
    return child;
}

static void end(pid_t child) {
    int   status;
    pid_t ended;
    kill(child, SIGKILL);
    do ended = waitpid(-1, &status, __WALL); // waits for its threads first
    while (ended > 0 && (ended != child || WIFSTOPPED(status)));
}

static int at_noticed(long wanted, bool interrupts, char ** words) {
    pid_t child = launch(noticed, NOTICED, words);
    long  calls = 0;
    ptrace(PTRACE_CONT, child, 0, 0);
    for (;;) {
        int   status;
        pid_t thread = waitpid(-1, &status, __WALL);
        if (thread < 0) return 4;
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (thread != child) continue;
            return WIFEXITED(status) ? 10 + WEXITSTATUS(status) : 5;
        }
        int signal = WSTOPSIG(status);
        if (status >> 8 == (SIGTRAP | PTRACE_EVENT_SECCOMP << 8) && ++calls == wanted) {
            if (!interrupts) {
                end(child);
                return 0;
            }
            fprintf(stderr, "interrupted\n");
            kill(child, SIGINT);
        }
        ptrace(PTRACE_CONT, thread, 0, signal == SIGTRAP || signal == SIGSTOP ? 0 : signal);
    }
}

int main(int argc, char ** argv) {
    if (argc < 3) return 2;
    char kind        = argv[1][0];
    bool from_ptrace = kind == '+';
    if (kind == '@' || kind == '^') return at_noticed(strtol(argv[1] + 1, NULL, 10), kind == '^', argv + 2);
    long  wanted = strtol(argv[1], NULL, 10), calls = 0, first = 0;
    pid_t child = launch(first_of_ptrace, from_ptrace, argv + 2);
    int   status;
    ptrace(from_ptrace ? PTRACE_CONT : PTRACE_SYSCALL, child, 0, 0);
    int inside[65536] = {0}; // by thread: in a call
    for (;;) {
        pid_t thread = waitpid(-1, &status, __WALL);
        if (thread < 0) return 4;
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (thread != child) continue;
            fprintf(stderr, "%ld calls, ptrace from %ld\n", calls, first);
            return WIFEXITED(status) ? 10 + WEXITSTATUS(status) : 5;
        }
        int   signal = WSTOPSIG(status), pass = 0;
        int * in = &inside[(unsigned) thread % 65536];
        bool met = status >> 8 == (SIGTRAP | PTRACE_EVENT_SECCOMP << 8) && !*in; // a thread whose calls do not stop yet
        if (signal == (SIGTRAP | 0x80) || met) {
            *in = !*in;
            calls += *in;
            if (met && first == 0) stop_others(child, thread);
            if (*in && first == 0 && is_ptrace(thread)) first = calls;
            bool now = from_ptrace ? first != 0 && calls - first + 1 == wanted : calls == wanted;
            if (*in && now) {
                end(child);
                return 0;
            }
        } else if (signal != SIGTRAP && signal != SIGSTOP) {
            pass = signal;
        } else if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8) && !from_ptrace) {
            *in = 1; // the exec itself returns
        }
        ptrace(from_ptrace && first == 0 ? PTRACE_CONT : PTRACE_SYSCALL, thread, 0, pass);
    }
}
