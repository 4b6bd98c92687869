// Reads of files into memory that go on while the engine computes: what the core asks of a disk.
//
// disk/pool.h reads with threads; tests have a disk that delays, reorders, shortens and fails
// reads.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ggs_urgency {
    GGS_READ_IDLE, // the disk has nothing else to do
    GGS_READ_SOON, // it will likely be used
    GGS_READ_NOW,  // an op waits for it, or soon will
    GGS_URGENCIES
};

// One read. The caller's; it stays where it is until `done` is called or ggs_disk.cancel returns
// true.
struct ggs_disk_read {
    int      fd;
    uint64_t offset;
    size_t   bytes, needed; // the first `needed` bytes must be there: a file may end before the last block does
    char *   to;
    // Called once, by any thread, without a lock of the disk. If `ok` is false nothing at `to` may
    // be used.
    void (*done)(struct ggs_disk_read * read, bool ok);
    // The disk's, from submit until done.
    enum ggs_urgency      urgency;
    size_t                begun;     // bytes of it that have been handed on
    uint32_t              under_way; // pieces
    bool                  failed;
    struct ggs_disk_read *next, *before;
};

// Every function may be called by any thread. `done` may call all of them.
struct ggs_disk {
    // Before the first submit, and as often as one likes. False: nothing can be read.
    bool (*start)(struct ggs_disk * disk);

    void (*submit)(struct ggs_disk * disk, struct ggs_disk_read * read, enum ggs_urgency urgency);

    // Raises the urgency of a read that has been submitted. Does nothing where it is done.
    void (*hurry)(struct ggs_disk * disk, struct ggs_disk_read * read, enum ggs_urgency urgency);

    // Drops what has not begun. True: nothing was under way, and `done` will not be called. False:
    // it will be, or has been; if the read was not whole by then, with false.
    bool (*cancel)(struct ggs_disk * disk, struct ggs_disk_read * read);
};
