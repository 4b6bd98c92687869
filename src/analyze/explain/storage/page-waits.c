// Ops wait for pages of the model: it does not fit into the available memory.
#include <stdio.h>

#include "analyze/explain/findings.h"
#include "base/number.h"

// Ops wait for reads of ggscope stream, and for pages that it leaves to the kernel.
static void say_streamed(const struct ggs_explain_facts * f, struct ggs_reason * out, const char * memory) {
    char waited[GGS_NUMBER_LENGTH], stalled[GGS_NUMBER_LENGTH], read[GGS_NUMBER_LENGTH];
    ggs_reason_title(out, "ops wait for weights that ggscope stream reads: %s", memory);
    ggs_reason_evidence(out, "waited %s for %llu weights, stalled %s in %llu page faults; %s read from disk",
                        ggs_format_nanoseconds(waited, f->streamed.wait_ns), (unsigned long long) f->streamed.waits,
                        ggs_format_nanoseconds(stalled, f->faults_in_ops.stalled_ns),
                        (unsigned long long) (f->faults_in_ops.major + f->faults_in_ops.minor),
                        ggs_format_bytes(read, f->conditions.read_bytes));
    ggs_reason_advise(out, "more memory, a faster disk, or a smaller quantization");
    snprintf(out->query, sizeof(out->query), "ggscope stats DIR   # streamed; faults, in ops");
}

static void say_mapped(const struct ggs_explain_facts * f, struct ggs_reason * out, const char * memory, bool group) {
    char time[GGS_NUMBER_LENGTH], read[GGS_NUMBER_LENGTH];
    if (group)
        ggs_reason_title(out, "ops wait for pages of the model, though the machine has %s", memory);
    else
        ggs_reason_title(out, "ops wait for pages of the model: %s", memory);
    ggs_reason_evidence(out, "stalled %s in %llu major and %llu minor faults; %s read from disk%s",
                        ggs_format_nanoseconds(time, f->faults_in_ops.stalled_ns),
                        (unsigned long long) f->faults_in_ops.major, (unsigned long long) f->faults_in_ops.minor,
                        ggs_format_bytes(read, f->conditions.read_bytes),
                        f->under_stream ? "; ggscope stream streamed nothing" : "");
    if (!f->under_stream) ggs_reason_set(out, GGS_KNOB_STREAM, "");
    ggs_reason_advise(out, group ? "a larger limit of its container (docker -m, MemoryMax), or a smaller quantization"
                                 : "more memory, or a smaller quantization");
    snprintf(out->query, sizeof(out->query), "ggscope stats DIR   # faults, in ops");
}

bool ggs_find_page_waits(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    char     bytes[GGS_NUMBER_LENGTH], memory[GGS_NUMBER_LENGTH + 16];
    uint64_t stalled = f->faults_in_ops.stalled_ns, threads = f->threads == 0 ? 1 : f->threads;
    uint64_t wall = f->prompt.wall_ns + f->generate.wall_ns, waited = f->streamed.wait_ns;
    if (stalled / threads + waited < wall / 20 || stalled + waited == 0) return false;
    // The first touch of a page in memory costs one fault, once.
    if (f->faults_in_ops.major < 20 && f->conditions.memory_limit == 0 && waited == 0) return false;
    out->part      = GGS_PART_TOKENS;
    out->timed     = true;
    out->once_more = f->under_stream;
    out->gain_ns   = stalled + waited < wall ? stalled + waited : wall; // threads wait for the stalled one
    out->figure    = (double) (stalled + waited) / 1e9;
    out->figure_of = f->streamed.uses > 0 ? "seconds that ops waited for weights"
                                          : "seconds that threads were stalled by page faults in ops";
    uint64_t least =
        f->available_end < f->available_bytes && f->available_end > 0 ? f->available_end : f->available_bytes;
    // Memory that the machine has left does not help a program whose group may not use it.
    bool limit = f->conditions.memory_limit > 0, group = !limit && f->model_bytes > 0 && least > f->model_bytes;
    ggs_format_bytes(bytes, limit ? f->conditions.memory_limit : least);
    snprintf(memory, sizeof(memory), limit ? "a limit of %s" : group ? "%s left" : "memory left %s", bytes);
    if (f->streamed.uses > 0)
        say_streamed(f, out, memory);
    else
        say_mapped(f, out, memory, group);
    return true;
}
