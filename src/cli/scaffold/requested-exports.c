#include "cli/scaffold/requested-exports.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/system/file.h"
#include "export/export.h"

int ggs_requested_exports_write(const char * directory, const char * format, const char * output, const char * label) {
    struct ggs_export_options options = {
        .format = format, .output = output, .last_step = INT64_MAX, .underscores = true};
    struct ggs_export_result result;
    struct ggs_error         error  = {0};
    int                      status = ggs_export(&options, directory, &result, &error);
    if (status < 0) {
        fprintf(stderr, "ggscope: %s\n", error.text);
        return 1;
    }
    if (label != NULL)
        fprintf(stderr, "%-9s %s, %" PRIu64 " file%s\n", label, output, result.files, result.files == 1 ? "" : "s");
    return 0;
}

// Evaluates a variable like ggml-viz.
static bool is_set(const char * variable) {
    const char * value = getenv(variable);
    return value != NULL && (strcmp(value, "1") == 0 || strcmp(value, "true") == 0);
}

void ggs_requested_exports_environment(const char * directory) {
    const char * output = getenv("GGML_VIZ_OUTPUT");
    if (output == NULL || output[0] == '\0' || directory[0] == '\0' || is_set("GGML_VIZ_DISABLE")) return;
    ggs_requested_exports_write(directory, "ggmlviz", output, is_set("GGML_VIZ_VERBOSE") ? "ggmlviz" : NULL);
}
