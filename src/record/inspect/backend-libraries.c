// ggscope doctor: libraries of backends other than the CPU's, and what is recorded of each.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/backend-traits.h"
#include "record/inspect/doctor-findings.h"
#include "record/inspect/libraries.h"

// Returns the name of a backend library, "vulkan" of libggml-vulkan.so.0; false for the CPU's and
// for other libraries.
static bool backend_name(const char * file, char name[64]) {
    static const char prefix[] = "libggml-";
    if (strncmp(file, prefix, sizeof(prefix) - 1) != 0) return false;
    snprintf(name, 64, "%.*s", (int) strcspn(file + sizeof(prefix) - 1, "."), file + sizeof(prefix) - 1);
    return strcmp(name, "base") != 0 && strcmp(name, "cpu") != 0 && strncmp(name, "cpu-", 4) != 0;
}

// True if a folder of a list has one of the files of another; the parts of both end with ':'.
static bool is_in_folders(const char * files, const char * folders) {
    for (size_t length; folders != NULL && *folders != '\0'; folders += length + (folders[length] == ':')) {
        length = strcspn(folders, ":");
        size_t part;
        for (const char * file = files; *file != '\0'; file += part + (file[part] == ':')) {
            char path[PATH_MAX];
            part = strcspn(file, ":");
            snprintf(path, sizeof(path), "%.*s/%.*s", (int) length, folders, (int) part, file);
            if (access(path, R_OK) == 0) return true;
        }
    }
    return false;
}

static void add_known(struct ggs_findings * report, const struct ggs_backend_traits * traits, const char * file) {
    const char * libraries = traits->tool.libraries;
    if (libraries == NULL || is_in_folders(libraries, getenv("LD_LIBRARY_PATH")) ||
        is_in_folders(libraries, traits->tool.folders)) {
        ggs_findings_add(report, GGS_FINDING_OK, "backend", NULL, "%s: %s", file, traits->recorded);
    } else {
        char fix[256];
        snprintf(fix, sizeof(fix), "install it: %s", traits->tool.install);
        ggs_findings_add(report, GGS_FINDING_WARN, "backend", fix, "%s: %s", file, traits->tool.without);
    }
}

static void add_finding(struct ggs_findings * report, const struct ggs_library * library, const char * name) {
    const struct ggs_backend_traits * traits = ggs_backend_traits_of_library(name);
    const char *                      file   = ggs_file_name(library->path);
    bool                              nodes = ggs_elf_calls(&library->elf, "ggml_is_empty"); // once per node of a graph
    if (traits != NULL && traits->recorded != NULL && nodes)
        add_known(report, traits, file);
    else
        ggs_findings_add(report, GGS_FINDING_WARN, "backend", NULL,
                         "%s: whole graph runs, and the bytes that their graphs address; its ops have no times%s", file,
                         nodes ? ", but when and how long the host handed each over" : "");
}

void ggs_findings_backends(struct ggs_findings * report, const struct ggs_libraries * engine) {
    struct ggs_libraries found = {0};
    char                 name[64];
    for (size_t i = 0; i < engine->count; i++) {
        char         folder[PATH_MAX];
        const char * path = engine->items[i].path;
        snprintf(folder, sizeof(folder), "%.*s", (int) (ggs_file_name(path) - path), path);
        if (ggs_libraries_add_ggml(&found, folder) != 0) report->failed = true;
    }
    for (size_t i = 0; i < found.count; i++) {
        if (backend_name(ggs_file_name(found.items[i].path), name)) add_finding(report, &found.items[i], name);
    }
    ggs_libraries_release(&found);
}
