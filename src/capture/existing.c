#include "capture/existing.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/maps.h"
#include "capture/capture.h"
#include "capture/journal.h"
#include "capture/memory/mapped-files.h"
#include "capture/memory/opened-files.h"
#include "capture/sandbox.h"
#include "preload/ggml-abi.h"
#include "preload/resolve.h"
#include "trace/spool.h"

enum { CONTEXTS_MOST = 64, HELD_MOST = 256, FILES_MOST = 64 };

static pthread_mutex_t           lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(const void *)     contexts[CONTEXTS_MOST]; // contexts that are in the journal
static const void *              memories[CONTEXTS_MOST]; // theirs
static void *                    last_model;
static struct ggs_journal_memory held[HELD_MOST]; // changes of memories whose context has not been used
static unsigned                  n_held;
static _Atomic bool              files_written;

void ggs_existing_begin(void) {
    memset(contexts, 0, sizeof(contexts));
    memset(memories, 0, sizeof(memories));
    n_held        = 0;
    last_model    = NULL;
    files_written = false;
}

// ---- contexts ----

static bool is_emitted(const void * context) {
    for (unsigned i = 0; i < CONTEXTS_MOST; i++) {
        const void * known = atomic_load_explicit(&contexts[i], memory_order_relaxed);
        if (known == context) return true;
        if (known == NULL) return false;
    }
    return true;
}

// The caller holds the lock.
static void remember(const void * context, const void * memory) {
    for (unsigned i = 0; i < CONTEXTS_MOST; i++) {
        if (contexts[i] != NULL) continue;
        memories[i] = memory;
        atomic_store_explicit(&contexts[i], context, memory_order_relaxed);
        return;
    }
}

static void emit_held(const void * context, const void * memory) {
    unsigned kept = 0;
    for (unsigned i = 0; i < n_held; i++) {
        const void *     object = (const void *) held[i].object;
        struct ggs_piece piece  = {&held[i], sizeof(held[i])};
        if (object == context || object == memory)
            ggs_journal_append(GGS_JOURNAL_MEMORY, &piece, 1);
        else
            held[kept++] = held[i];
    }
    n_held = kept;
}

// The caller holds the lock.
static void emit_context(void * context, const void * caller) {
    void * (*get_memory)(void *) = (void * (*) (void *) ) ggs_resolve_name("llama_get_memory", caller);
    void * (*get_model)(void *)  = (void * (*) (void *) ) ggs_resolve_name("llama_get_model", caller);
    void * memory                = get_memory == NULL ? context : get_memory(context);
    last_model                   = get_model == NULL ? NULL : get_model(context);
    ggs_journal_numbers(GGS_JOURNAL_CONTEXT, (uint64_t) context, (uint64_t) last_model, (uint64_t) memory, 1, NULL);
    emit_held(context, memory);
    remember(context, memory);
}

void ggs_existing_context(void * context, const void * caller) {
    if (!ggs_capture.attached || is_emitted(context)) return;
    pthread_mutex_lock(&lock);
    if (!is_emitted(context)) emit_context(context, caller);
    pthread_mutex_unlock(&lock);
}

void ggs_existing_skip(const void * context, const void * memory) {
    if (!ggs_capture.attached || is_emitted(context)) return;
    pthread_mutex_lock(&lock);
    if (!is_emitted(context)) remember(context, memory);
    pthread_mutex_unlock(&lock);
}

static bool is_known(const void * object) {
    for (unsigned i = 0; i < CONTEXTS_MOST && contexts[i] != NULL; i++)
        if (contexts[i] == object || memories[i] == object) return true;
    return contexts[CONTEXTS_MOST - 1] != NULL;
}

bool ggs_existing_hold(const struct ggs_journal_memory * change) {
    bool holds = false;
    if (!ggs_capture.attached) return false;
    pthread_mutex_lock(&lock);
    if (!is_known((const void *) change->object)) {
        if (n_held == HELD_MOST) memmove(held, held + 1, --n_held * sizeof(*held)); // newer ones decide
        held[n_held++] = *change;
        holds          = true;
    }
    pthread_mutex_unlock(&lock);
    return holds;
}

// ---- model files ----

struct found {
    char *   paths[FILES_MOST];
    uint64_t devices[FILES_MOST], inodes[FILES_MOST];
    unsigned n;
};

// Adds a file once if it is a model. `path` opens it, `name` is its name in the recording.
static void add_file(struct found * found, const char * path, const char * name) {
    struct stat info;
    bool        wanted = ggs_file_is_gguf(path, &info);
    for (unsigned i = 0; wanted && i < found->n; i++)
        wanted = found->devices[i] != info.st_dev || found->inodes[i] != info.st_ino;
    char * copy = wanted && found->n < FILES_MOST ? strdup(name) : NULL;
    if (copy == NULL) return;
    found->devices[found->n] = info.st_dev;
    found->inodes[found->n]  = info.st_ino;
    found->paths[found->n++] = copy;
}

static void add_mapped(struct found * found) {
    struct ggs_maps       maps;
    struct ggs_maps_entry entry;
    uint64_t              before = 0;
    if (!ggs_maps_open(&maps, "self")) return;
    while (ggs_maps_next(&maps, &entry)) {
        if (entry.inode == 0 || entry.inode == before || entry.path[0] != '/' || strstr(entry.path, ".so") != NULL)
            continue;
        before = entry.inode;
        if (!ggs_capture_is_own_file(entry.path)) add_file(found, entry.path, entry.path);
    }
    ggs_maps_close(&maps);
}

static void add_open(struct found * found) {
    char                  path[64 + NAME_MAX], target[PATH_MAX];
    DIR *                 folder = opendir("/proc/self/fd");
    const struct dirent * entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
        ssize_t length = readlink(path, target, sizeof(target) - 1);
        if (length <= 0 || target[0] != '/' || strncmp(target, "/dev/", 5) == 0 || strncmp(target, "/proc/", 6) == 0)
            continue;
        target[length] = '\0';
        add_file(found, target, target);
    }
    if (folder != NULL) closedir(folder);
}

// Adds each word of the command line that is the path of a model, alone or after "--option=".
static void add_arguments(struct found * found) {
    char words[32768], absolute[PATH_MAX];
    int  fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    ssize_t n = read(fd, words, sizeof(words) - 1);
    close(fd);
    if (n <= 0) return;
    words[n] = '\0';
    for (const char * word = words; word < words + n; word += strlen(word) + 1) {
        const char * equals = strchr(word, '=');
        const char * path   = word[0] == '-' && equals != NULL ? equals + 1 : word;
        if (path[0] != '\0' && path[0] != '-' && realpath(path, absolute) != NULL) add_file(found, absolute, absolute);
    }
}

static void emit_files(const struct found * found) {
    struct ggs_journal_number numbers  = {{0, 0, 0, 0}};
    struct ggs_piece          pieces[] = {{&numbers, sizeof(numbers)}, {found->paths[0], strlen(found->paths[0]) + 1}};
    if (ggs_journal_append_next(GGS_JOURNAL_LOAD, pieces, 2, &numbers.value[0], GGS_COUNT_LOADS) != 0) return;
    for (unsigned i = 0; i < found->n; i++) {
        ggs_journal_text(GGS_JOURNAL_FILE, found->paths[i]);
        ggs_files_add(found->paths[i]);
    }
    ggs_mapped_files_emit();
    ggs_journal_numbers(GGS_JOURNAL_LOAD_END, numbers.value[0], (uint64_t) last_model, 0, 0, NULL);
}

void ggs_existing_files(void) {
    if (files_written || ggs_sandboxed()) return;
    pthread_mutex_lock(&lock);
    if (!files_written) {
        struct found found = {.n = 0};
        if (ggs_capture.model[0] != '\0') add_file(&found, ggs_capture.model, ggs_capture.model);
        add_mapped(&found);
        if (found.n == 0) add_open(&found);
        if (found.n == 0) add_arguments(&found);
        if (found.n > 0) emit_files(&found);
        for (unsigned i = 0; i < found.n; i++) free(found.paths[i]);
        files_written = true;
    }
    pthread_mutex_unlock(&lock);
}
