// Which function calls which, found without disassembling: by the targets of calls.
//
// A call through the dynamic linker goes to a stub of the PLT, which jumps through the function's
// slot in the global offset table, or directly through that slot. The table of unwind information
// has the beginnings of functions, also in stripped files.
#include <elf.h>
#include <string.h>

#include "record/inspect/elf.h"

#include "base/search.h"

enum { MOST_SLOTS = 8, MOST_STUBS = 16, MOST_CALLERS = 64, STUB_HEAD = 5 };

struct target {
    uint64_t slots[MOST_SLOTS]; // addresses in the global offset table
    unsigned n_slots;
    uint64_t stubs[MOST_STUBS]; // addresses of their jumps, up to STUB_HEAD bytes into a stub
    unsigned n_stubs;
};

struct functions { // addresses at which functions begin, each one once
    uint64_t found[MOST_CALLERS];
    unsigned n;
};

static int32_t word_at(const struct ggs_elf * elf, uint64_t offset) {
    int32_t word;
    memcpy(&word, elf->mapping.data + offset, sizeof(word));
    return word;
}

enum { FRAMES_HEADER = 12, FRAMES_ENTRY = 8 };

static uint64_t frame_begin(const struct ggs_elf * elf, uint64_t i) {
    return elf->frames_address +
           (uint64_t) (int64_t) word_at(elf, elf->frames.offset + FRAMES_HEADER + i * FRAMES_ENTRY);
}

// Returns the beginning of the function that contains the address; 0 if unknown. The table is
// sorted.
static uint64_t function_of(const struct ggs_elf * elf, uint64_t address) {
    static const uint8_t expected[4] = {1, 0x1b, 0x03, 0x3b}; // 4-byte offsets from the table
    struct ggs_elf_table frames      = elf->frames;
    if (frames.size < FRAMES_HEADER || memcmp(elf->mapping.data + frames.offset, expected, sizeof(expected)) != 0)
        return 0;
    uint64_t n = (uint32_t) word_at(elf, frames.offset + 8);
    if (n > (frames.size - FRAMES_HEADER) / FRAMES_ENTRY) return 0;
    uint64_t behind = ggs_search(n, at, frame_begin(elf, at) <= address);
    return behind == 0 ? 0 : frame_begin(elf, behind - 1);
}

static bool has_slot(const struct target * target, uint64_t address) {
    for (unsigned i = 0; i < target->n_slots; i++)
        if (target->slots[i] == address) return true;
    return false;
}

static bool has_stub(const struct target * target, uint64_t address) {
    for (unsigned i = 0; i < target->n_stubs; i++)
        if (address <= target->stubs[i] && target->stubs[i] - address <= STUB_HEAD) return true;
    return false;
}

static void add(struct functions * functions, uint64_t begin) {
    for (unsigned i = 0; i < functions->n; i++)
        if (functions->found[i] == begin) return;
    if (begin != 0 && functions->n < MOST_CALLERS) functions->found[functions->n++] = begin;
}

static bool has(const struct functions * functions, uint64_t begin) {
    for (unsigned i = 0; i < functions->n; i++)
        if (functions->found[i] == begin) return true;
    return false;
}

// A branch to an address, or through the slot at an address.
enum branch { CALL, JUMP, CALL_THROUGH, JUMP_THROUGH };

typedef void branch_visitor(void * context, uint64_t at, enum branch kind, uint64_t to);

static void each_branch_x86_64(const struct ggs_elf * elf, branch_visitor * visit, void * context) {
    const uint8_t * code = elf->mapping.data + elf->code.offset;
    for (uint64_t i = 0; i + 6 <= elf->code.size; i++) {
        uint64_t at = elf->code_address + i;
        if (code[i] == 0xe8 || code[i] == 0xe9)
            visit(context, at, code[i] == 0xe8 ? CALL : JUMP,
                  at + 5 + (uint64_t) (int64_t) word_at(elf, elf->code.offset + i + 1));
        if (code[i] == 0xff && (code[i + 1] == 0x15 || code[i + 1] == 0x25))
            visit(context, at, code[i + 1] == 0x15 ? CALL_THROUGH : JUMP_THROUGH,
                  at + 6 + (uint64_t) (int64_t) word_at(elf, elf->code.offset + i + 2));
    }
}

// The low `bits` of a word as a signed number.
static uint64_t extend(uint64_t word, unsigned bits) {
    return (uint64_t) ((int64_t) (word << (64 - bits)) >> (64 - bits));
}

// bl and b reach 26 bits of words. A stub is "adrp x16, page of the slot; ldr x17, [x16, offset];
// ...; br x17".
static void each_branch_aarch64(const struct ggs_elf * elf, branch_visitor * visit, void * context) {
    for (uint64_t i = 0; i + 8 <= elf->code.size; i += 4) {
        uint64_t at   = elf->code_address + i;
        uint32_t word = (uint32_t) word_at(elf, elf->code.offset + i),
                 next = (uint32_t) word_at(elf, elf->code.offset + i + 4);
        if ((word & 0x7c000000) == 0x14000000)
            visit(context, at, word >> 31 != 0 ? CALL : JUMP, at + 4 * extend(word & 0x3ffffff, 26));
        if ((word & 0x9f00001f) == 0x90000010 && (next & 0xffc003ff) == 0xf9400211) {
            uint64_t page = extend((word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3), 21);
            visit(context, at, JUMP_THROUGH, (at & ~0xfffull) + (page << 12) + 8 * (next >> 10 & 0xfff));
        }
    }
}

// Calls `visit` for every possible branch.
static void each_branch(const struct ggs_elf * elf, branch_visitor * visit, void * context) {
    if (elf->machine == EM_X86_64)
        each_branch_x86_64(elf, visit, context);
    else
        each_branch_aarch64(elf, visit, context);
}

struct search {
    const struct ggs_elf *   elf;
    struct target *          target;
    const struct functions * callees;
    struct functions         callers;
};

static void add_stub(void * context, uint64_t at, enum branch kind, uint64_t to) {
    struct search * search = context;
    if (kind == JUMP_THROUGH && has_slot(search->target, to) && search->target->n_stubs < MOST_STUBS)
        search->target->stubs[search->target->n_stubs++] = at;
}

static void add_call(void * context, uint64_t at, enum branch kind, uint64_t to) {
    struct search * search = context;
    bool            direct = (kind == CALL || kind == JUMP) && has_stub(search->target, to);
    if (direct || (kind == CALL_THROUGH && has_slot(search->target, to)))
        add(&search->callers, function_of(search->elf, at));
}

static void add_own_call(void * context, uint64_t at, enum branch kind, uint64_t to) {
    struct search * search = context;
    if (kind == CALL && has(search->callees, to)) add(&search->callers, function_of(search->elf, at));
}

// Finds the functions that call `name` through the dynamic linker.
static struct functions callers_of(const struct ggs_elf * elf, const char * name) {
    struct target target = {.n_slots = 0};
    target.n_slots       = ggs_elf_slots(elf, name, target.slots, MOST_SLOTS);
    struct search search = {.elf = elf, .target = &target};
    each_branch(elf, add_stub, &search);
    each_branch(elf, add_call, &search);
    return search.callers;
}

enum ggs_elf_answer ggs_elf_calls_beside(const struct ggs_elf * elf, const char * marker, const char * function) {
    if ((elf->machine != EM_X86_64 && elf->machine != EM_AARCH64) || elf->code.size == 0) return GGS_ELF_NOT_KNOWN;
    struct functions loop = callers_of(elf, marker);
    if (loop.n == 0) return GGS_ELF_NOT_KNOWN;
    struct search search = {.elf = elf, .callees = &loop};
    each_branch(elf, add_own_call, &search);
    struct functions callers = callers_of(elf, function);
    for (unsigned i = 0; i < callers.n; i++)
        if (has(&loop, callers.found[i]) || has(&search.callers, callers.found[i])) return GGS_ELF_YES;
    return GGS_ELF_NO;
}
