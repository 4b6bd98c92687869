// Encodings are those of the Arm Architecture Reference Manual for A-profile, chapter C4. Each
// instruction is a word of 4 bytes.
#include <string.h>

#include "base/code/processor.h"

enum { LENGTH = 4, SCRATCH = 16, LINK = 30, SP = 31 };

static uint32_t word_at(const uint8_t * bytes) {
    uint32_t word;
    memcpy(&word, bytes, sizeof(word));
    return word;
}

static uint32_t field(uint32_t word, unsigned low, unsigned bits) {
    return word >> low & ((1u << bits) - 1);
}

// The same as a signed number.
static int64_t number(uint32_t word, unsigned low, unsigned bits) {
    return (int64_t) ((uint64_t) field(word, low, bits) << (64 - bits)) >> (64 - bits);
}

static bool is(uint32_t word, uint32_t mask, uint32_t value) {
    return (word & mask) == value;
}

// ---- decoding ----

// A kind of direct branch, and the bits that hold its distance in words.
struct branch {
    uint32_t                  mask, value;
    unsigned                  low, bits;
    enum ggs_instruction_kind kind;
};
static const struct branch branches[] = {
    {0xfc000000, 0x14000000, 0, 26, GGS_INSTRUCTION_JUMP},   // b
    {0xfc000000, 0x94000000, 0, 26, GGS_INSTRUCTION_CALL},   // bl
    {0xff000000, 0x54000000, 5, 19, GGS_INSTRUCTION_BRANCH}, // b.cond, bc.cond
    {0x7e000000, 0x34000000, 5, 19, GGS_INSTRUCTION_BRANCH}, // cbz, cbnz
    {0x7e000000, 0x36000000, 5, 14, GGS_INSTRUCTION_BRANCH}, // tbz, tbnz
    {0x7e000000, 0x74000000, 5, 9, GGS_INSTRUCTION_SPECIAL}, // cbgt, cbeq and others of 2024
};

static const struct branch * branch_of(uint32_t word) {
    for (size_t i = 0; i < sizeof(branches) / sizeof(branches[0]); i++)
        if (is(word, branches[i].mask, branches[i].value)) return &branches[i];
    return NULL;
}

static bool is_load_literal(uint32_t word) {
    return is(word, 0x3b000000, 0x18000000); // ldr, ldrsw, prfm
}
static bool is_address(uint32_t word) {
    return is(word, 0x1f000000, 0x10000000); // adr, adrp
}

static enum ggs_instruction_kind kind_of_register_branch(uint32_t word) {
    switch (field(word, 21, 4)) {
        case 0: // br, braaz
        case 8: // braa
            return GGS_INSTRUCTION_JUMP_INDIRECT;
        case 1: // blr, blraaz
        case 9: // blraa
            return GGS_INSTRUCTION_CALL_INDIRECT;
        case 2: // ret, retaa
            return GGS_INSTRUCTION_RETURN;
        default:
            return GGS_INSTRUCTION_SPECIAL;
    }
}

static enum ggs_instruction_kind kind_of_system(uint32_t word) {
    if (is(word, 0xfe000000, 0xd6000000)) return kind_of_register_branch(word);
    bool hint = is(word, 0xfffff01f, 0xd503201f) && word != 0xd50324ff;                                      // pacm
    bool good = hint || is(word, 0xfffff000, 0xd5033000) /* barriers */ || is(word, 0xffd00000, 0xd5100000); // msr, mrs
    return good ? GGS_INSTRUCTION_ORDINARY : GGS_INSTRUCTION_SPECIAL;
}

// Instructions that sign the return address by their own address, or name the one that did; and a
// load that is not allocated.
static bool cannot_move(uint32_t word) {
    return is(word, 0xffff8000, 0xdac18000) || is(word, 0xff800000, 0xf3800000) || is(word, 0xff000000, 0xdc000000);
}

static enum ggs_instruction_kind kind_of(uint32_t word) {
    switch (field(word, 25, 4)) {
        case 0: // SME if the highest bit is set; else reserved
            return word >> 31 != 0 ? GGS_INSTRUCTION_ORDINARY : GGS_INSTRUCTION_SPECIAL;
        case 1:
        case 3: // not allocated
            return GGS_INSTRUCTION_SPECIAL;
        case 10:
        case 11:
            return kind_of_system(word);
        default:
            return cannot_move(word) ? GGS_INSTRUCTION_SPECIAL : GGS_INSTRUCTION_ORDINARY;
    }
}

static bool decode(struct ggs_instruction * instruction, const uint8_t * bytes, size_t size) {
    if (size < LENGTH) return false;
    uint32_t              word   = word_at(bytes);
    const struct branch * branch = branch_of(word);
    *instruction = (struct ggs_instruction){.length = LENGTH, .kind = branch == NULL ? kind_of(word) : branch->kind};
    if (branch != NULL) instruction->target = number(word, branch->low, branch->bits) * LENGTH;
    return true;
}

// Indirect calls of a guarded page must arrive at one of these. paciasp and pacibsp sign the return
// address, which hooks return to and look up.
static struct ggs_landing landing(const uint8_t * bytes, size_t size) {
    static const uint32_t paciasp = 0xd503233f, pacibsp = 0xd503237f, autiasp = 0xd50323bf, autibsp = 0xd50323ff;
    uint32_t              word = size < LENGTH ? 0 : word_at(bytes);
    if (word == paciasp) return (struct ggs_landing){LENGTH, autiasp};
    if (word == pacibsp) return (struct ggs_landing){LENGTH, autibsp};
    return (struct ggs_landing){.length = is(word, 0xffffff3f, 0xd503241f) ? LENGTH : 0}; // bti, bti c, j, jc
}

// adrp x0, page; ldr xN, [x0, offset]; add x0, x0, offset; blr xN
static bool is_thread_lookup(const struct ggs_instruction * instruction, const uint8_t * bytes, size_t before) {
    enum { EARLIER = 3 * LENGTH };
    (void) instruction;
    if (before < EARLIER) return false;
    uint32_t function = field(word_at(bytes), 5, 5);
    return is(word_at(bytes - EARLIER), 0x9f00001f, 0x90000000) &&
           is(word_at(bytes - 2 * LENGTH), 0xffc003ff, 0xf9400000 | function) &&
           is(word_at(bytes - LENGTH), 0xffc003ff, 0x91000000);
}

// ---- moving ----

static bool jump(uint8_t to[GGS_JUMP_MOST], uint64_t at, uint64_t target) {
    int64_t words = (int64_t) (target - at) / LENGTH;
    if (words < -(1 << 25) || words >= 1 << 25 || (target - at) % LENGTH != 0) return false;
    uint32_t word = 0x14000000 | ((uint32_t) words & 0x3ffffff); // b
    memcpy(to, &word, sizeof(word));
    return true;
}

// Writes four instructions that set a register to an address.
static size_t write_address(uint8_t * to, uint32_t to_register, uint64_t address) {
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t part = (uint32_t) (address >> (16 * i)) & 0xffff;
        uint32_t word = (i == 0 ? 0xd2800000 : 0xf2800000) | i << 21 | part << 5 | to_register; // movz, movk
        memcpy(to + i * LENGTH, &word, sizeof(word));
    }
    return 4 * LENGTH;
}

static uint64_t address_of(uint32_t word, uint64_t from) {
    uint64_t distance = (uint64_t) (number(word, 5, 19) * 4) | field(word, 29, 2);
    return word >> 31 != 0 ? (from & ~0xfffull) + (distance << 12) : from + distance;
}

// The same load through a scratch register, which is free at the entry of a function: linkers use
// it between a caller and the function.
static size_t move_load(uint32_t word, uint64_t from, uint8_t * to) {
    static const uint32_t integers[] = {0xb9400000, 0xf9400000, 0xb9800000, 0xf9800000}; // ldr w, x; ldrsw; prfm
    static const uint32_t vectors[]  = {0xbd400000, 0xfd400000, 0x3dc00000};             // ldr s, d, q
    uint32_t              size       = field(word, 30, 2);
    uint32_t              load       = field(word, 26, 1) != 0 ? vectors[size] : integers[size];
    load |= SCRATCH << 5 | field(word, 0, 5);
    size_t used = write_address(to, SCRATCH, from + (uint64_t) (number(word, 5, 19) * LENGTH));
    memcpy(to + used, &load, sizeof(load));
    return used + sizeof(load);
}

// A conditional branch does not reach its target from afar: it skips one jump, and the next leads
// there.
static size_t move_branch(uint32_t word, const struct branch * branch, uint64_t target, uint8_t * to, uint64_t at) {
    uint32_t mask = ((1u << branch->bits) - 1) << branch->low, near = (word & ~mask) | 2u << branch->low;
    memcpy(to, &near, sizeof(near));
    bool reaches = jump(to + LENGTH, at + LENGTH, at + 3 * LENGTH) && jump(to + 2 * LENGTH, at + 2 * LENGTH, target);
    return reaches ? 3 * LENGTH : 0;
}

static size_t move(const struct ggs_instruction * instruction, const uint8_t * bytes, uint64_t from,
                   uint8_t to[GGS_MOVED_MOST], uint64_t at) {
    uint32_t word   = word_at(bytes);
    uint64_t target = from + (uint64_t) instruction->target;
    if (instruction->kind == GGS_INSTRUCTION_JUMP) return jump(to, at, target) ? LENGTH : 0;
    if (instruction->kind == GGS_INSTRUCTION_BRANCH) return move_branch(word, branch_of(word), target, to, at);
    if (instruction->kind == GGS_INSTRUCTION_CALL) {
        size_t used = write_address(to, LINK, from + LENGTH);
        return jump(to + used, at + used, target) ? used + LENGTH : 0;
    }
    if (is_address(word)) return write_address(to, field(word, 0, 5), address_of(word, from));
    if (is_load_literal(word)) return move_load(word, from, to);
    memcpy(to, &word, sizeof(word));
    return sizeof(word);
}

// ---- addresses in code ----
//
// adrp sets a register to a page, and additions follow: compilers refer to several variables by one
// address.

enum { REGISTERS = 32, CALLER_SAVED = 19 };

// Registers with known addresses; 0: not known.
struct known {
    uint64_t values[REGISTERS];
};

static bool is_add(uint32_t word) {
    return is(word, 0xbf800000, 0x91000000); // add, sub
}

static uint64_t sum_of(const struct known * known, uint32_t word) {
    uint64_t value = known->values[field(word, 5, 5)], by = (uint64_t) field(word, 10, 12) << (field(word, 22, 1) * 12);
    if (value == 0) return 0;
    return field(word, 30, 1) != 0 ? value - by : value + by;
}

// Stores, branches, vectors.
static bool sets_nothing(uint32_t word) {
    bool store = is(word, 0x0a000000, 0x08000000) && field(word, 22, 1) == 0;
    return store || branch_of(word) != NULL || field(word, 25, 3) == 7 || is(word, 0x0e000000, 0x0c000000);
}

// Follows one instruction. Returns the address that it sets a register to, 0 for others.
static uint64_t follow(struct known * known, uint32_t word, uint64_t at) {
    uint32_t to    = field(word, 0, 5);
    uint64_t value = 0;
    if (is(word, 0xfc000000, 0x94000000) || kind_of(word) == GGS_INSTRUCTION_CALL_INDIRECT) { // bl
        memset(known->values, 0, CALLER_SAVED * sizeof(known->values[0]));
        return 0;
    }
    if (sets_nothing(word)) return 0;
    if (is_address(word)) value = address_of(word, at);
    if (is_add(word)) value = sum_of(known, word);
    if (is(word, 0xffe0ffe0, 0xaa0003e0)) value = known->values[field(word, 16, 5)]; // mov
    if (to != SP) known->values[to] = value;
    return value;
}

// The same page or the ones beside it: additions may begin at another variable.
static bool may_refer(const uint8_t * bytes, uint64_t at, uint64_t address) {
    enum { PAGE = 1 << 12 };
    uint32_t word = word_at(bytes);
    return is_address(word) && address - address_of(word, at) + PAGE < 3 * PAGE;
}

static bool refers(const uint8_t * bytes, size_t size, uint64_t at, uint64_t address) {
    struct known known = {{0}};
    for (size_t i = 0; i + LENGTH <= size; i += LENGTH)
        if (follow(&known, word_at(bytes + i), at + i) == address) return true;
    return false;
}

// Frames and signatures of return addresses may be around it.
static uint64_t returned(const uint8_t * bytes, size_t size, uint64_t at) {
    static const uint32_t  push = 0xa9bf7bfd, pop = 0xa8c17bfd; // stp x29, x30, [sp, -16]!; ldp x29, x30, [sp], 16
    struct known           known = {{0}};
    struct ggs_instruction instruction;
    for (size_t i = 0; decode(&instruction, bytes + i, size - i); i += LENGTH) {
        uint32_t word = word_at(bytes + i);
        if (instruction.kind == GGS_INSTRUCTION_RETURN) return known.values[0];
        if (word == push || word == pop || is(word, 0xfffff01f, 0xd503201f)) continue;
        if (!is_address(word) && !is_add(word)) return 0;
        follow(&known, word, at + i);
    }
    return 0;
}

const struct ggs_processor ggs_processor_aarch64 = {
    .jump_length      = LENGTH,
    .jump_reach       = 0x7f00000,
    .alignment        = LENGTH,
    .decode           = decode,
    .landing          = landing,
    .is_thread_lookup = is_thread_lookup,
    .jump             = jump,
    .move             = move,
    .may_refer        = may_refer,
    .refers           = refers,
    .returned         = returned,
};
