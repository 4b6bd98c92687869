// Findings about a machine, a program or its libraries: one sentence each, with what to do about
// it.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct ggs_libraries;
struct ggs_object;

enum ggs_finding_level { GGS_FINDING_OK, GGS_FINDING_WARN, GGS_FINDING_FAIL };

struct ggs_finding {
    enum ggs_finding_level level;
    const char *           topic; // a word for its subject
    char *                 text;
    char *                 fix; // what to do about it, NULL for nothing
};

// A zeroed struct is empty.
struct ggs_findings {
    struct ggs_finding * findings;
    size_t               count, capacity;
    bool                 failed; // out of memory
};

// `topic` must outlive the findings. `fix` may be NULL.
__attribute__((format(printf, 5, 6))) void ggs_findings_add(struct ggs_findings *  findings,
                                                            enum ggs_finding_level level, const char * topic,
                                                            const char * fix, const char * format, ...);
void                                       ggs_findings_release(struct ggs_findings * findings);
// True if none is a FAIL.
bool                           ggs_findings_good(const struct ggs_findings * findings);
extern const struct ggs_object ggs_findings_object;

// Checks whether the functions that the capture library hooks can be hooked in these libraries
// (hooked-functions.c).
void ggs_findings_hooks(struct ggs_findings * findings, const struct ggs_libraries * capture,
                        const struct ggs_libraries * engine);
// Reports what is lost without a hook of this function. `reason`: why there is none.
void ggs_findings_lost(struct ggs_findings * findings, const char * function, const char * reason);
// Reports what will be recorded of an engine inside the program or library at `path`, which is read
// as `file`. Returns false if there is none, or one whose calls go through the dynamic linker
// (engine-inside.c).
struct ggs_elf;
bool ggs_findings_inside(struct ggs_findings * findings, const struct ggs_libraries * capture,
                         const struct ggs_elf * elf, const char * path, const char * file);
// Reports what will be recorded of the backends beside these libraries, except for the CPU's
// (backend-libraries.c).
void ggs_findings_backends(struct ggs_findings * findings, const struct ggs_libraries * engine);
