#include "base/spelling.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const struct {
    const char * from;
    const char * to;
} spellings[] = {{"-ngl", "--gpu-layers"}, {"-dev", "--device"},         {"-sm", "--split-mode"},
                 {"-mg", "--main-gpu"},    {"-ot", "--override-tensor"}, {"--n-gpu-layers", "--gpu-layers"},
                 {"-fa", "--flash-attn"}};

static bool takes_any_text(const char * word) {
    static const char * const options[] = {"-p", "--prompt", "-f", "--file"};
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if (strcmp(word, options[i]) == 0) return true;
    }
    return false;
}

void ggs_spell_options(int argc, char ** argv) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (takes_any_text(argv[i])) {
            i++;
            continue;
        }
        for (size_t k = 0; k < sizeof(spellings) / sizeof(spellings[0]); k++) {
            if (strcmp(argv[i], spellings[k].from) == 0) argv[i] = (char *) spellings[k].to;
        }
    }
}
