#include "gguf/extents.h"

#include "base/error.h"
#include "base/search.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { BATCH = 256 }; // extents per query

static bool follows(const struct ggs_extent * before, const struct fiemap_extent * next) {
    if (!before->placed || before->logical + before->length != next->fe_logical) return false;
    return before->physical + before->length == next->fe_physical;
}

static int keep(struct ggs_extents * extents, const struct fiemap_extent * raw) {
    const uint32_t elsewhere = FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_DATA_INLINE;
    bool           placed    = (raw->fe_flags & elsewhere) == 0;
    // A compressed extent is smaller on the device than in the file, so adjacency means nothing.
    bool joinable = placed && (raw->fe_flags & FIEMAP_EXTENT_ENCODED) == 0;
    if (joinable && extents->n_extents > 0 && follows(&extents->extents[extents->n_extents - 1], raw)) {
        extents->extents[extents->n_extents - 1].length += raw->fe_length;
        return 0;
    }
    size_t n = extents->n_extents;
    if ((n & (n - 1)) == 0) { // full at every power of two
        struct ggs_extent * larger = reallocarray(extents->extents, n == 0 ? 1 : 2 * n, sizeof *larger);
        if (larger == NULL) return -1;
        extents->extents = larger;
    }
    extents->extents[extents->n_extents++] =
        (struct ggs_extent){raw->fe_logical, raw->fe_physical, raw->fe_length, placed};
    return 0;
}

static int fail_ioctl(const char * path, struct ggs_error * error) {
    if (errno == EOPNOTSUPP || errno == ENOTTY || errno == ENOSYS || errno == EBADR || errno == EINVAL) {
        return ggs_fail(
            error, GGS_UNSUPPORTED,
            "%s: its filesystem does not report where a file lies on its disk (no FIEMAP); copy it to ext4, "
            "xfs or btrfs to see its extents",
            path);
    }
    return ggs_fail_errno(error, "%s: cannot ask where it lies on its disk", path);
}

// Queries the extents behind `start`. *start moves behind the last of them; *more is true if there
// may be more.
static int collect_batch(struct ggs_extents * extents, int fd, struct fiemap * query, uint64_t * start, bool * more,
                         const char * path, struct ggs_error * error) {
    memset(query, 0, sizeof *query + BATCH * sizeof query->fm_extents[0]);
    query->fm_start        = *start;
    query->fm_length       = FIEMAP_MAX_OFFSET - *start;
    query->fm_flags        = FIEMAP_FLAG_SYNC; // data not yet written back has no place on the disk
    query->fm_extent_count = BATCH;
    if (ioctl(fd, FS_IOC_FIEMAP, query) != 0) return fail_ioctl(path, error);
    uint32_t got = query->fm_mapped_extents < BATCH ? query->fm_mapped_extents : BATCH;
    *more        = got > 0;
    for (uint32_t i = 0; i < got; i++) {
        const struct fiemap_extent * raw = &query->fm_extents[i];
        if (keep(extents, raw) != 0) return ggs_fail_memory(error);
        uint64_t end = raw->fe_logical + raw->fe_length;
        if ((raw->fe_flags & FIEMAP_EXTENT_LAST) != 0 || end <= *start) *more = false; // no progress: stop
        *start = end;
    }
    return 0;
}

static int collect(struct ggs_extents * extents, int fd, const char * path, struct ggs_error * error) {
    struct fiemap * query = malloc(sizeof *query + BATCH * sizeof query->fm_extents[0]);
    if (query == NULL) return ggs_fail_memory(error);
    uint64_t start  = 0;
    bool     more   = true;
    int      status = 0;
    while (status == 0 && more) status = collect_batch(extents, fd, query, &start, &more, path, error);
    free(query);
    return status;
}

int ggs_extents_init(struct ggs_extents * extents, const char * path, struct ggs_error * error) {
    *extents = (struct ggs_extents){0};
    int fd   = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return ggs_fail_errno(error, "%s: cannot open", path);
    int status = collect(extents, fd, path, error);
    close(fd);
    if (status < 0) ggs_extents_release(extents);
    return status;
}

void ggs_extents_release(struct ggs_extents * extents) {
    free(extents->extents);
    *extents = (struct ggs_extents){0};
}

// Returns the first extent that ends behind `offset`.
static size_t first_behind(const struct ggs_extents * extents, uint64_t offset) {
    const struct ggs_extent * extent = extents->extents;
    return ggs_search(extents->n_extents, at, extent[at].logical + extent[at].length <= offset);
}

size_t ggs_extents_count(const struct ggs_extents * extents, uint64_t offset, uint64_t length) {
    size_t count = 0;
    for (size_t i = first_behind(extents, offset); i < extents->n_extents; i++) {
        if (length == 0 || extents->extents[i].logical >= offset + length) break;
        count++;
    }
    return count;
}
