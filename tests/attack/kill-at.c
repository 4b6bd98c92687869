// Runs a program and kills it when it enters its Nth system call, counted over all of its threads; or counts them.
//     kill-at N PROGRAM ARGS...      exit 0: killed there; 10 + its status if it ended before
//     kill-at 0 PROGRAM ARGS...      kills nothing
//     kill-at +N PROGRAM ARGS...     the Nth from its first ptrace on
// A program that ends by itself leaves "N calls, ptrace from N" on stderr.
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_ptrace(pid_t thread) {
    struct user_regs_struct registers;
    return ptrace(PTRACE_GETREGS, thread, 0, &registers) == 0 && registers.orig_rax == SYS_ptrace;
}

int main(int argc, char ** argv) {
    if (argc < 3) return 2;
    bool  from_ptrace = argv[1][0] == '+';
    long  wanted = strtol(argv[1], NULL, 10), calls = 0, first = 0;
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        execv(argv[2], argv + 2);
        _exit(127);
    }
    int status;
    waitpid(child, &status, 0);
    ptrace(PTRACE_SETOPTIONS, child, 0,
           PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
    ptrace(PTRACE_SYSCALL, child, 0, 0);
    int inside[65536] = {0}; // by thread: in a call
    for (;;) {
        pid_t thread = waitpid(-1, &status, __WALL);
        if (thread < 0) return 4;
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (thread != child) continue;
            fprintf(stderr, "%ld calls, ptrace from %ld\n", calls, first);
            return WIFEXITED(status) ? 10 + WEXITSTATUS(status) : 5;
        }
        int signal = WSTOPSIG(status), pass = 0;
        if (signal == (SIGTRAP | 0x80)) {
            int * in = &inside[(unsigned) thread % 65536];
            *in      = !*in;
            calls += *in;
            if (*in && first == 0 && is_ptrace(thread)) first = calls;
            bool now = from_ptrace ? first != 0 && calls - first + 1 == wanted : calls == wanted;
            if (*in && now) {
                kill(child, SIGKILL);
                pid_t ended;
                do ended = waitpid(-1, &status, __WALL); // its threads must be waited for first
                while (ended > 0 && (ended != child || WIFSTOPPED(status)));
                return 0;
            }
        } else if (signal != SIGTRAP && signal != SIGSTOP) {
            pass = signal;
        } else if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8)) {
            inside[(unsigned) thread % 65536] = 1; // the exec itself returns
        }
        ptrace(PTRACE_SYSCALL, thread, 0, pass);
    }
}
