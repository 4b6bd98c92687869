// Instructions of AArch64 (base/code/aarch64.c), on every machine: what is decoded, and where moved
// ones lead, is what objdump says. test-code.c runs moved functions.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/code/entry.h"
#include "base/code/processor.h"

static const struct ggs_processor * const processor = &ggs_processor_aarch64;

// ---- what objdump says ----

enum { MOST = 1 << 17, MOST_TEXT = 96 };

struct said {
    char     text[MOST_TEXT]; // without an address at its end
    uint64_t address;         // 0: none
};

static const char * objdump(void) {
    if (system("command -v aarch64-linux-gnu-objdump >/dev/null") == 0) return "aarch64-linux-gnu-objdump";
#ifdef __aarch64__
    if (system("command -v objdump >/dev/null") == 0) return "objdump";
#endif
    print_message("there is no objdump for AArch64 to compare with\n");
    skip();
    return NULL;
}

// An address is the last operand, and a plain number: "b.eq\t0x1000".
static void split(struct said * said, const char * text) {
    *said = (struct said){.address = 0};
    snprintf(said->text, sizeof(said->text), "%s", text);
    said->text[strcspn(said->text, "\n")] = '\0';
    char * end                            = strstr(said->text, "//");
    if (end == NULL) end = said->text + strlen(said->text);
    while (end > said->text && end[-1] == ' ') end--;
    *end        = '\0';
    char * last = strrchr(said->text, '\t');
    for (char * c = said->text; *c != '\0'; c++)
        if (*c == ' ') last = c;
    if (last == NULL || strncmp(last + 1, "0x", 2) != 0) return;
    said->address = strtoull(last + 1, NULL, 16);
    *last         = '\0';
}

// Disassembles words for running at `at`.
static void disassemble(struct said * said, const uint32_t * words, size_t n, uint64_t at) {
    char   path[] = "/tmp/ggscope-test-code-XXXXXX", command[256], line[256];
    int    fd     = mkstemp(path);
    size_t done   = 0;
    assert_true(fd >= 0 && write(fd, words, n * sizeof(*words)) == (ssize_t) (n * sizeof(*words)));
    snprintf(command, sizeof(command), "%s -D -z -b binary -m aarch64 --adjust-vma=0x%" PRIx64 " %s", objdump(), at,
             path);
    FILE * pipe = popen(command, "re");
    assert_non_null(pipe);
    while (fgets(line, sizeof(line), pipe) != NULL) {
        char *   end;
        uint64_t address = strtoull(line, &end, 16);
        if (*end != ':' || address != at + done * sizeof(*words)) continue;
        const char * text = strchr(end + 2, '\t');
        assert_true(done < n && text != NULL);
        split(&said[done++], text + 1);
    }
    assert_int_equal(pclose(pipe), 0);
    assert_int_equal(done, n);
    close(fd);
    unlink(path);
}

static bool begins(const struct said * said, const char * name) {
    size_t length = strlen(name);
    return strncmp(said->text, name, length) == 0 && strchr("\t ", said->text[length]) != NULL;
}
static bool is_one_of(const struct said * said, const char * const * names) {
    while (*names != NULL)
        if (begins(said, *names++)) return true;
    return false;
}

// ---- decoding ----

static enum ggs_instruction_kind kind_said(const struct said * said) {
    static const char * const jumps[]   = {"br", "braa", "braaz", "brab", "brabz", NULL};
    static const char * const calls[]   = {"blr", "blraa", "blraaz", "blrab", "blrabz", NULL};
    static const char * const returns[] = {"ret", "retaa", "retab", NULL};
    static const char * const tests[]   = {"cbz", "cbnz", "tbz", "tbnz", NULL};
    if (begins(said, "b")) return GGS_INSTRUCTION_JUMP;
    if (begins(said, "bl")) return GGS_INSTRUCTION_CALL;
    if (is_one_of(said, jumps)) return GGS_INSTRUCTION_JUMP_INDIRECT;
    if (is_one_of(said, calls)) return GGS_INSTRUCTION_CALL_INDIRECT;
    if (is_one_of(said, returns)) return GGS_INSTRUCTION_RETURN;
    if (is_one_of(said, tests) || strncmp(said->text, "b.", 2) == 0 || strncmp(said->text, "bc.", 3) == 0)
        return GGS_INSTRUCTION_BRANCH;
    return GGS_INSTRUCTION_ORDINARY;
}

static bool is_address(const struct said * said) {
    return begins(said, "adr") || begins(said, "adrp");
}
static bool is_literal(const struct said * said) {
    return begins(said, "ldr") || begins(said, "ldrsw") || begins(said, "prfm");
}

static bool agrees(const struct ggs_instruction * i, const struct said * said, uint64_t at) {
    enum ggs_instruction_kind kind = kind_said(said);
    if (strncmp(said->text, ".inst", 5) == 0 || strstr(said->text, "undefined") != NULL) return true;
    if (kind == GGS_INSTRUCTION_ORDINARY) {
        if (i->kind != GGS_INSTRUCTION_ORDINARY && i->kind != GGS_INSTRUCTION_SPECIAL) return false;
        // Whatever names an address is known, or stays in place.
        return said->address == 0 || i->kind == GGS_INSTRUCTION_SPECIAL || is_address(said) || is_literal(said);
    }
    bool direct = kind == GGS_INSTRUCTION_JUMP || kind == GGS_INSTRUCTION_CALL || kind == GGS_INSTRUCTION_BRANCH;
    return i->kind == kind && (!direct || at + (uint64_t) i->target == said->address);
}

static uint64_t seed = 88172645463325252u;
static uint32_t random_word(void) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (uint32_t) (seed >> 16);
}

// Random words, and more of those among branches, addresses and loads.
static void test_decoded(void ** state) {
    (void) state;
    static uint32_t       words[MOST];
    static struct said    said[MOST];
    const uint64_t        at     = 0x4000000000;
    size_t                differ = 0, kinds[GGS_INSTRUCTION_SPECIAL + 1] = {0};
    static const uint32_t heads[] = {0x14000000, 0x94000000, 0x54000000, 0x34000000, 0xb5000000, 0x36000000,
                                     0xb7000000, 0x10000000, 0x90000000, 0x18000000, 0x98000000, 0xd8000000,
                                     0x1c000000, 0x9c000000, 0xd6000000, 0xd5000000, 0xd5030000, 0xd4000000,
                                     0xd61f0000, 0xd63f0000, 0xd65f0000};
    for (size_t i = 0; i < MOST; i++) {
        uint32_t head = heads[(i / 4) % (sizeof(heads) / sizeof(heads[0]))];
        words[i]      = i % 4 == 0 ? random_word() : head | (random_word() & (i % 4 == 1 ? 0xffffff : 0xffff));
    }
    disassemble(said, words, MOST, at);
    for (size_t i = 0; i < MOST; i++) {
        struct ggs_instruction instruction;
        assert_true(processor->decode(&instruction, (const uint8_t *) &words[i], 4));
        assert_false(processor->decode(&instruction, (const uint8_t *) &words[i], 3));
        assert_true(processor->decode(&instruction, (const uint8_t *) &words[i], 4));
        assert_int_equal(instruction.length, 4);
        kinds[instruction.kind]++;
        if (!agrees(&instruction, &said[i], at + 4 * i) && differ++ < 9)
            print_error("%08x %s %" PRIx64 ": kind %d, target %" PRIx64 "\n", words[i], said[i].text, said[i].address,
                        (int) instruction.kind, at + 4 * i + (uint64_t) instruction.target);
    }
    assert_int_equal(differ, 0);
    for (size_t kind = 0; kind <= GGS_INSTRUCTION_SPECIAL; kind++) assert_true(kinds[kind] > 100);
}

// ---- moving ----

struct form {
    uint32_t word;
    unsigned low, bits; // of its distance
};
static const struct form forms[] = {
    {0x14000000, 0, 26}, {0x94000000, 0, 26}, {0x5400000b, 5, 19}, {0x54000010, 5, 19}, {0x34000003, 5, 19},
    {0xb5000004, 5, 19}, {0x36280005, 5, 14}, {0xb7f80006, 5, 14}, {0x10000007, 5, 19}, {0x7000001e, 5, 19},
    {0x90000008, 5, 19}, {0xf0000010, 5, 19}, {0x18000009, 5, 19}, {0x58000010, 5, 19}, {0x9800000b, 5, 19},
    {0xd8000001, 5, 19}, {0x1c00000c, 5, 19}, {0x5c00000d, 5, 19}, {0x9c00000e, 5, 19}, {0xd503245f, 0, 0},
    {0xd503233f, 0, 0},  {0xa9bf7bfd, 0, 0},  {0xd65f03c0, 0, 0},  {0xd503201f, 0, 0},
};
enum {
    N_FORMS   = sizeof(forms) / sizeof(forms[0]),
    DISTANCES = 6,
    ROOM      = GGS_MOVED_MOST / 4,
    SOME      = N_FORMS * DISTANCES
};

// The address that four instructions set a register to. False for others.
static bool read_address(const struct said * said, const char * name, uint64_t * address) {
    *address = 0;
    for (unsigned i = 0; i < 4; i++) {
        char         expected[32];
        const char * part = strstr(said[i].text, "#0x");
        unsigned     n    = (unsigned) snprintf(expected, sizeof(expected), "%s\t%s, #", i == 0 ? "mov" : "movk", name);
        if (part == NULL || strncmp(said[i].text, expected, n) != 0) return false;
        *address |= strtoull(part + 1, NULL, 16) << (16 * i);
    }
    return true;
}

static void assert_same(const struct said * was, const struct said * is, uint64_t from, uint64_t at, size_t n) {
    uint64_t address;
    char     name[8] = "", loads[MOST_TEXT + 8];
    switch (kind_said(was)) {
        case GGS_INSTRUCTION_JUMP:
            assert_int_equal(n, 1);
            assert_string_equal(is->text, "b");
            assert_int_equal(is->address, was->address);
            return;
        case GGS_INSTRUCTION_CALL: // returns to its original place
            assert_int_equal(n, 5);
            assert_true(read_address(is, "x30", &address));
            assert_int_equal(address, from + 4);
            assert_string_equal(is[4].text, "b");
            assert_int_equal(is[4].address, was->address);
            return;
        case GGS_INSTRUCTION_BRANCH: // to the third; else to the fourth
            assert_int_equal(n, 3);
            assert_string_equal(is->text, was->text);
            assert_int_equal(is->address, at + 8);
            assert_string_equal(is[1].text, "b");
            assert_int_equal(is[1].address, at + 12);
            assert_string_equal(is[2].text, "b");
            assert_int_equal(is[2].address, was->address);
            return;
        default:
            break;
    }
    if (was->address == 0) {
        assert_int_equal(n, 1);
        assert_string_equal(is->text, was->text);
        return;
    }
    const char * operand = strchr(was->text, '\t') + 1;
    snprintf(name, sizeof(name), "%.*s", (int) strcspn(operand, ","), operand);
    assert_int_equal(n, is_address(was) ? 4 : 5);
    assert_true(read_address(is, is_address(was) ? name : "x16", &address));
    assert_int_equal(address, was->address);
    if (is_address(was)) return;
    snprintf(loads, sizeof(loads), "%.*s [x16]", MOST_TEXT, was->text);
    assert_string_equal(is[4].text, loads);
}

// Moves one instruction; returns the number of words. A branch is moved if a jump reaches its
// target from there.
static size_t move(uint32_t word, uint64_t from, uint32_t * to, uint64_t at) {
    struct ggs_instruction instruction;
    uint8_t                jump[GGS_JUMP_MOST];
    assert_true(processor->decode(&instruction, (const uint8_t *) &word, 4));
    size_t n      = processor->move(&instruction, (const uint8_t *) &word, from, (uint8_t *) to, at) / 4;
    bool   direct = instruction.target != 0;
    assert_true(n <= ROOM);
    assert_int_equal(
        n != 0, !direct || processor->jump(jump, at + 4 * (n == 0 ? 0 : n - 1), from + (uint64_t) instruction.target));
    return n;
}

// Every form, with distances up to both ends of its range, moved to a place near and far.
static void test_moved(void ** state) {
    (void) state;
    static uint32_t    words[SOME], moved[SOME * ROOM];
    static struct said was[SOME], is[SOME * ROOM];
    size_t             n[SOME], n_moved[2] = {0};
    const uint64_t     from = 0x7fff00004f40, places[2] = {from + (48 << 20), from - (1ull << 40)};
    for (size_t i = 0; i < SOME; i++) {
        const struct form * form = &forms[i / DISTANCES];
        uint32_t            most = (1u << form->bits) / 2, mask = (1u << form->bits) - 1;
        const uint32_t      far[] = {most - 1, most, 2, mask - 1, most / 3, most + most / 3};
        words[i]                  = form->word | (far[i % DISTANCES] & mask) << form->low;
    }
    disassemble(was, words, SOME, from);
    for (unsigned p = 0; p < 2; p++) {
        for (size_t i = 0; i < SOME * ROOM; i++) moved[i] = 0xd503201f; // nop
        for (size_t i = 0; i < SOME; i++) {
            n[i] = move(words[i], from + 4 * i, &moved[i * ROOM], places[p] + i * ROOM * 4);
            n_moved[p] += n[i] != 0;
        }
        disassemble(is, moved, SOME * ROOM, places[p]);
        for (size_t i = 0; i < SOME; i++)
            if (n[i] != 0) assert_same(&was[i], &is[i * ROOM], from + 4 * i, places[p] + i * ROOM * 4, n[i]);
    }
    assert_int_equal(n_moved[0], SOME - 2 * 2); // b and bl far back
    assert_int_equal(n_moved[1], 16 * DISTANCES);
}

static void test_reach(void ** state) {
    (void) state;
    uint8_t        to[GGS_JUMP_MOST];
    const uint64_t at = 0x5500000000;
    assert_true(processor->jump(to, at, at + 0x7fffffc));
    assert_memory_equal(to, "\xff\xff\xff\x15", 4);
    assert_true(processor->jump(to, at, at - 0x8000000));
    assert_memory_equal(to, "\x00\x00\x00\x16", 4);
    assert_false(processor->jump(to, at, at + 0x8000000));
    assert_false(processor->jump(to, at, at - 0x8000004));
    assert_false(processor->jump(to, at, at + 2));
    assert_true(processor->jump(to, 0, UINT64_MAX - 3)); // around the end
    assert_memory_equal(to, "\xff\xff\xff\x17", 4);
}

// ---- entries ----

static struct ggs_code_function function;

static struct ggs_code code_of(const uint32_t * words, size_t n) {
    function = (struct ggs_code_function){.address = 0x10000, .size = 4 * n, .name = "f"};
    return (struct ggs_code){.processor   = processor,
                             .bytes       = (const uint8_t *) words,
                             .address     = function.address,
                             .size        = function.size,
                             .functions   = &function,
                             .n_functions = 1,
                             .stubs       = {{0x20000, 0x21000}},
                             .n_stubs     = 1};
}

static struct ggs_code_entry examine(const uint32_t * words, size_t n) {
    struct ggs_code       code = code_of(words, n);
    struct ggs_code_entry entry;
    ggs_entry_examine(&entry, &code, function.address, function.size);
    ggs_entries_check(&entry, 1, &code);
    return entry;
}
#define EXAMINE(...) examine((const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4)

enum {
    NOP     = (int) 0xd503201f,
    RET     = (int) 0xd65f03c0,
    BTI_C   = (int) 0xd503245f,
    PACIASP = (int) 0xd503233f,
    PACIBSP = (int) 0xd503237f,
};

static void test_entries(void ** state) {
    (void) state;
    struct ggs_code_entry good = EXAMINE(NOP, RET);
    assert_null(good.refused);
    assert_int_equal(good.at, 0x10000);
    assert_int_equal(good.length, 4);
    assert_true(good.preserve && !good.calls && good.undo == 0);
    assert_null(EXAMINE(RET).refused);
    good = EXAMINE(BTI_C, RET);
    assert_null(good.refused);
    assert_true(good.at == 0x10004 && good.undo == 0);
    good = EXAMINE(PACIASP, NOP, RET);
    assert_null(good.refused);
    assert_true(good.at == 0x10004 && good.undo == 0xd50323bf); // autiasp
    good = EXAMINE(PACIBSP, NOP, RET);
    assert_true(good.at == 0x10004 && good.undo == 0xd50323ff); // autibsp
    assert_true(EXAMINE(0x94000100, RET).calls);                // bl
    assert_string_equal(EXAMINE(BTI_C).refused, "it is shorter than a jump");
    for (unsigned i = 0; i < 9; i++) {
        static const uint32_t fixed[] = {
            0xd4000001, 0xd4200000, 0xd61f0020, 0xd63f0020, 0,
            0xd50324ff, 0x5500001f, 0xdac1a3fe, 0x74000021}; // svc, brk, br, blr, udf, pacm, retaasppc, paciasppc, cbgt
        assert_string_equal(EXAMINE(fixed[i], RET).refused, "its first instructions cannot be moved");
    }
    assert_string_equal(EXAMINE(NOP, 0x17ffffff, RET).refused, "a jump leads into its first instructions"); // b -4
    assert_string_equal(EXAMINE(NOP, 0x54ffffe0, RET).refused, "a jump leads into its first instructions"); // b.eq -4
    assert_string_equal(EXAMINE(NOP, 0x74ffffe1, RET).refused, "a jump leads into its first instructions"); // cbgt -4
    assert_string_equal(EXAMINE(BTI_C, NOP, 0x17ffffff, RET).refused, "a jump leads into its first instructions");
    assert_null(EXAMINE(NOP, NOP, 0x17ffffff, RET).refused); // behind it
    assert_null(EXAMINE(NOP, 0x97ffffff, RET).refused);      // calls itself
    struct ggs_code large = code_of((const uint32_t[]){NOP, RET}, 2);
    large.size            = 256 << 20; // nothing behind the function is read
    ggs_entry_examine(&good, &large, function.address, function.size);
    assert_null(good.refused);
    const struct ggs_code_function two[] = {function, {function.address + (128 << 20), 4, "g", false}};
    large.functions = two, large.n_functions = 2;
    ggs_entry_examine(&good, &large, function.address, function.size);
    assert_string_equal(good.refused, "the program has more code than a jump reaches");
}

// Registers are preserved unless the function calls something that the compiler does not see.
static void test_preserved(void ** state) {
    (void) state;
    assert_false(EXAMINE(NOP, 0xd63f0020, RET).preserve); // blr x1
    assert_false(EXAMINE(NOP, 0x94003fff, RET).preserve); // bl to a stub
    assert_false(EXAMINE(NOP, 0x14003fff).preserve);      // b to a stub
    assert_true(EXAMINE(NOP, 0x94000002, RET, RET).preserve);
    // adrp x0; ldr x1, [x0, 16]; add x0, x0, 16; blr x1: a thread-local variable
    assert_true(EXAMINE(0x90000000, 0xf9400801, 0x91004000, 0xd63f0020, RET).preserve);
    assert_false(EXAMINE(0x90000000, 0xf9400802, 0x91004000, 0xd63f0020, RET).preserve);
    assert_false(EXAMINE(0xf9400801, 0x91004000, 0xd63f0020, RET).preserve);
}

// ---- addresses in code ----

#define REFERS(to, ...)                                                                                           \
    processor->refers((const uint8_t *) (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}), \
                      0x10000, to)
#define RETURNED(...)                                                                                               \
    processor->returned((const uint8_t *) (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}), \
                        0x10000)

static void test_referred(void ** state) {
    (void) state;
    static const uint32_t adrp = 0x90000080, other = 0x9000007f + 0x20; // adrp x0, 0x20000
    assert_true(processor->may_refer((const uint8_t *) &adrp, 0x10000, 0x20123));
    assert_true(processor->may_refer((const uint8_t *) &other, 0x10000, 0x21fff));
    assert_false(processor->may_refer((const uint8_t *) &adrp, 0x10000, 0x23000));
    assert_true(REFERS(0x20010, 0x90000080, 0x91004000, RET));             // adrp x0; add x0, x0, 16
    assert_true(REFERS(0x20010, 0x10080080, RET));                         // adr x0
    assert_true(REFERS(0x20030, 0x90000080, 0x91004001, 0x91008022, RET)); // from an anchor, in other registers
    assert_true(REFERS(0x20008, 0x90000080, 0x91004000, 0xd1002000, RET)); // back from it
    assert_true(REFERS(0x20010, 0x90000080, 0x4f000400, 0xad000020, 0xaa0003e3, 0x91004063, RET)); // movi, stp, mov
    assert_false(REFERS(0x20010, 0x90000080, 0xf9400020, 0x91004000, RET));                        // ldr x0
    assert_false(REFERS(0x20010, 0x90000080, 0x94000010, 0x91004000, RET));                        // bl
    assert_true(REFERS(0x20010, 0x90000093, 0x94000010, 0x91004273, RET));                         // in x19
    assert_int_equal(RETURNED(0x90000080, 0x91004000, RET), 0x20010);
    assert_int_equal(RETURNED(BTI_C, 0x10080080, RET), 0x20014);
    assert_int_equal(RETURNED(PACIASP, 0xa9bf7bfd, 0x910003fd, 0x90000080, 0x91004000, 0xa8c17bfd, 0xd65f0bff),
                     0x20010);
    assert_int_equal(RETURNED(0x90000080, 0xf9400800, RET), 0); // ldr x0
    assert_int_equal(RETURNED(0x90000080, 0x91004000), 0);      // cut off
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decoded), cmocka_unit_test(test_moved),     cmocka_unit_test(test_reach),
        cmocka_unit_test(test_entries), cmocka_unit_test(test_preserved), cmocka_unit_test(test_referred),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
