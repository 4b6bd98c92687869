#include "attach/filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "attach/borrow.h"
#include "attach/tracee.h"
#include "base/error.h"

#if defined(__x86_64__)

// ---- one filter, on one call ----

struct machine {
    const struct sock_filter *  code;
    uint32_t                    n;
    const struct seccomp_data * call;
    uint32_t                    a, x, memory[BPF_MEMWORDS];
};

static bool load(struct machine * m, const struct sock_filter * i, uint32_t * value) {
    switch (BPF_MODE(i->code)) {
        case BPF_ABS:
            if (i->k % 4 != 0 || i->k >= sizeof(*m->call)) return false;
            memcpy(value, (const char *) m->call + i->k, sizeof(*value));
            return true;
        case BPF_IMM:
            *value = i->k;
            return true;
        case BPF_MEM:
            *value = i->k < BPF_MEMWORDS ? m->memory[i->k] : 0;
            return i->k < BPF_MEMWORDS;
        case BPF_LEN:
            *value = sizeof(*m->call);
            return true;
        default:
            return false;
    }
}

static bool calculate(struct machine * m, const struct sock_filter * i) {
    uint32_t b = BPF_SRC(i->code) == BPF_X ? m->x : i->k;
    switch (BPF_OP(i->code)) {
        case BPF_ADD:
            m->a += b;
            return true;
        case BPF_SUB:
            m->a -= b;
            return true;
        case BPF_MUL:
            m->a *= b;
            return true;
        case BPF_DIV:
            m->a = b == 0 ? 0 : m->a / b;
            return b != 0;
        case BPF_AND:
            m->a &= b;
            return true;
        case BPF_OR:
            m->a |= b;
            return true;
        case BPF_XOR:
            m->a ^= b;
            return true;
        case BPF_LSH:
            m->a = b < 32 ? m->a << b : 0;
            return true;
        case BPF_RSH:
            m->a = b < 32 ? m->a >> b : 0;
            return true;
        case BPF_NEG:
            m->a = 0 - m->a;
            return true;
        default:
            return false;
    }
}

static uint32_t jump(const struct machine * m, const struct sock_filter * i) {
    uint32_t b = BPF_SRC(i->code) == BPF_X ? m->x : i->k;
    switch (BPF_OP(i->code)) {
        case BPF_JA:
            return i->k;
        case BPF_JEQ:
            return m->a == b ? i->jt : i->jf;
        case BPF_JGT:
            return m->a > b ? i->jt : i->jf;
        case BPF_JGE:
            return m->a >= b ? i->jt : i->jf;
        default:
            return (m->a & b) != 0 ? i->jt : i->jf; // BPF_JSET
    }
}

// An unknown instruction counts as the strictest action.
static uint32_t run(const struct sock_filter * code, uint32_t n, const struct seccomp_data * call) {
    struct machine m = {.code = code, .n = n, .call = call};
    for (uint32_t at = 0; at < n; at++) {
        const struct sock_filter * i    = &code[at];
        bool                       good = true;
        switch (BPF_CLASS(i->code)) {
            case BPF_LD:
                good = load(&m, i, &m.a);
                break;
            case BPF_LDX:
                good = load(&m, i, &m.x);
                break;
            case BPF_ST:
                good                      = i->k < BPF_MEMWORDS;
                m.memory[good ? i->k : 0] = m.a;
                break;
            case BPF_STX:
                good                      = i->k < BPF_MEMWORDS;
                m.memory[good ? i->k : 0] = m.x;
                break;
            case BPF_ALU:
                good = calculate(&m, i);
                break;
            case BPF_JMP:
                at += jump(&m, i);
                break; // jumps go forward only, so this terminates
            case BPF_RET:
                return BPF_RVAL(i->code) == BPF_A ? m.a : i->k;
            case BPF_MISC:
                BPF_MISCOP(i->code) == BPF_TAX ? (m.x = m.a) : (m.a = m.x);
                break;
            default:
                good = false;
                break;
        }
        if (!good) return SECCOMP_RET_KILL_PROCESS;
    }
    return SECCOMP_RET_KILL_PROCESS;
}

// ---- all filters ----

enum { FILTERS_MOST = 64, GET_FILTER = 0x420c }; // PTRACE_SECCOMP_GET_FILTER

struct filters {
    struct sock_filter * code[FILTERS_MOST];
    uint32_t             size[FILTERS_MOST], n;
};

static void release(struct filters * filters) {
    for (uint32_t i = 0; i < filters->n; i++) free(filters->code[i]);
}

// The thread must be stopped. Returns 0 at the end of the list, else errno.
static int read_filters(struct filters * filters, pid_t thread) {
    for (; filters->n < FILTERS_MOST; filters->n++) {
        void * index = (void *) (uintptr_t) filters->n;
        long   size  = ptrace((enum __ptrace_request) GET_FILTER, thread, index, NULL);
        if (size < 0) return errno == ENOENT ? 0 : errno;
        struct sock_filter * code = calloc((size_t) size + 1, sizeof(*code));
        if (code == NULL) return ENOMEM;
        if (ptrace((enum __ptrace_request) GET_FILTER, thread, index, code) != size) {
            free(code);
            return EIO;
        }
        filters->code[filters->n] = code;
        filters->size[filters->n] = (uint32_t) size;
    }
    return 0;
}

// Returns the kernel's action: the lowest value as a signed number.
static uint32_t action_of(const struct filters * filters, const struct seccomp_data * call) {
    int32_t lowest = (int32_t) SECCOMP_RET_ALLOW;
    for (uint32_t i = 0; i < filters->n; i++) {
        int32_t action = (int32_t) (run(filters->code[i], filters->size[i], call) & SECCOMP_RET_ACTION_FULL);
        if (action < lowest) lowest = action;
    }
    return (uint32_t) lowest;
}

static const struct wanted {
    const char * name;
    int          number;
    bool         needed; // attaching fails without it; else there is an alternative
    uint64_t     arguments[6];
} wanted[] = {
    {"clone", SYS_clone, true, {CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM}},
    {"clone3", SYS_clone3, false, {0}},
    {"mmap", SYS_mmap, true, {0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t) -1}},
    {"mmap", SYS_mmap, true, {0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, 3}},
    {"mprotect", SYS_mprotect, true, {4096, 4096, PROT_READ | PROT_EXEC}},
    {"munmap", SYS_munmap, true, {4096, 4096}},
    {"openat", SYS_openat, true, {0}},
    {"read", SYS_read, true, {3}},
    {"pread64", SYS_pread64, true, {3}},
    {"newfstatat", SYS_newfstatat, true, {3}},
    {"close", SYS_close, true, {3}},
    {"exit", SYS_exit, true, {0}},
    {"rt_sigreturn", SYS_rt_sigreturn, true, {0}},
    {"rt_sigprocmask", SYS_rt_sigprocmask, true, {0}},
    {"futex", SYS_futex, true, {0}},
    {"fallocate", SYS_fallocate, true, {3}},
    {"fcntl", SYS_fcntl, true, {3}},
    {"nanosleep", SYS_nanosleep, false, {0}},
    {"clock_nanosleep", SYS_clock_nanosleep, false, {0}},
    {"gettid", SYS_gettid, false, {0}},
    {"getpid", SYS_getpid, false, {0}},
    {"set_tid_address", SYS_set_tid_address, true, {0}},
    {"set_robust_list", SYS_set_robust_list, false, {0}},
    {"rseq", SYS_rseq, false, {0}},
    {"madvise", SYS_madvise, false, {0}},
    {"membarrier", SYS_membarrier, false, {0}},
    {"renameat2", SYS_renameat2, false, {0}},
    {"unlink", SYS_unlink, false, {0}},
    {"readlink", SYS_readlink, false, {0}},
    {"statfs", SYS_statfs, false, {0}},
    {"memfd_create", SYS_memfd_create, false, {0}},
    {"write", SYS_write, false, {2}},
};

static int judge(const struct filters * filters, const struct ggs_tracee * tracee, struct ggs_error * error) {
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        struct seccomp_data call = {.nr = wanted[i].number, .arch = AUDIT_ARCH_X86_64};
        for (int k = 0; k < 6; k++) call.args[k] = wanted[i].arguments[k];
        uint32_t action = action_of(filters, &call);
        if (action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG) continue;
        bool refused = action == SECCOMP_RET_ERRNO || action == SECCOMP_RET_TRACE;
        if (refused && !wanted[i].needed) continue;
        return ggs_fail(error, GGS_UNSUPPORTED,
                        "cannot attach to process %d (%s): its seccomp filter %s the system call %s; start the program "
                        "with ggscope record instead",
                        (int) tracee->pid, tracee->name,
                        refused                            ? "refuses"
                        : action == SECCOMP_RET_USER_NOTIF ? "asks another process about"
                                                           : "would end it at",
                        wanted[i].name);
    }
    return 0;
}

int ggs_filter_check(const struct ggs_tracee * tracee, struct ggs_error * error) {
    const uint64_t patience_ns = 1000000000;
    struct filters filters     = {.n = 0};
    char           mode[16];
    if (!ggs_tracee_status(tracee, tracee->pid, "Seccomp", mode, sizeof(mode)) || strcmp(mode, "0") == 0) return 0;
    int reason = ggs_trace_stop(tracee->pid, patience_ns) == 0 ? 0 : errno;
    if (reason == 0) {
        reason = read_filters(&filters, tracee->pid);
        ptrace(PTRACE_DETACH, tracee->pid, 0, 0);
    }
    int status = reason == 0
                     ? judge(&filters, tracee, error)
                     : ggs_fail(error, GGS_USAGE,
                                "cannot attach to process %d (%s): it has a seccomp filter, which might end it and "
                                "cannot be read (%s); run ggscope as root (CAP_SYS_ADMIN), outside of a container",
                                (int) tracee->pid, tracee->name, strerror(reason));
    release(&filters);
    return status;
}

#else

int ggs_filter_check(const struct ggs_tracee * tracee, struct ggs_error * error) {
    (void) tracee, (void) error;
    return 0;
}

#endif
