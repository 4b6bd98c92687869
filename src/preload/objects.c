#include "preload/objects.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "base/system/clock.h"

// Recursive like the linker's lock: a thread may list objects while it lists objects.
static pthread_mutex_t    gate = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static _Thread_local bool held; // held by this thread, which is forking

int ggs_objects_visit(int (*visit)(struct dl_phdr_info * info, size_t size, void * data), void * data) {
    pthread_mutex_lock(&gate);
    int result = dl_iterate_phdr(visit, data);
    pthread_mutex_unlock(&gate);
    return result;
}

// A thread that forks while it holds the linker's lock would deadlock with this one. The fork
// therefore proceeds after a short wait.
void ggs_objects_before_fork(void) {
    enum { PATIENCE_MS = 200 };
    struct timespec end  = ggs_clock_in_ms(CLOCK_REALTIME, PATIENCE_MS);
    bool            mine = pthread_mutex_timedlock(&gate, &end) == 0;
    held                 = mine;
}

void ggs_objects_in_parent(void) {
    if (!held) return;
    held = false;
    pthread_mutex_unlock(&gate);
}

void ggs_objects_in_child(void) {
    gate = (pthread_mutex_t) PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    held = false;
}
