// An engine that was built for finding faults, not for speed.
#include <stdio.h>

#include "analyze/explain/findings.h"

// What is usual: code at -O0 is ten times as slow, a sanitizer doubles or triples the time.
static const double UNOPTIMISED = 10, SANITIZED = 2;

bool ggs_find_engine_build(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    bool sanitized = f->sanitizer[0] != '\0';
    if (!f->unoptimised && !sanitized) return false;
    out->part      = GGS_PART_TOKENS;
    out->figure    = f->unoptimised ? UNOPTIMISED : SANITIZED;
    out->figure_of = "times that a release build is usually faster";
    out->gain_ns   = (uint64_t) ((double) (f->prompt.wall_ns + f->generate.wall_ns) * (1 - 1 / out->figure));
    out->estimated = true;
    if (f->unoptimised)
        ggs_reason_title(out, "the engine is built without optimisation");
    else
        ggs_reason_title(out, "the program is built with a sanitizer (%s)", f->sanitizer);
    ggs_reason_evidence(out,
                        f->unoptimised
                            ? "its code has the form that compilers write at -O0; a release build is "
                              "usually %.0f times as fast"
                            : "each access to memory is checked; a release build is usually %.0f times as fast",
                        out->figure);
    ggs_reason_advise(out, "cmake -DCMAKE_BUILD_TYPE=Release, without -fsanitize");
    snprintf(out->query, sizeof(out->query), "grep %s DIR/experiment.json", f->unoptimised ? "optimised" : "sanitizer");
    return true;
}
