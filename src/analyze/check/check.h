// Checks the invariants of a trace, with one result each.
//
// What a killed engine left unfinished is "interrupted", not wrong. A warning is about numbers that
// are correct but may mislead. Only FAIL means that something cannot be trusted.
#pragma once

#include "analyze/walk/trace.h"

enum ggs_check_status {
    GGS_CHECK_OK,
    GGS_CHECK_INTERRUPTED,
    GGS_CHECK_WARNING,
    GGS_CHECK_FAIL,
    GGS_CHECK_SKIPPED,
    GGS_CHECK_STATUSES,
};
const char * ggs_check_word(uint64_t status); // "ok", "interrupted", "warning", "FAIL", "skipped"

struct ggs_check {
    const char *          name; // constant, a few words
    enum ggs_check_status status;
    char                  text[320]; // the finding, with numbers
};

struct ggs_checks {
    struct ggs_check * check;
    uint64_t           n, capacity;
    bool               failed; // any FAIL, or out of memory
};

void ggs_checks_release(struct ggs_checks * checks);
// Adds a result.
__attribute__((format(printf, 4, 5))) void ggs_checks_add(struct ggs_checks * checks, const char * name,
                                                          enum ggs_check_status status, const char * format, ...);

// Observations of the machine; nothing is added without them.
void ggs_check_faults(struct ggs_checks * checks, struct ggs_trace * trace);
void ggs_check_requests(struct ggs_checks * checks, struct ggs_trace * trace);
void ggs_check_pages(struct ggs_checks * checks, struct ggs_trace * trace);
void ggs_check_mappings(struct ggs_checks * checks, struct ggs_trace * trace);

// `directory`: a sealed experiment, or a trace file. Negative only if it cannot be opened.
int ggs_checks_run(struct ggs_checks * checks, const char * directory, struct ggs_error * error);
