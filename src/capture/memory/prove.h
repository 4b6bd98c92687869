// Page truth: the pages of the mapped model that an op really touches.
//
// During a graph run the mappings of model files are PROT_NONE. The first touch of a page raises
// SIGSEGV; the handler marks the page and opens it. In the barrier that ends an op, while all
// threads wait, the thread that leads the run writes the opened pages to the journal and closes
// them again:
//
//     op on all threads -> barrier -> lead: write, protect -> barrier -> next op
//
// Times mean nothing in such a recording, and concurrent graph runs are serialized. Outside of
// graph runs nothing is protected and the program's own SIGSEGV handler is installed; during a run
// it gets every signal that is not about a protected page. Pages have the machine's page size,
// whatever size the kernel maps them with.
//
// If the engine's barrier is not seen (cpu/barrier.h), pages of a run of one thread are written
// after each node instead.
//
// A system call that reads the model's memory fails in such a run (EFAULT instead of a signal).
#pragma once

#include <stdbool.h>
#include <stdint.h>

extern bool ggs_prove_wanted;  // set once, before the first hook
extern bool ggs_prove_active_; // a graph run is being proved

static inline bool ggs_prove_active(void) {
    return __builtin_expect(__atomic_load_n(&ggs_prove_active_, __ATOMIC_RELAXED), 0);
}

// Around a graph run, on the thread that leads it. enter waits for runs of other threads to end. It
// comes before the run gets its number, so that runs are proved in the order of their numbers.
void ggs_prove_enter(void);
void ggs_prove_leave(void);

// Around the computation. begin returns false if there is nothing to prove; end must not be called
// then.
bool ggs_prove_begin(void);
void ggs_prove_end(void);

// The engine's barrier is not seen and the run has several threads: nothing can be proved, with one
// line on stderr. The pages that were written of the run that showed it count as lost.
void ggs_prove_refuse(void);

// In the child of a fork: protected pages are opened as they are touched, and nothing is recorded.
void ggs_prove_forget(void);

// On every thread that computes, before it touches anything: unblocks the signal.
void ggs_prove_thread(void);

// On the leading thread, while the others wait: writes the pages that were touched since the last
// time, and protects them again.
void ggs_prove_emit(uint32_t run, uint32_t node);
