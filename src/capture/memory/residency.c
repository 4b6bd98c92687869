#include "capture/memory/residency.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/maps.h"
#include "capture/capture.h"
#include "capture/journal.h"
#include "capture/memory/opened-files.h"
#include "capture/sandbox.h"
#include "trace/spool.h"

enum { PAGES_AT_ONCE = 65536, MOST_AREAS = 4096, MOST_RANGES = 1024 };

bool ggs_residency_wanted;

struct range { // of a model file, in memory
    int      file;
    uint64_t from, bytes;
    uint64_t offset; // in the file
};

// One snapshot at a time.
static struct {
    pthread_mutex_t             lock;
    uint64_t                    snapshots;
    struct range                ranges[MOST_RANGES];
    unsigned                    n_ranges;
    bool                        mapped[GGS_FILES_MOST]; // at some time
    struct ggs_journal_resident head;
    struct ggs_journal_area     areas[MOST_AREAS];      // not written yet
    bool                        emitted;                // an area of this file is in the snapshot
    uint8_t                     in_core[PAGES_AT_ONCE]; // of the last queried pages: bit 0
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

// ---- mappings ----

static void find_ranges(void) {
    struct ggs_maps       maps;
    struct ggs_maps_entry entry;
    state.n_ranges = 0;
    if (!ggs_maps_open(&maps, "self")) return;
    while (state.n_ranges < MOST_RANGES && ggs_maps_next(&maps, &entry)) {
        int file = entry.inode == 0 ? -1 : ggs_files_find_inode(entry.device, entry.inode);
        if (file < 0) continue;
        state.mapped[file]             = true;
        state.ranges[state.n_ranges++] = (struct range){file, entry.start, entry.end - entry.start, entry.offset};
    }
    ggs_maps_close(&maps);
}

// ---- writing a snapshot to the journal ----

static void emit_areas(const struct ggs_model_file * file) {
    struct ggs_piece pieces[] = {{&state.head, sizeof(state.head)},
                                 {state.areas, state.head.count * sizeof(state.areas[0])},
                                 {file->path, strlen(file->path) + 1}};
    ggs_journal_append(GGS_JOURNAL_RESIDENT, pieces, 3);
    state.head.count = 0;
    state.emitted    = true;
}

static void add_area(const struct ggs_model_file * file, uint64_t offset, uint64_t bytes) {
    struct ggs_journal_area * last = state.head.count > 0 ? &state.areas[state.head.count - 1] : NULL;
    if (last != NULL && last->start + last->bytes == offset) {
        last->bytes += bytes;
        return;
    }
    if (state.head.count == MOST_AREAS) emit_areas(file);
    state.areas[state.head.count++] = (struct ggs_journal_area){offset, bytes};
}

// Queries whether `n` pages from `address` on are in memory, into state.in_core.
static bool query_pages(int pagemap, uint64_t address, uint64_t n, uint64_t page) {
    enum { FEW = 512 };
    uint64_t words[FEW];
    if (pagemap < 0) return mincore((void *) address, n * page, state.in_core) == 0;
    for (uint64_t i = 0; i < n; i += FEW) {
        uint64_t few   = n - i < FEW ? n - i : FEW;
        off_t    where = (off_t) ((address / page + i) * sizeof(words[0]));
        if (pread(pagemap, words, few * sizeof(words[0]), where) != (ssize_t) (few * sizeof(words[0]))) return false;
        for (uint64_t k = 0; k < few; k++) state.in_core[i + k] = (uint8_t) (words[k] >> 63);
    }
    return true;
}

static void query_range(const struct ggs_model_file * file, const struct range * range, int pagemap) {
    uint64_t page = (uint64_t) sysconf(_SC_PAGESIZE), n = (range->bytes + page - 1) / page;
    for (uint64_t done = 0; done < n; done += PAGES_AT_ONCE) {
        uint64_t part = n - done < PAGES_AT_ONCE ? n - done : PAGES_AT_ONCE;
        if (!query_pages(pagemap, range->from + done * page, part, page)) return; // unmapped
        for (uint64_t i = 0; i < part; i++) {
            if ((state.in_core[i] & 1) != 0) add_area(file, range->offset + (done + i) * page, page);
        }
    }
}

// ---- one file ----

// mincore reports every page as resident if the user neither owns the file nor may write to it.
static bool may_query(const struct ggs_model_file * file) {
    struct stat info;
    uid_t       user = geteuid();
    return user == 0 || (stat(file->path, &info) == 0 && info.st_uid == user) ||
           faccessat(AT_FDCWD, file->path, W_OK, AT_EACCESS) == 0;
}

// Maps the whole file once more without touching it: the program's own mappings may change or go
// away.
static void query_whole(const struct ggs_model_file * file) {
    int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    void * data = mmap(NULL, file->size, PROT_READ, MAP_SHARED, fd, 0);
    if (data != MAP_FAILED) {
        struct range whole = {0, (uint64_t) data, file->size, 0};
        query_range(file, &whole, -1);
        munmap(data, file->size);
    }
    close(fd);
}

// Queries the parts that the program has mapped. Returns false if there are none.
static bool query_mapped(const struct ggs_model_file * file, int number) {
    int  pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    bool mapped  = false;
    for (unsigned i = 0; pagemap >= 0 && i < state.n_ranges; i++) {
        if (state.ranges[i].file != number) continue;
        mapped = true;
        query_range(file, &state.ranges[i], pagemap);
    }
    if (pagemap >= 0) close(pagemap);
    return mapped;
}

static void emit_file(int number) {
    const struct ggs_model_file * file = ggs_file_get(number);
    bool                          asks = may_query(file), seen = true;
    state.head.count  = 0;
    state.head.method = asks ? GGS_RESIDENT_IN_CACHE : GGS_RESIDENT_IN_PROCESS;
    state.emitted     = false;
    if (asks) {
        query_whole(file);
    } else {
        seen = query_mapped(file, number);
    }
    if (seen && (state.head.count > 0 || !state.emitted)) emit_areas(file);
}

void ggs_residency_emit(uint32_t moment) {
    if (!ggs_residency_wanted || !ggs_capture_recording() || ggs_sandboxed()) return;
    pthread_mutex_lock(&state.lock);
    find_ranges();
    state.head = (struct ggs_journal_resident){.snapshot = state.snapshots + 1, .moment = moment};
    bool any   = false;
    for (int i = 0; i < GGS_FILES_MOST && ggs_file_get(i) != NULL; i++) {
        if (!state.mapped[i]) continue;
        emit_file(i);
        any = true;
    }
    state.snapshots += any;
    pthread_mutex_unlock(&state.lock);
}

void ggs_residency_reset(void) {
    state.lock      = (pthread_mutex_t) PTHREAD_MUTEX_INITIALIZER;
    state.snapshots = 0;
    memset(state.mapped, 0, sizeof(state.mapped));
}
