// Does everything hold that must hold of a trace? One result per promise.
//
// What a killed engine left unfinished is "interrupted", not wrong: only FAIL means that something cannot be trusted.
#pragma once

#include "analyze/walk/trace.h"

enum ggs_check_status { GGS_CHECK_OK, GGS_CHECK_INTERRUPTED, GGS_CHECK_FAIL, GGS_CHECK_SKIPPED };

struct ggs_check {
    const char *          name; // constant, a few words
    enum ggs_check_status status;
    char                  text[320]; // what was found, in numbers
};

enum { GGS_CHECKS = 24 };

struct ggs_checks {
    struct ggs_check check[GGS_CHECKS];
    unsigned         n;
    bool             failed; // any FAIL
};

// Adds a result.
__attribute__((format(printf, 4, 5))) void ggs_checks_add(struct ggs_checks * checks, const char * name,
                                                          enum ggs_check_status status, const char * format, ...);

// What was observed of the machine: nothing is added where nothing was.
void ggs_check_faults(struct ggs_checks * checks, struct ggs_trace * trace);
void ggs_check_requests(struct ggs_checks * checks, struct ggs_trace * trace);
void ggs_check_pages(struct ggs_checks * checks, struct ggs_trace * trace);

// `directory`: of a sealed experiment, or a trace file. Negative only where the trace cannot be opened at all.
int ggs_checks_run(struct ggs_checks * checks, const char * directory, struct ggs_error * error);
