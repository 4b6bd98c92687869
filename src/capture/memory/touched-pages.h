// Touched pages (--prove): the pages of the mapped model that an op really touches.
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

extern bool ggs_touched_pages_wanted;  // set once, before the first hook
extern bool ggs_touched_pages_active_; // a graph run is being proved

static inline bool ggs_touched_pages_active(void) {
    return __builtin_expect(__atomic_load_n(&ggs_touched_pages_active_, __ATOMIC_RELAXED), 0);
}

// Surround a graph run on the thread that leads it. Enter waits for the runs of other threads. It
// comes before the run gets its number, so that runs are proved in the order of their numbers.
void ggs_touched_pages_enter(void);
void ggs_touched_pages_leave(void);

// Surround the computation. Begin returns false if there is nothing to prove; end must not follow.
bool ggs_touched_pages_begin(void);
void ggs_touched_pages_end(void);

// Gives up with one line on stderr: no hook observes the engine's barrier and the run has several
// threads. Pages that were written of this run count as lost.
void ggs_touched_pages_refuse(void);

// For a forked child: protected pages are opened when they are touched, and nothing is recorded.
void ggs_touched_pages_forget(void);

// Unblocks the signal. Called on every thread that computes, before it touches anything.
void ggs_touched_pages_thread(void);

// Writes the pages touched since the last call and protects them again. Called on the leading
// thread while the others wait.
void ggs_touched_pages_emit(uint32_t run, uint32_t node);
