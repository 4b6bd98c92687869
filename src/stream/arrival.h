// A place in memory that the disk reads into: a state machine, protected by the stream's lock.
//
//              read                     the last piece has come
//    EMPTY -------------> READING --------------------------------> READY
//      ^                     |                                        |
//      |                     +---------- a piece has failed ------> FAILED
//      +-- cancel: at once, or when the pieces that have begun end    |
//      +------------------------- clear ------------------------------+
//
// Only the disk, or a cancel in time, leads out of READING. Memory of a place is handed out only
// when READY, and reused only when not READING; both are asserted. All functions need the stream's
// lock.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stream/disk/disk.h"

struct ggs_stream;

enum ggs_arrival_state { GGS_ARRIVAL_EMPTY, GGS_ARRIVAL_READING, GGS_ARRIVAL_READY, GGS_ARRIVAL_FAILED };

// A zeroed struct is EMPTY.
struct ggs_arrival {
    struct ggs_disk_read   read; // owned by the disk while READING
    struct ggs_stream *    stream;
    enum ggs_arrival_state state;
    uint32_t               shift;   // the data begins this far behind `read.to` and is moved there on arrival
    bool                   idle;    // requested while the disk was idle
    bool                   dropped; // cancelled: what is missing then was not asked for any longer
};

// The range of a file for a direct read: it begins at or before the data and ends at or after its
// end.
struct ggs_span {
    uint64_t offset, bytes, needed; // `needed` bytes of it exist in the file
    uint32_t delta;                 // offset of the data in it
};

struct ggs_span ggs_span_of(uint64_t offset, uint64_t bytes, uint32_t block);

// Reads a span to `to`. Not while READING. `shift`: move the data to `to`, instead of leaving it at
// `delta`.
void ggs_arrival_read(struct ggs_stream * stream, struct ggs_arrival * arrival, int fd, const struct ggs_span * span,
                      char * to, bool shift, enum ggs_urgency urgency);

// Raises the urgency of the read.
void ggs_arrival_hurry(struct ggs_arrival * arrival, enum ggs_urgency urgency);

// Waits while READING, with the lock released. Returns true if READY.
bool ggs_arrival_wait(struct ggs_arrival * arrival);

// Drops a read. True: it had not begun, and the place is EMPTY. False: it is still READING, and
// will be READY or EMPTY; or it was not READING.
bool ggs_arrival_cancel(struct ggs_arrival * arrival);

// Not while READING.
void ggs_arrival_clear(struct ggs_arrival * arrival);

static inline bool ggs_arrival_is_reading(const struct ggs_arrival * arrival) {
    return arrival->state == GGS_ARRIVAL_READING;
}
