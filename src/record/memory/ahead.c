#include "record/memory/ahead.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/system/room.h"
#include "trace/spool.h"

enum { MOST_SEGMENTS = 24, SHARE = 8 };

unsigned ggs_ahead_segments(uint64_t max_bytes) {
    uint64_t fit = max_bytes / SHARE / GGS_SPOOL_SEGMENT;
    return fit < MOST_SEGMENTS ? (unsigned) fit : MOST_SEGMENTS;
}

unsigned ggs_ahead_idle_segments(const char * folder, uint64_t max_bytes) {
    static const uint64_t PLENTY = 1ull << 30;
    struct statfs         space;
    if (max_bytes < PLENTY || statfs(folder, &space) != 0 || space.f_type != TMPFS_MAGIC) return 0;
    return (uint64_t) space.f_bavail * (uint64_t) space.f_frsize < PLENTY ? 0 : ggs_ahead_segments(max_bytes);
}

// Made under another name: the library must never use half a segment. Returns 0 or an errno.
static int make_segment(struct ggs_ahead * ahead) {
    char temporary[PATH_MAX + 32], path[PATH_MAX + 32];
    snprintf(temporary, sizeof(temporary), "%s/" GGS_SPOOL_FREE ".tmp", ahead->folder, ahead->made);
    snprintf(path, sizeof(path), "%s/" GGS_SPOOL_FREE ".seg", ahead->folder, ahead->made);
    int fd = open(temporary, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return errno;
    int    result = ggs_room_allocate(fd, GGS_SPOOL_SEGMENT);
    void * data   = MAP_FAILED;
    if (result == 0 && !ggs_room_is_memory(fd)) {
        data   = mmap(NULL, GGS_SPOOL_SEGMENT, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
        result = data == MAP_FAILED ? errno : 0;
    }
    if (data != MAP_FAILED) munmap(data, GGS_SPOOL_SEGMENT);
    close(fd);
    if (result == 0 && rename(temporary, path) != 0) result = errno;
    if (result != 0) unlink(temporary);
    ahead->made += result == 0;
    return result;
}

// Counts the events of segments that were taken.
static unsigned count_taken(int watch) {
    char     events[4096] __attribute__((aligned(8)));
    unsigned taken = 0;
    ssize_t  n     = read(watch, events, sizeof(events));
    for (ssize_t at = 0; at < n;) {
        const struct inotify_event * event  = (const void *) (events + at);
        size_t                       length = event->len > 0 ? strlen(event->name) : 0;
        if (length > 4 && strncmp(event->name, "free-", 5) == 0 && strcmp(event->name + length - 4, ".seg") == 0)
            taken++;
        at += (ssize_t) (sizeof(*event) + event->len);
    }
    return taken;
}

// If one cannot be made, the library makes its own and reports why that fails.
static void * keep_ahead(void * context) {
    struct ggs_ahead * ahead   = context;
    struct pollfd      fds[]   = {{.fd = ahead->stop, .events = POLLIN}, {.fd = ahead->watch, .events = POLLIN}};
    unsigned           missing = ahead->segments - ahead->made;
    if (ahead->idle) pthread_setschedparam(pthread_self(), SCHED_IDLE, &(struct sched_param){0});
    for (;;) {
        if (poll(fds, 2, missing > 0 ? 0 : -1) < 0 && errno != EINTR) return NULL;
        if (fds[0].revents != 0) return NULL;
        if (fds[1].revents != 0) missing += count_taken(ahead->watch);
        if (missing > 0) missing = make_segment(ahead) == 0 ? missing - 1 : 0;
    }
}

static int start_thread(struct ggs_ahead * ahead) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); // signals are for the thread that forwards them
    int result = pthread_create(&ahead->thread, NULL, keep_ahead, ahead);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

static void close_both(struct ggs_ahead * ahead) {
    if (ahead->watch >= 0) close(ahead->watch);
    if (ahead->stop >= 0) close(ahead->stop);
    ahead->segments = 0;
}

int ggs_ahead_start(struct ggs_ahead * ahead, const char * folder, unsigned segments, bool idle,
                    struct ggs_error * error) {
    *ahead     = (struct ggs_ahead){.segments = segments, .idle = idle, .watch = -1, .stop = -1};
    int result = 0;
    if (segments == 0) return 0;
    if (snprintf(ahead->folder, sizeof(ahead->folder), "%s", folder) >= (int) sizeof(ahead->folder))
        return ggs_fail(error, GGS_USAGE, "the path %s is too long", folder);
    for (unsigned i = 0; i < segments && !idle && result == 0; i++) result = make_segment(ahead);
    if (result == 0) ahead->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (result == 0) ahead->stop = eventfd(0, EFD_CLOEXEC);
    if (result == 0 &&
        (ahead->watch < 0 || ahead->stop < 0 || inotify_add_watch(ahead->watch, folder, IN_ATTRIB | IN_MOVED_FROM) < 0))
        result = errno;
    if (result == 0) result = start_thread(ahead);
    if (result == 0) return 0;
    close_both(ahead);
    errno = result;
    return ggs_fail_errno(error, "cannot make space for the recording in %s", folder);
}

void ggs_ahead_stop(struct ggs_ahead * ahead) {
    uint64_t one = 1;
    if (ahead->segments == 0) return;
    if (write(ahead->stop, &one, sizeof(one)) == (ssize_t) sizeof(one)) pthread_join(ahead->thread, NULL);
    close_both(ahead);
}
