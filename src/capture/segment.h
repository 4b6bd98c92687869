// Segment files of the spool: created whole, mapped, filled by others, never unmapped.
//
// A thread may still be writing the end of its last op when its lane moves on, so a segment that is left behind
// stays mapped; only its pages are let go (they come back if that thread touches them).
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ggs_segment {
    uint8_t * data; // NULL if there is none
    uint64_t  size;
};

struct ggs_segment_settings {
    char     directory[4096];
    uint64_t most_bytes; // of all segments together
    bool     ring;       // if they are reached, give up the oldest lane segment instead of stopping
};

// Where segments go and how much they may take. Once, before the first.
void ggs_segment_configure(const struct ggs_segment_settings * settings);

// So many bytes of them are gone again, whenever it is looked at. May be NULL.
void ggs_segment_free(const uint64_t * bytes);

// Makes the next segment of a stream, of at least `need` bytes behind its header. Returns 0, or -1 if there is no room
// (errno says why); nothing is left behind then.
int ggs_segment_create(struct ggs_segment * segment, uint32_t lane, uint32_t sequence, uint32_t slot, uint32_t thread,
                       uint64_t need);

// Makes a segment that ggs_segment_create will hand out when it is asked for it: for times when nothing can be made any more.
int ggs_segment_prepare(uint32_t lane, uint32_t sequence, uint32_t slot, uint32_t thread);

// The stream has moved on from this segment.
void ggs_segment_leave(struct ggs_segment * segment);
