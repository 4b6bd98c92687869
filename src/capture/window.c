#include "capture/window.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/clock.h"
#include "base/system/ticks.h"
#include "trace/spool.h"

_Thread_local struct ggs_nesting   ggs_in;
static const uint32_t              always = 1, never = 0;
GGS_WITH_EVERY_OP const uint32_t * ggs_window_word = &always;
_Atomic int                        ggs_window_skipped;
_Atomic bool                       ggs_window_gaps;
static _Atomic int                 inside; // outermost calls that are being recorded

// The control file is mapped at this fixed address: threads read its word at any time, even after
// the recording. No other variable may lie on these pages.
enum { LARGEST_PAGE = 65536 };
static union {
    struct ggs_spool_control words;
    uint8_t                  page[LARGEST_PAGE];
} control __attribute__((aligned(LARGEST_PAGE)));
static bool controlled; // the control file is mapped

void ggs_window_begin(const char * folder) {
    char        path[PATH_MAX];
    struct stat info;
    size_t      page = (size_t) sysconf(_SC_PAGESIZE);
    if (snprintf(path, sizeof(path), "%s/%s", folder, GGS_SPOOL_CONTROL) >= (int) sizeof(path)) return;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return;
    char magic[sizeof(control.words.magic)];
    if (fstat(fd, &info) == 0 && (uint64_t) info.st_size >= page && page <= LARGEST_PAGE &&
        pread(fd, magic, sizeof(magic), 0) == (ssize_t) sizeof(magic) &&
        memcmp(magic, GGS_CONTROL_MAGIC, sizeof(magic)) == 0 &&
        mmap(&control, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == &control)
        controlled = true;
    close(fd);
}

void ggs_window_open(void) {
    __atomic_store_n(&ggs_window_word, controlled ? &control.words.recording : &always, __ATOMIC_RELEASE);
}

void ggs_window_count_child(void) {
    if (controlled) __atomic_fetch_add(&control.words.children, 1, __ATOMIC_RELAXED);
}

const uint64_t * ggs_window_freed(void) {
    return controlled ? &control.words.freed : NULL;
}

bool ggs_window_enter(void) {
    if (ggs_in.outer++ == 0) {
        // Counted before the word is read: ggs_window_end writes the word and reads the count after
        // it.
        atomic_fetch_add(&inside, 1);
        atomic_thread_fence(memory_order_seq_cst);
        ggs_in.skipped = ggs_window_is_closed();
        if (ggs_in.skipped) {
            atomic_fetch_sub(&inside, 1);
            atomic_fetch_add_explicit(&ggs_window_skipped, 1, memory_order_relaxed);
            atomic_store_explicit(&ggs_window_gaps, true, memory_order_relaxed);
        }
    }
    return !ggs_in.skipped;
}

// Counts a step towards the length of a window.
static void count_step(void) {
    if (!controlled || __atomic_load_n(&control.words.steps_left, __ATOMIC_RELAXED) <= 0) return;
    if (__atomic_sub_fetch(&control.words.steps_left, 1, __ATOMIC_ACQ_REL) != 0) return;
    __atomic_store_n(&control.words.ended_ns, ggs_clock_now(), __ATOMIC_RELEASE);
    __atomic_store_n(&control.words.recording, 0, __ATOMIC_RELEASE);
}

void ggs_window_leave(void) {
    if (ggs_in.outer == 0 || --ggs_in.outer > 0) return;
    if (ggs_in.skipped) {
        atomic_fetch_sub_explicit(&ggs_window_skipped, 1, memory_order_relaxed);
    } else {
        count_step();
        atomic_fetch_sub(&inside, 1);
    }
    ggs_in.skipped = false;
}

void ggs_window_end(void) {
    __atomic_store_n(&ggs_window_word, &never, __ATOMIC_SEQ_CST);
}

bool ggs_window_is_left(void) {
    return atomic_load(&inside) == 0;
}

void ggs_window_forget(void) {
    atomic_store(&inside, ggs_in.outer > 0 && !ggs_in.skipped);
    atomic_store(&ggs_window_skipped, ggs_in.outer > 0 && ggs_in.skipped);
}

void ggs_window_reset(bool gaps) {
    size_t page = (size_t) sysconf(_SC_PAGESIZE);
    if (controlled) mmap(&control, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    controlled = false;
    atomic_store(&ggs_window_gaps, gaps);
    ggs_window_end();
}
