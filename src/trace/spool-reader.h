// Reads a spool (spool.h) as streams: the journal, and one stream of units per lane. One segment
// per stream is mapped at a time. Spools are untrusted: what does not add up is skipped and counted
// in `damaged`, never followed.
//
// A spool may be read while its writer goes on. What is read then is a consistent cut: the journal
// ends where it ended when the spool was opened, and lanes are listed after that. All that a run
// leaves in lanes is written before the journal says that it has ended, so no run of the cut lacks
// an op; lanes may hold ops of later runs.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/system/file.h"
#include "trace/spool.h"

struct ggs_error;

struct ggs_spool_segment {
    char *   path;
    uint32_t lane; // GGS_SPOOL_JOURNAL for the journal, GGS_SPOOL_MACHINE for the machine
    uint32_t sequence;
};

// A unit of a lane as it is read.
struct ggs_unit {
    enum ggs_unit_type type;  // never GGS_UNIT_AT
    uint8_t            flags; // enum ggs_op_run_flags
    uint32_t           run;
    uint32_t           node;                              // of a GGS_UNIT_THREAD: the thread's id
    uint64_t           begin, duration, wait, inner_wait; // of an op, in ticks
};

struct ggs_spool_stream {
    const struct ggs_spool_segment * segments; // of this stream, in order
    size_t                           n_segments;
    size_t                           next;         // segment to be opened next
    uint32_t                         base;         // the first number that is expected: those before are sealed already
    uint32_t                         lane;         // as the file names say
    uint32_t                         slot, thread; // lanes: of the segment that is open
    struct ggs_mapping               mapping;
    uint64_t                         position, end;
    uint64_t                         cut;      // the journal: where its last segment ends; 0: nowhere
    uint64_t                         consumed; // bytes of closed segments
    uint64_t                         damaged;  // segments that ended in the middle of something, or were no segments
    uint64_t        missing; // segments that were given up by the ring policy, perhaps while they were read
    bool            gap;     // units are missing before the one that the lane is at
    struct ggs_unit unit;    // lanes: that it is at
    struct {
        bool     known;
        uint64_t begin, op; // where the op before lies, which began then; 0: the next one begins then
        uint32_t run, node;
    } chain; // lanes: what the next op hangs on
};

// A record as it is read.
struct ggs_record {
    enum ggs_journal_type type;
    uint64_t              ticks;
    const void *          body; // the struct of the type
    uint64_t              length;
    const char *          text; // behind the struct: `text_length` bytes until the first NUL or the end
    uint64_t              text_length;
};

struct ggs_spool {
    struct ggs_spool_segment * segments; // journal first, then by lane and sequence, the machine last
    size_t                     n_segments;
    struct ggs_spool_stream    journal;
    struct ggs_spool_stream    machine; // records like the journal's
    struct ggs_spool_stream *  lanes;   // by (slot, thread)
    size_t                     n_lanes;
    uint64_t                   bytes; // of all segment files
    char *                     directory;
    struct ggs_mapping         control; // struct ggs_spool_control and its list; empty if there is none
};

// The windows and marks of a spool, in order of time; NULL beyond the last.
const struct ggs_control_entry * ggs_spool_control_entry(const struct ggs_spool * spool, uint32_t number);

// `directory` is the spool folder itself. An empty or absent folder is GGS_ABSENT.
int  ggs_spool_open(struct ggs_spool * spool, const char * directory, struct ggs_error * error);
void ggs_spool_release(struct ggs_spool * spool);
// Has the journal grown since the spool was opened?
bool ggs_spool_goes_on(const struct ggs_spool * spool);
// Removes the segments and then the folder, and the link to it if `directory` is one. Anything else
// that lies in the folder stays, and so does the folder then.
int ggs_spool_remove(const char * directory, struct ggs_error * error);

// The arrays behind a struct ggs_journal_decode, each of head->tokens elements.
struct ggs_decode_arrays {
    const struct ggs_journal_decode * head;
    const int32_t *                   tokens;
    const int32_t *                   positions;
    const int32_t *                   sequences;
    const uint8_t *                   outputs;
    const uint8_t *                   more; // head->more pairs of int32_t, not aligned
};

// Of a GGS_JOURNAL_DECODE, in whose body they point. False if the body is too short for them.
bool ggs_decode_arrays(struct ggs_decode_arrays * arrays, const void * body, uint64_t length);

void ggs_spool_stream_rewind(struct ggs_spool_stream * stream);
// The next record of the journal or the machine; false at the end. Lives until the next call. Its
// type is known, and the struct that belongs to it is there in full: any other record counts as
// damaged and is left out.
bool ggs_spool_stream_record(struct ggs_spool_stream * stream, struct ggs_record * record);

// Where the stream is: an offset in a segment. Seeking to a segment that is gone goes to the oldest
// one behind it.
uint64_t ggs_spool_stream_tell(const struct ggs_spool_stream * stream, uint32_t * sequence);
void     ggs_spool_stream_seek(struct ggs_spool_stream * stream, uint32_t sequence, uint64_t position);

// The unit that the lane is at, or NULL at the end; the same one until it is skipped, when it is
// looked at again: it may have been completed.
const struct ggs_unit * ggs_spool_stream_unit(struct ggs_spool_stream * stream);
// Skips the unit that ggs_spool_stream_unit returned, with its payload if it is index data.
void ggs_spool_stream_skip(struct ggs_spool_stream * stream);
// That unit as it lies in the spool, if it is index data: its payload is behind it.
const struct ggs_spool_index * ggs_spool_stream_index(const struct ggs_spool_stream * stream);

// Units in segments that the ring policy has given up, about: the numbers of a lane's segments
// leave them out.
uint64_t ggs_spool_dropped(const struct ggs_spool * spool);
// About how many units all lanes hold.
uint64_t ggs_spool_estimate(struct ggs_spool * spool);
// Bytes that have been read.
uint64_t ggs_spool_done(const struct ggs_spool * spool);
