#include "base/code/unoptimised.h"

#include <string.h>

static bool take(const uint8_t ** code, const uint8_t * end, const char * bytes, size_t n, size_t more) {
    if ((size_t) (end - *code) < n + more || memcmp(*code, bytes, n) != 0) return false;
    *code += n + more;
    return true;
}
#define TAKE(bytes_, more_) take(&code, end, bytes_, sizeof(bytes_) - 1, more_)

bool ggs_code_is_unoptimised(const uint8_t * code, size_t size) {
    const uint8_t * end = code + size;
    TAKE("\xf3\x0f\x1e\xfa", 0);                                    // endbr64
    if (!TAKE("\x55", 0) || !TAKE("\x48\x89\xe5", 0)) return false; // push %rbp; mov %rsp, %rbp
    while (TAKE("\x53", 0) || TAKE("\x41\x54", 0)) {}               // push %rbx; push %r12
    if (!TAKE("\x48\x83\xec", 1)) TAKE("\x48\x81\xec", 4);          // sub $N, %rsp
    return TAKE("\x48\x89\x7d", 1) || TAKE("\x48\x89\xbd", 4);      // mov %rdi, -N(%rbp)
}
