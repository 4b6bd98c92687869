// Starts a program as a container's runtime does: in its own PID and mount namespaces, under a
// seccomp filter, without CAP_SYS_ADMIN.
//
//     container FILTER PROGRAM ARGS...            as process 1 of new namespaces
//     container FILTER -enter PID PROGRAM ARGS... in those of PID
//
// FILTER: docker (errno for some calls), kill-threads (the process ends at a clone that makes a
// thread), admin (as docker, and CAP_SYS_ADMIN is kept).
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void must(bool good, const char * what) {
    if (good) return;
    perror(what);
    exit(1);
}

#define LOAD(member)   BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define REFUSE(call)   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), RETURN(SECCOMP_RET_ERRNO | EPERM)

static void install(bool kills) {
    enum { NAMESPACES = 0x7e020000 };
    struct sock_filter docker[]  = {LOAD(nr),
                                    REFUSE(mount),
                                    REFUSE(umount2),
                                    REFUSE(unshare),
                                    REFUSE(setns),
                                    REFUSE(bpf),
                                    REFUSE(keyctl),
                                    REFUSE(add_key),
                                    REFUSE(init_module),
                                    REFUSE(perf_event_open),
                                    REFUSE(open_by_handle_at),
                                    REFUSE(userfaultfd),
                                    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
                                    RETURN(SECCOMP_RET_ERRNO | ENOSYS),
                                    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
                                    LOAD(args[0]),
                                    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NAMESPACES, 0, 1),
                                    RETURN(SECCOMP_RET_ERRNO | EPERM),
                                    RETURN(SECCOMP_RET_ALLOW)};
    struct sock_filter killing[] = {LOAD(nr),
                                    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
                                    LOAD(args[0]),
                                    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
                                    RETURN(SECCOMP_RET_KILL_PROCESS),
                                    RETURN(SECCOMP_RET_ALLOW)};
    struct sock_fprog  program   = kills ? (struct sock_fprog){sizeof(killing) / sizeof(killing[0]), killing}
                                         : (struct sock_fprog){sizeof(docker) / sizeof(docker[0]), docker};
    must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "seccomp");
}

// Leaves those that Docker leaves, and CAP_SYS_PTRACE, which Yama may require.
static void drop_capabilities(bool admin) {
    unsigned long long left = 0xa80425fb | 1ull << CAP_SYS_PTRACE | (unsigned long long) admin << CAP_SYS_ADMIN;
    for (int i = 0; i <= CAP_LAST_CAP; i++)
        if ((left >> i & 1) == 0) must(prctl(PR_CAPBSET_DROP, i) == 0 || errno == EINVAL, "capabilities");
    struct __user_cap_header_struct header  = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct   data[2] = {{(unsigned) left, (unsigned) left, 0}, {0}};
    must(syscall(SYS_capset, &header, data) == 0, "capset");
}

static void enter(const char * pid) {
    static const char * const kinds[] = {"pid", "mnt"};
    int                       fds[2];
    for (int i = 0; i < 2; i++) {
        char path[64];
        snprintf(path, sizeof(path), "/proc/%s/ns/%s", pid, kinds[i]);
        must((fds[i] = open(path, O_RDONLY | O_CLOEXEC)) >= 0, path);
    }
    for (int i = 0; i < 2; i++) must(setns(fds[i], 0) == 0, kinds[i]);
}

int main(int argc, char ** argv) {
    const char * filter  = argc > 2 ? argv[1] : "";
    bool         entered = argc > 4 && strcmp(argv[2], "-enter") == 0;
    if (entered)
        enter(argv[3]);
    else
        must(unshare(CLONE_NEWPID | CLONE_NEWNS) == 0, "unshare");
    pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (!entered)
            must(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
                     mount("proc", "/proc", "proc", 0, NULL) == 0,
                 "mount");
        install(strcmp(filter, "kill-threads") == 0);
        drop_capabilities(strcmp(filter, "admin") == 0);
        execvp(argv[entered ? 4 : 2], argv + (entered ? 4 : 2));
        must(false, "exec");
    }
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
