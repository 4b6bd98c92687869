#include "attach/c-library.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/image.h"
#include "attach/tracee.h"
#include "base/error.h"
#include "base/system/file.h"

// Up to glibc 2.33 these were four libraries.
static const char * const parts[] = {"libc.so", "libc-2", "libdl.so", "libdl-2", "libpthread.so", "libpthread-2"};

static bool has_map_named(const struct ggs_tracee * tracee, const char * name) {
    for (size_t i = 0; i < tracee->n_maps; i++)
        if (strncmp(ggs_file_name(tracee->maps[i].path), name, strlen(name)) == 0) return true;
    return false;
}

static bool has_musl(const struct ggs_tracee * tracee) {
    for (size_t i = 0; i < tracee->n_maps; i++) {
        const char * path = tracee->maps[i].path;
        if (strstr(path, "-linux-musl/") != NULL && strcmp(ggs_file_name(path), "libc.so") == 0) return true;
    }
    return has_map_named(tracee, "ld-musl") || has_map_named(tracee, "libc.musl");
}

static uint64_t find_function(const struct ggs_tracee * tracee, const char * name) {
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        struct ggs_image image;
        for (size_t next = 0; ggs_image_find(&image, tracee, parts[i], &next);) {
            uint64_t found = ggs_image_symbol(&image, name);
            if (found != 0) return found;
        }
    }
    return 0;
}

static uint64_t find_code(const struct ggs_tracee * tracee, const void * bytes, size_t size) {
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        struct ggs_image image;
        for (size_t next = 0; ggs_image_find(&image, tracee, parts[i], &next);) {
            uint64_t found = ggs_image_search(&image, bytes, size);
            if (found != 0) return found;
        }
    }
    return 0;
}

// The rest of the page behind an object's last variable is mapped, writable, zero and unused. Only
// objects that are never unloaded qualify: the C library, and the program unless its heap starts
// right there. A killed attach may have left `first` there.
static bool is_unused(const struct ggs_image * image, uint64_t first, uint64_t * at) {
    uint64_t words[GGS_UNUSED_BYTES / 8], end = (image->data_end + 4095) & ~UINT64_C(4095);
    *at                               = (image->data_end + 31) & ~UINT64_C(15);
    const struct ggs_tracee_map * map = ggs_tracee_map_at(image->tracee, *at);
    if (image->data_end == 0 || *at + sizeof(words) > end || map == NULL || !map->writable || map->end < end)
        return false;
    if (!ggs_tracee_read(image->tracee, *at, words, sizeof(words))) return false;
    if (words[0] == first) return true;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (words[i] != 0) return false;
    return true;
}

static bool heap_begins_at(const struct ggs_tracee * tracee, uint64_t address) {
    const struct ggs_tracee_map * map = ggs_tracee_map_at(tracee, address);
    return map != NULL && strcmp(map->path, "[heap]") == 0;
}

static uint64_t find_unused(const struct ggs_tracee * tracee, uint64_t first) {
    struct ggs_image image;
    uint64_t         at;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        for (size_t next = 0; ggs_image_find(&image, tracee, parts[i], &next);)
            if (is_unused(&image, first, &at)) return at;
    struct stat program;
    char        path[64];
    snprintf(path, sizeof(path), "/proc/%d/exe", (int) tracee->pid);
    for (size_t i = 0; stat(path, &program) == 0 && i < tracee->n_maps; i++) {
        const struct ggs_tracee_map * map = &tracee->maps[i];
        if (map->inode != program.st_ino || map->device != program.st_dev || map->offset != 0) continue;
        if (ggs_image_open(&image, tracee, map->start) && is_unused(&image, first, &at) &&
            !heap_begins_at(tracee, (at + 4095) & ~UINT64_C(4095)))
            return at;
    }
    return 0;
}

static int find_functions(struct ggs_c_library * library, const struct ggs_tracee * tracee, struct ggs_error * error) {
    const struct {
        const char * name;
        uint64_t *   address;
    } wanted[] = {{"dlopen", &library->dlopen},
                  {"dlsym", &library->dlsym},
                  {"dlerror", &library->dlerror},
                  {"pthread_create", &library->pthread_create},
                  {"pthread_self", &library->pthread_self},
                  {"pthread_detach", &library->pthread_detach},
                  {"munmap", &library->munmap}};
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        *wanted[i].address = find_function(tracee, wanted[i].name);
        if (*wanted[i].address == 0)
            return ggs_fail(error, GGS_UNSUPPORTED,
                            "cannot attach to process %d (%s): its C library has no %s; start the program with ggscope "
                            "record instead",
                            (int) tracee->pid, tracee->name, wanted[i].name);
    }
    return 0;
}

static int find_instructions(struct ggs_c_library * library, const struct ggs_tracee * tracee,
                             struct ggs_error * error) {
    static const uint8_t call[] = {0x0f, 0x05, 0xc3}, restore[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05},
                         pop_first[] = {0x5f, 0xc3}, pop_second[] = {0x5e, 0xc3},
                         leave[] = {0xb8, 0x3c, 0, 0, 0, 0x0f, 0x05};
    library->call                = find_code(tracee, call, sizeof(call));
    library->restore             = find_code(tracee, restore, sizeof(restore));
    library->pop_first           = find_code(tracee, pop_first, sizeof(pop_first));
    library->pop_second          = find_code(tracee, pop_second, sizeof(pop_second));
    library->exit                = find_code(tracee, leave, sizeof(leave));
    library->unused              = find_unused(tracee, library->pop_first);
    if (library->call != 0 && library->restore != 0 && library->pop_first != 0 && library->pop_second != 0 &&
        library->exit != 0 && library->unused != 0)
        return 0;
    return ggs_fail(error, GGS_UNSUPPORTED,
                    "cannot attach to process %d (%s): its C library is not built as expected; start the program with "
                    "ggscope record instead",
                    (int) tracee->pid, tracee->name);
}

// The new thread calls malloc, which may come from another library.
static void find_variables(struct ggs_c_library * library, const struct ggs_tracee * tracee) {
    enum { MOST = sizeof(library->variables) / sizeof(library->variables[0]) };
    struct ggs_image image;
    for (size_t next = 0; library->n_variables < MOST && ggs_image_find(&image, tracee, "", &next);) {
        uint64_t distance, module;
        ggs_image_variables_place(&image, &distance, &module);
        if ((distance == 0 && module == 0) || image.variables_size == 0) continue;
        library->variables[library->n_variables++] =
            (struct ggs_variables){image.variables, image.variables_size, distance, module};
    }
}

// The dynamic linker tells debuggers whether it is active. At program start nothing can be called
// yet; later it may be loading a library, which ends by itself.
static bool is_linked(const struct ggs_tracee * tracee) {
    struct ggs_image image;
    struct r_debug   state;
    size_t           next = 0;
    uint64_t         at = ggs_image_find(&image, tracee, "ld-linux", &next) ? ggs_image_symbol(&image, "_r_debug") : 0;
    if (at == 0 || !ggs_tracee_read(tracee, at, &state, sizeof(state))) return true;
    return state.r_version != 0 && state.r_state == RT_CONSISTENT;
}

// Lists the mappings again once the linker is done.
static int await_linker(struct ggs_tracee * tracee, struct ggs_error * error) {
    enum { NAP_US = 5000, NAPS = 1000 };
    for (int i = 0; i < NAPS; i++, usleep(NAP_US))
        if (is_linked(tracee)) return i == 0 ? 0 : ggs_tracee_read_maps(tracee, error);
    return ggs_fail(error, GGS_IO,
                    "cannot attach to process %d (%s): it is being started, or loads a library; try again in a moment",
                    (int) tracee->pid, tracee->name);
}

// Processes that attaching is not made for, whatever their C library.
static int check_kind(const struct ggs_tracee * tracee, struct ggs_error * error) {
    const char * why = NULL;
    if (has_map_named(tracee, "ld-linux.so.2"))
        why = "it is a 32-bit program";
    else if (has_map_named(tracee, "vgpreload_"))
        why = "it runs in Valgrind, which simulates its threads";
    else if (has_musl(tracee))
        why = "its C library is musl, in which a thread cannot be made from outside; start the program with ggscope "
              "record instead";
    if (why == NULL) return 0;
    return ggs_fail(error, GGS_UNSUPPORTED, "cannot attach to process %d (%s): %s", (int) tracee->pid, tracee->name,
                    why);
}

int ggs_c_library_find(struct ggs_c_library * library, struct ggs_tracee * tracee, struct ggs_error * error) {
    *library   = (struct ggs_c_library){0};
    int status = check_kind(tracee, error);
    if (status == 0) status = await_linker(tracee, error);
    if (status != 0) return status;
    if (!has_map_named(tracee, "libc.so") && !has_map_named(tracee, "libc-2"))
        return ggs_fail(
            error, GGS_UNSUPPORTED,
            "cannot attach to process %d (%s): it is statically linked, so no library can be loaded into it; "
            "build the program with a dynamic C library",
            (int) tracee->pid, tracee->name);
    if (find_function(tracee, "gnu_get_libc_version") == 0)
        return ggs_fail(error, GGS_UNSUPPORTED, "cannot attach to process %d (%s): its C library is not glibc",
                        (int) tracee->pid, tracee->name);
    status = find_functions(library, tracee, error);
    if (status == 0) status = find_instructions(library, tracee, error);
    if (status == 0) find_variables(library, tracee);
    return status;
}
