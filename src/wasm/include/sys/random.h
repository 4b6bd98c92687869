// The module makes no ids.
#pragma once

#include <sys/types.h>

static inline ssize_t getrandom(void * to, size_t length, unsigned flags) {
    (void) to, (void) length, (void) flags;
    return -1;
}
