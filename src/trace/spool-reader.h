// Reads a spool (spool.h) as streams: the journal, and one stream of units per lane. One segment
// per stream is mapped at a time. Spools are untrusted: inconsistent data is skipped and counted in
// `damaged`, never followed.
//
// A spool may be read while its writer continues. The result is a consistent cut: the journal ends
// where it ended when the spool was opened, and lanes are listed after that. A run's lanes are
// complete before the journal has its end, so no run of the cut lacks an op; lanes may hold ops of
// later runs.
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

// A decoded unit of a lane.
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
    size_t                           next;         // the next segment to open
    uint32_t                         base;         // first expected number: earlier ones are sealed
    uint32_t                         lane;         // from the file names
    uint32_t                         slot, thread; // lanes: from the open segment
    struct ggs_mapping               mapping;
    uint64_t                         position, end;
    uint64_t                         cut;      // the journal: end of its last segment, or 0
    uint64_t                         consumed; // bytes of closed segments
    uint64_t                         damaged;  // segments that are invalid or truncated
    uint64_t                         missing;  // segments that the ring policy removed
    bool                             gap;      // units are missing before this one
    struct ggs_unit                  unit;     // lanes: the current unit
    struct {
        bool     known;
        uint64_t begin, op; // offset and begin of the previous op; op 0: begin of the next one
        uint32_t run, node;
    } chain; // lanes: state
};

// A decoded record.
struct ggs_record {
    enum ggs_journal_type type;
    uint64_t              ticks;
    const void *          body; // the struct of the type
    uint64_t              length;
    const char *          text; // after the struct: `text_length` bytes, without the NUL
    uint64_t              text_length;
};

struct ggs_spool {
    struct ggs_spool_segment * segments; // journal, lanes by number and sequence, machine
    size_t                     n_segments;
    struct ggs_spool_stream    journal;
    struct ggs_spool_stream    machine; // records like the journal's
    struct ggs_spool_stream *  lanes;   // by (slot, thread)
    size_t                     n_lanes;
    uint64_t                   bytes; // of all segment files
    char *                     directory;
    struct ggs_mapping         control; // struct ggs_spool_control and its list; or empty
};

// Windows and marks of a spool in time order; NULL after the last.
const struct ggs_control_entry * ggs_spool_control_entry(const struct ggs_spool * spool, uint32_t number);

// `directory` is the spool folder itself. Returns GGS_ABSENT for an empty or missing folder.
int  ggs_spool_open(struct ggs_spool * spool, const char * directory, struct ggs_error * error);
void ggs_spool_release(struct ggs_spool * spool);
// True if the journal has grown since the spool was opened.
bool ggs_spool_goes_on(const struct ggs_spool * spool);
// Removes the segments and the folder, and the link to it if `directory` is one. A folder with
// other contents stays, with these.
int ggs_spool_remove(const char * directory, struct ggs_error * error);

// The arrays after a struct ggs_journal_decode, each of head->tokens elements.
struct ggs_decode_arrays {
    const struct ggs_journal_decode * head;
    const int32_t *                   tokens;
    const int32_t *                   positions;
    const int32_t *                   sequences;
    const uint8_t *                   outputs;
    const uint8_t *                   more; // head->more pairs of int32_t, not aligned
};

// Finds the arrays in the body of a GGS_JOURNAL_DECODE. Returns false if the body is too short.
bool ggs_decode_arrays(struct ggs_decode_arrays * arrays, const void * body, uint64_t length);

void ggs_spool_stream_rewind(struct ggs_spool_stream * stream);
// Reads the next record of the journal or the machine; false at the end. The record lives until the
// next call. Its type is known and its struct complete: other records count as damaged and are
// skipped.
bool ggs_spool_stream_record(struct ggs_spool_stream * stream, struct ggs_record * record);

// The position of the stream: an offset in a segment. Seeking to a removed segment goes to the
// oldest later one.
uint64_t ggs_spool_stream_tell(const struct ggs_spool_stream * stream, uint32_t * sequence);
void     ggs_spool_stream_seek(struct ggs_spool_stream * stream, uint32_t sequence, uint64_t position);

// Returns the current unit of the lane, or NULL at the end. Until it is skipped, each call decodes
// the same unit again, because the writer may complete it.
const struct ggs_unit * ggs_spool_stream_unit(struct ggs_spool_stream * stream);
// Skips the current unit, with its payload if it is index data.
void ggs_spool_stream_skip(struct ggs_spool_stream * stream);
// The current unit as stored, if it is index data; its payload follows.
const struct ggs_spool_index * ggs_spool_stream_index(const struct ggs_spool_stream * stream);

// Estimates the units in segments that the ring policy removed, by gaps in the numbers of a lane's
// segments.
uint64_t ggs_spool_dropped(const struct ggs_spool * spool);
// Estimates the number of units in all lanes.
uint64_t ggs_spool_estimate(struct ggs_spool * spool);
// Bytes that have been read.
uint64_t ggs_spool_done(const struct ggs_spool * spool);
