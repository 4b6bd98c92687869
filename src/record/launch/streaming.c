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

enum { KEY_BUDGET = 1100, KEY_KEEP, KEY_PREDICT, KEY_VERIFY, KEY_REPORT };

static const struct argp_option streaming_options[] = {
    {NULL, 0, NULL, 0, "Streaming:", 20},
    {"budget", KEY_BUDGET, "SIZE", 0,
     "Let the program take SIZE bytes of memory, weights included (what its control group and the machine leave)", 0},
    {"keep", KEY_KEEP, "spread|first|none", 0,
     "Which of the weights that every token uses stay in memory: some everywhere in the graph (the default), the first, or none",
     0},
    {"predict", KEY_PREDICT, "N", 0, "Read N experts of the next layer early (as many as a token uses; 0: none)", 0},
    {"verify", KEY_VERIFY, NULL, 0, "Compare every piece that is read with the file", 0},
    {"report", KEY_REPORT, "FILE", 0, "Write what was read, hit and waited for to FILE, as JSON", 0},
    {0},
};

static error_t parse_option(int key, char * argument, struct argp_state * state) {
    struct ggs_streaming * streaming = state->input;
    int64_t                number;
    switch (key) {
        case KEY_BUDGET:
            if (!ggs_parse_bytes(argument, &streaming->budget) || streaming->budget < LEAST_BUDGET)
                argp_error(state, "--budget wants a size of at least 16M, such as 512M or 2G, not '%s'", argument);
            return 0;
        case KEY_KEEP:
            if (strcmp(argument, "spread") != 0 && strcmp(argument, "first") != 0 && strcmp(argument, "none") != 0)
                argp_error(state, "--keep is spread, first or none, not '%s'", argument);
            streaming->keep = argument;
            return 0;
        case KEY_PREDICT:
            if (!ggs_parse_i64(argument, 0, 1024, &number))
                argp_error(state, "--predict wants a number from 0 to 1024, not '%s'", argument);
            streaming->predict = argument;
            return 0;
        case KEY_VERIFY:
            streaming->verify = true;
            return 0;
        case KEY_REPORT:
            streaming->report = argument;
            return 0;
        default:
            return ARGP_ERR_UNKNOWN;
    }
}

const struct argp ggs_streaming_argp = {streaming_options, parse_option, NULL, NULL, NULL, NULL, NULL};

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
