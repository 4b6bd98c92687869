// The system calls that attaching makes in the process, on which its seccomp filters are tried.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_error;
struct ggs_tracee;

// Arguments that a trial replaces: the address of a page, which holds the path "/", and an open
// file.
enum { GGS_FILTER_PAGE = 0x70000000, GGS_FILTER_FILE = 1021 };

struct ggs_filter_call {
    const char * name;
    long         number;
    bool         needed;  // attaching fails without it; else there is an alternative
    int          failure; // errno of a permitted call with these arguments; 0: it succeeds
    uint64_t     arguments[6];
};

extern const struct ggs_filter_call ggs_filter_calls[];
extern const size_t                 ggs_filter_n_calls;

enum ggs_filter_answer { GGS_FILTER_REFUSES, GGS_FILTER_ENDS, GGS_FILTER_ASKS };
// Fills the error and returns its status.
int ggs_filter_fail(const struct ggs_tracee * tracee, const struct ggs_filter_call * call,
                    enum ggs_filter_answer answer, struct ggs_error * error);
