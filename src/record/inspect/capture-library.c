#include "record/inspect/capture-library.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

static int own_folder(char folder[PATH_MAX], struct ggs_error * error) {
    ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    if (length <= 0) return ggs_fail_errno(error, "cannot find out where ggscope itself is (/proc/self/exe)");
    folder[length]        = '\0';
    *strrchr(folder, '/') = '\0';
    return 0;
}

static int find_library(char path[PATH_MAX], const char * name, struct ggs_error * error) {
    static const char * const places[] = {"../lib",
                                          "../lib/ggscope",
                                          "../lib64/ggscope",
                                          "../lib/x86_64-linux-gnu/ggscope",
                                          "../lib/aarch64-linux-gnu/ggscope",
                                          "."};
    char                      folder[PATH_MAX], candidate[PATH_MAX];
    int                       status = own_folder(folder, error);
    if (status != 0) return status;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (snprintf(candidate, sizeof(candidate), "%s/%s/%s", folder, places[i], name) >= (int) sizeof(candidate))
            continue;
        if (realpath(candidate, path) == NULL) continue;
        if (strpbrk(path, " :") != NULL)
            return ggs_fail(
                error, GGS_UNSUPPORTED,
                "%s cannot be preloaded, because its path has a blank or a colon in it: install ggscope elsewhere",
                path);
        return 0;
    }
    return ggs_fail(error, GGS_ABSENT,
                    "%s is missing: looked in %s/../lib and below it; build or install ggscope again", name, folder);
}

int ggs_capture_library_find(char path[PATH_MAX], struct ggs_error * error) {
    return find_library(path, "libggscope-capture.so", error);
}

int ggs_stream_library_find(char path[PATH_MAX], struct ggs_error * error) {
    return find_library(path, "libggscope-stream.so", error);
}

int ggs_sibling_find(char path[PATH_MAX], const char * name, struct ggs_error * error) {
    char folder[PATH_MAX];
    int  status = own_folder(folder, error);
    if (status != 0) return status;
    if (snprintf(path, PATH_MAX, "%s/%s", folder, name) >= PATH_MAX || access(path, X_OK) != 0)
        return ggs_fail(error, GGS_ABSENT, "%s is missing: it should be in %s; build or install ggscope again", name,
                        folder);
    return 0;
}
