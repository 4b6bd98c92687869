// Notes on an experiment: DIR/notes.txt, one per line, each preceded by its time:
//
//     2026-11-15T20:42:31Z warm page cache, governor set to performance
//
// The file may be edited by hand: a line without a time is a note of unknown time.
#pragma once

#include <stdint.h>

#include "base/object.h"

struct ggs_error;

#define GGS_NOTES_FILE "notes.txt"
enum { GGS_NOTES_MOST = 1 << 20 }; // bytes of the file

struct ggs_note {
    char   when[21]; // "" if unknown
    char * text;
};

struct ggs_notes {
    struct ggs_note * note; // oldest first
    uint64_t          n;
    char *            data;
};

// An experiment without the file has no notes. A symbolic link is refused: an experiment from
// elsewhere must not show other files.
int ggs_notes_read(struct ggs_notes * notes, const char * directory, struct ggs_error * error);
// For terminals: control characters become "?".
void                           ggs_notes_disarm(struct ggs_notes * notes);
void                           ggs_notes_release(struct ggs_notes * notes);
extern const struct ggs_object ggs_notes_object; // {notes}, of a struct ggs_notes
