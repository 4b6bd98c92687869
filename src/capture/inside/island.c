#include "capture/inside/island.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/inside/way.h"

enum { ISLAND_SIZE = 64 << 10, STEP = 1 << 20, ALIGNMENT = 16 }; // no machine has larger pages

// ---- memory ----

static bool try_address(struct ggs_island * island, uint64_t at) {
    void * place = mmap((void *) (uintptr_t) at, ISLAND_SIZE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (place == MAP_FAILED) return false;
    if (place == (void *) (uintptr_t) at) {
        *island = (struct ggs_island){place, ISLAND_SIZE, 0};
        return true;
    }
    munmap(place, ISLAND_SIZE); // kernels before 4.17 treat the address as a hint
    return false;
}

// Tries below the object first: a program's heap grows above it.
bool ggs_island_open(struct ggs_island * island, struct ggs_code_range object, struct ggs_code_range code) {
    uint64_t page = (uint64_t) sysconf(_SC_PAGESIZE), reach = ggs_processor_here()->jump_reach;
    uint64_t from = object.begin & ~(page - 1), to = (object.end + page - 1) & ~(page - 1);
    *island = (struct ggs_island){0};
    for (uint64_t away = ISLAND_SIZE; away < reach; away += STEP) {
        bool below = from > away + STEP && code.end - (from - away) < reach;
        bool above = away > STEP * 16 && to + away + ISLAND_SIZE - code.begin < reach;
        if (below && try_address(island, from - away)) return true;
        if (above && try_address(island, to + away)) return true;
    }
    return false;
}

void ggs_island_drop(struct ggs_island * island) {
    if (island->base != NULL) munmap(island->base, island->size);
    *island = (struct ggs_island){0};
}

// Instruction caches do not see what is written to memory.
static void make_visible(void * at, size_t size) {
    __builtin___clear_cache((char *) at, (char *) at + size);
}

bool ggs_island_seal(struct ggs_island * island) {
    if (mprotect(island->base, island->size, PROT_READ | PROT_EXEC) != 0) {
        ggs_island_drop(island);
        return false;
    }
    make_visible(island->base, island->used);
    return true;
}

static uint8_t * add(struct ggs_island * island, const uint8_t * code, size_t size) {
    size_t    at    = (island->used + ALIGNMENT - 1) & ~(size_t) (ALIGNMENT - 1);
    uint8_t * place = island->base + at;
    if (size == 0 || at > island->size || size > island->size - at) return NULL;
    memcpy(place, code, size);
    island->used = at + size;
    return place;
}

void * ggs_island_add_function(struct ggs_island * island, const struct ggs_code_entry * entry,
                               const struct ggs_code * code) {
    uint8_t displaced[GGS_DISPLACED_MOST];
    size_t  at   = (island->used + ALIGNMENT - 1) & ~(size_t) (ALIGNMENT - 1);
    size_t  size = ggs_entry_displace(entry, code, displaced, (uint64_t) (uintptr_t) island->base + at);
    return add(island, displaced, size);
}

// ---- ways to hooks ----

void * ggs_island_add_way(struct ggs_island * island, const struct ggs_code_entry * entry, const void * hook) {
    uint8_t way[GGS_WAY_MOST];
    size_t  size = ggs_way_write(way, entry, hook);
    return add(island, way, size);
}

void * ggs_island_add_preserving_way(struct ggs_island * island, const struct ggs_code_entry * entry, const void * hook,
                                     bool returns) {
    uint8_t way[GGS_WAY_MOST];
    size_t  size = ggs_way_write_preserving(way, entry, hook, returns);
    return add(island, way, size);
}

// ---- changing code ----

static bool write_code(void * at, const void * bytes, size_t size, bool may_unprotect) {
    int  memory  = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    bool written = memory >= 0 && pwrite(memory, bytes, size, (off_t) (uintptr_t) at) == (ssize_t) size;
    if (memory >= 0) close(memory);
    if (written || !may_unprotect) return written;
    uintptr_t page = (uintptr_t) sysconf(_SC_PAGESIZE), low = (uintptr_t) at & ~(page - 1);
    size_t    all = ((uintptr_t) at + size - low + page - 1) & ~(page - 1);
    if (mprotect((void *) low, all, PROT_READ | PROT_WRITE) != 0) return false;
    memcpy(at, bytes, size);
    return mprotect((void *) low, all, PROT_READ | PROT_EXEC) == 0;
}

bool ggs_code_overwrite(void * at, const void * bytes, size_t size, bool may_unprotect) {
    if (!write_code(at, bytes, size, may_unprotect)) return false;
    make_visible(at, size);
    return true;
}
