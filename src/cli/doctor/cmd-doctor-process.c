// ggscope doctor PID: what ggscope attach would record.
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/system/file.h"
#include "cli/doctor/cmd-doctor.h"
#include "record/inspect/doctor-findings.h"
#include "record/inspect/elf.h"
#include "record/inspect/libraries.h"
#include "record/launch/attach.h"

static const char gone[] = " (deleted)"; // ends the path of a file that was removed or replaced

static bool is_gone(const char * path) {
    size_t length = strlen(path);
    return length >= sizeof(gone) && strcmp(path + length - (sizeof(gone) - 1), gone) == 0;
}

static bool is_program(const struct ggs_tracee * tracee, const char * path) {
    char    link[64], target[PATH_MAX];
    ssize_t length;
    snprintf(link, sizeof(link), "/proc/%d/exe", (int) tracee->pid);
    length = readlink(link, target, sizeof(target) - 1);
    if (length <= 0) return false;
    target[length] = '\0';
    return strcmp(target, path) == 0;
}

// Finds where a mapped file can be read, which may have been removed or replaced since. False if
// that takes more rights.
static bool find_file(char file[PATH_MAX + 64], const struct ggs_tracee * tracee, const struct ggs_tracee_map * map) {
    enum { SIZE = PATH_MAX + 64 };
    int pid = (int) tracee->pid;
    snprintf(file, SIZE, "/proc/%d/map_files/%llx-%llx", pid, (unsigned long long) map->start,
             (unsigned long long) map->end);
    if (access(file, R_OK) == 0) return true;
    if (is_program(tracee, map->path))
        snprintf(file, SIZE, "/proc/%d/exe", pid);
    else if (!is_gone(map->path))
        tracee->other_root ? snprintf(file, SIZE, "/proc/%d/root%s", pid, map->path)
                           : snprintf(file, SIZE, "%s", map->path);
    else
        return false;
    return access(file, R_OK) == 0;
}

// The capture library has functions of the engine's names, too.
static bool is_own(const char * path) {
    const char * name = ggs_file_name(path);
    return strncmp(name, "libggscope-", 11) == 0 || strncmp(name, "memfd:ggscope_", 14) == 0;
}

// True for the first mapping of a file that has code.
static bool is_object(const struct ggs_tracee * tracee, size_t i) {
    const struct ggs_tracee_map *map = &tracee->maps[i], *other;
    if (map->offset != 0 || map->path[0] != '/' || is_own(map->path)) return false;
    for (other = map; other < tracee->maps + tracee->n_maps && strcmp(other->path, map->path) == 0; other++)
        if (other->executable) return true;
    return false;
}

// Returns true if the object is a part of an engine, or has one inside.
static bool check_object(struct ggs_findings * report, const struct ggs_tracee * tracee,
                         const struct ggs_tracee_map * map, const struct ggs_libraries * capture,
                         struct ggs_libraries * libraries) {
    char           path[PATH_MAX], file[PATH_MAX + 64];
    struct ggs_elf elf;
    bool           found = false, removed = is_gone(map->path);
    snprintf(path, sizeof(path), "%.*s", (int) (strlen(map->path) - (removed ? sizeof(gone) - 1 : 0)), map->path);
    bool engine = ggs_library_is_engine(ggs_file_name(path));
    if (!find_file(file, tracee, map)) {
        if (engine || removed)
            ggs_findings_add(report, GGS_FINDING_WARN, "process", "run ggscope as root",
                             "%s was removed or replaced after process %d had loaded it: what is in it cannot be read",
                             path, (int) tracee->pid);
        return engine;
    }
    if (engine) {
        if (ggs_libraries_add_file(libraries, path, file) != 0) report->failed = true;
        return true;
    }
    if (ggs_elf_open(&elf, file, NULL) != 0) return false;
    found = doctor_object(report, &elf, path, file, capture, libraries);
    ggs_elf_close(&elf);
    return found;
}

void doctor_process(struct ggs_findings * report, const char * number, const struct ggs_libraries * capture,
                    struct ggs_libraries * libraries) {
    struct ggs_attach attach;
    struct ggs_error  error;
    if (ggs_attach_open(&attach, number, &error) == 0) {
        const struct ggs_tracee * tracee = &attach.tracee;
        bool                      found  = false;
        ggs_findings_add(report, GGS_FINDING_OK, "process", NULL, "ggscope attach %s can record process %s (%s)%s",
                         number, number, tracee->name,
                         attach.entry == 0 ? "" : "; the capture library is loaded already");
        for (size_t i = 0; i < tracee->n_maps; i++)
            if (is_object(tracee, i) && check_object(report, tracee, &tracee->maps[i], capture, libraries))
                found = true;
        if (!found)
            ggs_findings_add(
                report, GGS_FINDING_WARN, "process", NULL,
                "process %s (%s) has no ggml inside and no library of ggml or llama.cpp loaded: what it loads while "
                "ggscope is attached is recorded",
                number, tracee->name);
    } else {
        ggs_findings_add(report, GGS_FINDING_FAIL, "process", NULL, "%s", error.text);
    }
    ggs_attach_close(&attach);
}
