// A CPU library that does not use this CPU's instructions.
#include <stdio.h>
#include <string.h>

#include "analyze/explain/findings.h"

// Typical speed of ggml's kernels for quantized weights with each instruction set, relative to
// plain C on one core, rounded.
static const struct level {
    const char * flag; // of /proc/cpuinfo
    const char * name;
    double       speed;
} levels[] = {{"avx512_vnni", "AVX-512 VNNI", 16},
              {"avx512bw", "AVX-512", 14},
              {"avx2", "AVX2", 12},
              {"avx", "AVX", 4},
              {"sse4_2", "SSE4.2", 3}};

// Variants of the engine's library, and their instruction sets.
static const struct variant {
    const char * name;
    double       speed;
} variants[] = {{"x64", 1},      {"sse42", 3},       {"sandybridge", 4}, {"ivybridge", 4},      {"piledriver", 4},
                {"haswell", 12}, {"alderlake", 12},  {"skylakex", 14},   {"cannonlake", 14},    {"cascadelake", 16},
                {"icelake", 16}, {"cooperlake", 16}, {"zen4", 16},       {"sapphirerapids", 16}};

static bool has_flag(const char * flags, const char * flag) {
    size_t n = strlen(flag);
    for (const char * at = flags; (at = strstr(at, flag)) != NULL; at += n)
        if ((at == flags || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0')) return true;
    return false;
}

bool ggs_find_cpu_library(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    const struct level *   can = NULL;
    const struct variant * is  = NULL;
    char                   file[64];
    for (unsigned i = 0; i < sizeof(levels) / sizeof(levels[0]) && can == NULL; i++)
        if (has_flag(f->flags, levels[i].flag)) can = &levels[i];
    for (unsigned i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
        snprintf(file, sizeof(file), "libggml-cpu-%s.so", variants[i].name);
        if (strcmp(f->cpu_library, file) == 0) is = &variants[i];
    }
    // AVX-512 gains a third at most, which is too little for a finding.
    if (can == NULL || is == NULL || is->speed * 2 > can->speed || f->devices > 0) return false;
    out->part      = GGS_PART_TOKENS;
    out->gain_ns   = (uint64_t) ((double) (f->prompt.wall_ns + f->generate.wall_ns) * (1 - is->speed / can->speed));
    out->estimated = true;
    out->figure    = can->speed / is->speed;
    out->figure_of = "times that kernels for this CPU are usually faster";
    ggs_reason_title(out, "the CPU library is built for less than this CPU: %s", f->cpu_library);
    ggs_reason_evidence(out, "the CPU has %s, whose kernels are usually %.0f times as fast", can->name, out->figure);
    if (ggs_invocation_value(&f->program, GGS_KNOB_ENGINE) != NULL) ggs_reason_set(out, GGS_KNOB_ENGINE, "");
    ggs_reason_advise(out, "an engine folder that holds libggml-cpu-haswell.so or newer, or a build with "
                           "GGML_NATIVE=ON (ggscope doctor shows which is loaded)");
    snprintf(out->query, sizeof(out->query), "ggscope sql DIR \"select cpu_library, cpu_flags from experiment\"");
    return true;
}
