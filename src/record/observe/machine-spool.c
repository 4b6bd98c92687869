#include "record/observe/machine-spool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "trace/spool.h"

static void flush(struct ggs_machine_spool * spool) {
    for (size_t at = 0; at < spool->used && spool->failed == 0;) {
        ssize_t n = write(spool->fd, spool->buffer + at, spool->used - at);
        if (n > 0) {
            at += (size_t) n;
        } else if (errno != EINTR) {
            spool->failed = errno;
        }
    }
    spool->used = 0;
}

int ggs_machine_spool_open(struct ggs_machine_spool * spool, const char * folder, struct ggs_error * error) {
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/machine-0000.seg", folder);
    *spool    = (struct ggs_machine_spool){.lock = PTHREAD_MUTEX_INITIALIZER};
    spool->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (spool->fd < 0) return ggs_fail_errno(error, "cannot create %s", path);
    // No limit here: the file's own size ends it.
    struct ggs_spool_header header = {.version = GGS_SPOOL_VERSION, .lane = GGS_SPOOL_MACHINE, .size = UINT64_MAX};
    memcpy(header.magic, GGS_SPOOL_MAGIC, sizeof(header.magic));
    memcpy(spool->buffer, &header, sizeof(header));
    spool->used = sizeof(header);
    flush(spool); // a reader sees a segment from its begin
    return 0;
}

void ggs_machine_spool_append(struct ggs_machine_spool * spool, uint32_t type, uint64_t monotonic_ns, const void * body,
                              size_t bytes) {
    struct ggs_journal_record record = {
        .type = type, .bytes = (uint32_t) (sizeof(record) + bytes), .ticks = monotonic_ns};
    pthread_mutex_lock(&spool->lock);
    if (spool->used + record.bytes > sizeof(spool->buffer)) flush(spool);
    memcpy(spool->buffer + spool->used, &record, sizeof(record));
    memcpy(spool->buffer + spool->used + sizeof(record), body, bytes);
    spool->used += record.bytes;
    pthread_mutex_unlock(&spool->lock);
}

void ggs_machine_spool_flush(struct ggs_machine_spool * spool) {
    pthread_mutex_lock(&spool->lock);
    flush(spool);
    pthread_mutex_unlock(&spool->lock);
}

int ggs_machine_spool_close(struct ggs_machine_spool * spool, struct ggs_error * error) {
    if (spool->fd < 0) return 0;
    flush(spool);
    close(spool->fd);
    spool->fd = -1;
    pthread_mutex_destroy(&spool->lock);
    if (spool->failed == 0) return 0;
    errno = spool->failed;
    return ggs_fail_errno(error, "some kernel events could not be written");
}
