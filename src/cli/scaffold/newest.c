#include "cli/scaffold/newest.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/walk/trace.h"
#include "base/array.h"
#include "base/error.h"
#include "record/experiment.h"
#include "record/settings.h"
#include "record/spool/place.h"

struct candidate {
    char *          path;
    struct timespec changed;
};

static int newer_first(const void * left, const void * right) {
    const struct timespec *a = &((const struct candidate *) left)->changed,
                          *b = &((const struct candidate *) right)->changed;
    if (a->tv_sec != b->tv_sec) return a->tv_sec > b->tv_sec ? -1 : 1;
    return a->tv_nsec == b->tv_nsec ? 0 : a->tv_nsec > b->tv_nsec ? -1 : 1;
}

static bool holds_something(const char * path) {
    struct ggs_reader * reader;
    struct ggs_error    error;
    if (ggs_experiment_is_claimed(path)) return false;
    if (ggs_spool_place_has_segments(path)) return true;
    if (ggs_reader_open(&reader, path, &error) != 0) return false;
    bool holds = ggs_reader_rows(reader, GGS_TABLE_RUNS) > 0;
    ggs_reader_close(reader);
    return holds;
}

int ggs_newest_find(char path[PATH_MAX], struct ggs_error * error) {
    char               folder[PATH_MAX], name[PATH_MAX];
    struct candidate * candidates = NULL;
    size_t             n = 0, capacity = 0;
    struct stat        info;
    int                status = ggs_settings_folder(folder, error);
    if (status != 0) return status;
    DIR * entries = opendir(folder);
    path[0]       = '\0';
    for (struct dirent * entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        if (entry->d_name[0] == '.' ||
            snprintf(name, sizeof(name), "%s/%s", folder, entry->d_name) >= (int) sizeof(name))
            continue;
        if (stat(name, &info) != 0 || !S_ISDIR(info.st_mode) || !ggs_experiment_is_one(name)) continue;
        char * copy = strdup(name);
        if (copy == NULL || !ggs_array_push(candidates, n, capacity, (struct candidate){copy, info.st_mtim}))
            free(copy);
    }
    if (entries != NULL) closedir(entries);
    if (n > 0) qsort(candidates, n, sizeof(*candidates), newer_first);
    for (size_t i = 0; i < n; i++) {
        if (path[0] == '\0' && holds_something(candidates[i].path)) snprintf(path, PATH_MAX, "%s", candidates[i].path);
        free(candidates[i].path);
    }
    free(candidates);
    if (path[0] != '\0') return 0;
    return ggs_fail(error, GGS_ABSENT,
                    "there is no recording with data in %s%s; name a directory, or record one: ggscope run -m "
                    "MODEL.gguf -p \"Once upon a time\" -n 16",
                    folder[0] == '/' ? "" : "./", folder);
}
