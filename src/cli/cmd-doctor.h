// What ggscope doctor found out, and the parts that find it.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct ggs_libraries;

enum doctor_level { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL };

struct doctor_finding {
    enum doctor_level level;
    const char *      topic; // a word: what it is about
    char *            text;
    char *            fix; // what to do about it, NULL where there is nothing
};

struct doctor_report {
    struct doctor_finding * findings;
    size_t                  count;
    bool                    failed; // out of memory
};

// `topic` must outlive the report. `fix` may be NULL.
__attribute__((format(printf, 5, 6))) void doctor_add(struct doctor_report * report, enum doctor_level level,
                                                      const char * topic, const char * fix, const char * format, ...);

void doctor_release(struct doctor_report * report);

// Kernel, clock, memory for spools, page faults, block I/O, memory limits.
void doctor_machine(struct doctor_report * report);
// Can the functions that the capture library takes over be taken over in these libraries?
void doctor_hooks(struct doctor_report * report, const struct ggs_libraries * capture,
                  const struct ggs_libraries * engine);
