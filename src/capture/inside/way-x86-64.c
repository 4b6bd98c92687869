#ifdef __x86_64__

#include <cpuid.h>
#include <string.h>

#include "capture/inside/way.h"

struct writer {
    uint8_t * bytes;
    size_t    used;
};

static void put(struct writer * writer, const void * bytes, size_t size) {
    memcpy(writer->bytes + writer->used, bytes, size);
    writer->used += size;
}
#define CODE(writer, ...) put(writer, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void put_word(struct writer * writer, uint32_t word) {
    put(writer, &word, sizeof(word));
}

size_t ggs_way_write(uint8_t to[GGS_WAY_MOST], const struct ggs_code_entry * entry, const void * hook) {
    struct writer w = {.bytes = to};
    (void) entry;
    CODE(&w, 0xff, 0x25, 0, 0, 0, 0); // jmp *0(%rip)
    put(&w, &hook, sizeof(hook));
    return w.used;
}

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

size_t ggs_way_write_preserving(uint8_t to[GGS_WAY_MOST], const struct ggs_code_entry * entry, const void * hook,
                                bool returns) {
    struct writer w = {.bytes = to};
    uint32_t      mask, size;
    (void) entry;
    if (!vector_state(&mask, &size)) return 0;
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
    return w.used;
}

#endif
