// A program built with gcc's AddressSanitizer ends at its start if another library comes before the
// sanitizer's, as a preloaded one does. The sanitizer asks for its options by this function, and
// the program's own definition comes first.
#include "preload/hook.h"

EXPORT const char * __asan_default_options(void);
EXPORT const char * __asan_default_options(void) {
    return "verify_asan_link_order=0";
}
