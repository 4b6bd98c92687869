#include "record/launch/streaming.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "record/inspect/capture-library.h"
#include "record/launch/environment.h"

static const uint64_t LEAST_BUDGET = 16u << 20;

static bool take_budget(void * member, const char * text) {
    return ggs_parse_bytes(text, member) && *(uint64_t *) member >= LEAST_BUDGET;
}

static bool take_keep(void * member, const char * text) {
    return (strcmp(text, "spread") == 0 || strcmp(text, "first") == 0 || strcmp(text, "none") == 0) &&
           ggs_take_text(member, text);
}

static bool take_predict(void * member, const char * text) {
    int64_t number;
    return ggs_parse_i64(text, 0, 1024, &number) && ggs_take_text(member, text);
}

#define AT(member) offsetof(struct ggs_streaming, member)
const struct ggs_option ggs_streaming_options[] = {
    {"budget", 0, "SIZE",
     "Let the program take SIZE bytes of memory, weights included (what its control group and the machine leave)", 0,
     AT(budget), take_budget, "a size of at least 16M, such as 512M or 2G"},
    {"keep", 0, "spread|first|none",
     "Which of the weights that every token uses stay in memory: some everywhere in the graph (the default), the first, or none",
     0, AT(keep), take_keep, "spread, first or none"},
    {"predict", 0, "N", "Read N experts of the next layer early (as many as a token uses; 0: none)", 0, AT(predict),
     take_predict, "a number from 0 to 1024"},
    {"verify", 0, NULL, "Compare every piece that is read with the file", 0, AT(verify), NULL, NULL},
    {"report", 0, "FILE", "Write what was read, hit and waited for to FILE, as JSON", 0, AT(report), ggs_take_text,
     NULL},
    {0},
};

static const char * find_preload(const struct ggs_environment * environment) {
    for (size_t i = 0; i < environment->count; i++) {
        if (strncmp(environment->entries[i], "LD_PRELOAD=", 11) == 0) return environment->entries[i] + 11;
    }
    return "";
}

int ggs_streaming_prepare(const struct ggs_streaming * streaming, struct ggs_environment * environment,
                          struct ggs_error * error) {
    char library[PATH_MAX], number[GGS_NUMBER_LENGTH], report[PATH_MAX];
    int  status = ggs_stream_library_find(library, error);
    if (status != 0) return status;
    const char * before = find_preload(environment);
    size_t       size   = strlen(before) + strlen(library) + 2;
    char *       both   = malloc(size);
    if (both == NULL) return ggs_fail_memory(error);
    snprintf(both, size, "%s%s%s", before, before[0] == '\0' ? "" : ":", library);
    ggs_environment_set(environment, "LD_PRELOAD", both);
    free(both);
    ggs_environment_set(environment, "GGSCOPE_STREAM", "1");
    snprintf(number, sizeof(number), "%llu", (unsigned long long) streaming->budget);
    ggs_environment_set(environment, "GGSCOPE_STREAM_BUDGET", number);
    if (streaming->keep != NULL) ggs_environment_set(environment, "GGSCOPE_STREAM_KEEP", streaming->keep);
    if (streaming->predict != NULL) ggs_environment_set(environment, "GGSCOPE_STREAM_PREDICT", streaming->predict);
    if (streaming->verify) ggs_environment_set(environment, "GGSCOPE_STREAM_VERIFY", "1");
    if (streaming->quiet) ggs_environment_set(environment, "GGSCOPE_STREAM_QUIET", "1");
    if (streaming->report != NULL) {
        FILE * file = fopen(streaming->report, "we");
        if (file == NULL) return ggs_fail_errno(error, "cannot write the report to %s", streaming->report);
        fclose(file);
        if (realpath(streaming->report, report) == NULL)
            return ggs_fail_errno(error, "cannot find %s again", streaming->report);
        ggs_environment_set(environment, "GGSCOPE_STREAM_REPORT", report);
    }
    return environment->failed ? ggs_fail_memory(error) : 0;
}
