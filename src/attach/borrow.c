#include "attach/borrow.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/c-library.h"
#include "attach/tracee.h"
#include "base/error.h"
#include "base/system/clock.h"

enum { CODE_SEGMENT = 0x33, RED_ZONE = 128, THREADS_MOST = 8192, VECTOR_BYTES = 32768 };
// Results by which the kernel marks a call that it will restart after a stop.
enum { RESTART_FIRST = 512, RESTART_LAST = 514, RESTART_BLOCK = 516 };
static const uint64_t PATIENCE_NS = 1000000000;

// ---- stopping ----

int ggs_trace_wait(pid_t thread, uint64_t patience_ns) {
    enum { SPINS = 200, NAP_US = 20 };
    uint64_t end = ggs_clock_now() + patience_ns;
    for (int spins = 0;; spins++) {
        int   status;
        pid_t found = waitpid(thread, &status, __WALL | WNOHANG);
        if (found == thread) return WIFSTOPPED(status) ? status : GGS_WAIT_ENDED;
        if (found < 0 && errno != EINTR) return GGS_WAIT_ENDED;
        if (ggs_clock_now() > end) return GGS_WAIT_LATE;
        if (spins > SPINS) usleep(NAP_US);
    }
}

int ggs_trace_interrupt(pid_t thread) {
    return ptrace(PTRACE_SEIZE, thread, 0, 0) == 0 && ptrace(PTRACE_INTERRUPT, thread, 0, 0) == 0 ? 0 : -1;
}

int ggs_trace_await_stop(pid_t thread, uint64_t patience_ns) {
    for (;;) {
        int status = ggs_trace_wait(thread, patience_ns);
        if (status < 0) {
            errno = status == GGS_WAIT_LATE ? ETIMEDOUT : ESRCH;
            return -1;
        }
        if (status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP) return 0;
        if (status >> 16 == PTRACE_EVENT_STOP) {
            ptrace(PTRACE_DETACH, thread, 0, 0);
            errno = EBUSY;
            return -1;
        }
        // A signal came first: deliver it; the stop follows.
        if (ptrace(PTRACE_CONT, thread, 0, (void *) (long) WSTOPSIG(status)) != 0) return -1;
    }
}

int ggs_trace_stop(pid_t thread, uint64_t patience_ns) {
    return ggs_trace_interrupt(thread) == 0 ? ggs_trace_await_stop(thread, patience_ns) : -1;
}

// ---- the borrowed thread ----

struct loan {
    const struct ggs_tracee *    tracee;
    const struct ggs_c_library * library;
    pid_t                        thread;
    struct user_regs_struct      registers;
    uint64_t                     mask;
    uint64_t                     frame; // address of its signal frame
    uint64_t                     stopped_ns;
    long                         again; // the system call to restart when it restores itself
    bool                         last_resort;
    uint8_t *                    vectors;
    size_t                       vectors_size;
};

// The layout that sigreturn reads. The kernel's headers conflict with libc's.
struct frame {
    uint64_t restore;
    uint64_t flags, link;
    uint64_t stack, stack_flags, stack_size;
    uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, eflags;
    uint16_t cs, gs, fs, ss;
    uint64_t error, trap, old_mask, fault, vectors, reserved[8];
    uint64_t mask;
};
_Static_assert(sizeof(struct frame) == 8 + 304, "layout");

enum { FRAME_VECTORS = 1, FRAME_SEGMENTS = 6, FRAME_NO_STACK = 4 };

// Reads the vector registers in the format of a signal frame. Tiles (AMX) are left out unless in
// use, because a frame larger than the thread's permission is not restored.
static bool read_vectors(struct loan * loan) {
    enum { LEGACY = 512, HEADER = 64, TILES = 18, SOFTWARE = 464, MAGIC_1 = 0x46505853, MAGIC_2 = 0x46505845 };
    struct iovec all = {loan->vectors, VECTOR_BYTES};
    uint32_t     low, high, size = LEGACY + HEADER;
    uint64_t     used;
    memset(loan->vectors, 0, VECTOR_BYTES);
    if (ptrace(PTRACE_GETREGSET, loan->thread, (void *) (uintptr_t) NT_X86_XSTATE, &all) != 0 || all.iov_len < size)
        return false;
    memcpy(&used, loan->vectors + LEGACY, sizeof(used));
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    uint64_t features = (uint64_t) high << 32 | low;
    if ((used >> TILES & 1) == 0) features &= ~(UINT64_C(1) << TILES);
    for (unsigned i = 2; i < 63; i++) {
        uint32_t bytes, offset, c, d;
        if ((features >> i & 1) == 0) continue;
        __cpuid_count(0x0d, i, bytes, offset, c, d);
        if (offset + bytes > size) size = offset + bytes;
    }
    if (size > all.iov_len || size + sizeof(uint32_t) > VECTOR_BYTES) return false;
    struct {
        uint32_t magic, extended;
        uint64_t features;
        uint32_t size, padding[7];
    } software   = {MAGIC_1, size + (uint32_t) sizeof(uint32_t), features, size, {0}};
    uint32_t end = MAGIC_2;
    memcpy(loan->vectors + SOFTWARE, &software, sizeof(software));
    memcpy(loan->vectors + size, &end, sizeof(end));
    loan->vectors_size = size + sizeof(end);
    return true;
}

// Finds the lowest address of the thread's stack. The C library keeps it in the thread's block at
// an offset that depends on the version: it is the pair of an address and a size that contains both
// the stack pointer and the block. Code on another stack (a coroutine, a signal handler) may have
// anything below it, so such a thread is not borrowed.
static bool find_stack(const struct loan * loan, uint64_t * low) {
    enum { BLOCK = 2304, LARGEST = 1 << 30 };
    uint64_t                      words[BLOCK / 8], at = loan->registers.rsp, block = loan->registers.fs_base;
    const struct ggs_tracee_map * map = ggs_tracee_map_at(loan->tracee, at);
    if (map == NULL || !map->writable) return false;
    *low = map->start;
    if (strcmp(map->path, "[stack]") == 0) return loan->thread == loan->tracee->pid;
    if (block <= at || block >= map->end) return false;
    memset(words, 0, sizeof(words));
    size_t size = map->end - block < BLOCK ? (size_t) (map->end - block) : BLOCK;
    if (!ggs_tracee_read(loan->tracee, block, words, size)) return false;
    for (size_t i = 0; i + 1 < BLOCK / 8; i++) {
        uint64_t start = words[i], bytes = words[i + 1];
        if (start == 0 || bytes > LARGEST || start > at || block - start >= bytes) continue;
        if (start > *low) *low = start;
        return true;
    }
    return false;
}

// A thread inside a restartable sequence must restart it after a stop. The kernel does so only if
// the instruction pointer is unchanged.
static bool is_in_sequence(const struct loan * loan) {
    enum { GET_CONFIGURATION = 0x420f }; // PTRACE_GET_RSEQ_CONFIGURATION, missing in older headers
    struct {
        uint64_t address;
        uint32_t size, signature, flags, padding;
    } configuration = {0};
    struct {
        uint32_t cpu_start, cpu;
        uint64_t sequence;
    } area = {0};
    if (ptrace((enum __ptrace_request) GET_CONFIGURATION, loan->thread, (void *) sizeof(configuration),
               &configuration) <= 0 ||
        configuration.address == 0)
        return false;
    return !ggs_tracee_read(loan->tracee, configuration.address, &area, sizeof(area)) || area.sequence != 0;
}

static bool was_interrupted(const struct user_regs_struct * registers, long long * why) {
    *why = -(long long) registers->rax;
    return (long long) registers->orig_rax >= 0 &&
           ((*why >= RESTART_FIRST && *why <= RESTART_LAST) || *why == RESTART_BLOCK);
}

// Returns the registers to continue with if the kernel does not restore them: an interrupted call
// is made again. Only the kernel knows the rest of a relative timeout, and `resume` asks it to
// continue with that. With sigreturn this is impossible, and the timeout starts over.
static struct user_regs_struct continued(const struct loan * loan, bool resume) {
    struct user_regs_struct to = loan->registers;
    long long               why;
    if (was_interrupted(&loan->registers, &why)) {
        to.rax = resume && why == RESTART_BLOCK ? SYS_restart_syscall : (uint64_t) loan->again;
        to.rip -= 2; // the syscall instruction
    }
    to.orig_rax = (unsigned long long) -1;
    return to;
}

// Finds the call to make again. A call that the kernel has resumed once has the number of
// restart_syscall; its original number is in the preceding instruction. If it is not there, the
// call cannot be restarted unseen.
static bool find_call(struct loan * loan) {
    static const long resumable[] = {SYS_poll, SYS_nanosleep, SYS_futex, SYS_clock_nanosleep};
    long long         why;
    uint8_t           code[7]; // mov $number, %eax; syscall
    uint32_t          number;
    loan->again = (long) loan->registers.orig_rax;
    if (!was_interrupted(&loan->registers, &why) || loan->again != SYS_restart_syscall) return true;
    if (!ggs_tracee_read(loan->tracee, loan->registers.rip - sizeof(code), code, sizeof(code)) || code[0] != 0xb8)
        return loan->last_resort;
    memcpy(&number, code + 1, sizeof(number));
    for (size_t i = 0; i < sizeof(resumable) / sizeof(resumable[0]); i++) {
        if (resumable[i] != (long) number) continue;
        loan->again = resumable[i];
        return true;
    }
    return loan->last_resort;
}

// FRAME_NO_STACK is invalid on purpose: the kernel leaves the alternate stack alone.
static void fill_frame(struct frame * frame, const struct loan * loan, uint64_t vectors) {
    struct user_regs_struct r = continued(loan, false);
    *frame                    = (struct frame){.restore     = loan->library->restore,
                                               .flags       = FRAME_VECTORS | FRAME_SEGMENTS,
                                               .stack_flags = FRAME_NO_STACK,
                                               .r8          = r.r8,
                                               .r9          = r.r9,
                                               .r10         = r.r10,
                                               .r11         = r.r11,
                                               .r12         = r.r12,
                                               .r13         = r.r13,
                                               .r14         = r.r14,
                                               .r15         = r.r15,
                                               .rdi         = r.rdi,
                                               .rsi         = r.rsi,
                                               .rbp         = r.rbp,
                                               .rbx         = r.rbx,
                                               .rdx         = r.rdx,
                                               .rax         = r.rax,
                                               .rcx         = r.rcx,
                                               .rsp         = r.rsp,
                                               .rip         = r.rip,
                                               .eflags      = r.eflags,
                                               .cs          = (uint16_t) r.cs,
                                               .gs          = (uint16_t) r.gs,
                                               .fs          = (uint16_t) r.fs,
                                               .ss          = (uint16_t) r.ss,
                                               .vectors     = vectors,
                                               .mask        = loan->mask};
}

// Writes the frame and reads it back through the thread, which may have called exec after its
// memory was opened.
static bool write_frame(struct loan * loan) {
    struct frame frame;
    uint64_t     low, vectors = (loan->registers.rsp - RED_ZONE - loan->vectors_size) & ~UINT64_C(63);
    loan->frame = ((vectors - sizeof(frame)) & ~UINT64_C(15)) - 8; // alignment of a handler's stack
    if (!find_stack(loan, &low) || loan->frame < low + 4096) return false;
    fill_frame(&frame, loan, vectors);
    if (!ggs_tracee_write(loan->tracee, vectors, loan->vectors, loan->vectors_size) ||
        !ggs_tracee_write(loan->tracee, loan->frame, &frame, sizeof(frame)))
        return false;
    errno     = 0;
    long word = ptrace(PTRACE_PEEKDATA, loan->thread, (void *) (loan->frame + offsetof(struct frame, rip)), 0);
    return errno == 0 && (uint64_t) word == frame.rip;
}

static bool set_registers(pid_t thread, struct user_regs_struct registers) {
    registers.orig_rax = (unsigned long long) -1; // no call for the kernel to restart
    registers.eflags &= ~0x500ull;                // clear the trap and direction flags
    return ptrace(PTRACE_SETREGS, thread, 0, &registers) == 0;
}

// From here on the thread restores itself without further help.
static bool set_return(const struct loan * loan) {
    struct user_regs_struct r = loan->registers;
    r.rip                     = loan->library->restore;
    r.rsp                     = loan->frame + 8;
    return set_registers(loan->thread, r);
}

static bool set_mask(const struct loan * loan, uint64_t mask) {
    return ptrace(PTRACE_SETSIGMASK, loan->thread, (void *) sizeof(mask), &mask) == 0;
}

// Blocks signals for the new thread, which inherits the mask.
static bool begin_clone(const struct loan * loan) {
    struct user_regs_struct r = loan->registers;
    if (!set_return(loan) || !set_mask(loan, UINT64_MAX)) return false;
    r.rip = loan->library->call;
    r.rsp = loan->frame;
    r.rax = SYS_clone;
    r.rdi = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    r.rsi = loan->library->unused;
    r.rdx = r.r10 = r.r8 = 0;
    return set_registers(loan->thread, r) && ptrace(PTRACE_CONT, loan->thread, 0, 0) == 0;
}

// After the clone. Usually the thread is released and restores itself. If the kernel knows the rest
// of a timeout, the registers are set to continue with that.
static bool release_thread(const struct loan * loan) {
    long long why;
    if (was_interrupted(&loan->registers, &why) && why == RESTART_BLOCK) {
        if (ptrace(PTRACE_SYSCALL, loan->thread, 0, 0) != 0) return false;
        int status = ggs_trace_wait(loan->thread, PATIENCE_NS);
        if (status < 0) return false;
        if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
            struct user_regs_struct r = continued(loan, true);
            if (!set_return(loan) || !set_mask(loan, loan->mask) || ptrace(PTRACE_SETREGS, loan->thread, 0, &r) != 0)
                return false;
        }
    }
    return ptrace(PTRACE_DETACH, loan->thread, 0, 0) == 0;
}

static int number_inside(const struct ggs_tracee * tracee, pid_t thread) {
    char text[256];
    if (!ggs_tracee_status(tracee, thread, "NSpid", text, sizeof(text))) return (int) thread;
    const char * last = strrchr(text, '\t');
    return (int) strtol(last == NULL ? text : last + 1, NULL, 10);
}

// ---- choosing a thread ----

// 0 is best. Calls that a stop interrupts for good (they return EINTR, as after SIGSTOP and
// SIGCONT) rank last.
static int rank(const struct ggs_tracee_thread * thread) {
    static const long interrupted[] = {SYS_epoll_wait,      SYS_epoll_pwait,  SYS_semtimedop, SYS_semop,
                                       SYS_rt_sigtimedwait, SYS_io_getevents, SYS_msgrcv,     SYS_msgsnd,
                                       SYS_rt_sigsuspend,   SYS_pause};
    if (thread->state == 'R') return 2;
    if (thread->state != 'S') return -1;
    if (thread->call == SYS_futex) return 0;
    for (size_t i = 0; i < sizeof(interrupted) / sizeof(interrupted[0]); i++)
        if (thread->call == interrupted[i]) return 3;
    return 1;
}

enum outcome { TAKEN, UNSUITABLE, REFUSED, DAMAGED };

// Stops the thread and checks whether it can be borrowed; if not, it is released unchanged.
static enum outcome examine(struct loan * loan, struct ggs_error * error) {
    if (ggs_trace_stop(loan->thread, PATIENCE_NS) != 0) {
        if (errno == EBUSY)
            ggs_fail(error, GGS_USAGE, "process %d (%s) is being stopped: continue it first (kill -CONT %d)",
                     (int) loan->tracee->pid, loan->tracee->name, (int) loan->tracee->pid);
        else if (errno == EPERM)
            ggs_fail(error, GGS_USAGE, "not permitted to trace process %d (%s): run ggscope as root (CAP_SYS_PTRACE)",
                     (int) loan->tracee->pid, loan->tracee->name);
        return errno == EBUSY || errno == EPERM ? REFUSED : UNSUITABLE;
    }
    loan->stopped_ns = ggs_clock_now();
    bool good = ptrace(PTRACE_GETREGS, loan->thread, 0, &loan->registers) == 0 && loan->registers.cs == CODE_SEGMENT &&
                ptrace(PTRACE_GETSIGMASK, loan->thread, (void *) sizeof(loan->mask), &loan->mask) == 0 &&
                !is_in_sequence(loan) && find_call(loan) && read_vectors(loan) && write_frame(loan) &&
                ptrace(PTRACE_SETOPTIONS, loan->thread, 0, (void *) (PTRACE_O_TRACECLONE | PTRACE_O_TRACESYSGOOD)) == 0;
    if (!good) ptrace(PTRACE_DETACH, loan->thread, 0, 0);
    return good ? TAKEN : UNSUITABLE;
}

// A thread whose clone was refused has restored itself and is running.
static void explain_no_clone(const struct loan * loan, int status, struct ggs_error * error) {
    const char * name = loan->tracee->name;
    int          pid  = (int) loan->tracee->pid;
    if (status == GGS_WAIT_LATE)
        ggs_fail(error, GGS_IO,
                 "process %d (%s) cannot have one more thread: a limit on its processes (ulimit -u, pids.max) or a "
                 "seccomp filter prevents it",
                 pid, name);
    else if (status == GGS_WAIT_ENDED)
        ggs_fail(error, GGS_ABSENT, "process %d (%s) ended, or became another program, while ggscope attached to it",
                 pid, name);
    else
        ggs_fail(error, GGS_USAGE, "process %d (%s) is being stopped: continue it first (kill -CONT %d)", pid, name,
                 pid);
}

static enum outcome try_thread(struct loan * loan, struct ggs_borrowed * borrowed, struct ggs_error * error) {
    enum outcome outcome = examine(loan, error);
    if (outcome != TAKEN) return outcome;
    unsigned long child  = 0;
    int           status = begin_clone(loan) ? ggs_trace_wait(loan->thread, PATIENCE_NS) : GGS_WAIT_ENDED;
    if (status < 0 || status >> 8 != (SIGTRAP | PTRACE_EVENT_CLONE << 8) ||
        ptrace(PTRACE_GETEVENTMSG, loan->thread, 0, &child) != 0) {
        explain_no_clone(loan, status, error);
        return DAMAGED;
    }
    bool back          = release_thread(loan);
    borrowed->stood_ns = ggs_clock_now() - loan->stopped_ns;
    if (!back || ggs_trace_wait((pid_t) child, PATIENCE_NS) < 0) {
        ggs_fail(error, GGS_IO, "process %d (%s) ended, or became another program, while ggscope attached to it",
                 (int) loan->tracee->pid, loan->tracee->name);
        return DAMAGED;
    }
    borrowed->thread       = (pid_t) child;
    borrowed->inside       = number_inside(loan->tracee, (pid_t) child);
    borrowed->owner_inside = number_inside(loan->tracee, loan->thread);
    borrowed->thread_area  = loan->registers.fs_base;
    return TAKEN;
}

// ---- leftovers of a killed ggscope ----

// True if a thread is restoring itself or exiting: all signals blocked, in these instructions or on
// this stack.
static bool is_on_its_way(const struct loan * loan, pid_t thread) {
    enum { CALL_BYTES = 3, RESTORE_BYTES = 9 };
    char                    blocked[32];
    struct user_regs_struct r;
    if (!ggs_tracee_status(loan->tracee, thread, "SigBlk", blocked, sizeof(blocked)) ||
        strcmp(blocked, "fffffffffffbfeff") != 0 || ggs_trace_stop(thread, PATIENCE_NS) != 0)
        return false;
    bool known = ptrace(PTRACE_GETREGS, thread, 0, &r) == 0;
    ptrace(PTRACE_DETACH, thread, 0, 0);
    return known && (r.rsp - loan->library->unused <= GGS_UNUSED_BYTES || r.rip - loan->library->call < CALL_BYTES ||
                     r.rip - loan->library->restore < RESTORE_BYTES);
}

// An exit path of an earlier attach exists: its new thread is about to use it, or it was killed
// before there was one. Waits until no thread can need it.
static bool wait_for_others(struct loan * loan) {
    enum { ROUNDS = 200, NAP_US = 20000 };
    uint64_t                   words[GGS_UNUSED_BYTES / 8];
    struct ggs_tracee_thread * threads   = calloc(THREADS_MOST, sizeof(*threads));
    bool                       under_way = threads != NULL;
    for (int round = 0; under_way && round < ROUNDS; round++) {
        if (round > 0) usleep(NAP_US);
        if (!ggs_tracee_read(loan->tracee, loan->library->unused, words, sizeof(words))) break;
        under_way    = words[0] != 0;
        uint8_t byte = 0;
        if (!under_way || ggs_tracee_read(loan->tracee, words[1], &byte, 1)) continue;
        under_way = false;
        size_t n  = ggs_tracee_threads(loan->tracee, threads, THREADS_MOST);
        for (size_t i = 0; !under_way && i < n; i++) under_way = is_on_its_way(loan, threads[i].id);
    }
    free(threads);
    return !under_way;
}

// Writes the new thread's exit path: munmap(region), exit.
static bool write_way_out(const struct loan * loan, const struct ggs_stub_region * region) {
    const struct ggs_c_library * library = loan->library;
    uint64_t                     words[] = {library->pop_first, region->start,   library->pop_second,
                                            region->size,       library->munmap, library->exit};
    _Static_assert(sizeof(words) <= GGS_UNUSED_BYTES, "room");
    return ggs_tracee_write(loan->tracee, library->unused, words, sizeof(words));
}

static void clear_way_out(const struct loan * loan) {
    static const uint8_t zeros[GGS_UNUSED_BYTES];
    ggs_tracee_write(loan->tracee, loan->library->unused, zeros, sizeof(zeros));
}

static int try_all(struct loan * loan, struct ggs_borrowed * borrowed, struct ggs_error * error) {
    enum { ROUNDS = 10, NAP_US = 20000 };
    struct ggs_tracee_thread * threads = calloc(THREADS_MOST, sizeof(*threads));
    if (threads == NULL) return ggs_fail_memory(error);
    enum outcome outcome = UNSUITABLE;
    for (int round = 0; outcome == UNSUITABLE && round < ROUNDS; round++) {
        if (round > 0) usleep(NAP_US); // lets threads leave their current calls
        loan->last_resort = round + 1 == ROUNDS;
        size_t n          = ggs_tracee_threads(loan->tracee, threads, THREADS_MOST);
        for (int wanted = 0; outcome == UNSUITABLE && wanted <= 3; wanted++) {
            for (size_t i = 0; outcome == UNSUITABLE && i < n; i++) {
                if (rank(&threads[i]) != wanted) continue;
                loan->thread = threads[i].id;
                outcome      = try_thread(loan, borrowed, error);
            }
        }
    }
    free(threads);
    if (outcome == TAKEN) return 0;
    if (outcome != DAMAGED) clear_way_out(loan); // no thread was made that needs it
    if (outcome != UNSUITABLE) return GGS_IO;
    return ggs_fail(
        error, GGS_IO,
        "cannot attach to process %d (%s): none of its threads can be stopped at a place from which it could go "
        "on; try again",
        (int) loan->tracee->pid, loan->tracee->name);
}

static int fail_waiting(const struct loan * loan, struct ggs_error * error) {
    const struct ggs_tracee * tracee = loan->tracee;
    uint8_t                   byte;
    if (!ggs_tracee_read(tracee, loan->library->unused, &byte, 1))
        return ggs_fail(error, GGS_ABSENT,
                        "process %d (%s) ended, or became another program, while ggscope attached to it",
                        (int) tracee->pid, tracee->name);
    return ggs_fail(error, GGS_USAGE, "another ggscope attaches to process %d (%s) at this moment", (int) tracee->pid,
                    tracee->name);
}

int ggs_borrow(struct ggs_borrowed * borrowed, const struct ggs_tracee * tracee, const struct ggs_c_library * library,
               const struct ggs_stub_region * region, struct ggs_error * error) {
    struct loan loan = {.tracee = tracee, .library = library, .vectors = malloc(VECTOR_BYTES)};
    *borrowed        = (struct ggs_borrowed){0};
    if (loan.vectors == NULL) return ggs_fail_memory(error);
    int status = !wait_for_others(&loan)        ? fail_waiting(&loan, error)
                 : write_way_out(&loan, region) ? try_all(&loan, borrowed, error)
                                                : ggs_fail_errno(error, "cannot write to the memory of process %d (%s)",
                                                                 (int) tracee->pid, tracee->name);
    free(loan.vectors);
    return status;
}

#endif
