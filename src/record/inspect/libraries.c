#include "record/inspect/libraries.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"

bool ggs_library_is_engine(const char * name) {
    return strncmp(name, "libggml", 7) == 0 || strncmp(name, "libllama", 8) == 0;
}

int ggs_libraries_add_file(struct ggs_libraries * libraries, const char * path, const char * file) {
    for (size_t i = 0; i < libraries->count; i++) {
        if (strcmp(libraries->items[i].path, path) == 0) return 0;
    }
    if (!ggs_array_reserve(libraries->items, libraries->capacity, libraries->count + 1)) return GGS_MEMORY;
    struct ggs_library * library = &libraries->items[libraries->count];
    if (ggs_elf_open(&library->elf, file, NULL) != 0) return 0;
    library->path = strdup(path);
    if (library->path == NULL) {
        ggs_elf_close(&library->elf);
        return GGS_MEMORY;
    }
    libraries->count++;
    return 0;
}

int ggs_libraries_add(struct ggs_libraries * libraries, const char * path) {
    char real[PATH_MAX];
    return realpath(path, real) == NULL ? 0 : ggs_libraries_add_file(libraries, real, real);
}

static int add_folder(struct ggs_libraries * libraries, const char * folder, const char * prefix) {
    DIR * entries = opendir(folder);
    int   status  = 0;
    if (entries == NULL) return 0;
    const struct dirent * entry;
    while (status == 0 && (entry = readdir(entries)) != NULL) {
        char path[PATH_MAX];
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 || strstr(entry->d_name, ".so") == NULL) continue;
        if (snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) < (int) sizeof(path))
            status = ggs_libraries_add(libraries, path);
    }
    closedir(entries);
    return status;
}

// Debian keeps backends in a folder of their own below that of ggml.
static int add_folders(struct ggs_libraries * libraries, const char * folder, const char * prefix) {
    char   path[PATH_MAX];
    int    status  = add_folder(libraries, folder, prefix);
    bool   fits    = snprintf(path, sizeof(path), "%s/ggml", folder) < (int) sizeof(path);
    DIR *  entries = status == 0 && fits ? opendir(path) : NULL;
    size_t length  = strlen(path);
    if (entries == NULL) return status;
    const struct dirent * entry;
    while (status == 0 && (entry = readdir(entries)) != NULL) {
        if (strncmp(entry->d_name, "backends", 8) != 0) continue;
        if (snprintf(path + length, sizeof(path) - length, "/%s", entry->d_name) < (int) (sizeof(path) - length))
            status = add_folder(libraries, path, prefix);
    }
    closedir(entries);
    return status;
}

int ggs_libraries_add_backends(struct ggs_libraries * libraries, const char * folder) {
    return add_folders(libraries, folder, "libggml-cpu");
}

int ggs_libraries_add_ggml(struct ggs_libraries * libraries, const char * folder) {
    return add_folders(libraries, folder, "libggml");
}

// Checks for FOLDER/NAME. `$ORIGIN` in the folder stands for the folder of `origin`.
static bool try_folder(char path[PATH_MAX], const char * folder, size_t length, const char * origin,
                       const char * name) {
    static const char variable[] = "$ORIGIN";
    int               written;
    if (length >= sizeof(variable) - 1 && strncmp(folder, variable, sizeof(variable) - 1) == 0) {
        int base = (int) (ggs_file_name(origin) - origin);
        int rest = (int) (length - (sizeof(variable) - 1));
        written  = snprintf(path, PATH_MAX, "%.*s/%.*s/%s", base, origin, rest, folder + sizeof(variable) - 1, name);
    } else {
        written = snprintf(path, PATH_MAX, "%.*s/%s", (int) length, folder, name);
    }
    return written > 0 && written < PATH_MAX && access(path, R_OK) == 0;
}

static bool try_folders(char path[PATH_MAX], const char * folders, const char * origin, const char * name) {
    while (folders != NULL && *folders != '\0') {
        size_t length = strcspn(folders, ":");
        if (length > 0 && try_folder(path, folders, length, origin, name)) return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

// Searches the folders that the file names, and its own, which launchers put into LD_LIBRARY_PATH.
static bool find_near(char path[PATH_MAX], const struct ggs_elf * elf, const char * origin, const char * name) {
    return try_folders(path, getenv("LD_LIBRARY_PATH"), origin, name) ||
           try_folders(path, elf->runpath, origin, name) || try_folders(path, "$ORIGIN", origin, name);
}

static bool find(char path[PATH_MAX], const struct ggs_elf * elf, const char * origin, const char * name) {
    return find_near(path, elf, origin, name) ||
           try_folders(path,
                       "/usr/local/lib:/usr/local/lib/x86_64-linux-gnu:/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:"
                       "/lib/aarch64-linux-gnu:/usr/lib/aarch64-linux-gnu:/lib64:/usr/lib64:/lib:/usr/lib",
                       origin, name);
}

const char * ggs_libraries_missing(const struct ggs_elf * elf, const char * origin) {
    const char * name;
    char         path[PATH_MAX];
    for (size_t i = 0; (name = ggs_elf_needs(elf, i)) != NULL; i++)
        if (ggs_library_is_engine(name) && !find(path, elf, origin, name)) return name;
    return NULL;
}

static int add_direct(struct ggs_libraries * libraries, const struct ggs_elf * elf, const char * origin,
                      unsigned depth);

// Adds what another library needs, such as libwhisper.so, through which programs use ggml.
static int add_through(struct ggs_libraries * libraries, const char * path, unsigned depth) {
    enum { DEEPEST = 3 };
    struct ggs_elf elf;
    if (depth == DEEPEST || ggs_elf_open(&elf, path, NULL) != 0) return 0;
    int status = add_direct(libraries, &elf, path, depth + 1);
    ggs_elf_close(&elf);
    return status;
}

static int add_direct(struct ggs_libraries * libraries, const struct ggs_elf * elf, const char * origin,
                      unsigned depth) {
    const char * name;
    int          status = 0;
    for (size_t i = 0; status == 0 && (name = ggs_elf_needs(elf, i)) != NULL; i++) {
        char path[PATH_MAX];
        if (ggs_library_is_engine(name) && find(path, elf, origin, name))
            status = ggs_libraries_add(libraries, path);
        else if (!ggs_library_is_engine(name) && find_near(path, elf, origin, name))
            status = add_through(libraries, path, depth);
    }
    return status;
}

int ggs_libraries_add_needed(struct ggs_libraries * libraries, const struct ggs_elf * elf, const char * path) {
    size_t first  = libraries->count;
    int    status = add_direct(libraries, elf, path, 0);
    // The list grows during the loop: what a library needs is appended.
    for (size_t i = first; status == 0 && i < libraries->count; i++) {
        struct ggs_library library = libraries->items[i]; // the array may move
        status                     = add_direct(libraries, &library.elf, library.path, 0);
        if (status == 0 && strncmp(ggs_file_name(library.path), "libggml", 7) == 0) {
            char folder[PATH_MAX];
            snprintf(folder, sizeof(folder), "%.*s", (int) (ggs_file_name(library.path) - library.path), library.path);
            status = ggs_libraries_add_backends(libraries, folder);
        }
    }
    return status;
}

void ggs_libraries_release(struct ggs_libraries * libraries) {
    for (size_t i = 0; i < libraries->count; i++) {
        ggs_elf_close(&libraries->items[i].elf);
        free(libraries->items[i].path);
    }
    free(libraries->items);
    *libraries = (struct ggs_libraries){0};
}
