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

#include "base/system/room.h"
#include "capture/hooks/sandbox.h"
#include "capture/hooks/signals.h"
#include "trace/spool.h"

enum { MOST_LEFT = 65536 };

// Lane segments that were left, oldest first: what the ring policy may give up.
struct left {
    uint32_t lane, sequence;
    uint64_t size;
};

static struct ggs_segment_settings settings;
static pthread_mutex_t             lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t                    used_bytes;
static const uint64_t *            freed_bytes;     // of those; NULL: none
static struct left                 left[MOST_LEFT]; // a ring of its own
static uint64_t                    first_left, n_left;

// Made ahead, and not yet asked for.
enum { MOST_SPARES = 256 };
static struct spare {
    uint32_t           lane, sequence;
    struct ggs_segment segment;
} spares[MOST_SPARES];
static unsigned n_spares;

void ggs_segment_configure(const struct ggs_segment_settings * given) {
    settings = *given;
}

void ggs_segment_free(const uint64_t * bytes) {
    freed_bytes = bytes;
}

static uint64_t kept_bytes(void) {
    uint64_t freed = freed_bytes == NULL ? 0 : __atomic_load_n(freed_bytes, __ATOMIC_ACQUIRE);
    return used_bytes > freed ? used_bytes - freed : 0;
}

static void segment_path(char * path, size_t size, uint32_t lane, uint32_t sequence) {
    if (lane == GGS_SPOOL_JOURNAL) {
        snprintf(path, size, "%s/journal-%04u.seg", settings.directory, sequence);
    } else {
        snprintf(path, size, "%s/lane-%03u-%04u.seg", settings.directory, lane, sequence);
    }
}

static bool give_up_oldest(void) {
    if (n_left == first_left) return false;
    struct left * oldest = &left[first_left++ % MOST_LEFT];
    char          path[4096 + 64];
    segment_path(path, sizeof(path), oldest->lane, oldest->sequence);
    // Its mapping stays, so removing the name alone would not free the memory.
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

// Is there room for `size` more, below the limit and without filling the file system?
static bool reserve(uint64_t size, bool journal) {
    while (kept_bytes() + size > settings.most_bytes) {
        // The journal is what makes lanes readable: it may go a little over the limit, but lanes may not.
        if (journal && kept_bytes() + size <= settings.most_bytes + settings.most_bytes / 8) break;
        if (!settings.ring || !give_up_oldest()) {
            errno = EDQUOT;
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

// Takes a segment that ggscope has made ready, so that its pages are not ours. -1 if there is none, or the name is in use.
static int take_free(const char * path) {
    static uint32_t number;
    char            from[4096 + 64];
    uint32_t        next = __atomic_load_n(&number, __ATOMIC_RELAXED);
    struct stat     info;
    snprintf(from, sizeof(from), "%s/" GGS_SPOOL_FREE ".seg", settings.directory, next);
    if (renameat2(AT_FDCWD, from, AT_FDCWD, path, RENAME_NOREPLACE) != 0) return -1;
    __atomic_store_n(&number, next + 1,
                     __ATOMIC_RELAXED); // a thread that looked for the same one makes a file of its own
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &info) == 0 && info.st_size == GGS_SPOOL_SEGMENT &&
        (uint64_t) info.st_blocks * 512 >= GGS_SPOOL_SEGMENT)
        return fd;
    if (fd >= 0) close(fd);
    unlink(path);
    return -1;
}

static uint8_t * make_file(const char * path, uint64_t size) {
    int fd     = size == GGS_SPOOL_SEGMENT ? take_free(path) : -1;
    int result = 0;
    if (fd < 0) {
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0) return NULL;
        result = ggs_room_take(fd, size);
    }
    void * data = MAP_FAILED;
    if (result == 0) {
        data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
        if (data == MAP_FAILED) result = errno;
    }
    close(fd);
    if (result == 0) return data;
    unlink(path);
    errno = result;
    return NULL;
}

// The lock is held: names are taken one after the other.
static int make(struct ggs_segment * segment, uint32_t lane, uint32_t sequence, uint32_t slot, uint32_t thread,
                uint64_t size) {
    char path[4096 + 64];
    segment_path(path, sizeof(path), lane, sequence);
    if (!reserve(size, lane == GGS_SPOOL_JOURNAL)) return -1;
    struct ggs_signals signals;
    ggs_signals_hold(&signals);
    uint8_t * data   = make_file(path, size);
    int       reason = errno;
    ggs_signals_release(&signals);
    errno = reason;
    if (data == NULL) {
        used_bytes -= size;
        return -1;
    }
    struct ggs_spool_header header = {.version  = GGS_SPOOL_VERSION,
                                      .lane     = lane,
                                      .sequence = sequence,
                                      .pid      = (uint32_t) getpid(),
                                      .size     = size,
                                      .slot     = slot,
                                      .thread   = thread};
    memcpy(header.magic, GGS_SPOOL_MAGIC, sizeof(header.magic));
    memcpy(data, &header, sizeof(header));
    segment->data = data;
    segment->size = size;
    return 0;
}

static int take_spare(struct ggs_segment * segment, uint32_t lane, uint32_t sequence, uint64_t size) {
    for (unsigned i = 0; i < n_spares; i++) {
        if (spares[i].lane != lane || spares[i].sequence != sequence || spares[i].segment.size < size) continue;
        *segment  = spares[i].segment;
        spares[i] = spares[--n_spares];
        return 0;
    }
    errno = EPERM;
    return -1;
}

int ggs_segment_prepare(uint32_t lane, uint32_t sequence, uint32_t slot, uint32_t thread) {
    struct ggs_segment segment;
    pthread_mutex_lock(&lock);
    int result = -1;
    if (n_spares < MOST_SPARES && !settings.ring)
        result = make(&segment, lane, sequence, slot, thread, GGS_SPOOL_SEGMENT);
    if (result == 0) spares[n_spares++] = (struct spare){lane, sequence, segment};
    pthread_mutex_unlock(&lock);
    return result;
}

int ggs_segment_create(struct ggs_segment * segment, uint32_t lane, uint32_t sequence, uint32_t slot, uint32_t thread,
                       uint64_t need) {
    uint64_t size = sizeof(struct ggs_spool_header) + need;
    size          = size < GGS_SPOOL_SEGMENT ? GGS_SPOOL_SEGMENT : (size + 4095) / 4096 * 4096;
    pthread_mutex_lock(&lock);
    int result = take_spare(segment, lane, sequence, size);
    if (result != 0 && !ggs_sandboxed()) result = make(segment, lane, sequence, slot, thread, size);
    pthread_mutex_unlock(&lock);
    return result;
}

void ggs_segment_leave(struct ggs_segment * segment) {
    if (segment->data == NULL) return;
    struct ggs_spool_header header;
    memcpy(&header, segment->data, sizeof(header));
    if (!ggs_sandboxed()) madvise(segment->data, segment->size, MADV_DONTNEED);
    if (header.lane != GGS_SPOOL_JOURNAL) {
        pthread_mutex_lock(&lock);
        if (n_left - first_left < MOST_LEFT)
            left[n_left++ % MOST_LEFT] = (struct left){header.lane, header.sequence, segment->size};
        pthread_mutex_unlock(&lock);
    }
    segment->data = NULL;
}
