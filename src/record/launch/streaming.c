#include "record/launch/streaming.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/number.h"
#include "base/system/cache.h"
#include "record/inspect/capture-library.h"
#include "record/launch/child-environment.h"

GGS_WORDS(keep_words, {"spread", "some everywhere in the graph (the default)"}, {"first", "the first of the graph"},
          {"none", NULL})

static bool set_keep(void * member, const char * text) {
    return (strcmp(text, "spread") == 0 || strcmp(text, "first") == 0 || strcmp(text, "none") == 0) &&
           ggs_set_text(member, text);
}

static bool set_predict(void * member, const char * text) {
    int64_t number;
    return ggs_parse_i64(text, 0, 1024, &number) && ggs_set_text(member, text);
}

#define AT(member) offsetof(struct ggs_streaming, member)
const struct ggs_option ggs_streaming_options[] = {
    GGS_OPTION(
        "budget", 0, "SIZE",
        "Let the program take SIZE bytes of memory, or a share of the model, weights included (what its control group and the machine leave)",
        0, AT(budget), ggs_set_memory, GGS_EXPECTS_MEMORY),
    GGS_OPTION_OF("keep", 0, "WHICH", "Weights that every token uses and that stay in memory", 0, AT(keep), set_keep,
                  keep_words),
    GGS_OPTION("predict", 0, "N", "Read N experts of the next layer early (as many as a token uses; 0: none)", 0,
               AT(predict), set_predict, "a number from 0 to 1024"),
    GGS_SWITCH("verify", 0, "Compare every piece that is read with the file", 0, AT(verify)),
    GGS_SWITCH("no-history", 0, "Neither use nor keep which experts earlier runs chose", 0, AT(no_history)),
    GGS_SWITCH("forget", 0, "First delete the history of earlier runs, of all models", 0, AT(forget)),
    GGS_OPTION("report", 0, "FILE", "Write counts of reads, hits and waits to FILE as JSON", 0, AT(report),
               ggs_set_text, NULL),
    {0},
};

static const char * find_preload(const struct ggs_child_environment * environment) {
    for (size_t i = 0; i < environment->count; i++) {
        if (strncmp(environment->entries[i], "LD_PRELOAD=", 11) == 0) return environment->entries[i] + 11;
    }
    return "";
}

// Empties the report's file and finds its full path. A pipe is refused: the program would wait for
// a reader when it ends.
static int prepare_report(const char * path, char full[PATH_MAX], struct ggs_error * error) {
    struct stat status;
    int         fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0666);
    if (fd < 0 && errno != ENXIO) return ggs_fail_errno(error, "cannot write the report to %s", path);
    bool is_pipe = fd < 0 || (fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode));
    if (fd >= 0) close(fd);
    if (is_pipe)
        return ggs_fail(error, GGS_USAGE, "--report needs a file, which is written when the program ends: %s is a pipe",
                        path);
    return realpath(path, full) != NULL ? 0 : ggs_fail_errno(error, "cannot write the report to %s", path);
}

int ggs_streaming_prepare(const struct ggs_streaming * streaming, struct ggs_child_environment * environment,
                          struct ggs_error * error) {
    char library[PATH_MAX], number[GGS_NUMBER_LENGTH], report[PATH_MAX];
    int  status = ggs_stream_library_find(library, error);
    if (status != 0) return status;
    const char * before = find_preload(environment);
    size_t       size   = strlen(before) + strlen(library) + 2;
    char *       both   = malloc(size);
    if (both == NULL) return ggs_fail_memory(error);
    snprintf(both, size, "%s%s%s", before, before[0] == '\0' ? "" : ":", library);
    ggs_child_environment_set(environment, "LD_PRELOAD", both);
    free(both);
    ggs_child_environment_set(environment, "GGSCOPE_STREAM", "1");
    snprintf(number, sizeof(number), "%llu", (unsigned long long) streaming->budget.bytes);
    ggs_child_environment_set(environment, "GGSCOPE_STREAM_BUDGET", number);
    if (streaming->keep != NULL) ggs_child_environment_set(environment, "GGSCOPE_STREAM_KEEP", streaming->keep);
    if (streaming->predict != NULL)
        ggs_child_environment_set(environment, "GGSCOPE_STREAM_PREDICT", streaming->predict);
    if (streaming->verify) ggs_child_environment_set(environment, "GGSCOPE_STREAM_VERIFY", "1");
    if (streaming->quiet) ggs_child_environment_set(environment, "GGSCOPE_STREAM_QUIET", "1");
    if (streaming->verbose) ggs_child_environment_set(environment, "GGSCOPE_STREAM_VERBOSE", "1");
    if (streaming->no_history) ggs_child_environment_set(environment, "GGSCOPE_STREAM_NO_HISTORY", "1");
    if (streaming->forget) ggs_cache_remove("history");
    if (streaming->report != NULL) {
        if ((status = prepare_report(streaming->report, report, error)) != 0) return status;
        ggs_child_environment_set(environment, "GGSCOPE_STREAM_REPORT", report);
    }
    return environment->failed ? ggs_fail_memory(error) : 0;
}
