// Where the segments of a recording lie while it is made.
//
// Best is memory: writing there neither waits for a disk nor shows up in the I/O of the program. So
// a folder of our own in /dev/shm is used if that is a tmpfs with room enough; else DIR/spool
// itself. Wherever it is, DIR/spool leads there, so that a recording whose ggscope was killed is
// found again through its directory.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct ggs_error;

struct ggs_spool_place {
    char     folder[PATH_MAX]; // absolute
    uint64_t max_bytes;        // that the recording may take
    int      lock; // marks the folder as in use (base/system/lock.h): ggs_lock_release it when the program has ended
};

// `parent`: a folder that the user chose, or NULL. `max_bytes`: 0 for the smaller of 16 GiB and
// half of what is free there. Makes the folder (mode 0700) and the link. Removes folders that
// killed recordings left there without anything in them.
int ggs_spool_place_make(struct ggs_spool_place * place, const char * directory, const char * id, const char * parent,
                         uint64_t max_bytes, struct ggs_error * error);

// Is the spool of this experiment in use: by the ggscope that started the program, or by the
// program, also if it did not compute yet?
bool ggs_spool_place_is_live(const char * directory);
// Does a program write to it, or the ggscope that started it?
bool ggs_spool_place_is_written(const char * directory);
// Is there at least one segment?
bool ggs_spool_place_has_segments(const char * directory);
// Is DIR/spool the experiment's own: a folder in it, or a link to PARENT/ggscope-ID? Whatever else
// it leads to is refused, because a spool is removed once it is sealed.
int ggs_spool_place_check(const char * directory, const char * id, struct ggs_error * error);
