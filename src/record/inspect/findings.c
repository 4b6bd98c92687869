#include "record/inspect/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ggs_findings_add(struct ggs_findings * report, enum ggs_finding_level level, const char * topic, const char * fix,
                      const char * format, ...) {
    struct ggs_finding * more = realloc(report->findings, (report->count + 1) * sizeof(*more));
    if (more == NULL) {
        report->failed = true;
        return;
    }
    report->findings         = more;
    struct ggs_finding * new = &more[report->count];
    *new = (struct ggs_finding){.level = level, .topic = topic, .fix = fix == NULL ? NULL : strdup(fix)};
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&new->text, format, arguments) < 0) new->text = NULL;
    va_end(arguments);
    if (new->text == NULL || (fix != NULL && new->fix == NULL)) report->failed = true;
    report->count++;
}

void ggs_findings_release(struct ggs_findings * report) {
    for (size_t i = 0; i < report->count; i++) {
        free(report->findings[i].text);
        free(report->findings[i].fix);
    }
    free(report->findings);
    *report = (struct ggs_findings){0};
}
