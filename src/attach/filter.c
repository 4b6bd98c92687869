#include "attach/filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

#include "attach/borrow.h"
#include "attach/filter-calls.h"
#include "attach/filter-trial.h"
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

static int judge(const struct filters * filters, const struct ggs_tracee * tracee, struct ggs_error * error) {
    for (size_t i = 0; i < ggs_filter_n_calls; i++) {
        const struct ggs_filter_call * wanted = &ggs_filter_calls[i];
        struct seccomp_data            call   = {.nr = (int) wanted->number, .arch = AUDIT_ARCH_X86_64};
        for (int k = 0; k < 6; k++) call.args[k] = wanted->arguments[k];
        uint32_t action = action_of(filters, &call);
        if (action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG) continue;
        bool refused = action == SECCOMP_RET_ERRNO || action == SECCOMP_RET_TRACE;
        if (refused && !wanted->needed) continue;
        return ggs_filter_fail(tracee, wanted,
                               refused                            ? GGS_FILTER_REFUSES
                               : action == SECCOMP_RET_USER_NOTIF ? GGS_FILTER_ASKS
                                                                  : GGS_FILTER_ENDS,
                               error);
    }
    return 0;
}

static int read_and_judge(const struct ggs_tracee * tracee, pid_t thread, struct ggs_error * error) {
    const uint64_t patience_ns = 1000000000;
    struct filters filters     = {.n = 0};
    int            reason      = ggs_trace_stop(thread, patience_ns) == 0 ? 0 : errno;
    if (reason == 0) {
        reason = read_filters(&filters, thread);
        ptrace(PTRACE_DETACH, thread, 0, 0);
    }
    int status = 0;
    if (reason == 0)
        status = judge(&filters, tracee, error);
    else if (reason != ESRCH || thread == tracee->pid) // other threads may have ended
        status = ggs_fail(error, GGS_USAGE,
                          "cannot attach to process %d (%s): it has a seccomp filter, which might end it and "
                          "cannot be read (%s); run ggscope as root (CAP_SYS_ADMIN), outside of a container",
                          (int) tracee->pid, tracee->name, strerror(reason));
    release(&filters);
    return status;
}

// Threads with as many filters as the one before have the same, unless each installed its own.
int ggs_filter_check(const struct ggs_tracee * tracee, struct ggs_error * error) {
    enum { THREADS_MOST = 8192, SIZE = 16 };
    struct ggs_tracee_thread * threads = calloc(THREADS_MOST, sizeof(*threads));
    char                       mode[SIZE], number[SIZE] = "", last[SIZE] = "0";
    int                        status = threads == NULL ? ggs_fail_memory(error) : 0;
    size_t                     n      = threads == NULL ? 0 : ggs_tracee_threads(tracee, threads, THREADS_MOST);
    for (size_t i = 0; status == 0 && i < n; i++) {
        pid_t thread = threads[i].id;
        if (!ggs_tracee_status(tracee, thread, "Seccomp", mode, SIZE) || strcmp(mode, "0") == 0) continue;
        if (ggs_filter_is_own()) {
            status = ggs_filter_try(tracee, error);
            break;
        }
        // Kernels before 5.9 do not tell the number: the first thread stands for all.
        if (!ggs_tracee_status(tracee, thread, "Seccomp_filters", number, SIZE)) snprintf(number, SIZE, "1");
        if (strcmp(number, last) != 0) status = read_and_judge(tracee, thread, error);
        memcpy(last, number, SIZE);
    }
    free(threads);
    return status;
}

#else

int ggs_filter_check(const struct ggs_tracee * tracee, struct ggs_error * error) {
    (void) tracee, (void) error;
    return 0;
}

#endif
