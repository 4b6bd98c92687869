#include "capture/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/system/room.h"
#include "capture/sandbox.h"
#include "preload/signals.h"
#include "trace/spool.h"

enum { MOST_LEFT = 65536 };

// Full lane segments, oldest first: the ring policy removes them from the front.
struct left {
    uint32_t lane, sequence, ready;
    uint64_t size;
};

static struct ggs_segment_settings settings;
static pthread_mutex_t             lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t                    used_bytes;
static const uint64_t *            freed_bytes;     // freed bytes of these; NULL for none
static struct left                 left[MOST_LEFT]; // a circular buffer
static uint64_t                    first_left, n_left;

static struct ggs_segment * mapped; // all segments of this recording
static unsigned             n_mapped, mapped_capacity;

static uint8_t * spares[GGS_SEGMENT_MOST_SPARES]; // made ahead, GGS_SPOOL_SEGMENT bytes each
static unsigned  n_spares, n_spares_made;
static uint32_t  n_taken; // segments made by ggscope that are in use

void ggs_segment_configure(const struct ggs_segment_settings * chosen) {
    settings = *chosen;
}

uint64_t ggs_segment_most(void) {
    return settings.most_bytes;
}

void ggs_segment_free(const uint64_t * bytes) {
    freed_bytes = bytes;
}

static uint64_t kept_bytes(void) {
    uint64_t freed = freed_bytes == NULL ? 0 : __atomic_load_n(freed_bytes, __ATOMIC_ACQUIRE);
    return used_bytes > freed ? used_bytes - freed : 0;
}

static void ready_path(char * path, size_t size, uint32_t number) {
    snprintf(path, size, "%s/" GGS_SPOOL_FREE ".seg", settings.directory, number);
}

// `ready` is as in struct ggs_segment.
static void segment_path(char * path, size_t size, uint32_t lane, uint32_t sequence, uint32_t ready) {
    if (ready != 0) {
        ready_path(path, size, ready - 1);
    } else if (lane == GGS_SPOOL_JOURNAL) {
        snprintf(path, size, "%s/journal-%04u.seg", settings.directory, sequence);
    } else {
        snprintf(path, size, "%s/lane-%03u-%04u.seg", settings.directory, lane, sequence);
    }
}

static bool drop_oldest(void) {
    if (n_left == first_left) return false;
    struct left * oldest = &left[first_left++ % MOST_LEFT];
    char          path[4096 + 64];
    segment_path(path, sizeof(path), oldest->lane, oldest->sequence, oldest->ready);
    // The mapping stays, so unlinking alone would not free the memory.
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0) {
        if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t) oldest->size) !=
            0) { /* the name goes anyway */
        }
        close(fd);
    }
    unlink(path);
    used_bytes -= oldest->size;
    return true;
}

// Reserves room below the limit and without filling the file system. `beyond`: bytes by which it
// may exceed the limit.
static bool reserve(uint64_t size, uint64_t beyond, bool ring) {
    while (kept_bytes() + size > settings.most_bytes + beyond) {
        if (!ring || !drop_oldest()) {
            errno = GGS_SEGMENT_LIMIT;
            return false;
        }
    }
    struct statvfs space;
    if (statvfs(settings.directory, &space) == 0) {
        uint64_t available = (uint64_t) space.f_bavail * space.f_frsize;
        uint64_t whole     = (uint64_t) space.f_blocks * space.f_frsize;
        uint64_t spare     = whole / 50 < (64u << 20) ? whole / 50 : 64u << 20;
        if (available < size + spare) {
            errno = ENOSPC;
            return false;
        }
    }
    used_bytes += size;
    return true;
}

static uint8_t * map_segment(int fd, uint64_t size) {
    void * data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    return data == MAP_FAILED ? NULL : data;
}

// Opens the next segment that ggscope made, so that its pages are not charged to the host. With
// `path`, renames it if there is no file of that name; without, the segment's header says what it
// is. Renaming takes the folder's lock, which idle-priority threads of ggscope hold too. Returns -1
// if there is none. The caller holds the lock.
static int open_ready(const char * path, uint32_t * ready) {
    char from[4096 + 64];
    ready_path(from, sizeof(from), n_taken);
    if (path != NULL && renameat2(AT_FDCWD, from, AT_FDCWD, path, RENAME_NOREPLACE) != 0) return -1;
    int fd = open(path != NULL ? path : from, O_RDWR | O_CLOEXEC);
    if (fd < 0) return -1;
    n_taken++;
    *ready = path != NULL ? 0 : n_taken;
    if (path == NULL && fchmod(fd, 0600) != 0) { /* only tells ggscope that it is taken */
    }
    return fd;
}

static uint8_t * acquire_ready(const char * path, uint32_t * ready) {
    struct stat info;
    uint8_t *   data = NULL;
    int         fd   = open_ready(path, ready);
    if (fd < 0) return NULL;
    if (fstat(fd, &info) == 0 && info.st_size == GGS_SPOOL_SEGMENT &&
        (uint64_t) info.st_blocks * 512 >= GGS_SPOOL_SEGMENT)
        data = map_segment(fd, GGS_SPOOL_SEGMENT);
    close(fd);
    if (data == NULL) *ready = 0;
    if (data == NULL && path != NULL) unlink(path);
    return data;
}

static uint8_t * make_file(const char * path, uint64_t size) {
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return NULL;
    int       result = ggs_room_allocate(fd, size);
    uint8_t * data   = result == 0 ? map_segment(fd, size) : NULL;
    if (result == 0 && data == NULL) result = errno;
    close(fd);
    if (result == 0) return data;
    unlink(path);
    errno = result;
    return NULL;
}

// Makes a segment in room that is reserved. Returns NULL and releases the room on failure. `ready`:
// NULL to use none of ggscope's. `named`: it must have this path.
static uint8_t * make_reserved(const char * path, uint64_t size, uint32_t * ready, bool named) {
    struct ggs_signals signals;
    uint8_t *          data = NULL;
    ggs_signals_hold(&signals);
    if (ready != NULL && size == GGS_SPOOL_SEGMENT) data = acquire_ready(named ? path : NULL, ready);
    if (data == NULL) data = make_file(path, size);
    int reason = errno;
    ggs_signals_release(&signals);
    errno                   = reason;
    struct ggs_segment made = {.data = data, .size = size};
    if (data == NULL)
        used_bytes -= size;
    else
        (void) ggs_array_push(mapped, n_mapped, mapped_capacity, made); // else it stays mapped
    return data;
}

// The caller holds the lock: names are assigned in order.
static uint8_t * make(uint32_t lane, uint32_t sequence, uint64_t size, uint32_t * ready) {
    char path[4096 + 64];
    segment_path(path, sizeof(path), lane, sequence, 0);
    // Lanes cannot be read without the journal, so the journal may exceed the limit a little.
    uint64_t beyond = lane == GGS_SPOOL_JOURNAL ? settings.most_bytes / 8 : 0;
    // If several processes get the same spool, the one that makes the first segment owns it.
    bool first = lane == GGS_SPOOL_JOURNAL && sequence == 0;
    return reserve(size, beyond, settings.ring) ? make_reserved(path, size, ready, first) : NULL;
}

void ggs_segment_prepare(unsigned n) {
    char path[4096 + 64];
    pthread_mutex_lock(&lock);
    while (n_spares < n && n_spares < GGS_SEGMENT_MOST_SPARES && reserve(GGS_SPOOL_SEGMENT, 0, false)) {
        snprintf(path, sizeof(path), "%s/" GGS_SPOOL_SPARE ".seg", settings.directory, n_spares_made++);
        spares[n_spares] = make_reserved(path, GGS_SPOOL_SEGMENT, NULL, true);
        if (spares[n_spares] == NULL) break;
        n_spares++;
    }
    pthread_mutex_unlock(&lock);
}

// A reader finds no magic in a spare, or a complete header.
static void write_header(uint8_t * data, const struct ggs_spool_header * complete) {
    struct ggs_spool_header header = *complete;
    uint64_t                magic;
    memcpy(&magic, GGS_SPOOL_MAGIC, sizeof(magic));
    header.version = GGS_SPOOL_VERSION;
    header.pid     = (uint32_t) getpid();
    memcpy(data + sizeof(magic), (const uint8_t *) &header + sizeof(magic), sizeof(header) - sizeof(magic));
    __atomic_store_n((uint64_t *) data, magic, __ATOMIC_RELEASE);
}

int ggs_segment_create(struct ggs_segment * segment, uint32_t lane, uint32_t sequence, uint32_t slot, uint32_t thread,
                       uint64_t need) {
    uint64_t size = sizeof(struct ggs_spool_header) + need;
    size          = size < GGS_SPOOL_SEGMENT ? GGS_SPOOL_SEGMENT : (size + 4095) / 4096 * 4096;
    errno         = EPERM;
    pthread_mutex_lock(&lock);
    uint8_t * data  = NULL;
    uint32_t  ready = 0;
    if (!ggs_sandboxed()) {
        data = make(lane, sequence, size, &ready);
    } else if (size == GGS_SPOOL_SEGMENT && n_spares > 0) {
        data = spares[--n_spares];
    }
    pthread_mutex_unlock(&lock);
    if (data == NULL) return -1;
    struct ggs_spool_header header = {.lane = lane, .sequence = sequence, .size = size, .slot = slot, .thread = thread};
    write_header(data, &header);
    *segment = (struct ggs_segment){data, size, ready};
    return 0;
}

void ggs_segment_leave(struct ggs_segment * segment) {
    if (segment->data == NULL) return;
    struct ggs_spool_header header;
    memcpy(&header, segment->data, sizeof(header));
    if (!ggs_sandboxed()) madvise(segment->data, segment->size, MADV_DONTNEED);
    if (header.lane != GGS_SPOOL_JOURNAL) {
        pthread_mutex_lock(&lock);
        if (n_left - first_left < MOST_LEFT)
            left[n_left++ % MOST_LEFT] = (struct left){header.lane, header.sequence, segment->ready, segment->size};
        pthread_mutex_unlock(&lock);
    }
    segment->data = NULL;
}

void ggs_segments_reset(bool forked) {
    lock = (pthread_mutex_t) PTHREAD_MUTEX_INITIALIZER;
    for (unsigned i = 0; i < n_mapped && !forked; i++) munmap(mapped[i].data, mapped[i].size);
    if (forked) mapped = NULL, mapped_capacity = 0;
    used_bytes = first_left = n_left = 0;
    freed_bytes                      = NULL;
    n_mapped = n_spares = n_spares_made = n_taken = 0;
}
