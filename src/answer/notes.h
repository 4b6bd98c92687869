// Notes on an experiment: DIR/notes.txt, a line each, with the time at which it was written in
// front:
//
//     2026-11-15T20:42:31Z warm page cache, governor set to performance
//
// People may edit the file: a line without a time in front is a note whose time is not known.
#pragma once

#include <stdint.h>

#include "base/object.h"

struct ggs_error;

#define GGS_NOTES_FILE "notes.txt"
enum { GGS_NOTES_MOST = 1 << 20 }; // bytes of the file

struct ggs_note {
    char   when[21]; // "" if it is not known
    char * text;
};

struct ggs_notes {
    struct ggs_note * note; // oldest first
    uint64_t          n;
    char *            data;
};

// An experiment without the file has none. A link is refused: an experiment that somebody sent must
// not show other files.
int ggs_notes_read(struct ggs_notes * notes, const char * directory, struct ggs_error * error);
// For a terminal: control characters become "?".
void                           ggs_notes_disarm(struct ggs_notes * notes);
void                           ggs_notes_release(struct ggs_notes * notes);
extern const struct ggs_object ggs_notes_object; // {notes}, of a struct ggs_notes
