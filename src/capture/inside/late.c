// Addons that are loaded while the program runs. The program looks up their first function with
// dlsym; at that time only their constructors have run.
//
// The results of dlsym and dlopen depend on their caller, so neither can be called in the program's
// place. The hook of dlsym ends with a jump to it.
#if defined(__x86_64__) || defined(__aarch64__)

#include <dlfcn.h>
#include <stddef.h>

#include "capture/inside/inside.h"

#ifdef __x86_64__
#define FIRST_VERSION "GLIBC_2.2.5"
#else
#define FIRST_VERSION "GLIBC_2.17"
#endif

__attribute__((visibility("hidden"), used)) void * ggs_late_enter(void * handle);
__attribute__((visibility("hidden"), used)) void * ggs_late_enter(void * handle) {
    static void * real;
    void *        function = __atomic_load_n(&real, __ATOMIC_RELAXED);
    if (function == NULL) {
        function = dlvsym(RTLD_NEXT, "dlsym", FIRST_VERSION);
        __atomic_store_n(&real, function, __ATOMIC_RELAXED);
    }
    if (handle != RTLD_DEFAULT && handle != RTLD_NEXT) ggs_inside_search_new();
    return function;
}

#ifdef __x86_64__
__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, @function\n"
        "dlsym:\n"
        ".cfi_startproc\n"
        "    endbr64\n"
        "    pushq %rdi\n"
        ".cfi_adjust_cfa_offset 8\n"
        "    pushq %rsi\n"
        ".cfi_adjust_cfa_offset 8\n"
        "    subq $8, %rsp\n"
        ".cfi_adjust_cfa_offset 8\n"
        "    call ggs_late_enter\n"
        "    addq $8, %rsp\n"
        ".cfi_adjust_cfa_offset -8\n"
        "    popq %rsi\n"
        ".cfi_adjust_cfa_offset -8\n"
        "    popq %rdi\n"
        ".cfi_adjust_cfa_offset -8\n"
        "    jmp *%rax\n"
        ".cfi_endproc\n"
        ".size dlsym, . - dlsym\n");
#else
__asm__(".text\n"
        ".p2align 2\n"
        ".globl dlsym\n"
        ".type dlsym, %function\n"
        "dlsym:\n"
        ".cfi_startproc\n"
        "    hint 34\n" // bti c
        "    stp x29, x30, [sp, -32]!\n"
        ".cfi_adjust_cfa_offset 32\n"
        ".cfi_rel_offset x29, 0\n"
        ".cfi_rel_offset x30, 8\n"
        "    stp x0, x1, [sp, 16]\n"
        "    bl ggs_late_enter\n"
        "    mov x16, x0\n"
        "    ldp x0, x1, [sp, 16]\n"
        "    ldp x29, x30, [sp], 32\n"
        ".cfi_adjust_cfa_offset -32\n"
        ".cfi_restore x29\n"
        ".cfi_restore x30\n"
        "    br x16\n"
        ".cfi_endproc\n"
        ".size dlsym, . - dlsym\n");
#endif

#endif
