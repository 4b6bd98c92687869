// Borrows one thread of the process for one system call, clone, and restores it.
//
// ggscope may be killed between any two of its system calls. The kernel then continues its tracees
// with their current registers. So at each of these points the registers of the borrowed thread
// lead back to its own code, and those of the new thread to its exit, without further help:
//
//     borrowed thread   Before its registers change, a signal frame with all of them is written
//                       below its red zone. The registers then point to rt_sigreturn, or to clone
//                       followed by rt_sigreturn, like a return from a signal handler.
//     new thread        Its stack has an exit path: munmap of its region, then exit. It lies in
//                       unused bytes (c-library.h), because the borrowed thread uses its own stack
//                       again by then.
//
// The same holds after a failure: ending the calling thread restores everything.
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct ggs_c_library;
struct ggs_error;
struct ggs_tracee;

struct ggs_stub_region { // memory for the new thread
    uint64_t start, size;
};

struct ggs_borrowed {
    pid_t    thread;       // the new thread: traced by the caller, stopped at its first instruction
    int      inside;       // its id inside the process's PID namespace
    uint64_t thread_area;  // the borrowed thread's, where the C library keeps thread-local data
    int      owner_inside; // the borrowed thread's id inside the process's PID namespace
    uint64_t stood_ns;     // time for which the borrowed thread was stopped
};

// Prefers a thread that sleeps in a restartable call. The caller becomes the tracer of the new
// thread; ending the calling thread releases everything.
int ggs_borrow(struct ggs_borrowed * borrowed, const struct ggs_tracee * tracee, const struct ggs_c_library * library,
               const struct ggs_stub_region * region, struct ggs_error * error);

// ---- tracing, to continue with the new thread ----

enum { GGS_WAIT_ENDED = -1, GGS_WAIT_LATE = -2 };
// Waits until a traced thread stops. Returns waitpid's status, or one of the above.
int ggs_trace_wait(pid_t thread, uint64_t patience_ns);
// Stops a thread that is not traced yet. Returns 0, or -1 with errno (EPERM, ESRCH; ETIMEDOUT: it
// does not stop; EBUSY: the whole process is being stopped, and the thread was released).
int ggs_trace_stop(pid_t thread, uint64_t patience_ns);
// The same in two parts, for several threads at once.
int ggs_trace_interrupt(pid_t thread);
int ggs_trace_await_stop(pid_t thread, uint64_t patience_ns);
