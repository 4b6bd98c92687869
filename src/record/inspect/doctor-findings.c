#include "record/inspect/doctor-findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/object.h"

void ggs_findings_add(struct ggs_findings * report, enum ggs_finding_level level, const char * topic, const char * fix,
                      const char * format, ...) {
    struct ggs_finding finding = {.level = level, .topic = topic, .fix = fix == NULL ? NULL : strdup(fix)};
    va_list            arguments;
    va_start(arguments, format);
    if (vasprintf(&finding.text, format, arguments) < 0) finding.text = NULL;
    va_end(arguments);
    if (finding.text != NULL && (fix == NULL || finding.fix != NULL) &&
        ggs_array_push(report->findings, report->count, report->capacity, finding))
        return;
    report->failed = true;
    free(finding.text);
    free(finding.fix);
}

void ggs_findings_release(struct ggs_findings * report) {
    for (size_t i = 0; i < report->count; i++) {
        free(report->findings[i].text);
        free(report->findings[i].fix);
    }
    free(report->findings);
    *report = (struct ggs_findings){0};
}

bool ggs_findings_good(const struct ggs_findings * findings) {
    bool good = true;
    for (size_t i = 0; i < findings->count; i++) good = good && findings->findings[i].level != GGS_FINDING_FAIL;
    return good;
}

// ---- JSON ----

static const char * level_word(uint64_t level) {
    static const char * const words[] = {"ok", "warn", "fail"};
    return level <= GGS_FINDING_FAIL ? words[level] : NULL;
}

static bool is_good(const void * findings, const void * context) {
    (void) context;
    return ggs_findings_good(findings);
}

static const struct ggs_field finding_fields[] = {
    GGS_FIELD_WORD(struct ggs_finding, level, "level", level_word),
    GGS_FIELD(struct ggs_finding, topic, "topic"),
    GGS_FIELD(struct ggs_finding, text, "text"),
    GGS_FIELD_OR_NULL(struct ggs_finding, fix, "fix", "what to do about it"),
    {0},
};
static const struct ggs_object finding_ = {.fields = finding_fields, .lines = true};

static const struct ggs_field fields[] = {
    GGS_TEST("ok", is_good, "recording is possible"),
    GGS_ROWS(struct ggs_findings, findings, count, "checks", &finding_),
    {0},
};
const struct ggs_object ggs_findings_object = {
    .name   = "Findings",
    .text   = "What can be recorded on this machine, and how to fix the rest.",
    .fields = fields,
    .lines  = true,
};
