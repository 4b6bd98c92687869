// Page truth: which pages of the mapped model does an op really touch?
//
// During a graph run the mappings of model files are PROT_NONE. The first touch of a page raises SIGSEGV; the handler notes
// the page and opens it. In the barrier that ends an op, while all threads wait, the thread that leads the run writes
// to the journal which pages were opened, and closes them again:
//
//     op on all threads -> barrier -> lead: tell, protect -> barrier -> next op
//
// So times mean nothing in such a recording, and graph runs of several threads come one after the other. Outside of graph runs
// nothing is protected and the handler is not installed: the program's own SIGSEGV handler is put back, and while a run goes on
// it gets every signal that is not about a protected page. A page is exact: the machine's page size, whatever size the kernel maps it with.
//
// If the engine's barrier is not seen (cpu/barrier.h), pages of a run of one thread are written after each node instead.
//
// What fails in a proving run that does not otherwise: a system call that reads the model's memory (EFAULT instead of a signal).
#pragma once

#include <stdbool.h>
#include <stdint.h>

extern bool ggs_prove_wanted;  // set once, before the first hook
extern bool ggs_prove_active_; // a graph run is being proved

static inline bool ggs_prove_active(void) {
    return __builtin_expect(__atomic_load_n(&ggs_prove_active_, __ATOMIC_RELAXED), 0);
}

// Around a graph run, on the thread that leads it. Enter comes before the run has a number, so that runs are told in the order of
// their numbers, and waits for runs of other threads to end.
void ggs_prove_enter(void);
void ggs_prove_leave(void);

// Around the computing of it. Begin is false if there is nothing to prove; end must not be called then.
bool ggs_prove_begin(void);
void ggs_prove_end(void);

// The engine's barrier is not seen and the run has several threads: nothing can be proved. Said once; what was told of the run that showed it counts as lost.
void ggs_prove_refuse(void);

// In the child of a fork: pages that are protected are opened as they are touched, and nothing is told.
void ggs_prove_forget(void);

// On every thread that computes, before it touches anything: it must be able to take the signal.
void ggs_prove_thread(void);

// On the leading thread, while the others wait: tells what was touched since the last time, and protects it again.
void ggs_prove_tell(uint32_t run, uint32_t node);
