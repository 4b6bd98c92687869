#include "capture/memory/maps.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "capture/capture.h"
#include "capture/hooks/sandbox.h"
#include "capture/journal.h"
#include "trace/spool.h"

enum { MOST_RANGES = 1024, MOST_VAIN_LOOKS = 4 };

static struct {
    pthread_mutex_t lock;
    char            text[65536];
    size_t          used;
    uint64_t        told; // hash of what the journal knows
    struct {
        uint64_t from, to;
    } range[MOST_RANGES];
    unsigned n_ranges;
    int      looks; // see_source may look so often in vain before the load is taken to copy from elsewhere
} maps = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t hash_text(const char * text, size_t length) {
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < length; i++) h = (h ^ (uint8_t) text[i]) * 1099511628211u;
    return h;
}

// Keeps the mappings of data files: named, readable, not code, not a device, not our own segments.
static void keep_line(const char * line) {
    unsigned long long from, to, offset;
    char               permissions[8];
    int                at = 0;
    if (sscanf(line, "%llx-%llx %7s %llx %*x:%*x %*u %n", &from, &to, permissions, &offset, &at) < 4 || at == 0) return;
    const char * path   = line + at;
    bool         device = strncmp(path, "/dev/", 5) == 0 && strncmp(path, "/dev/shm/", 9) != 0;
    if (path[0] != '/' || permissions[2] == 'x' || device || strstr(path, ".so") != NULL) return;
    if (strncmp(path, ggs_capture_spool(), strlen(ggs_capture_spool())) == 0) return;
    int n =
        snprintf(maps.text + maps.used, sizeof(maps.text) - maps.used, "%llx %llx %llx %s\n", from, to, offset, path);
    if (n < 0 || (size_t) n >= sizeof(maps.text) - maps.used) { // does not fit: as if it were not mapped
        maps.text[maps.used] = '\0';
        return;
    }
    maps.used += (size_t) n;
    if (maps.n_ranges < MOST_RANGES) {
        maps.range[maps.n_ranges].from = from;
        maps.range[maps.n_ranges].to   = to;
        maps.n_ranges++;
    }
}

static void tell_locked(void) {
    if (ggs_sandboxed()) return;
    FILE * file = fopen("/proc/self/maps", "re");
    if (file == NULL) {
        static bool said; // under the lock
        if (!said)
            ggs_capture_note(
                "cannot read /proc/self/maps (%s): which bytes lie in mapped files is not seen, they count as buffers",
                strerror(errno));
        said = true;
        return;
    }
    maps.used     = 0;
    maps.text[0]  = '\0';
    maps.n_ranges = 0;
    char line[PATH_MAX + 128];
    while (fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        keep_line(line);
    }
    fclose(file);
    uint64_t hash = hash_text(maps.text, maps.used);
    if (hash != maps.told) ggs_journal_text(GGS_JOURNAL_MAPS, maps.text);
    maps.told = hash;
}

void ggs_maps_tell(void) {
    pthread_mutex_lock(&maps.lock);
    tell_locked();
    maps.looks = 0;
    pthread_mutex_unlock(&maps.lock);
}

void ggs_maps_expect_load(void) {
    pthread_mutex_lock(&maps.lock);
    maps.looks    = MOST_VAIN_LOOKS;
    maps.n_ranges = 0; // what is known may be unmapped by now
    pthread_mutex_unlock(&maps.lock);
}

static bool in_known_mapping(uint64_t address) {
    for (unsigned i = 0; i < maps.n_ranges; i++) {
        if (address >= maps.range[i].from && address < maps.range[i].to) return true;
    }
    return false;
}

void ggs_maps_see_source(uint64_t address) {
    if (__atomic_load_n(&maps.looks, __ATOMIC_RELAXED) == 0) return;
    pthread_mutex_lock(&maps.lock);
    if (maps.looks > 0 && !in_known_mapping(address)) {
        tell_locked();
        maps.looks = in_known_mapping(address) ? MOST_VAIN_LOOKS : maps.looks - 1;
    }
    pthread_mutex_unlock(&maps.lock);
}
