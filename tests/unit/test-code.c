// Instructions of x86-64 (test-code-aarch64.c has the others) and entries of functions (base/code),
// and code that is written near them (capture/inside/island.h) on the machine that this runs on.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/code/backend-plan.h"
#include "base/code/entry.h"
#include "base/code/patch-plan.h"
#include "base/code/processor.h"
#include "base/code/symbols.h"
#include "base/code/unoptimised.h"
#include "base/code/view.h"
#include "capture/inside/island.h"
#include "code-here.h"

// ---- instructions ----

static void decode(struct ggs_instruction * i, const char * bytes, size_t n) {
    assert_true(ggs_processor_x86_64.decode(i, (const uint8_t *) bytes, n));
    assert_int_equal(i->length, n);
    for (size_t k = 0; k < n; k++) assert_false(ggs_processor_x86_64.decode(i, (const uint8_t *) bytes, k)); // cut off
    assert_true(ggs_processor_x86_64.decode(i, (const uint8_t *) bytes, n));
}
#define DECODE(i, bytes) decode(i, bytes, sizeof(bytes) - 1)

static void test_known(void ** state) {
    (void) state;
    struct ggs_instruction i;
    DECODE(&i, "\xf3\x0f\x1e\xfa"); // endbr64
    assert_int_equal(i.kind, GGS_INSTRUCTION_ORDINARY);
    DECODE(&i, "\x41\x57");                                 // push %r15
    DECODE(&i, "\x48\x83\xec\x18");                         // sub $24, %rsp
    DECODE(&i, "\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08"); // movabs
    DECODE(&i, "\xc5\xf8\x77");                             // vzeroupper
    DECODE(&i, "\x62\xf1\x7c\x48\x10\x44\x24\x01");         // vmovups 64(%rsp), %zmm0
    DECODE(&i, "\x48\x8d\x05\x10\x00\x00\x00");             // lea 16(%rip), %rax
    assert_int_equal(i.relative_at, 3);
    DECODE(&i, "\x80\x3d\x10\x00\x00\x00\x05"); // cmpb $5, 16(%rip)
    assert_int_equal(i.relative_at, 2);
    DECODE(&i, "\x74\xfe");
    assert_int_equal(i.kind, GGS_INSTRUCTION_BRANCH);
    assert_int_equal(i.condition, 4);
    assert_int_equal(i.target, 0);
    DECODE(&i, "\xe9\x00\x01\x00\x00");
    assert_int_equal(i.kind, GGS_INSTRUCTION_JUMP);
    assert_int_equal(i.target, 0x105);
    DECODE(&i, "\xff\xd0");
    assert_int_equal(i.kind, GGS_INSTRUCTION_CALL_INDIRECT);
    DECODE(&i, "\x0f\x05");
    assert_int_equal(i.kind, GGS_INSTRUCTION_SPECIAL);
    assert_false(
        ggs_processor_x86_64.decode(&i, (const uint8_t *) "\x06\x00\x00\x00\x00\x00", 6)); // not in 64-bit mode
}

#ifdef __x86_64__
// Every instruction of real libraries has the length that objdump gives it.
static size_t compare_with_objdump(const char * library) {
    char   command[512], line[512];
    size_t n = 0, differ = 0;
    snprintf(command, sizeof(command), "objdump -d -w --insn-width=15 '%s' 2>/dev/null", library);
    FILE * pipe = popen(command, "re");
    assert_non_null(pipe);
    while (fgets(line, sizeof(line), pipe) != NULL) {
        uint8_t                bytes[16];
        size_t                 length = 0;
        struct ggs_instruction i;
        const char *           at = strchr(line, '\t');
        if (line[0] != ' ' || at == NULL || strstr(line, "(bad)") != NULL) continue;
        for (at++; length < 15; at += 3) {
            char * end;
            bytes[length] = (uint8_t) strtoul(at, &end, 16);
            if (end != at + 2) break;
            length++;
        }
        if (length == 0 || strchr(at, '\t') == NULL) continue;
        n++;
        if ((!ggs_processor_x86_64.decode(&i, bytes, length) || i.length != length) && differ++ < 5)
            print_error("%s", line);
    }
    assert_int_equal(pclose(pipe), 0);
    assert_int_equal(differ, 0);
    return n;
}

static void test_real(void ** state) {
    (void) state;
    if (system("command -v objdump >/dev/null") != 0) {
        print_message("there is no objdump to compare with\n");
        skip();
    }
    size_t n = compare_with_objdump("/proc/self/exe") +
               compare_with_objdump(GGSCOPE_ENGINE_LIBRARY_DIR "/libggml-base.so") +
               compare_with_objdump(GGSCOPE_ENGINE_LIBRARY_DIR "/libggml-cpu-zen4.so");
    print_message("%zu instructions have the length that objdump gives them\n", n);
    assert_true(n > 100000);
}
#endif

// The memory ends where the input ends.
static void test_random(void ** state) {
    (void) state;
    size_t    page   = (size_t) sysconf(_SC_PAGESIZE);
    uint8_t * memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    assert_int_equal(mprotect(memory + page, page, PROT_NONE), 0);
    uint64_t seed = 88172645463325252u;
    for (int k = 0; k < 400000; k++) {
        size_t size = (size_t) k % 17;
        for (size_t i = 0; i < size; i++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            static const uint8_t often[] = {0x66, 0xf3, 0x48, 0x0f, 0xc4, 0xc5, 0x62, 0x38, 0x3a, 0x05, 0x84, 0xff};
            memory[page - size + i] = seed >> 60 < 6 ? often[(seed >> 20) % sizeof(often)] : (uint8_t) (seed >> 30);
        }
        struct ggs_instruction i;
        if (ggs_processor_x86_64.decode(&i, memory + page - size, size)) {
            assert_in_range(i.length, 1, size);
            assert_true(i.relative_at == 0 || (size_t) i.relative_at + 4 <= i.length);
        }
    }
    munmap(memory, 2 * page);
}

// ---- entries ----

static struct ggs_code_entry examine(const char * bytes, size_t size) {
    static struct ggs_code_function functions[1];
    functions[0]               = (struct ggs_code_function){.address = 0x1000, .size = size, .name = "f"};
    struct ggs_code       code = {.processor   = &ggs_processor_x86_64,
                                  .bytes       = (const uint8_t *) bytes,
                                  .address     = 0x1000,
                                  .size        = size,
                                  .functions   = functions,
                                  .n_functions = 1};
    struct ggs_code_entry entry;
    ggs_entry_examine(&entry, &code, 0x1000, size);
    ggs_entries_check(&entry, 1, &code);
    return entry;
}
#define EXAMINE(bytes) examine(bytes, sizeof(bytes) - 1)

static void test_entries(void ** state) {
    (void) state;
    assert_string_equal(EXAMINE("\x31\xc0\xc3").refused, "it is shorter than a jump");
    assert_string_equal(EXAMINE("\x06\x90\x90\x90\x90\x90\xc3").refused, "its first instructions are not known");
    assert_string_equal(EXAMINE("\x0f\x05\x90\x90\x90\x90\xc3").refused,
                        "its first instructions cannot be moved"); // syscall
    assert_string_equal(EXAMINE("\xff\xd0\x90\x90\x90\x90\xc3").refused, "its first instructions cannot be moved");
    assert_string_equal(EXAMINE("\x90\x90\x90\x90\x90\xeb\xfb\xc3").refused,
                        "a jump leads into its first instructions"); // to +2
    assert_string_equal(EXAMINE("\x90\x90\x90\x90\x90\xeb\xf9\xc3").refused,
                        "a jump leads into its first instructions"); // to its begin
    assert_string_equal(EXAMINE("\x90\x90\x90\x90\x90\x06\xc3").refused, "its instructions are not all known");
    struct ggs_code_entry good = EXAMINE("\x90\x90\x90\x90\x90\xeb\xfe\xc3");
    assert_null(good.refused);
    assert_int_equal(good.length, 5);
    assert_true(good.preserve);
    good = EXAMINE("\xf3\x0f\x1e\xfa\x48\x89\xe5\x53\x41\x54\xff\xd2\xc3"); // endbr64, mov, push, push, call *%rdx
    assert_null(good.refused);
    assert_int_equal(good.at, 0x1004);
    assert_int_equal(good.length, 6);
    assert_false(good.preserve);
    assert_true(EXAMINE("\x90\x90\x90\x90\xe8\x00\x10\x00\x00\xc3").calls);
    assert_string_equal(EXAMINE("\x90\xeb\x01\x90\x90\xc3\xc3").refused, "it is shorter than a jump");
}

// ---- the code of this program ----

#if defined(__x86_64__) || defined(__aarch64__)

static struct ggs_code own_code(struct ggs_symbols * symbols) {
    extern const char __executable_start[], etext[];
    uintptr_t         page = (uintptr_t) sysconf(_SC_PAGESIZE);
    assert_true(ggs_symbols_read(symbols, "/proc/self/exe", NULL, "code_plain"));
    struct ggs_code code = {.processor   = ggs_processor_here(),
                            .functions   = symbols->items,
                            .n_functions = symbols->count,
                            .n_stubs     = symbols->n_stubs};
    uintptr_t       bias = (uintptr_t) code_plain - ggs_code_find(&code, "code_plain")->address;
    uintptr_t       low  = (uintptr_t) code_plain & ~(page - 1);
    while (low - page > (uintptr_t) __executable_start && low - page > (uintptr_t) etext - (16 << 20)) low -= page;
    for (size_t i = 0; i < symbols->count; i++) symbols->items[i].address += bias;
    for (unsigned i = 0; i < symbols->n_stubs; i++) symbols->stubs[i].begin += bias, symbols->stubs[i].end += bias;
    memcpy(code.stubs, symbols->stubs, sizeof(code.stubs));
    code.bytes   = (const uint8_t *) low;
    code.address = low;
    code.size    = (uintptr_t) etext - low;
    return code;
}

static struct ggs_code_entry entry_of(const struct ggs_code * code, const char * name) {
    struct ggs_code_entry            entry;
    const struct ggs_code_function * found = ggs_code_find(code, name);
    assert_non_null(found);
    ggs_entry_examine(&entry, code, found->address, found->size);
    ggs_entries_check(&entry, 1, code);
    return entry;
}

static const struct {
    const char * name;
    function *   original;
} own_functions[] = {
#define ONE(name) {#name, name},
    FUNCTIONS(ONE)
#undef ONE
};
enum { N_FUNCTIONS = sizeof(own_functions) / sizeof(own_functions[0]) };

static void open_island(struct ggs_island * island, const struct ggs_code * code) {
    struct ggs_code_range range = {code->address, code->address + code->size};
    assert_true(ggs_island_open(island, range, range));
    assert_true(island->base + island->size <= code->bytes || island->base >= code->bytes + code->size);
}

static void test_displaced(void ** state) {
    (void) state;
    struct ggs_symbols symbols;
    struct ggs_code    code = own_code(&symbols);
    struct ggs_island  island;
    function *         moved[N_FUNCTIONS];
    open_island(&island, &code);
    for (unsigned i = 0; i < N_FUNCTIONS; i++) {
        struct ggs_code_entry entry = entry_of(&code, own_functions[i].name);
        assert_null(entry.refused);
        *(void **) &moved[i] = ggs_island_add_function(&island, &entry, &code);
        assert_non_null(moved[i]);
    }
    assert_true(ggs_island_seal(&island));
    for (unsigned i = 0; i < N_FUNCTIONS; i++)
        for (long a = -2; a < 3; a++)
            for (long b = -2; b < 3; b++)
                assert_int_equal(enter(moved[i], a, b), enter(own_functions[i].original, a, b));
    ggs_island_drop(&island);
    ggs_symbols_release(&symbols);
}

// ---- a function that leads to a hook ----

static function * before;

static long hook(long a, long b) {
    calls++;
    return enter(before, a, b);
}

static double measure(function * f) {
    enum { CALLS = 100000 };
    struct timespec a, b;
    double          best = 1e9;
    for (int k = 0; k < 7; k++) {
        clock_gettime(CLOCK_MONOTONIC, &a);
        for (long i = 0; i < CALLS; i++) f(i, 2);
        clock_gettime(CLOCK_MONOTONIC, &b);
        double ns = ((double) (b.tv_sec - a.tv_sec) * 1e9 + (double) (b.tv_nsec - a.tv_nsec)) / CALLS;
        if (ns < best) best = ns;
    }
    return best;
}

enum how { BY_FILE, BY_PROTECTION, HOWS };

// Without descriptors, /proc/self/mem is out of reach.
static bool overwrite(void * at, const uint8_t * bytes, enum how how) {
    struct rlimit usual, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    none = (struct rlimit){how == BY_FILE ? usual.rlim_cur : 0, usual.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    bool written = ggs_code_overwrite(at, bytes, ggs_processor_here()->jump_length, how == BY_PROTECTION);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    return written;
}

static void patch(const struct ggs_code_entry * entry, const void * way, function * f, enum how how) {
    size_t  length = ggs_processor_here()->jump_length;
    void *  at     = (void *) (uintptr_t) entry->at;
    uint8_t jump[GGS_JUMP_MOST], was[GGS_JUMP_MOST];
    long    expected = enter(f, 5, 6);
    calls            = 0;
    memcpy(was, at, length);
    assert_true(ggs_processor_here()->jump(jump, entry->at, (uint64_t) (uintptr_t) way));
    assert_true(overwrite(at, jump, how));
    assert_int_equal(enter(f, 5, 6), expected);
    assert_int_equal(calls, 1);
    if (f == code_plain)
        print_message("through a patched entry, a hook that counts, and the displaced beginning: %.1f ns\n",
                      measure(f));
    assert_true(overwrite(at, was, how));
    assert_int_equal(enter(f, 5, 6), expected);
    assert_memory_equal(at, was, length);
}

static void test_patched(void ** state) {
    (void) state;
    struct ggs_symbols symbols;
    struct ggs_code    code = own_code(&symbols);
    // An emulator keeps what it translated: it notices protection alone.
    bool emulated = getenv("QEMU_LD_PREFIX") != NULL;
    print_message("a call: %.1f ns\n", measure(code_plain));
    for (unsigned i = 0; i < N_FUNCTIONS; i++) {
        struct ggs_code_entry entry = entry_of(&code, own_functions[i].name);
        struct ggs_island     island;
        open_island(&island, &code);
        *(void **) &before = ggs_island_add_function(&island, &entry, &code);
        void * way         = ggs_island_add_way(&island, &entry, (const void *) hook);
        void * preserving  = ggs_island_add_preserving_way(&island, &entry, (const void *) hook, true);
        assert_true(ggs_island_seal(&island));
        for (enum how how = emulated ? BY_PROTECTION : BY_FILE; how < HOWS; how++) {
            patch(&entry, way, own_functions[i].original, how);
            if (preserving != NULL) patch(&entry, preserving, own_functions[i].original, how);
        }
        ggs_island_drop(&island);
    }
    ggs_symbols_release(&symbols);
}

// What a caller has in registers is there behind the call, and the hook finds an aligned stack.
static void test_preserving(void ** state) {
    (void) state;
    struct ggs_symbols    symbols;
    struct ggs_code       code  = own_code(&symbols);
    struct ggs_code_entry entry = entry_of(&code, "code_leaf");
    struct ggs_island     island;
    uint64_t              first;
    open_island(&island, &code);
    assert_true(entry.preserve);
    void * silent  = ggs_island_add_preserving_way(&island, &entry, (const void *) clobbering_hook, false);
    void * returns = ggs_island_add_preserving_way(&island, &entry, (const void *) clobbering_hook, true);
    if (silent == NULL) {
        print_message("this processor cannot save its registers (xsave)\n");
        skip();
    }
    assert_true(ggs_island_seal(&island));
    calls = 0;
    assert_int_equal(count_changed(silent, &first), 0);
    assert_int_equal(first, 1);
    assert_int_equal(count_changed(returns, &first), 0);
    assert_int_equal(first, 4242);
    assert_true(calls > 0);
    ggs_island_drop(&island);
    ggs_symbols_release(&symbols);
}

#endif

// ---- functions by unwind information ----

static uint8_t * read_own(size_t * size) {
    FILE * own = fopen("/proc/self/exe", "re");
    assert_non_null(own);
    fseek(own, 0, SEEK_END);
    *size           = (size_t) ftell(own);
    uint8_t * bytes = malloc(*size);
    rewind(own);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, own), *size);
    fclose(own);
    return bytes;
}

static struct ggs_code code_of(const struct ggs_view * view, const struct ggs_code_function * found, size_t n) {
    struct ggs_code code = {.processor = ggs_processor_here(), .functions = found, .n_functions = n};
    for (unsigned i = 0; i < view->n; i++)
        if (view->segments[i].executable && view->segments[i].size > code.size)
            code.bytes = view->segments[i].bytes, code.address = view->segments[i].address,
            code.size = view->segments[i].size;
    return code;
}

// They are those of the symbol table, in the file.
static void test_view(void ** state) {
    (void) state;
    struct ggs_view         view;
    struct ggs_symbols      symbols;
    struct ggs_backend_plan plan;
    size_t                  size, n, matched = 0;
    uint8_t *               bytes = read_own(&size);
    assert_true(ggs_view_of_file(&view, bytes, size));
    struct ggs_code_function * functions = ggs_view_functions(&view, &n);
    assert_true(functions != NULL && n > 20);
    assert_true(ggs_symbols_read(&symbols, "/proc/self/exe", NULL, "main"));
    for (size_t i = 0; i < symbols.count; i++)
        for (size_t k = 0; k < n; k++)
            matched += functions[k].address == symbols.items[i].address && functions[k].size == symbols.items[i].size;
    assert_true(matched * 2 > symbols.count);
    struct ggs_code code = code_of(&view, functions, n);
    ggs_backend_plan(&plan, &view, &code); // it has no engine inside
    assert_true(plan.refused != NULL && plan.n == 0);
    assert_null(ggs_view_at(&view, code.address + code.size - 1, 2));
    assert_null(ggs_view_at(&view, code.address, UINT64_MAX));
    ggs_symbols_release(&symbols);
    free(functions);
    free(bytes);
}

// Headers and tables that say anything: nothing beyond the file is read.
static void test_damaged_view(void ** state) {
    (void) state;
    struct ggs_view view;
    size_t          size, n;
    uint64_t        seed  = 4711;
    uint8_t *       bytes = read_own(&size);
    assert_true(ggs_view_of_file(&view, bytes, size));
    const uint8_t * table = ggs_view_at(&view, view.frames.begin, 64);
    assert_non_null(table);
    size_t frames = (size_t) (table - bytes);
    for (int k = 0; k < 300; k++) {
        uint8_t kept[8];
        seed         = seed * 6364136223846793005u + 1442695040888963407u;
        size_t where = k % 2 == 0 ? 32 + (seed >> 33) % 700 : frames + (seed >> 33) % 200;
        size_t cut   = k % 5 == 4 ? (seed >> 20) % size : size;
        memcpy(kept, bytes + where, sizeof(kept));
        for (unsigned i = 0; i < sizeof(kept); i++) bytes[where + i] = (uint8_t) (seed >> (8 * i % 56));
        uint8_t * exact = malloc(cut + 1); // so that a sanitizer sees what is read beyond
        assert_non_null(exact);
        memcpy(exact, bytes, cut);
        if (ggs_view_of_file(&view, exact, cut)) {
            struct ggs_backend_plan    plan;
            struct ggs_code_function * functions = ggs_view_functions(&view, &n);
            struct ggs_code            code      = code_of(&view, functions, n);
            for (size_t i = 0; i < n; i++) assert_non_null(ggs_view_at(&view, functions[i].address, functions[i].size));
            if (k % 30 == 0) ggs_backend_plan(&plan, &view, &code);
            free(functions);
        }
        free(exact);
        memcpy(bytes + where, kept, sizeof(kept));
    }
    free(bytes);
}

// ---- symbols of damaged files ----

static void test_damaged(void ** state) {
    (void) state;
    char      path[] = "/tmp/ggscope-test-code-XXXXXX";
    int       fd     = mkstemp(path);
    size_t    size;
    uint8_t * bytes = read_own(&size);
    assert_true(fd >= 0);
    uint64_t sections, seed = 12345;
    memcpy(&sections, bytes + 0x28, sizeof(sections));
    for (int k = 0; k < 60; k++) {
        struct ggs_symbols symbols;
        uint8_t            kept[16];
        seed         = seed * 6364136223846793005u + 1442695040888963407u;
        size_t where = k % 3 == 0 ? (seed >> 33) % 64 : (size_t) sections + (seed >> 33) % 2000;
        if (where > size - 16) where = size - 16;
        memcpy(kept, bytes + where, 16);
        for (unsigned i = 0; i < 8; i++) bytes[where + i] = (uint8_t) (seed >> (8 * i % 56));
        assert_int_equal(pwrite(fd, bytes, size, 0), (ssize_t) size);
        if (k % 5 == 4) assert_int_equal(ftruncate(fd, (off_t) ((seed >> 20) % size)), 0);
        if (ggs_symbols_read(&symbols, path, NULL, "code_plain"))
            for (size_t i = 0; i < symbols.count; i++)
                assert_in_range(symbols.items[i].name - symbols.names, 0, symbols.names_size);
        ggs_symbols_release(&symbols);
        memcpy(bytes + where, kept, 16);
    }
    free(bytes);
    close(fd);
    unlink(path);
}

// ---- optimisation ----

// ggml_nbytes as gcc and clang write it at -O0, and as gcc does at -O2 and -O3 with frame pointers.
static void test_unoptimised(void ** state) {
    (void) state;
    static const uint8_t gcc[]    = "\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\x48\x83\xec\x30\x48\x89\x7d\xd8";
    static const uint8_t clang[]  = "\x55\x48\x89\xe5\x48\x81\xec\x80\x00\x00\x00\x48\x89\x7d\xf8";
    static const uint8_t leaf[]   = "\x55\x48\x89\xe5\x48\x89\x7d\xf8\x48\x8b\x45\xf8";
    static const uint8_t fast[]   = "\xf3\x0f\x1e\xfa\x41\x57\x41\x56\x41\x55\x41\x54\x55\x53\x48\x83\xec\x18";
    static const uint8_t framed[] = "\x55\x48\x89\xe5\x41\x57\x41\x56\x53\x50\x48\x89\xfb\x8b\x3f";
    assert_true(ggs_code_is_unoptimised(gcc, sizeof(gcc) - 1));
    assert_true(ggs_code_is_unoptimised(clang, sizeof(clang) - 1));
    assert_true(ggs_code_is_unoptimised(leaf, sizeof(leaf) - 1));
    assert_false(ggs_code_is_unoptimised(fast, sizeof(fast) - 1));
    assert_false(ggs_code_is_unoptimised(framed, sizeof(framed) - 1));
    for (size_t n = 0; n < 16; n++) assert_false(ggs_code_is_unoptimised(gcc, n)); // cut off
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
#ifdef __x86_64__
        cmocka_unit_test(test_real),
#endif
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_unoptimised),
#if defined(__x86_64__) || defined(__aarch64__)
        cmocka_unit_test(test_displaced),
        cmocka_unit_test(test_patched),
        cmocka_unit_test(test_preserving),
#endif
        cmocka_unit_test(test_view),
        cmocka_unit_test(test_damaged_view),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
