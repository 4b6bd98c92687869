#include "capture/window.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/system/ticks.h"
#include "trace/spool.h"

_Thread_local struct ggs_nesting   ggs_in;
static const uint32_t              always          = 1;
GGS_WITH_EVERY_OP const uint32_t * ggs_window_word = &always;
_Atomic int                        ggs_window_skipped;
_Atomic bool                       ggs_window_gaps;
static struct ggs_spool_control *  control; // NULL: there is none

void ggs_window_begin(const char * folder) {
    char        path[PATH_MAX];
    struct stat info;
    if (snprintf(path, sizeof(path), "%s/%s", folder, GGS_SPOOL_CONTROL) >= (int) sizeof(path)) return;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return;
    if (fstat(fd, &info) == 0 && (uint64_t) info.st_size >= sizeof(*control)) {
        struct ggs_spool_control * mapped = mmap(NULL, sizeof(*mapped), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (mapped != MAP_FAILED && memcmp(mapped->magic, GGS_CONTROL_MAGIC, sizeof(mapped->magic)) == 0) {
            control = mapped;
            __atomic_store_n(&ggs_window_word, &mapped->recording, __ATOMIC_RELEASE);
        }
    }
    close(fd);
}

const uint64_t * ggs_window_freed(void) {
    return control == NULL ? NULL : &control->freed;
}

bool ggs_window_enter(void) {
    if (ggs_in.outer++ == 0) {
        ggs_in.skipped = ggs_window_is_closed();
        if (ggs_in.skipped) {
            atomic_fetch_add_explicit(&ggs_window_skipped, 1, memory_order_relaxed);
            atomic_store_explicit(&ggs_window_gaps, true, memory_order_relaxed);
        }
    }
    return !ggs_in.skipped;
}

// One more step of a window that takes so many.
static void count_step(void) {
    if (control == NULL || __atomic_load_n(&control->steps_left, __ATOMIC_RELAXED) <= 0) return;
    if (__atomic_sub_fetch(&control->steps_left, 1, __ATOMIC_ACQ_REL) != 0) return;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    __atomic_store_n(&control->ended_ns, (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec,
                     __ATOMIC_RELEASE);
    __atomic_store_n(&control->recording, 0, __ATOMIC_RELEASE);
}

void ggs_window_leave(void) {
    if (ggs_in.outer == 0 || --ggs_in.outer > 0) return;
    if (ggs_in.skipped)
        atomic_fetch_sub_explicit(&ggs_window_skipped, 1, memory_order_relaxed);
    else
        count_step();
    ggs_in.skipped = false;
}
