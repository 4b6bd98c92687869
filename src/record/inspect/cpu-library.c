#include "record/inspect/cpu-library.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/error.h"
#include "record/inspect/capture-library.h"
#include "record/launch/listen.h"

struct ggs_cpu_layouts ggs_cpu_layouts_here(void) {
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return (struct ggs_cpu_layouts){
        .repack = __builtin_cpu_supports("avx2"),
        .wide   = __builtin_cpu_supports("avx512f"),
        .tiles  = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & 1u << 25) != 0 // AMX-INT8
    };
#else
    return (struct ggs_cpu_layouts){.repack = true};
#endif
}

static bool has_word(const char * words, const char * word) {
    size_t length = strlen(word);
    for (const char * at = words; (at = strstr(at, word)) != NULL; at += length) {
        if (at[-1] == ' ' && strchr(" \n", at[length]) != NULL) return true;
    }
    return false;
}

bool ggs_cpu_layouts_ask(struct ggs_cpu_layouts * layouts, const char * directory) {
    static char      verb[] = "version", option[] = "--engine";
    char             runner[PATH_MAX], said[2048];
    struct ggs_error error;
    if (ggs_sibling_find(runner, "ggscope-engine", &error) != 0) return false;
    char * argv[] = {runner, verb, directory == NULL ? NULL : option, (char *) directory, NULL};
    if (ggs_listen(argv, environ, 1, said, sizeof(said)) != 0) return false;
    const char * words = strstr(said, "\ncomputes with ");
    if (words == NULL) return false;
    layouts->repack = has_word(words, "AVX2") || has_word(words, "NEON");
    layouts->wide   = has_word(words, "AVX512");
    layouts->tiles  = has_word(words, "AMX_INT8");
    return true;
}
