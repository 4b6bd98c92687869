// Changes code of the process while all its threads are stopped.
//
// ggscope may be killed at any moment: the kernel then lets the threads run on with the registers
// that they have. Each place is written by itself, and the process is correct with any number of
// them written.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_error;
struct ggs_tracee;

struct ggs_code_place;

struct ggs_quiesced {
    size_t   written; // including those that were there already
    uint64_t stood_ns;
};

// Writes `after` where `before` is (or the other way round with `back`). A place that has other
// bytes, or is no code of a mapped file, is left alone. GGS_IO if the threads cannot be stopped;
// nothing is written then.
int ggs_quiesce(struct ggs_quiesced * result, struct ggs_tracee * tracee, const struct ggs_code_place * places,
                size_t n, bool back, struct ggs_error * error);
