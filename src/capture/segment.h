// Segment files of the spool: created whole, mapped, filled by others, unmapped when the recording is over.
//
// A thread may still be writing the end of its last op when its lane moves on, so a segment that is
// left stays mapped; only its pages are released (they come back if that thread touches them).
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

struct ggs_segment {
    uint8_t * data; // NULL if there is none
    uint64_t  size;
    uint32_t  ready; // number + 1 of the file that ggscope had ready; 0: named after the stream
};

struct ggs_segment_settings {
    char     directory[4096];
    uint64_t most_bytes; // of all segments together
    bool     ring;       // at the limit, remove the oldest lane segment instead of stopping
};

// Where segments go and how much they may take. Once, before the first.
void ggs_segment_configure(const struct ggs_segment_settings * settings);

uint64_t ggs_segment_most(void); // bytes that all segments together may take

// `bytes`: a counter of bytes that are free again, read whenever room is needed. May be NULL.
void ggs_segment_free(const uint64_t * bytes);

// Makes the next segment of a stream, of at least `need` bytes behind its header. Returns 0, or -1
// if there is no room (errno says why, GGS_SEGMENT_LIMIT if most_bytes are reached); nothing is
// left behind then.
enum { GGS_SEGMENT_LIMIT = ENOBUFS }; // no system call here fails with it
int ggs_segment_create(struct ggs_segment * segment, uint32_t lane, uint32_t sequence, uint32_t slot, uint32_t thread,
                       uint64_t need);

// Makes up to `n` segments ahead, as far as there is room. In a sandbox (sandbox.h)
// ggs_segment_create hands them to whichever stream asks first.
enum { GGS_SEGMENT_MOST_SPARES = 256 };
void ggs_segment_prepare(unsigned n);

// The stream has moved on from this segment.
void ggs_segment_leave(struct ggs_segment * segment);

// The recording is over, and no thread writes to any segment any more: unmaps all of them. In the child of a fork
// (`forked`) the list of them may be half written, and they stay.
void ggs_segments_reset(bool forked);
