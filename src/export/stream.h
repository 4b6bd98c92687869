// Where an export writes to: a file, a device or pipe, or standard output; through gzip where that is asked for.
//
// A file appears whole or not at all (base/file.h). One whose bytes are what they were before is left alone, time stamps
// included, so that an export done again touches only what changed.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"
#include "base/json.h"

struct ggs_error;

struct ggs_stream {
    struct ggs_output output; // of a file
    FILE *            file;   // what is written to: output.file, or stdout
    void *            gzip;   // z_stream, NULL where it is not compressed
    uint8_t *         buffer;
    size_t            used;
    uint64_t          bytes; // that were put in, before compression
    bool              failed;
    bool              unchanged; // set by commit: the file was there already, byte for byte
    bool              standard;  // writes to standard output
    bool              direct;    // writes to a device or a pipe
};

// `path` "-" is standard output. Exactly one of commit and discard follows a successful open.
int  ggs_stream_open(struct ggs_stream * stream, const char * path, bool gzip, struct ggs_error * error);
int  ggs_stream_commit(struct ggs_stream * stream, struct ggs_error * error);
void ggs_stream_discard(struct ggs_stream * stream);

// Failure sticks and shows in commit.
void ggs_stream_write(struct ggs_stream * stream, const void * data, size_t length);
void ggs_stream_text(struct ggs_stream * stream, const char * text);
__attribute__((format(printf, 2, 3))) void ggs_stream_format(struct ggs_stream * stream, const char * format, ...);

// For ggs_json_init: context is the stream.
int ggs_stream_json(void * stream, const char * data, size_t length);

// Puts a finished temporary file in its place, or removes it where the place has the same bytes already.
int ggs_file_replace(const char * temporary, const char * path, bool * unchanged, struct ggs_error * error);
