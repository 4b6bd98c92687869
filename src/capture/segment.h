// Segment files of the spool: created at full size, mapped, and unmapped at the end of the
// recording.
//
// A thread may still write the end of its last op when its lane moves on, so a full segment stays
// mapped. Only its pages are released; they come back if that thread touches them.
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

struct ggs_segment {
    uint8_t * data; // NULL for none
    uint64_t  size;
    uint32_t  ready; // number + 1 of the file that ggscope made; 0 if named after the stream
};

struct ggs_segment_settings {
    char     directory[4096];
    uint64_t most_bytes; // limit of all segments together
    bool     ring;       // at the limit, remove the oldest lane segment instead of stopping
};

// Sets where segments go and their limit. Called once, before the first.
void ggs_segment_configure(const struct ggs_segment_settings * settings);

uint64_t ggs_segment_most(void); // limit of all segments together, in bytes

// `bytes`: a counter of freed bytes, read whenever room is needed. May be NULL.
void ggs_segment_free(const uint64_t * bytes);

// Makes the next segment of a stream with at least `need` bytes after its header. Returns 0, or -1
// if there is no room and nothing was made (errno says why; GGS_SEGMENT_LIMIT if most_bytes are
// reached).
enum { GGS_SEGMENT_LIMIT = ENOBUFS }; // no system call here fails with it
int ggs_segment_create(struct ggs_segment * segment, uint32_t lane, uint32_t sequence, uint32_t slot, uint32_t thread,
                       uint64_t need);

// Makes up to `n` segments ahead, as far as there is room. In a sandbox (sandbox.h)
// ggs_segment_create hands them to the first streams that need one.
enum { GGS_SEGMENT_MOST_SPARES = 256 };
void ggs_segment_prepare(unsigned n);

// Releases the pages of a segment after its stream has moved on.
void ggs_segment_leave(struct ggs_segment * segment);

// Unmaps all segments after a recording, when no thread writes to any. In a forked child (`forked`)
// they stay, because the list may be half written.
void ggs_segments_reset(bool forked);
