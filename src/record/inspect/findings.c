#include "record/inspect/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

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
