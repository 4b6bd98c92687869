// Addons that are loaded while the program runs. The program looks up their first function with
// dlsym; at that time only their constructors have run.
//
// The results of dlsym and dlopen depend on their caller, so neither can be called in the program's
// place. The hook of dlsym ends with a jump to it.
#ifdef __x86_64__

#include <dlfcn.h>
#include <stddef.h>

#include "capture/inside/inside.h"

__attribute__((visibility("hidden"), used)) void * ggs_late_enter(void * handle);
__attribute__((visibility("hidden"), used)) void * ggs_late_enter(void * handle) {
    static void * real;
    void *        function = __atomic_load_n(&real, __ATOMIC_RELAXED);
    if (function == NULL) {
        function = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
        __atomic_store_n(&real, function, __ATOMIC_RELAXED);
    }
    if (handle != RTLD_DEFAULT && handle != RTLD_NEXT) ggs_inside_search_new();
    return function;
}

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

#endif
