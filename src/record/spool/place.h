// Where the segments of a live recording are.
//
// Memory is best: writing there neither waits for a disk nor adds to the program's I/O. So a
// private folder in /dev/shm is used if that is a tmpfs with enough room, else DIR/spool itself.
// DIR/spool always leads there, so that a recording whose ggscope was killed is found through its
// directory.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct ggs_error;

struct ggs_spool_place {
    char     folder[PATH_MAX]; // absolute
    uint64_t max_bytes;        // limit of the recording
    int      lock;             // marks the folder as in use (base/system/lock.h)
};

// `parent`: a folder that the user chose, or NULL. `max_bytes`: 0 for the smaller of 16 GiB and
// half of the free space there. Makes the folder (mode 0700) and the link. Removes empty folders of
// killed recordings.
int ggs_spool_place_make(struct ggs_spool_place * place, const char * directory, const char * id, const char * parent,
                         uint64_t max_bytes, struct ggs_error * error);

// True if the spool of this experiment is in use: by the ggscope that started the program, or by
// the program, even if it has not computed yet.
bool ggs_spool_place_is_live(const char * directory);
// True if a program, or the ggscope that started it, writes to it.
bool ggs_spool_place_is_written(const char * directory);
// True if there is at least one segment.
bool ggs_spool_place_has_segments(const char * directory);
// Checks that DIR/spool is the experiment's own: a folder in it, or a link to PARENT/ggscope-ID.
// Others are refused, because a spool is removed once it is sealed.
int ggs_spool_place_check(const char * directory, const char * id, struct ggs_error * error);
