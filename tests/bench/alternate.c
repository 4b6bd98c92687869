// A preloaded library for toggle.mjs: switches a recording on and off every GGSCOPE_STRETCH tokens,
// from within the recorded program. It counts calls of llama_sampler_sample, which no other library
// hooks, and writes the word that `ggscope control` writes.
#include <dlfcn.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/spool.h"

// The capture library has mapped it at that point.
static struct ggs_spool_control * find_control(void) {
    static struct ggs_spool_control none;
    struct ggs_spool_control *      found = &none;
    char                            line[4400];
    FILE *                          maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
        uintptr_t address;
        if (strstr(line, "/" GGS_SPOOL_CONTROL "\n") != NULL && sscanf(line, "%" SCNxPTR, &address) == 1)
            found = (struct ggs_spool_control *) address;
    }
    if (maps != NULL) fclose(maps);
    return found;
}

__attribute__((visibility("default"))) int32_t llama_sampler_sample(void * sampler, void * context, int32_t index);
__attribute__((visibility("default"))) int32_t llama_sampler_sample(void * sampler, void * context, int32_t index) {
    static int32_t (*real)(void *, void *, int32_t);
    static struct ggs_spool_control * control;
    static uint64_t                   tokens, stretch;
    if (real == NULL) {
        const char * text = getenv("GGSCOPE_STRETCH");
        real              = (int32_t(*)(void *, void *, int32_t)) dlsym(RTLD_NEXT, "llama_sampler_sample");
        stretch           = text == NULL ? 1 : strtoull(text, NULL, 10);
        text              = getenv("GGSCOPE_PHASE");
        tokens            = text == NULL ? 0 : strtoull(text, NULL, 10);
        control           = find_control();
        if (real == NULL || stretch == 0) abort();
    }
    int32_t token = real(sampler, context, index);
    __atomic_store_n(&control->recording, ++tokens / stretch % 2, __ATOMIC_RELEASE);
    return token;
}
