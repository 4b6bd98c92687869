// How every library function of ggscope reports failure.
//
// A function that can fail returns 0 on success or a negative ggs_status and, if the caller
// passed one, fills a struct ggs_error with ONE finished sentence for a human: what was being done,
// to which file, at which offset, what to do about it. No newline, no program name in front.
// Library code never prints and never exits; only the command line programs do.
//
//     int ggs_thing_open(struct ggs_thing * thing, const char * path, struct ggs_error * error) {
//         if (!good) return ggs_fail(error, GGS_FORMAT, "%s: bad magic at offset 0", path);
//         ...
//     }
#pragma once

enum ggs_status {
    GGS_OK          = 0,
    GGS_IO          = -1, // a system call failed (the text has strerror)
    GGS_FORMAT      = -2, // the input's bytes are wrong
    GGS_MEMORY      = -3, // out of memory
    GGS_USAGE       = -4, // the caller (or the command line) asked for the impossible
    GGS_UNSUPPORTED = -5, // valid input that this build or machine cannot handle
    GGS_ABSENT      = -6, // it does not exist
};

struct ggs_error {
    int  status;    // a ggs_status, 0 while nothing failed
    char text[768]; // a finished sentence, cut (never overrun) if it is longer
};

// Fills `error` (may be NULL) and evaluates to `status`, for `return ggs_fail(...)`. These are
// macros so that static analyzers see a negative value at the caller.
#define ggs_fail(error, status, ...) (ggs_error_set((error), (status), __VA_ARGS__), ggs_error_status(status))

// The same with ": " and strerror(errno) appended; evaluates to GGS_IO (GGS_MEMORY for ENOMEM).
#define ggs_fail_errno(error, ...) \
    ggs_error_status(ggs_error_set_errno((error), __VA_ARGS__) == GGS_MEMORY ? GGS_MEMORY : GGS_IO)

// A failed allocation; evaluates to GGS_MEMORY.
#define ggs_fail_memory(error) ggs_fail((error), GGS_MEMORY, "out of memory")

__attribute__((format(printf, 3, 4))) void ggs_error_set(struct ggs_error * error, int status, const char * format,
                                                         ...);
__attribute__((format(printf, 2, 3))) int  ggs_error_set_errno(struct ggs_error * error, const char * format, ...);
static inline int ggs_error_status(int status) { // a function, because callers may ignore its value without a warning
    return status;
}
