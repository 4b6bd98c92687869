// A preload library that reads out of bounds: tests/engine/sanitized.test.mjs checks that this is
// detected.
#include <stdlib.h>

__attribute__((constructor)) static void read_beyond(void) {
    volatile char * memory = calloc(16, 1);
    if (memory != NULL) memory[0] = memory[16];
}
