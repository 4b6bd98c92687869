// Asynchronous reads of files into memory: the core's interface to a disk.
//
// disk/pool.h reads with threads; tests use a disk that delays, reorders, shortens and fails reads.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ggs_urgency {
    GGS_READ_IDLE, // for an idle disk
    GGS_READ_SOON, // probably used
    GGS_READ_NOW,  // an op waits for it, or soon will
    GGS_URGENCIES
};

// One read, owned by the caller. It must not move until `done` is called or ggs_disk.cancel returns
// true.
struct ggs_disk_read {
    int      fd;
    uint64_t offset;
    size_t   bytes, needed; // the first `needed` bytes must exist: a file may end within the last block
    char *   to;
    bool     buffered; // read into a small buffer and copied from there
    // Called once, by any thread, without a lock of the disk. If `ok` is false, nothing at `to` may
    // be used.
    void (*done)(struct ggs_disk_read * read, bool ok);
    // Owned by the disk from submit until done.
    enum ggs_urgency      urgency;
    size_t                begun;     // bytes of it that were requested
    uint32_t              under_way; // pieces in flight
    bool                  failed;
    struct ggs_disk_read *next, *before;
};

// Any thread may call any function; `done` may call all of them.
struct ggs_disk {
    // Call it before the first submit; repeated calls are fine. False: nothing can be read.
    bool (*start)(struct ggs_disk * disk);

    void (*submit)(struct ggs_disk * disk, struct ggs_disk_read * read, enum ggs_urgency urgency);

    // Raises the urgency of a submitted read. Does nothing if it is done.
    void (*hurry)(struct ggs_disk * disk, struct ggs_disk_read * read, enum ggs_urgency urgency);

    // Drops what has not begun. True: nothing was in flight, and `done` will not be called. False:
    // it will be or has been called, with false if the read was incomplete.
    bool (*cancel)(struct ggs_disk * disk, struct ggs_disk_read * read);
};
