// ggscope doctor: backends other than the CPU's, and what is recorded of each.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/inspect/findings.h"
#include "record/inspect/libraries.h"

// Returns the name of a backend library, "vulkan" of libggml-vulkan.so.0; false for the CPU's and
// for other libraries.
static bool backend_name(const char * file, char name[64]) {
    static const char prefix[] = "libggml-";
    if (strncmp(file, prefix, sizeof(prefix) - 1) != 0) return false;
    snprintf(name, 64, "%.*s", (int) strcspn(file + sizeof(prefix) - 1, "."), file + sizeof(prefix) - 1);
    return strcmp(name, "base") != 0 && strcmp(name, "cpu") != 0 && strncmp(name, "cpu-", 4) != 0;
}

static bool has_cupti(const char * folders) {
    for (size_t length; folders != NULL && *folders != '\0'; folders += length + (folders[length] == ':')) {
        char path[PATH_MAX];
        length = strcspn(folders, ":");
        for (int major = 12; major <= 13; major++) {
            snprintf(path, sizeof(path), "%.*s/libcupti.so.%d", (int) length, folders, major);
            if (access(path, R_OK) == 0) return true;
        }
    }
    return false;
}

static void add_finding(struct ggs_findings * report, const struct ggs_library * library, const char * name) {
    const char * file  = ggs_file_name(library->path);
    bool         nodes = ggs_elf_calls(&library->elf, "ggml_is_empty"); // once per node of a graph
    if (strcmp(name, "vulkan") == 0 && nodes) {
        ggs_findings_add(report, GGS_FINDING_OK, "backend", NULL, "%s: every op, with its times on the device", file);
    } else if (strcmp(name, "cuda") == 0 && nodes) {
        bool there = has_cupti(getenv("LD_LIBRARY_PATH")) ||
                     has_cupti("/usr/local/cuda/lib64:/usr/local/cuda/extras/CUPTI/lib64:"
                               "/usr/lib/x86_64-linux-gnu:/usr/lib/aarch64-linux-gnu:/usr/lib64:/usr/local/lib");
        ggs_findings_add(
            report, there ? GGS_FINDING_OK : GGS_FINDING_WARN, "backend",
            there ? NULL : "install it: cuda-cupti, or nvidia-cuda-cupti",
            there ? "%s: ops and kernels with their times on the device, in the runs of --gpu-ops"
                  : "%s: whole graph runs; ops and kernels too if libcupti is found, which is not in the usual folders",
            file);
    } else {
        ggs_findings_add(report, GGS_FINDING_WARN, "backend", NULL,
                         "%s: whole graph runs, and the bytes that their graphs address; its ops have no times%s", file,
                         nodes ? ", but when and how long the host handed each over" : "");
    }
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
