// Changes code of the process while all its threads are stopped.
//
// ggscope may be killed at any moment; the kernel continues the threads with their current
// registers. Each place is written by itself, and the process is correct with any number of them
// written.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_error;
struct ggs_tracee;

struct ggs_code_place;

struct ggs_quiesced {
    size_t   written; // including places that had the bytes
    uint64_t stood_ns;
};

// Writes `after` where `before` is (or the other way round with `back`). Skips a place that has
// other bytes or is no code of a mapped file. Returns GGS_IO, and writes nothing, if the threads
// cannot be stopped.
int ggs_quiesce(struct ggs_quiesced * result, struct ggs_tracee * tracee, const struct ggs_code_place * places,
                size_t n, bool back, struct ggs_error * error);
