// A place in memory and what arrives in it from the disk: one state machine, whose owner is the stream's lock.
//
//              read                     the last piece has come
//    EMPTY -------------> READING --------------------------------> READY
//      ^                     |                                        |
//      |                     +---------- a piece has failed ------> FAILED
//      +-- cancel, if nothing has begun                               |
//      +------------------------- clear ------------------------------+
//
// Only the disk leads out of READING, or a cancel that comes in time. Memory of a place is handed out when it is READY,
// and used for something else when it is not READING; both are asserted. All functions: with the stream's lock held.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stream/disk/disk.h"

struct ggs_stream;

enum ggs_arrival_state { GGS_ARRIVAL_EMPTY, GGS_ARRIVAL_READING, GGS_ARRIVAL_READY, GGS_ARRIVAL_FAILED };

// A zeroed struct is EMPTY.
struct ggs_arrival {
    struct ggs_disk_read   read; // the disk's while READING
    struct ggs_stream *    stream;
    enum ggs_arrival_state state;
    uint32_t               shift; // the data begins so far behind `read.to`, and is moved there when it has come
    bool                   idle;  // it was asked for because the disk had nothing else to do
};

// The part of a file that direct reads can have: begins at or before the data, ends at or behind
// its end.
struct ggs_span {
    uint64_t offset, bytes, needed; // `needed` bytes of it exist in the file
    uint32_t delta;                 // where the data begins in it
};

struct ggs_span ggs_span_of(uint64_t offset, uint64_t bytes, uint32_t block);

// Reads a span to `to`. Not while READING. `shift`: the data is to begin at `to`, not `delta`
// behind it.
void ggs_arrival_read(struct ggs_stream * stream, struct ggs_arrival * arrival, int fd, const struct ggs_span * span,
                      char * to, bool shift, enum ggs_urgency urgency);

// Somebody will use it soon, or now.
void ggs_arrival_hurry(struct ggs_arrival * arrival, enum ggs_urgency urgency);

// Waits while it is READING; the lock is free meanwhile. Returns whether it is READY.
bool ggs_arrival_wait(struct ggs_arrival * arrival);

// What comes is of no use. True: nothing had begun, and it is EMPTY. False: it is READING as
// before, or was not.
bool ggs_arrival_cancel(struct ggs_arrival * arrival);

// Not while READING.
void ggs_arrival_clear(struct ggs_arrival * arrival);

static inline bool ggs_arrival_is_reading(const struct ggs_arrival * arrival) {
    return arrival->state == GGS_ARRIVAL_READING;
}
