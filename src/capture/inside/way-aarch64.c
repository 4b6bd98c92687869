#ifdef __aarch64__

#include <string.h>
#include <sys/auxv.h>

#include "capture/inside/way.h"

#ifndef HWCAP_SVE
#define HWCAP_SVE (1 << 22)
#endif

enum { FRAME = 29, LINK = 30, SP = 31 };

struct writer {
    uint8_t * bytes;
    size_t    used;
};

static void put(struct writer * writer, uint32_t word) {
    memcpy(writer->bytes + writer->used, &word, sizeof(word));
    writer->used += sizeof(word);
}

// The return address is signed behind an instruction like paciasp.
static struct writer begin(uint8_t to[GGS_WAY_MOST], const struct ggs_code_entry * entry) {
    struct writer w = {.bytes = to};
    if (entry->undo != 0) put(&w, entry->undo);
    return w;
}

// Jumps to the hook, or calls it. Both its pages and those of the object may be guarded: a jump
// through x16 arrives like a call.
static void put_hook(struct writer * w, uint32_t branch, size_t words_to_address) {
    put(w, 0x58000010 | (uint32_t) words_to_address << 5); // ldr x16, address
    put(w, branch | 16 << 5);
}

static size_t end(struct writer * w, const void * hook) {
    memcpy(w->bytes + w->used, &hook, sizeof(hook));
    return w->used + sizeof(hook);
}

size_t ggs_way_write(uint8_t to[GGS_WAY_MOST], const struct ggs_code_entry * entry, const void * hook) {
    struct writer w = begin(to, entry);
    put_hook(&w, 0xd61f0000, 2); // br
    return end(&w, hook);
}

// ---- preserving registers ----

enum { STORE = 0, LOAD = 1 << 22 };

// x0 to x15 and x18. x16 and x17 belong to linkers between a caller and a function.
static void put_integers(struct writer * w, uint32_t how) {
    for (uint32_t r = 0; r < 16; r += 2)
        put(w, 0xa9000000 | how | (2 + r) << 15 | (r + 1) << 10 | FRAME << 5 | r); // stp, ldp
    put(w, 0xf9000000 | how | 18 << 10 | FRAME << 5 | 18);                         // str, ldr
}

static void put_vectors(struct writer * w, uint32_t how) {
    for (uint32_t r = 0; r < 32; r += 2) put(w, 0xad000000 | how | r << 15 | (r + 1) << 10 | SP << 5 | r); // stp, ldp
}

// Predicates, and behind them scalable vectors, which contain the others. An offset counts
// registers of the kind; 8 predicates have the size of a vector.
static void put_scalable(struct writer * w, uint32_t how) {
    enum { PREDICATES = 16, VECTORS = 32, ALL = PREDICATES + VECTORS };
    const uint32_t predicate = how == STORE ? 0xe5800000 : 0x85800000, vector = predicate | 0x4000;
    for (uint32_t i = 0; i < ALL; i++) {
        bool     first = i < PREDICATES;
        uint32_t r = first ? i : i - PREDICATES, offset = first ? r : r + PREDICATES / 8;
        put(w, (first ? predicate : vector) | offset >> 3 << 16 | (offset & 7) << 10 | SP << 5 | r); // str, ldr
    }
}

size_t ggs_way_write_preserving(uint8_t to[GGS_WAY_MOST], const struct ggs_code_entry * entry, const void * hook,
                                bool returns) {
    bool          scalable                     = (getauxval(AT_HWCAP) & HWCAP_SVE) != 0;
    struct writer w                            = begin(to, entry);
    void (*put_all)(struct writer *, uint32_t) = scalable ? put_scalable : put_vectors;
    put(&w, 0xa9b67bfd); // stp x29, x30, [sp, -160]!
    put(&w, 0x910003fd); // mov x29, sp
    put_integers(&w, STORE);
    if (scalable) {
        put(&w, 0x043f541f); // addvl sp, sp, -32
        put(&w, 0x043f57df); // addvl sp, sp, -2
    } else {
        put(&w, 0xd10803ff); // sub sp, sp, 512
    }
    put_all(&w, STORE);
    size_t hook_at = w.used;
    put_hook(&w, 0xd63f0000, 0);                   // blr
    if (returns) put(&w, 0xf9000800 | FRAME << 5); // str x0, [x29, 16]
    put_all(&w, LOAD);
    put(&w, 0x910003bf); // mov sp, x29
    put_integers(&w, LOAD);
    put(&w, 0xa8ca7bfd); // ldp x29, x30, [sp], 160
    put(&w, 0xd65f03c0); // ret
    struct writer again = {to, hook_at};
    put_hook(&again, 0xd63f0000, (w.used - hook_at) / 4);
    return end(&w, hook);
}

#endif
