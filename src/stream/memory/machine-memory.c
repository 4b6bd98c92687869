#include "stream/memory/machine-memory.h"

#include <stdlib.h>

#include "stream/memory/available-memory.h"
#include "stream/memory/pages.h"
#include "stream/memory/pressure.h"

static const char PROC[] = "/proc", GROUPS[] = "/sys/fs/cgroup";

struct ggs_kernel_memory {
    struct ggs_memory      memory; // must be first: a memory is cast to its machine
    struct ggs_page_memory pages;
    struct ggs_pressure    pressure;
    bool                   watched;
};

#define MACHINE(memory) ((struct ggs_kernel_memory *) (memory))

static uint64_t limit(struct ggs_memory * memory) {
    (void) memory;
    return ggs_memory_limit(PROC, GROUPS);
}

static uint64_t left(struct ggs_memory * memory) {
    (void) memory;
    return ggs_memory_left(PROC, GROUPS);
}

static uint64_t held(struct ggs_memory * memory) {
    (void) memory;
    return ggs_memory_anonymous(PROC);
}

static double stalled(struct ggs_memory * memory) {
    (void) memory;
    return ggs_memory_stalled(PROC, GROUPS);
}

static void watch(struct ggs_memory * memory, uint64_t margin) {
    struct ggs_kernel_memory * m = MACHINE(memory);
    if (m->watched) ggs_pressure_close(&m->pressure);
    ggs_pressure_open(&m->pressure, PROC, GROUPS, margin);
    m->watched = true;
}

static bool wait_for_pressure(struct ggs_memory * memory, int ms) {
    return ggs_pressure_wait(&MACHINE(memory)->pressure, ms);
}

static uint64_t left_now(struct ggs_memory * memory, bool * notified) {
    return ggs_pressure_left(&MACHINE(memory)->pressure, notified);
}

static char * reserve(struct ggs_memory * memory, size_t bytes) {
    (void) memory;
    return ggs_page_memory_reserve(bytes);
}

static void release(struct ggs_memory * memory, char * at, size_t bytes) {
    ggs_page_memory_release(&MACHINE(memory)->pages, at, bytes);
}

static bool commit(struct ggs_memory * memory, char * at, size_t bytes, bool huge) {
    return ggs_page_memory_commit(&MACHINE(memory)->pages, at, bytes, huge);
}

static uint64_t let_go(struct ggs_memory * memory, char * at, size_t bytes) {
    (void) memory;
    return ggs_page_memory_let_go(at, bytes);
}

static bool move(struct ggs_memory * memory, char * from, char * to, size_t bytes) {
    (void) memory;
    return ggs_page_memory_move(from, to, bytes);
}

static uint64_t empty(struct ggs_memory * memory) {
    return ggs_page_memory_empty(&MACHINE(memory)->pages);
}

static uint64_t missing(struct ggs_memory * memory, const char * at, size_t bytes) {
    (void) memory;
    return ggs_page_memory_missing(at, bytes, NULL) * ggs_page_size();
}

void ggs_kernel_memory_touch(void * machine, char * at, size_t bytes) {
    ggs_page_memory_touch(&((struct ggs_kernel_memory *) machine)->pages, at, bytes);
}

struct ggs_kernel_memory * ggs_kernel_memory_create(void) {
    struct ggs_kernel_memory * m = calloc(1, sizeof(*m));
    if (m == NULL) return NULL;
    pthread_mutex_init(&m->pages.lock, NULL);
    m->memory =
        (struct ggs_memory){limit,  left,   held, stalled, watch,  wait_for_pressure, left_now, reserve, release,
                            commit, let_go, move, empty,   missing};
    return m;
}

void ggs_kernel_memory_destroy(struct ggs_kernel_memory * m) {
    if (m->watched) ggs_pressure_close(&m->pressure);
    pthread_mutex_destroy(&m->pages.lock);
    free(m->pages.parts);
    free(m);
}

struct ggs_memory * ggs_kernel_memory_face(struct ggs_kernel_memory * m) {
    return &m->memory;
}
