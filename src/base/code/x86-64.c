#include <string.h>

#include "base/code/processor.h"
#include "base/code/x86-64-decode.h"

enum { JUMP_LENGTH = 5, ENDBR_LENGTH = 4 };

static bool is_endbr(const uint8_t * bytes, size_t size) {
    static const uint8_t endbr[ENDBR_LENGTH] = {0xf3, 0x0f, 0x1e, 0xfa};
    return size >= sizeof(endbr) && memcmp(bytes, endbr, sizeof(endbr)) == 0;
}

static struct ggs_landing landing(const uint8_t * bytes, size_t size) {
    return (struct ggs_landing){.length = is_endbr(bytes, size) ? ENDBR_LENGTH : 0};
}

static bool is_thread_lookup(const struct ggs_instruction * instruction, const uint8_t * bytes, size_t before) {
    enum { THROUGH_RAX = 0x10 };
    (void) before;
    return bytes[instruction->length - 1] == THROUGH_RAX;
}

// ---- moving ----

static bool write_distance(uint8_t * to, uint64_t behind, uint64_t target) {
    int64_t distance = (int64_t) (target - behind);
    int32_t word     = (int32_t) distance;
    if (word != distance) return false;
    memcpy(to, &word, sizeof(word));
    return true;
}

static bool jump(uint8_t to[GGS_JUMP_MOST], uint64_t at, uint64_t target) {
    to[0] = 0xe9;
    return write_distance(to + 1, at + JUMP_LENGTH, target);
}

static size_t move(const struct ggs_instruction * instruction, const uint8_t * bytes, uint64_t from,
                   uint8_t to[GGS_MOVED_MOST], uint64_t at) {
    uint64_t target = from + (uint64_t) instruction->target;
    if (instruction->kind == GGS_INSTRUCTION_JUMP) return jump(to, at, target) ? JUMP_LENGTH : 0;
    if (instruction->kind == GGS_INSTRUCTION_CALL) {
        static const uint8_t push[6] = {0xff, 0x35, JUMP_LENGTH}; // pushq 5(%rip)
        uint64_t             behind  = from + instruction->length;
        memcpy(to, push, sizeof(push));
        memcpy(to + sizeof(push) + JUMP_LENGTH, &behind, sizeof(behind));
        bool reaches = jump(to + sizeof(push), at + sizeof(push), target);
        return reaches ? sizeof(push) + JUMP_LENGTH + sizeof(behind) : 0;
    }
    if (instruction->kind == GGS_INSTRUCTION_BRANCH) {
        to[0] = 0x0f;
        to[1] = (uint8_t) (0x80 | instruction->condition);
        return write_distance(to + 2, at + 6, target) ? 6 : 0;
    }
    memcpy(to, bytes, instruction->length);
    if (instruction->relative_at == 0) return instruction->length;
    int32_t distance;
    memcpy(&distance, bytes + instruction->relative_at, sizeof(distance));
    uint64_t address = from + instruction->length + (uint64_t) (int64_t) distance;
    return write_distance(to + instruction->relative_at, at + instruction->length, address) ? instruction->length : 0;
}

// ---- addresses in code ----

// Relative to the next byte, or absolute.
static bool may_refer(const uint8_t * bytes, uint64_t at, uint64_t address) {
    int32_t word;
    memcpy(&word, bytes, sizeof(word));
    return at + sizeof(word) + (uint64_t) (int64_t) word == address || (uint64_t) (int64_t) word == address;
}

// An address is in the last bytes of an instruction.
static bool refers(const uint8_t * bytes, size_t size, uint64_t at, uint64_t address) {
    struct ggs_instruction instruction;
    bool                   found = false;
    for (size_t i = 0; i < size; i += instruction.length) {
        if (!ggs_x86_64_decode(&instruction, bytes + i, size - i)) return false;
        size_t last = i + instruction.length - 4;
        found |= instruction.length > 4 && may_refer(bytes + last, at + last, address);
    }
    return found;
}

static uint64_t returned(const uint8_t * bytes, size_t size, uint64_t at) {
    enum { LONGEST = 24 };
    const uint8_t * c = bytes;
    int32_t         word;
    if (size < LONGEST) return 0;
    if (is_endbr(c, size)) c += ENDBR_LENGTH;
    bool frame = c[0] == 0x55 && c[1] == 0x48 && c[2] == 0x89 && c[3] == 0xe5; // push rbp; mov rbp
    if (frame) c += 4;
    bool relative = c[0] == 0x48 && c[1] == 0x8d && c[2] == 0x05; // lea text(%rip), %rax
    bool absolute = c[0] == 0xb8;                                 // mov $text, %eax
    if (!relative && !absolute) return 0;
    c += relative ? 3 : 1;
    memcpy(&word, c, sizeof(word));
    c += sizeof(word);
    uint64_t address = relative ? at + (uint64_t) (c - bytes) + (uint64_t) (int64_t) word : (uint32_t) word;
    if (frame && *c++ != 0x5d) return 0; // pop %rbp
    return *c == 0xc3 ? address : 0;
}

const struct ggs_processor ggs_processor_x86_64 = {
    .jump_length      = JUMP_LENGTH,
    .jump_reach       = 0x70000000,
    .alignment        = 1,
    .decode           = ggs_x86_64_decode,
    .landing          = landing,
    .is_thread_lookup = is_thread_lookup,
    .jump             = jump,
    .move             = move,
    .may_refer        = may_refer,
    .refers           = refers,
    .returned         = returned,
};
