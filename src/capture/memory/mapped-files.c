#include "capture/memory/mapped-files.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/system/maps.h"
#include "capture/capture.h"
#include "capture/journal.h"
#include "capture/memory/opened-files.h"
#include "capture/sandbox.h"
#include "trace/spool.h"

enum { RANGES_MOST = 1024, VAIN_CHECKS_MOST = 4 };

static struct {
    pthread_mutex_t lock;
    char            text[65536]; // GGS_JOURNAL_MAPS
    size_t          used;
    uint64_t        emitted; // hash of the text in the journal
    struct range {
        uint64_t               start, end, offset, inode;
        const char *           path;       // in the text, ends with a newline
        bool                   as_in_file; // the process cannot change its bytes alone
        bool                   looked_up;
        struct ggs_mapped_file file; // size 0: not there
    } range[RANGES_MOST];
    unsigned n_ranges;
    int      checks; // failures left until the load is assumed to copy from elsewhere
} files = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t hash_text(const char * text, size_t length) {
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < length; i++) h = (h ^ (uint8_t) text[i]) * 1099511628211u;
    return h;
}

// True for data: a named file that is not code, a device or one of our segments.
static bool is_data_file(const struct ggs_maps_entry * entry) {
    const char * path   = entry->path;
    bool         device = strncmp(path, "/dev/", 5) == 0 && strncmp(path, "/dev/shm/", 9) != 0;
    if (path[0] != '/' || entry->executable || device || strstr(path, ".so") != NULL) return false;
    return !ggs_capture_is_own_file(path);
}

// A mapping without room in the text counts as not mapped.
static void add(const struct ggs_maps_entry * entry) {
    char * end  = files.text + files.used;
    size_t room = sizeof(files.text) - files.used;
    int    n    = snprintf(end, room, "%llx %llx %llx %s\n", (unsigned long long) entry->start,
                           (unsigned long long) entry->end, (unsigned long long) entry->offset, entry->path);
    if (n < 0 || (size_t) n >= room) {
        *end = '\0';
        return;
    }
    files.used += (size_t) n;
    if (files.n_ranges == RANGES_MOST) return;
    files.range[files.n_ranges++] = (struct range){.start      = entry->start,
                                                   .end        = entry->end,
                                                   .offset     = entry->offset,
                                                   .inode      = entry->inode,
                                                   .path       = end + n - 1 - strlen(entry->path),
                                                   .as_in_file = entry->shared && !entry->writable};
}

static void report_unreadable(int reason) {
    static bool reported; // under the lock
    if (!reported)
        ggs_capture_warn(
            "cannot read /proc/self/maps (%s): which bytes lie in mapped files is not seen, they count as buffers",
            strerror(reason));
    reported = true;
}

// A mapped GGUF file is a model that no hook saw being opened: the program has functions of its own
// for that, or calls the engine's directly.
static void emit_models(void) {
    struct ggs_maps       maps;
    struct ggs_maps_entry entry;
    struct stat           info;
    if (!ggs_maps_open(&maps, "self")) return;
    while (ggs_maps_next(&maps, &entry)) {
        if (!is_data_file(&entry) || ggs_files_find_inode(entry.device, entry.inode) >= 0) continue;
        if (!ggs_file_is_gguf(entry.path, &info) || info.st_ino != entry.inode) continue;
        ggs_journal_text(GGS_JOURNAL_FILE, entry.path);
        ggs_files_add(entry.path);
    }
    ggs_maps_close(&maps);
}

static void emit_locked(void) {
    struct ggs_maps       maps;
    struct ggs_maps_entry entry;
    if (ggs_sandboxed()) return;
    if (!ggs_maps_open(&maps, "self")) {
        report_unreadable(errno);
        return;
    }
    files.used = files.n_ranges = 0;
    files.text[0]               = '\0';
    while (ggs_maps_next(&maps, &entry))
        if (is_data_file(&entry)) add(&entry);
    ggs_maps_close(&maps);
    uint64_t hash = hash_text(files.text, files.used);
    if (hash != files.emitted) {
        emit_models();
        ggs_journal_text(GGS_JOURNAL_MAPS, files.text);
    }
    files.emitted = hash;
}

void ggs_mapped_files_emit(void) {
    pthread_mutex_lock(&files.lock);
    emit_locked();
    files.checks = 0;
    pthread_mutex_unlock(&files.lock);
}

void ggs_mapped_files_expect_load(void) {
    pthread_mutex_lock(&files.lock);
    files.checks   = VAIN_CHECKS_MOST;
    files.n_ranges = 0; // known ranges may be unmapped
    pthread_mutex_unlock(&files.lock);
}

static struct range * find_range(uint64_t address) {
    for (unsigned i = 0; i < files.n_ranges; i++)
        if (address >= files.range[i].start && address < files.range[i].end) return &files.range[i];
    return NULL;
}

void ggs_mapped_files_check_source(uint64_t address) {
    if (__atomic_load_n(&files.checks, __ATOMIC_RELAXED) == 0) return;
    pthread_mutex_lock(&files.lock);
    if (files.checks > 0 && find_range(address) == NULL) {
        emit_locked();
        files.checks = find_range(address) != NULL ? VAIN_CHECKS_MOST : files.checks - 1;
    }
    pthread_mutex_unlock(&files.lock);
}

// A file that was replaced has another inode.
static void look_up(struct range * range, const char * path) {
    struct stat info;
    range->looked_up = true;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || info.st_ino != range->inode) return;
    range->file.device   = info.st_dev;
    range->file.inode    = info.st_ino;
    range->file.size     = (uint64_t) info.st_size;
    range->file.mtime_ns = info.st_mtim.tv_sec * INT64_C(1000000000) + info.st_mtim.tv_nsec;
}

static bool find_locked(uint64_t address, uint64_t bytes, struct ggs_mapped_file * file, uint64_t * offset, char * path,
                        size_t room) {
    struct range * range = find_range(address);
    if (range == NULL || !range->as_in_file || bytes > range->end - address) return false;
    size_t length = strcspn(range->path, "\n");
    if (length >= room) return false;
    memcpy(path, range->path, length);
    path[length] = '\0';
    if (!range->looked_up) look_up(range, path);
    *file   = range->file;
    *offset = range->offset + (address - range->start);
    return bytes <= file->size && *offset <= file->size - bytes && file->size > 0;
}

bool ggs_mapped_files_find(const void * address, uint64_t bytes, struct ggs_mapped_file * file, uint64_t * offset,
                           char * path, size_t room) {
    pthread_mutex_lock(&files.lock);
    bool found = find_locked((uint64_t) (uintptr_t) address, bytes, file, offset, path, room);
    pthread_mutex_unlock(&files.lock);
    return found;
}

void ggs_mapped_files_reset(void) {
    files.lock     = (pthread_mutex_t) PTHREAD_MUTEX_INITIALIZER;
    files.emitted  = 0;
    files.n_ranges = 0;
}
