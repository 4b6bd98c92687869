#include "capture/inside/island.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __x86_64__
#include <cpuid.h>
#endif

enum { ISLAND_SIZE = 32 << 10, STEP = 1 << 20, REACH = 0x70000000, ALIGNMENT = 16 };

// ---- memory ----

static bool try_address(struct ggs_island * island, uintptr_t at) {
    void * place = mmap((void *) at, ISLAND_SIZE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (place == MAP_FAILED) return false;
    if (place == (void *) at) {
        *island = (struct ggs_island){place, ISLAND_SIZE, 0};
        return true;
    }
    munmap(place, ISLAND_SIZE); // kernels before 4.17 treat the address as a hint
    return false;
}

// Tries below the object first: a program's heap grows above it.
bool ggs_island_open(struct ggs_island * island, uintptr_t low, uintptr_t high) {
    uintptr_t page = (uintptr_t) sysconf(_SC_PAGESIZE), from = low & ~(page - 1), to = (high + page - 1) & ~(page - 1);
    *island = (struct ggs_island){0};
    if (high - low > REACH / 2) return false;
    for (uintptr_t away = ISLAND_SIZE; away < REACH - (high - low); away += STEP) {
        if (from > away + STEP && try_address(island, from - away)) return true;
        if (away > STEP * 16 && try_address(island, to + away)) return true;
    }
    return false;
}

void ggs_island_drop(struct ggs_island * island) {
    if (island->base != NULL) munmap(island->base, island->size);
    *island = (struct ggs_island){0};
}

bool ggs_island_seal(struct ggs_island * island) {
    if (mprotect(island->base, island->size, PROT_READ | PROT_EXEC) == 0) return true;
    ggs_island_drop(island);
    return false;
}

static uint8_t * add(struct ggs_island * island, const uint8_t * code, size_t size) {
    size_t    at    = (island->used + ALIGNMENT - 1) & ~(size_t) (ALIGNMENT - 1);
    uint8_t * place = island->base + at;
    if (at > island->size || size > island->size - at) return NULL;
    memcpy(place, code, size);
    island->used = at + size;
    return place;
}

void * ggs_island_add_function(struct ggs_island * island, const struct ggs_code_entry * entry,
                               const struct ggs_code * code) {
    uint8_t displaced[GGS_DISPLACED_MOST];
    size_t  at   = (island->used + ALIGNMENT - 1) & ~(size_t) (ALIGNMENT - 1);
    size_t  size = ggs_entry_displace(entry, code, displaced, (uint64_t) (uintptr_t) island->base + at);
    return size == 0 ? NULL : add(island, displaced, size);
}

// ---- ways to hooks ----

struct writer {
    uint8_t bytes[256];
    size_t  used;
};

static void put(struct writer * writer, const void * bytes, size_t size) {
    memcpy(writer->bytes + writer->used, bytes, size);
    writer->used += size;
}
#define CODE(writer, ...) put(writer, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void put_word(struct writer * writer, uint32_t word) {
    put(writer, &word, sizeof(word));
}

void * ggs_island_add_way(struct ggs_island * island, const void * hook) {
    struct writer w = {.used = 0};
    CODE(&w, 0xff, 0x25, 0, 0, 0, 0); // jmp *0(%rip)
    put(&w, &hook, sizeof(hook));
    return add(island, w.bytes, w.used);
}

#ifdef __x86_64__

// Vector registers to save: those that the system enabled, of SSE (bit 1), AVX (2) and AVX-512 (5
// to 7).
static bool vector_state(uint32_t * mask, uint32_t * size) {
    uint32_t a, b, c, d, low, high;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) return false;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    *mask = low & 0xe6;
    *size = 576; // the legacy area and the header
    for (unsigned i = 2; i < 8; i++) {
        if ((*mask >> i & 1) == 0) continue;
        __cpuid_count(0xd, i, a, b, c, d);
        if (b + a > *size) *size = b + a;
    }
    return *size <= 4096;
}

static void put_save_vectors(struct writer * w, uint32_t mask, uint32_t size) {
    CODE(w, 0x48, 0x81, 0xec); // sub $size, %rsp
    put_word(w, (size + 63) & ~63u);
    CODE(w, 0x48, 0x83, 0xe4, 0xc0);     // and $-64, %rsp
    CODE(w, 0x31, 0xc0);                 // xor %eax, %eax
    for (uint32_t i = 0; i < 8; i++) {   // the header must be zero
        CODE(w, 0x48, 0x89, 0x84, 0x24); // mov %rax, 512 + 8 i(%rsp)
        put_word(w, 512 + 8 * i);
    }
    CODE(w, 0xb8); // mov $mask, %eax
    put_word(w, mask);
    CODE(w, 0x31, 0xd2);                   // xor %edx, %edx
    CODE(w, 0x48, 0x0f, 0xae, 0x24, 0x24); // xsave64 (%rsp)
}

void * ggs_island_add_preserving_way(struct ggs_island * island, const void * hook, bool returns) {
    struct writer w = {.used = 0};
    uint32_t      mask, size;
    if (!vector_state(&mask, &size)) return NULL;
    CODE(&w, 0x55, 0x48, 0x89, 0xe5);                         // push %rbp; mov %rsp, %rbp
    CODE(&w, 0x50, 0x51, 0x52, 0x56, 0x57);                   // push %rax, %rcx, %rdx, %rsi, %rdi
    CODE(&w, 0x41, 0x50, 0x41, 0x51, 0x41, 0x52, 0x41, 0x53); // push %r8 to %r11
    put_save_vectors(&w, mask, size);
    CODE(&w, 0x48, 0x8b, 0x55, 0xe8); // mov -24(%rbp), %rdx
    CODE(&w, 0xff, 0x15);             // call *hook(%rip)
    size_t hook_at = w.used;
    put_word(&w, 0);
    if (returns) CODE(&w, 0x48, 0x89, 0x45, 0xf8); // mov %rax, -8(%rbp)
    CODE(&w, 0xb8);                                // mov $mask, %eax
    put_word(&w, mask);
    CODE(&w, 0x31, 0xd2);                                     // xor %edx, %edx
    CODE(&w, 0x48, 0x0f, 0xae, 0x2c, 0x24);                   // xrstor64 (%rsp)
    CODE(&w, 0x48, 0x8d, 0x65, 0xb8);                         // lea -72(%rbp), %rsp
    CODE(&w, 0x41, 0x5b, 0x41, 0x5a, 0x41, 0x59, 0x41, 0x58); // pop %r11 to %r8
    CODE(&w, 0x5f, 0x5e, 0x5a, 0x59, 0x58);                   // pop %rdi, %rsi, %rdx, %rcx, %rax
    CODE(&w, 0x5d, 0xc3);                                     // pop %rbp; ret
    uint32_t distance = (uint32_t) (w.used - (hook_at + 4));
    memcpy(w.bytes + hook_at, &distance, sizeof(distance));
    put(&w, &hook, sizeof(hook));
    return add(island, w.bytes, w.used);
}

#else

void * ggs_island_add_preserving_way(struct ggs_island * island, const void * hook, bool returns) {
    (void) island, (void) hook, (void) returns;
    return NULL;
}

#endif

// ---- changing code ----

bool ggs_code_overwrite(void * at, const void * bytes, size_t size, bool may_unprotect) {
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
