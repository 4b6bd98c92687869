// Borrows one thread of the process for one system call, clone, and gives it back as it was.
//
// ggscope may be killed between any two of its system calls. The kernel then lets its tracees run on with the registers
// that they have. So at each such moment the registers of the borrowed thread lead back to where it was, and those of the
// new thread to its end, without anybody's help:
//
//     borrowed thread   Before its registers change, a signal frame with all of them lies below its red zone. From then
//                       on they point to rt_sigreturn, or to clone followed by rt_sigreturn: what every thread does that
//                       returns from a signal handler.
//     new thread        Its stack holds a way out: munmap of the region that it gets, then exit. It lies in bytes that
//                       belong to nobody (c-library.h), because the borrowed thread's stack is in use again by then.
//
// The same holds if something fails: whoever called these functions ends the thread that did, and all is as it was.
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct ggs_c_library;
struct ggs_error;
struct ggs_tracee;

struct ggs_stub_region { // memory that the new thread gets
    uint64_t start, size;
};

struct ggs_borrowed {
    pid_t    thread;       // the new thread: traced by the caller, stopped before its first instruction
    int      inside;       // its number as the process sees it
    uint64_t thread_area;  // the borrowed thread's own, where the C library keeps what belongs to a thread
    int      owner_inside; // the borrowed thread's number as the process sees it
    uint64_t stood_ns;     // how long the borrowed thread stood
};

// Prefers a thread that sleeps in a call which can be resumed as if nothing had happened. The caller becomes the tracer of
// the new thread; ending the calling thread lets go of everything.
int ggs_borrow(struct ggs_borrowed * borrowed, const struct ggs_tracee * tracee, const struct ggs_c_library * library,
               const struct ggs_stub_region * region, struct ggs_error * error);

// ---- tracing, for those who go on with the new thread ----

enum { GGS_WAIT_ENDED = -1, GGS_WAIT_LATE = -2 };
// Waits until a traced thread stops. Returns waitpid's status, or one of the above.
int ggs_trace_wait(pid_t thread, uint64_t patience_ns);
// Stops a thread that is not traced yet: 0, or -1 with errno (EPERM, ESRCH; ETIMEDOUT: it does not stop; EBUSY: the
// whole process is being stopped, and the thread was let go).
int ggs_trace_stop(pid_t thread, uint64_t patience_ns);
