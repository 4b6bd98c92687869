// Ops wait for pages of the model: it does not fit into the available memory.
#include <stdio.h>

#include "analyze/explain/findings.h"
#include "base/number.h"

bool ggs_find_page_waits(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    char     time[GGS_NUMBER_LENGTH], memory[GGS_NUMBER_LENGTH] = "", read[GGS_NUMBER_LENGTH];
    uint64_t stalled = f->faults_in_ops.stalled_ns, threads = f->threads == 0 ? 1 : f->threads;
    uint64_t wall = f->prompt.wall_ns + f->generate.wall_ns;
    if (stalled / threads < wall / 20 || f->faults_in_ops.major + f->faults_in_ops.minor == 0) return false;
    // The first touch of a page in memory costs one fault, once.
    if (f->faults_in_ops.major < 20 && f->conditions.memory_limit == 0) return false;
    out->part      = GGS_PART_TOKENS;
    out->timed     = true;
    out->gain_ns   = stalled < wall ? stalled : wall; // threads wait for the stalled one
    out->figure    = (double) stalled / 1e9;
    out->figure_of = "seconds that threads were stalled by page faults in ops";
    if (f->conditions.memory_limit > 0)
        ggs_format_bytes(memory, f->conditions.memory_limit);
    else
        ggs_format_bytes(memory, f->available_end < f->available_bytes && f->available_end > 0 ? f->available_end
                                                                                               : f->available_bytes);
    ggs_reason_title(out, "ops wait for pages of the model: %s %s",
                     f->conditions.memory_limit > 0 ? "a limit of" : "memory left", memory);
    ggs_reason_evidence(out, "stalled %s in %llu major and %llu minor faults; %s read from disk",
                        ggs_format_nanoseconds(time, stalled), (unsigned long long) f->faults_in_ops.major,
                        (unsigned long long) f->faults_in_ops.minor, ggs_format_bytes(read, f->conditions.read_bytes));
    ggs_reason_set(out, GGS_KNOB_STREAM, "");
    ggs_reason_advise(out, "more memory, or a smaller quantization");
    snprintf(out->query, sizeof(out->query), "ggscope stats DIR: faults, in ops");
    return true;
}
