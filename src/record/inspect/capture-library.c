#include "record/inspect/capture-library.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

static int program_folder(char folder[PATH_MAX], struct ggs_error * error) {
    ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    if (length <= 0) return ggs_fail_errno(error, "cannot find out where ggscope itself is (/proc/self/exe)");
    folder[length]        = '\0';
    *strrchr(folder, '/') = '\0';
    return 0;
}

// ---- paths that do not fit LD_PRELOAD ----

static bool is_fit(const char * path) {
    return strpbrk(path, " :\t\n") == NULL;
}

// Makes PARENT/ggscope-preload-UID-FOLDER, where FOLDER identifies the library's folder. PARENT is
// writable by others: returns false unless the folder is ours alone.
static bool make_private(char folder[PATH_MAX], const char * parent, const struct stat * library_folder) {
    struct stat made;
    if (parent == NULL || parent[0] != '/' || !is_fit(parent)) return false;
    if (snprintf(folder, PATH_MAX, "%s/ggscope-preload-%u-%llx-%llx", parent, (unsigned) geteuid(),
                 (unsigned long long) library_folder->st_dev, (unsigned long long) library_folder->st_ino) >= PATH_MAX)
        return false;
    mkdir(folder, 0700); // it may exist
    return lstat(folder, &made) == 0 && S_ISDIR(made.st_mode) && made.st_uid == geteuid() && (made.st_mode & 077) == 0;
}

// Makes LINK lead to `path`, even if another process does the same at this time.
static bool make_link(const char * link, const char * path) {
    char    there[PATH_MAX];
    ssize_t length = readlink(link, there, sizeof(there));
    if (length == (ssize_t) strlen(path) && memcmp(there, path, (size_t) length) == 0) return true;
    unlink(link);
    if (symlink(path, link) == 0) return true;
    length = readlink(link, there, sizeof(there));
    return length == (ssize_t) strlen(path) && memcmp(there, path, (size_t) length) == 0;
}

// Replaces `path` by a link without blanks and colons. The link stays: processes that the program
// starts later need it too.
static int link_to(char path[PATH_MAX], struct ggs_error * error) {
    const char * const parents[] = {getenv("XDG_RUNTIME_DIR"), "/dev/shm", "/tmp"};
    char               folder[PATH_MAX], link[PATH_MAX];
    struct stat        library_folder;
    const char *       name = strrchr(path, '/');
    snprintf(folder, sizeof(folder), "%.*s", (int) (name - path), path);
    bool known = stat(folder, &library_folder) == 0;
    for (size_t i = 0; known && i < sizeof(parents) / sizeof(parents[0]); i++) {
        if (!make_private(folder, parents[i], &library_folder) ||
            snprintf(link, sizeof(link), "%s%s", folder, name) >= (int) sizeof(link) || !make_link(link, path))
            continue;
        memcpy(path, link, strlen(link) + 1);
        return 0;
    }
    return ggs_fail(error, GGS_UNSUPPORTED,
                    "%s cannot be preloaded: its path has a blank or a colon in it, and no link to it can be made in "
                    "/dev/shm or /tmp; install ggscope elsewhere",
                    path);
}

static int find_library(char path[PATH_MAX], const char * name, struct ggs_error * error) {
    static const char * const places[] = {"../lib",
                                          "../lib/ggscope",
                                          "../lib64/ggscope",
                                          "../lib/x86_64-linux-gnu/ggscope",
                                          "../lib/aarch64-linux-gnu/ggscope",
                                          "."};
    char                      folder[PATH_MAX], candidate[PATH_MAX];
    int                       status = program_folder(folder, error);
    if (status != 0) return status;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (snprintf(candidate, sizeof(candidate), "%s/%s/%s", folder, places[i], name) >= (int) sizeof(candidate))
            continue;
        if (realpath(candidate, path) == NULL) continue;
        return is_fit(path) ? 0 : link_to(path, error);
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
    int  status = program_folder(folder, error);
    if (status != 0) return status;
    if (snprintf(path, PATH_MAX, "%s/%s", folder, name) >= PATH_MAX || access(path, X_OK) != 0)
        return ggs_fail(error, GGS_ABSENT, "%s is missing: it should be in %s; build or install ggscope again", name,
                        folder);
    return 0;
}
