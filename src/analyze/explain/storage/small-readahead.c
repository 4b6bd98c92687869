// The kernel reads the model from the disk in small pieces.
#include <stdio.h>

#include "analyze/explain/findings.h"
#include "base/number.h"

enum { SMALL = 512 << 10 };

bool ggs_find_small_readahead(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    char     ahead[GGS_NUMBER_LENGTH], read[GGS_NUMBER_LENGTH], time[GGS_NUMBER_LENGTH];
    uint64_t bytes = f->conditions.read_bytes, stalled = f->faults_in_ops.stalled_ns;
    uint64_t threads = f->threads == 0 ? 1 : f->threads, wall = f->prompt.wall_ns + f->generate.wall_ns;
    if (f->streamed.uses > 0) return false; // it reads ahead by itself
    if (f->readahead == 0 || f->readahead >= SMALL || f->model_bytes == 0 || bytes < f->model_bytes / 4) return false;
    if (f->faults_in_ops.major < 100 || stalled / threads < wall / 20) return false;
    // At best the disk delivers the same bytes at the speed of one long read.
    uint64_t best  = f->disk_sequential > 0 ? (uint64_t) (1e9 * (double) bytes / (double) f->disk_sequential) : 0;
    uint64_t whole = stalled < wall ? stalled : wall;
    out->part      = GGS_PART_TOKENS;
    out->timed     = true;
    out->estimated = f->disk_sequential == 0;
    out->gain_ns   = f->disk_sequential == 0 ? whole / 2 : whole > best ? whole - best : 0;
    out->figure    = (double) f->readahead;
    out->figure_of = "bytes that the kernel reads ahead";
    ggs_reason_title(out, "the kernel reads the model in pieces of %s", ggs_format_bytes(ahead, f->readahead));
    ggs_reason_evidence(out, "%s read in %llu waits for the disk, %s in all", ggs_format_bytes(read, bytes),
                        (unsigned long long) f->faults_in_ops.major, ggs_format_nanoseconds(time, stalled));
    ggs_reason_advise(out, "blockdev --setra 8192 DEVICE, as root (4 MiB)%s",
                      f->under_stream ? "" : "; ggscope stream reads ahead by itself");
    out->measure = "ggscope sweep -o study --readahead 128K,4M --cold yes";
    snprintf(out->query, sizeof(out->query), "ggscope sql DIR \"select readahead_bytes, read_bytes from experiment\"");
    return true;
}
