// A preload library that reads beyond its memory: tests/engine/sanitized.test.mjs sees that this is caught.
#include <stdlib.h>

__attribute__((constructor)) static void read_beyond(void) {
    volatile char * memory = calloc(16, 1);
    if (memory != NULL) memory[0] = memory[16];
}
