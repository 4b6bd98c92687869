#include "attach/filter-calls.h"

#if defined(__x86_64__)

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "attach/tracee.h"
#include "base/error.h"

enum { PAGE = GGS_FILTER_PAGE, FILE = GGS_FILTER_FILE, PAGE_BYTES = 4096, SIGNAL_SET_BYTES = 8 };

// In this order a trial makes them: what ends it, or takes the page or the file away, comes last.
const struct ggs_filter_call ggs_filter_calls[] = {
    {"clone", SYS_clone, true, 0, {CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM}},
    {"clone3", SYS_clone3, false, 0, {0}},
    {"mmap", SYS_mmap, true, 0, {0, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t) -1}},
    {"mmap", SYS_mmap, true, 0, {0, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, FILE}},
    {"openat", SYS_openat, true, 0, {(uint64_t) AT_FDCWD, PAGE, O_RDONLY | O_CLOEXEC}},
    {"read", SYS_read, true, 0, {FILE, PAGE, 0}},
    {"pread64", SYS_pread64, true, 0, {FILE, PAGE, 0}},
    {"newfstatat", SYS_newfstatat, true, EFAULT, {(uint64_t) AT_FDCWD, PAGE}},
    {"rt_sigreturn", SYS_rt_sigreturn, true, 0, {0}},
    {"rt_sigprocmask", SYS_rt_sigprocmask, true, 0, {0, 0, 0, SIGNAL_SET_BYTES}},
    {"futex", SYS_futex, true, 0, {PAGE, FUTEX_WAKE, 1}},
    {"fallocate", SYS_fallocate, true, EBADF, {FILE, 0, 0, 1}},
    {"fcntl", SYS_fcntl, true, 0, {FILE, F_GETFD}},
    {"nanosleep", SYS_nanosleep, false, 0, {0}},
    {"clock_nanosleep", SYS_clock_nanosleep, false, 0, {0}},
    {"gettid", SYS_gettid, false, 0, {0}},
    {"getpid", SYS_getpid, false, 0, {0}},
    {"set_tid_address", SYS_set_tid_address, true, 0, {0}},
    {"set_robust_list", SYS_set_robust_list, false, 0, {0}},
    {"rseq", SYS_rseq, false, 0, {0}},
    {"madvise", SYS_madvise, false, 0, {0}},
    {"membarrier", SYS_membarrier, false, 0, {0}},
    {"renameat2", SYS_renameat2, false, 0, {0}},
    {"unlink", SYS_unlink, false, 0, {0}},
    {"readlink", SYS_readlink, false, 0, {0}},
    {"statfs", SYS_statfs, false, 0, {0}},
    {"memfd_create", SYS_memfd_create, false, 0, {0}},
    {"write", SYS_write, false, 0, {2}},
    {"mprotect", SYS_mprotect, true, 0, {PAGE, PAGE_BYTES, PROT_READ | PROT_EXEC}},
    {"munmap", SYS_munmap, true, 0, {PAGE, PAGE_BYTES}},
    {"close", SYS_close, true, 0, {FILE}},
    {"exit", SYS_exit, true, 0, {0}},
};
const size_t ggs_filter_n_calls = sizeof(ggs_filter_calls) / sizeof(ggs_filter_calls[0]);

int ggs_filter_fail(const struct ggs_tracee * tracee, const struct ggs_filter_call * call,
                    enum ggs_filter_answer answer, struct ggs_error * error) {
    static const char * const verbs[] = {"refuses", "would end it at", "asks another process about"};
    return ggs_fail(error, GGS_UNSUPPORTED,
                    "cannot attach to process %d (%s): its seccomp filter %s the system call %s; start the program "
                    "with ggscope record instead",
                    (int) tracee->pid, tracee->name, verbs[answer], call->name);
}

#endif
