// Where the segments of a recording lie while it is made.
//
// Best is memory: writing there neither waits for a disk nor shows up in the I/O of the program. So a folder of our own in
// /dev/shm is used where that is a tmpfs with room enough; else DIR/spool itself. Wherever it is, DIR/spool leads there, so
// that a recording whose ggscope was killed is found again through its directory.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ggs_error;

struct ggs_spool_place {
    char     folder[PATH_MAX]; // absolute
    uint64_t max_bytes;        // that the recording may take
};

// `parent`: a folder that the user chose, or NULL. `max_bytes`: 0 for the smaller of 16 GiB and half of what is free there.
// Makes the folder (mode 0700) and the link.
int ggs_spool_place_make(struct ggs_spool_place * place, const char * directory, const char * id, const char * parent,
                         uint64_t max_bytes, struct ggs_error * error);

// Is the spool of this experiment being written to right now? Then `*writer` is the process.
bool ggs_spool_place_is_live(const char * directory, pid_t * writer);
// Is there at least one segment?
bool ggs_spool_place_has_segments(const char * directory);
