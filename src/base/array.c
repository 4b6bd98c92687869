#include "base/array.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 16 };

void * ggs_array_grow(void * memory, uint64_t * capacity, uint64_t needed, size_t size) {
    if (needed <= *capacity) return memory;
    uint64_t more = *capacity < FIRST_CAPACITY / 2 ? FIRST_CAPACITY : 2 * *capacity;
    if (more < needed) more = needed;
    if (more > SIZE_MAX / size) return memory;
    void * moved = realloc(memory, (size_t) more * size);
    if (moved == NULL) return memory;
    *capacity = more;
    return moved;
}
