#include "stream/memory/pages.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/system/clock.h"
#include "stream/memory/memory.h"

enum { TRIED = 4, SLOW_NS = 30000000, DONT_UNMAP = 4 }; // MREMAP_DONTUNMAP, newer than some headers

uint64_t ggs_page_size(void) {
    return (uint64_t) sysconf(_SC_PAGESIZE);
}

char * ggs_page_memory_reserve(size_t bytes) {
    size_t size   = bytes + GGS_HUGE_PAGE;
    char * memory = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    char * begin = (char *) (((uintptr_t) memory + GGS_HUGE_PAGE - 1) / GGS_HUGE_PAGE * GGS_HUGE_PAGE);
    char * end   = (char *) (((uintptr_t) begin + bytes + ggs_page_size() - 1) / ggs_page_size() * ggs_page_size());
    if (begin > memory) munmap(memory, (size_t) (begin - memory));
    if (end < memory + size) munmap(end, (size_t) (memory + size - end));
    return begin;
}

void ggs_page_memory_release(struct ggs_page_memory * pages, char * at, size_t bytes) {
    pthread_mutex_lock(&pages->lock);
    for (size_t i = 0; i < pages->n_parts;) {
        if (pages->parts[i].at >= at && pages->parts[i].at < at + bytes) {
            pages->parts[i] = pages->parts[--pages->n_parts];
        } else {
            i++;
        }
    }
    pthread_mutex_unlock(&pages->lock);
    munmap(at, bytes);
}

// With fragmented memory the kernel may take long to find a huge page: small pages are then used.
// Only then, because a host that has yet to provide the memory takes 5 ms per huge page once, while
// reads into small pages are always slower.
static void try_huge(struct ggs_page_memory * pages, char * at, size_t bytes) {
    if (pages->tried || bytes < (size_t) TRIED * GGS_HUGE_PAGE) return;
    uint64_t before = ggs_clock_read(CLOCK_THREAD_CPUTIME_ID);
    char *   first  = (char *) (((uintptr_t) at + GGS_HUGE_PAGE - 1) / GGS_HUGE_PAGE * GGS_HUGE_PAGE);
    for (size_t i = 0; i + 1 < TRIED; i++) *(volatile char *) (first + i * GGS_HUGE_PAGE) = 0;
    pages->slow  = ggs_clock_read(CLOCK_THREAD_CPUTIME_ID) - before > TRIED * (uint64_t) SLOW_NS;
    pages->tried = true;
    if (pages->slow) madvise(at, bytes, MADV_NOHUGEPAGE);
}

bool ggs_page_memory_commit(struct ggs_page_memory * pages, char * at, size_t bytes, bool huge) {
    uintptr_t page = ggs_page_size(), from = (uintptr_t) at / page * page,
              to = ((uintptr_t) at + bytes + page - 1) / page * page;
    if (mprotect((void *) from, to - from, PROT_READ | PROT_WRITE) != 0) return false;
    pthread_mutex_lock(&pages->lock);
    bool ok = ggs_array_push(pages->parts, pages->n_parts, pages->parts_capacity,
                             (struct ggs_page_part){(char *) from, to - from});
    madvise((void *) from, to - from, huge && !pages->slow ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    madvise((void *) from, to - from, MADV_DONTFORK);
    if (huge) try_huge(pages, (char *) from, to - from);
    pthread_mutex_unlock(&pages->lock);
    return ok;
}

uint64_t ggs_page_memory_let_go(char * at, size_t bytes) {
    uintptr_t page = ggs_page_size(), from = ((uintptr_t) at + page - 1) / page * page,
              to = ((uintptr_t) at + bytes) / page * page;
    return from < to && madvise((void *) from, to - from, MADV_DONTNEED) == 0 ? to - from : 0;
}

// The addresses at `from` stay reserved, so that no other mapping can be placed there. Linux 5.7
// and newer.
bool ggs_page_memory_move(char * from, char * to, size_t bytes) {
    return mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED | DONT_UNMAP, to) == to;
}

uint64_t ggs_page_memory_missing(const void * address, uint64_t bytes, const uint64_t * wanted) {
    unsigned char resident[4096];
    uint64_t      size = ggs_page_size(), base = (uint64_t) address / size * size, missing = 0;
    uint64_t      n = ((uint64_t) address - base + bytes + size - 1) / size;
    for (uint64_t at = 0; at < n;) {
        uint64_t some = n - at < sizeof(resident) ? n - at : sizeof(resident);
        if (mincore((void *) (base + at * size), some * size, resident) != 0) return missing; // a device's memory
        for (uint64_t i = 0; i < some; i++) {
            uint64_t page = at + i;
            missing += (resident[i] & 1) == 0 && (wanted == NULL || (wanted[page / 64] >> page % 64 & 1) != 0);
        }
        at += some;
    }
    return missing;
}

void ggs_page_memory_touch(struct ggs_page_memory * pages, char * at, size_t bytes) {
    char * end = at + bytes;
    for (; at < end; at = (char *) (((uintptr_t) at / GGS_HUGE_PAGE + 1) * GGS_HUGE_PAGE)) {
        __atomic_add_fetch(&pages->touching, GGS_HUGE_PAGE, __ATOMIC_RELAXED);
        *(volatile char *) at = 0;
        __atomic_sub_fetch(&pages->touching, GGS_HUGE_PAGE, __ATOMIC_RELAXED);
    }
}

uint64_t ggs_page_memory_empty(struct ggs_page_memory * pages) {
    uint64_t missing = 0, charged = __atomic_load_n(&pages->touching, __ATOMIC_RELAXED);
    pthread_mutex_lock(&pages->lock);
    for (size_t i = 0; i < pages->n_parts; i++)
        missing += ggs_page_memory_missing(pages->parts[i].at, pages->parts[i].bytes, NULL);
    pthread_mutex_unlock(&pages->lock);
    uint64_t bytes = missing * ggs_page_size();
    return bytes < charged ? 0 : bytes - charged;
}
