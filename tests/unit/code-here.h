// Functions of the machine that tests run on: their first instructions are of every kind that is
// moved, and calls that show what happens to registers. For test-code.c.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// They have pages of their own, which are not executable while they are written.
#define OWN_PAGES ".section .text.code_here, \"ax\"\n"
#define FUNCTION(name, body)                                                                                         \
    __asm__(OWN_PAGES ".p2align 4\n.globl " #name "\n.type " #name ", %function\n" #name ":\n" body "\n.size " #name \
                      ", . - " #name "\n.text\n");                                                                   \
    extern long name(long a, long b)
#define NEW_PAGE        __asm__(OWN_PAGES ".p2align 16\n.text\n")
#define FUNCTIONS(each) EACH_PLAIN(each) EACH_OTHER(each)
#define EACH_PLAIN(each)                                                                                     \
    each(code_plain) each(code_relative) each(code_branch) each(code_call) each(code_jump) each(code_marked) \
        each(code_leaf)

typedef long function(long a, long b);

static __attribute__((used)) long number = 1000;
static unsigned long              calls;

#if defined(__x86_64__)

#define EACH_OTHER(each) each(code_compare)
NEW_PAGE;
FUNCTION(code_plain, "lea (%rdi,%rsi,2), %rax\n add $3, %rax\n ret");
FUNCTION(code_relative, "mov number(%rip), %rax\n add %rdi, %rax\n ret");
FUNCTION(code_compare, "cmpl $1000, number(%rip)\n jne 1f\n lea (%rdi,%rsi), %rax\n ret\n 1: xor %eax, %eax\n ret");
FUNCTION(code_branch, "test %rdi, %rdi\n je 1f\n mov %rsi, %rax\n ret\n 1: mov $-7, %rax\n ret");
FUNCTION(code_call, "push %rbx\n mov %rdi, %rbx\n call code_plain\n add %rbx, %rax\n pop %rbx\n ret");
FUNCTION(code_jump, ".byte 0xe9\n .long code_relative - . - 4"); // not the short form
FUNCTION(code_marked, "endbr64\n push %rbp\n mov %rsp, %rbp\n lea 5(%rdi,%rsi,4), %rax\n pop %rbp\n ret");
// Changes one register alone; its caller knows that.
FUNCTION(code_leaf, "mov number(%rip), %rax\n add %rdi, %rax\n ret");

NEW_PAGE;

static long enter(function * f, long a, long b) {
    return f(a, b);
}

// Clobbers registers in every way that the convention allows.
static long clobbering_hook(void) {
    calls++;
    __asm__ volatile(
        "xor %%rcx, %%rcx; xor %%rdx, %%rdx; xor %%rsi, %%rsi; xor %%rdi, %%rdi; xor %%r8, %%r8; xor %%r9, %%r9;"
        "xor %%r10, %%r10; xor %%r11, %%r11; pxor %%xmm0, %%xmm0; pxor %%xmm7, %%xmm7; pxor %%xmm15, %%xmm15;" ::
            : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm0", "xmm7", "xmm15");
    return 4242;
}

// Calls `way` with values in registers. Returns the number of those that are changed behind it. The
// first one, which is 1, is not counted: `*first` is its value.
static unsigned count_changed(void * way, uint64_t * first) {
    struct {
        uint64_t r[9];
        double   d[3];
        void *   way;
    } f = {{1, 2, 3, 4, 5, 6, 7, 8, 9}, {1.5, 2.5, 3.5}, way};
    __asm__ volatile(
        "movsd 72(%%rbx), %%xmm0\n movsd 80(%%rbx), %%xmm7\n movsd 88(%%rbx), %%xmm15\n"
        "movq (%%rbx), %%rax\n movq 8(%%rbx), %%rcx\n movq 16(%%rbx), %%rdx\n movq 24(%%rbx), %%rsi\n movq 32(%%rbx), %%rdi\n"
        "movq 40(%%rbx), %%r8\n movq 48(%%rbx), %%r9\n movq 56(%%rbx), %%r10\n movq 64(%%rbx), %%r11\n"
        "movq %%rsp, %%r14\n andq $-16, %%rsp\n subq $136, %%rsp\n call *96(%%rbx)\n movq %%r14, %%rsp\n"
        "movq %%rax, (%%rbx)\n movq %%rcx, 8(%%rbx)\n movq %%rdx, 16(%%rbx)\n movq %%rsi, 24(%%rbx)\n movq %%rdi, 32(%%rbx)\n"
        "movq %%r8, 40(%%rbx)\n movq %%r9, 48(%%rbx)\n movq %%r10, 56(%%rbx)\n movq %%r11, 64(%%rbx)\n"
        "movsd %%xmm0, 72(%%rbx)\n movsd %%xmm7, 80(%%rbx)\n movsd %%xmm15, 88(%%rbx)\n"
        :
        : "b"(&f)
        : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r14", "xmm0", "xmm7", "xmm15", "memory");
    unsigned changed = (f.d[0] != 1.5) + (f.d[1] != 2.5) + (f.d[2] != 3.5);
    for (unsigned i = 1; i < 9; i++) changed += f.r[i] != i + 1;
    *first = f.r[0];
    return changed;
}

#elif defined(__aarch64__)

#include <sys/auxv.h>

#define EACH_OTHER(each)                                                                                             \
    each(code_address) each(code_word) each(code_signed) each(code_float) each(code_vector) each(code_fetch)         \
        each(code_zero) each(code_not_zero) each(code_bit) each(code_no_bit) each(code_first_call) each(code_return) \
            each(code_signing) each(code_signing_b)
#define NUMBER  "adrp x2, number\n ldr x2, [x2, :lo12:number]\n"
#define LITERAL "\n ret\n .p2align 4\n 9: .quad -1000, 77"
#define CHOICE  "\n mov x0, x1\n ret\n 1: mov x0, -7\n ret"
#define CALL    "stp x29, x30, [sp, -16]!\n bl code_plain\n ldp x29, x30, [sp], 16\n"
NEW_PAGE;
FUNCTION(code_plain, "add x0, x0, x1, lsl 1\n add x0, x0, 3\n ret");
FUNCTION(code_relative, NUMBER "add x0, x0, x2\n ret");
FUNCTION(code_branch, "b.lt 1f" CHOICE);
FUNCTION(code_call, CALL "ret");
FUNCTION(code_jump, "b code_relative");
FUNCTION(code_marked, "hint 34\n add x0, x0, x1\n ret"); // bti c
// Changes two registers alone; its caller knows that.
FUNCTION(code_leaf, NUMBER "add x0, x0, x2\n ret");
FUNCTION(code_address, "adr x2, 9f\n ldr x2, [x2, 8]\n add x0, x0, x2" LITERAL);
FUNCTION(code_word, "ldr w2, 9f\n add x0, x0, x2" LITERAL);
FUNCTION(code_signed, "ldrsw x2, 9f\n add x0, x0, x2" LITERAL);
FUNCTION(code_float, "ldr d0, 9f\n fmov x2, d0\n add x0, x0, x2" LITERAL);
FUNCTION(code_vector, "ldr q0, 9f\n mov x2, v0.d[1]\n add x0, x0, x2" LITERAL);
FUNCTION(code_fetch, "prfm pldl1keep, 9f\n add x0, x0, x1" LITERAL);
FUNCTION(code_zero, "cbz x0, 1f" CHOICE);
FUNCTION(code_not_zero, "cbnz w0, 1f" CHOICE);
FUNCTION(code_bit, "tbz x0, 33, 1f" CHOICE);
FUNCTION(code_no_bit, "tbnz w0, 0, 1f" CHOICE);
FUNCTION(code_first_call, "bl code_plain\n ret x9");
FUNCTION(code_return, "ret");
FUNCTION(code_signing, "hint 25\n" CALL "hint 29\n ret");   // paciasp, autiasp
FUNCTION(code_signing_b, "hint 27\n" CALL "hint 31\n ret"); // pacibsp, autibsp

NEW_PAGE;

// Calls a function with known flags; x9 has the return address, too.
__asm__(".text\n.p2align 4\n.type code_enter, %function\ncode_enter:\n stp x29, x30, [sp, -16]!\n mov x29, sp\n"
        "mov x17, x0\n mov x0, x1\n mov x1, x2\n adr x9, 1f\n cmp x0, x1\n blr x17\n 1: ldp x29, x30, [sp], 16\n ret\n"
        ".size code_enter, . - code_enter\n");
extern long code_enter(function * f, long a, long b);
static long enter(function * f, long a, long b) {
    return code_enter(f, a, b);
}

static bool is_scalable(void) {
    return (getauxval(AT_HWCAP) >> 22 & 1) != 0; // SVE
}

// Clobbers registers in every way that the convention allows.
static long clobbering_hook(void) {
    calls++;
    __asm__ volatile(".irp r, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18\n mov x\\r, 0\n .endr\n"
                     ".irp r, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n"
                     "movi v\\r\\().16b, 0\n .endr\n"
                     ".irp r, 8, 9, 10, 11, 12, 13, 14, 15\n fmov d\\r, d\\r\n .endr" ::
                         : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14",
                           "x15", "x16", "x17", "x18", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17",
                           "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30",
                           "v31");
    if (is_scalable())
        __asm__ volatile(".arch_extension sve\n .irp r, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
                         "pfalse p\\r\\().b\n .endr\n .arch_extension nosve");
    return 4242;
}

// Values of registers, and room for vectors of the greatest length.
struct registers {
    uint64_t x[18]; // x0 to x15, x18
    void *   way;
    _Alignas(16) uint8_t p[16 * 32];  // at 160
    _Alignas(16) uint8_t v[32 * 256]; // at 672
};
#define EACH_VECTOR                                                                                              \
    ".irp r, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, " \
    "27, 28, 29, 30, 31\n"
#define EACH_PREDICATE     ".irp r, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
#define ALL_INTEGERS(what) EACH_PREDICATE what " x\\r, [x20, 8 * \\r]\n .endr\n" what " x18, [x20, 128]\n"
#define CALLING(name, vectors)                                                                                             \
    __asm__(                                                                                                               \
        ".arch_extension sve\n .text\n.p2align 4\n.type " name ", %function\n" name ":\n"                                  \
        "stp x29, x30, [sp, -112]!\n stp x19, x20, [sp, 16]\n stp x21, x22, [sp, 32]\n stp d8, d9, [sp, 48]\n"             \
        "stp d10, d11, [sp, 64]\n stp d12, d13, [sp, 80]\n stp d14, d15, [sp, 96]\n"                                       \
        "add x19, x0, 672\n mov x20, x0\n add x21, x0, 160\n" vectors("ldr")                                               \
            ALL_INTEGERS("ldr") "ldr x22, [x20, 144]\n blr x22\n" ALL_INTEGERS("str") vectors(                             \
                "str") "ldp d14, d15, [sp, 96]\n ldp d12, d13, [sp, 80]\n ldp d10, d11, [sp, 64]\n ldp d8, d9, [sp, 48]\n" \
                       "ldp x21, x22, [sp, 32]\n ldp x19, x20, [sp, 16]\n ldp x29, x30, [sp], 112\n ret\n"                 \
                       ".size " name ", . - " name "\n .arch_extension nosve\n")
#define VECTORS(what) EACH_VECTOR what " q\\r, [x19, 16 * \\r]\n .endr\n"
#define SCALABLE(what) \
    EACH_VECTOR what " z\\r, [x19, \\r, mul vl]\n .endr\n" EACH_PREDICATE what " p\\r, [x21, \\r, mul vl]\n .endr\n"
CALLING("code_with_vectors", VECTORS);
CALLING("code_with_scalable", SCALABLE);
extern void code_with_vectors(struct registers *registers), code_with_scalable(struct registers *registers);

// Calls `way` with values in registers. Returns the number of bytes that are changed behind it. The
// first register, which is 1, is not counted: `*first` is its value.
static unsigned count_changed(void * way, uint64_t * first) {
    static struct registers before, after;
    unsigned                changed = 0;
    for (size_t i = 0; i < sizeof(before.v); i++) before.v[i] = (uint8_t) (i * 7 + 1);
    for (size_t i = 0; i < sizeof(before.p); i++) before.p[i] = (uint8_t) (i * 11 + 1);
    for (size_t i = 0; i < 18; i++) before.x[i] = i + 1;
    before.way = way;
    after      = before;
    code_with_vectors(&after);
    if (is_scalable()) code_with_scalable(&after);
    *first     = after.x[0];
    after.x[0] = before.x[0];
    for (size_t i = 0; i < sizeof(before); i++)
        changed += ((const uint8_t *) &before)[i] != ((const uint8_t *) &after)[i];
    return changed;
}

#endif
