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
    struct {
        uint64_t start, end;
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
    files.range[files.n_ranges].start = entry->start;
    files.range[files.n_ranges].end   = entry->end;
    files.n_ranges++;
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

static bool is_in_known_mapping(uint64_t address) {
    for (unsigned i = 0; i < files.n_ranges; i++) {
        if (address >= files.range[i].start && address < files.range[i].end) return true;
    }
    return false;
}

void ggs_mapped_files_check_source(uint64_t address) {
    if (__atomic_load_n(&files.checks, __ATOMIC_RELAXED) == 0) return;
    pthread_mutex_lock(&files.lock);
    if (files.checks > 0 && !is_in_known_mapping(address)) {
        emit_locked();
        files.checks = is_in_known_mapping(address) ? VAIN_CHECKS_MOST : files.checks - 1;
    }
    pthread_mutex_unlock(&files.lock);
}

void ggs_mapped_files_reset(void) {
    files.lock     = (pthread_mutex_t) PTHREAD_MUTEX_INITIALIZER;
    files.emitted  = 0;
    files.n_ranges = 0;
}
