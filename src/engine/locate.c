#include "engine/locate.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"

// Relative to the directory given by the user, in this order. Patterns of glob(7).
static const char * const library_places[] = {
    "", "bin", "lib", "lib64", "lib/*-linux-gnu", "build/bin", "build/lib", "src", "build/src", "bins/*",
};
// Some builds separate ggml from llama, and Debian separates the backends from ggml.
static const char * const ggml_places[] = {
    "",
    "bin",
    "lib",
    "lib64",
    "lib/*-linux-gnu",
    "ggml/src",
    "build/ggml/src",
    "../ggml/src",
    "ggml/backends*",
    "lib/*/ggml/backends*",
};

int ggs_engine_library_rank(const char * name, const char * stem) {
    size_t length = strlen(stem);
    if (strncmp(name, stem, length) != 0) return -1;
    const char * rest = name + length;
    if (strcmp(rest, ".so") == 0) return 0;
    if (strncmp(rest, ".so.", 4) == 0 && rest[4] >= '0' && rest[4] <= '9') return 1;
    size_t left = strlen(rest);
    if (rest[0] == '.' && left > 4 && strcmp(rest + left - 3, ".so") == 0) return 2;
    return -1;
}

// Makes a glob(3) pattern of `directory`, with special characters escaped, and `place`.
static char * glob_pattern(const char * directory, const char * place) {
    struct ggs_text pattern = {0};
    for (const char * c = directory; *c != '\0'; c++) {
        if (strchr("*?[]\\", *c) != NULL) ggs_text_putc(&pattern, '\\');
        ggs_text_putc(&pattern, *c);
    }
    ggs_text_printf(&pattern, "/%s", place);
    if (pattern.failed) ggs_text_release(&pattern);
    return pattern.data;
}

// Joins folder and name into path[PATH_MAX]. False if it does not fit.
static bool join(char * path, const char * folder, const char * name) {
    int length = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return length > 0 && length < PATH_MAX;
}

// Writes the best file of library `stem` in `folder` to path[PATH_MAX]. Newer versions sort last
// and win.
static bool find_library(const char * folder, const char * stem, char * path) {
    DIR * entries = opendir(folder);
    if (entries == NULL) return false;
    char            best[NAME_MAX + 1] = "";
    int             best_rank          = 0;
    struct dirent * entry;
    while ((entry = readdir(entries)) != NULL) {
        int rank = ggs_engine_library_rank(entry->d_name, stem);
        if (rank < 0) continue;
        bool better = best[0] == '\0' || rank < best_rank || (rank == best_rank && strverscmp(entry->d_name, best) > 0);
        if (!better) continue;
        struct stat status;
        char        candidate[PATH_MAX];
        if (!join(candidate, folder, entry->d_name) || stat(candidate, &status) != 0 || !S_ISREG(status.st_mode))
            continue;
        snprintf(best, sizeof(best), "%s", entry->d_name);
        best_rank = rank;
    }
    closedir(entries);
    return best[0] != '\0' && join(path, folder, best);
}

// The CPU backend is one libggml-cpu.so, or one library per kind of processor
// (libggml-cpu-haswell.so).
static bool find_cpu_backend(const char * folder, const char * stem, char * path) {
    static const char prefix[] = "libggml-cpu";
    (void) stem;
    DIR * entries = opendir(folder);
    if (entries == NULL) return false;
    bool            found = false;
    struct dirent * entry;
    while (!found && (entry = readdir(entries)) != NULL) {
        found = strncmp(entry->d_name, prefix, sizeof(prefix) - 1) == 0 && strstr(entry->d_name, ".so") != NULL;
    }
    closedir(entries);
    return found && snprintf(path, PATH_MAX, "%s", folder) < PATH_MAX;
}

typedef bool (*find_in_folder)(const char * folder, const char * stem, char * path);

// Runs `find` on every existing folder of `places` below `directory` until one succeeds.
static bool search(const char * directory, const char * const * places, size_t count, find_in_folder find,
                   const char * stem, char * path) {
    for (size_t i = 0; i < count; i++) {
        char * pattern = glob_pattern(directory, places[i]);
        glob_t folders;
        if (pattern == NULL || glob(pattern, GLOB_ONLYDIR, NULL, &folders) != 0) {
            free(pattern);
            continue;
        }
        bool found = false;
        for (size_t j = 0; j < folders.gl_pathc && !found; j++) {
            char folder[PATH_MAX];
            found = realpath(folders.gl_pathv[j], folder) != NULL && find(folder, stem, path);
        }
        globfree(&folders);
        free(pattern);
        if (found) return true;
    }
    return false;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

// Finds the engine below `directory`: libllama's folder is the first place for all other libraries.
static bool locate_below(const char * directory, struct ggs_engine_paths * paths) {
    static const char * const beside[] = {""};
    memset(paths, 0, sizeof(*paths));
    if (!search(directory, library_places, COUNT(library_places), find_library, "libllama", paths->llama)) return false;
    memcpy(paths->directory, paths->llama, sizeof(paths->directory));
    *strrchr(paths->directory, '/') = '\0';

    const struct {
        find_in_folder find;
        const char *   stem;
        char *         path;
    } others[] = {
        {find_library, "libggml", paths->ggml},
        {find_library, "libggml-base", paths->ggml_base},
        {find_cpu_backend, "", paths->backends},
    };
    for (size_t i = 0; i < COUNT(others); i++) {
        if (search(paths->directory, beside, 1, others[i].find, others[i].stem, others[i].path)) continue;
        if (search(paths->directory, ggml_places, COUNT(ggml_places), others[i].find, others[i].stem, others[i].path))
            continue;
        search(directory, ggml_places, COUNT(ggml_places), others[i].find, others[i].stem, others[i].path);
    }
    return true;
}

// The engine installed with this program: PREFIX/bin/ggscope-engine, PREFIX/lib/ggscope/engine.
static bool installed_directory(char directory[PATH_MAX]) {
    char    program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (length <= 0) return false;
    program[length] = '\0';
    char * slash    = strrchr(program, '/');
    if (slash == NULL) return false;
    *slash = '\0';
    return join(directory, program, "../lib/ggscope/engine");
}

static int locate_named(const char * directory, const char * origin, struct ggs_engine_paths * paths,
                        struct ggs_error * error) {
    struct stat status;
    if (stat(directory, &status) != 0)
        return ggs_fail(error, GGS_ABSENT, "the engine directory %s (%s) cannot be read: %s", directory, origin,
                        strerror(errno));
    if (!S_ISDIR(status.st_mode))
        return ggs_fail(error, GGS_ABSENT, "the engine directory %s (%s) is not a directory", directory, origin);
    if (locate_below(directory, paths)) return GGS_OK;
    return ggs_fail(
        error, GGS_ABSENT,
        "no libllama.so in %s (%s), nor below it in bin, lib, lib64, lib/*-linux-gnu, src, build/bin, build/lib or build/src; name a llama.cpp "
        "build tree, an install prefix or a folder of its shared libraries",
        directory, origin);
}

// Asks pkg-config for llama.
static bool locate_by_pkg_config(struct ggs_engine_paths * paths) {
    char   folder[PATH_MAX] = "";
    FILE * answer           = popen("pkg-config --variable=libdir llama 2>/dev/null", "re");
    if (answer == NULL) return false;
    if (fgets(folder, sizeof(folder), answer) == NULL) folder[0] = '\0';
    pclose(answer);
    folder[strcspn(folder, "\n")] = '\0';
    return folder[0] == '/' && locate_below(folder, paths);
}

// Usual folders of local builds.
static bool locate_by_custom(struct ggs_engine_paths * paths) {
    static const char * const prefixes[] = {"/usr/local", "/usr", "/opt/llama.cpp", "/opt/llama"};
    char                      own[PATH_MAX];
    const char *              home = getenv("HOME");
    for (size_t i = 0; i < COUNT(prefixes); i++) {
        if (locate_below(prefixes[i], paths)) return true;
    }
    return home != NULL && join(own, home, "llama.cpp") && locate_below(own, paths);
}

int ggs_engine_locate(const char * directory, struct ggs_engine_paths * paths, struct ggs_error * error) {
    if (directory != NULL) return locate_named(directory, "--engine", paths, error);
    const char * environment = getenv("GGSCOPE_ENGINE");
    if (environment != NULL && environment[0] != '\0') return locate_named(environment, "GGSCOPE_ENGINE", paths, error);

    char installed[PATH_MAX];
    bool has_installed = installed_directory(installed);
    if (has_installed && locate_below(installed, paths)) return GGS_OK;
#ifdef GGSCOPE_DEFAULT_ENGINE
    if (locate_below(GGSCOPE_DEFAULT_ENGINE, paths)) return GGS_OK;
    const char * built_with = " and in " GGSCOPE_DEFAULT_ENGINE;
#else
    const char * built_with = "";
#endif
    if (locate_by_pkg_config(paths) || locate_by_custom(paths)) return GGS_OK;
    return ggs_fail(
        error, GGS_ABSENT,
        "no llama.cpp libraries: looked in %s%s, asked pkg-config, and looked below /usr/local, /usr, /opt/llama.cpp, "
        "/opt/llama and ~/llama.cpp; name their directory with --engine DIR or GGSCOPE_ENGINE",
        has_installed ? installed : "../lib/ggscope/engine", built_with);
}
