#include "base/code/processor.h"

#include <elf.h>

const struct ggs_processor * ggs_processor_of(unsigned elf_machine) {
    if (elf_machine == EM_X86_64) return &ggs_processor_x86_64;
    return elf_machine == EM_AARCH64 ? &ggs_processor_aarch64 : NULL;
}

const struct ggs_processor * ggs_processor_here(void) {
#if defined(__x86_64__)
    return &ggs_processor_x86_64;
#elif defined(__aarch64__)
    return &ggs_processor_aarch64;
#else
    return NULL;
#endif
}
