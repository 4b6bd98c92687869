#include "capture/sandbox.h"

#include <dlfcn.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "capture/capture.h"
#include "capture/segment.h"
#include "capture/slots.h"
#include "preload/hook.h"

enum { SPARES_PER_STREAM = 16 };

bool ggs_sandbox_;

// Prepares for a filter that is about to be installed.
static void prepare(void) {
    if (ggs_sandboxed()) return;
    if (__atomic_load_n(&ggs_capture_state, __ATOMIC_ACQUIRE) == GGS_CAPTURE_ASLEEP) {
        ggs_capture_disable("the program restricts its system calls before it computes anything: nothing is recorded");
        return;
    }
    if (!ggs_capture_recording()) return;
    ggs_segment_prepare(SPARES_PER_STREAM * (ggs_slots_lanes() + 1)); // the journal is one more
    ggs_capture_warn(
        "the program restricts its system calls: recording ends when the segments that were made ahead are full");
    __atomic_store_n(&ggs_sandbox_, true, __ATOMIC_RELEASE);
}

// Both are variadic in libc. With these prototypes the compiler turns the call of the real function
// into a jump, so nothing lies on the stack between it and the program.
long ggs_sandbox_syscall(long number, long a, long b, long c, long d, long e, long f) __asm__("syscall");
int  ggs_sandbox_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) __asm__("prctl");

static __typeof__(&ggs_sandbox_syscall) next_syscall;
static __typeof__(&ggs_sandbox_prctl)   next_prctl;

__attribute__((constructor)) static void find_next(void) {
    if (next_syscall == NULL) next_syscall = (__typeof__(next_syscall)) dlsym(RTLD_NEXT, "syscall");
    if (next_prctl == NULL) next_prctl = (__typeof__(next_prctl)) dlsym(RTLD_NEXT, "prctl");
}

EXPORT long ggs_sandbox_syscall(long number, long a, long b, long c, long d, long e, long f) {
    // Without a filter, or with flags for strict mode, the program only queries what the kernel
    // supports.
    if (__builtin_expect(number == SYS_seccomp, 0) &&
        ((a == SECCOMP_SET_MODE_FILTER && c != 0) || (a == SECCOMP_SET_MODE_STRICT && b == 0)))
        prepare();
    if (__builtin_expect(number == SYS_prctl && a == PR_SET_SECCOMP, 0) && (b == SECCOMP_MODE_STRICT || c != 0))
        prepare();
    if (__builtin_expect(next_syscall == NULL, 0)) find_next(); // called before our constructor
    return next_syscall(number, a, b, c, d, e, f);
}

EXPORT int ggs_sandbox_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
    if (__builtin_expect(option == PR_SET_SECCOMP, 0) && (a == SECCOMP_MODE_STRICT || b != 0)) prepare();
    if (__builtin_expect(next_prctl == NULL, 0)) find_next();
    return next_prctl(option, a, b, c, d);
}
