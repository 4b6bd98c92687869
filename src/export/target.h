// Where an export writes to: a file, a device or pipe, or standard output; through gzip if that is
// asked for.
//
// A file appears whole or not at all (base/system/file.h). One whose bytes are what they were
// before is left alone, time stamps included, so that an export done again touches only what
// changed.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/system/file.h"

struct ggs_error;

struct ggs_target {
    struct ggs_output output; // of a file
    FILE *            file;   // what is written to: output.file, or stdout
    void *            gzip;   // z_stream, NULL if it is not compressed
    uint8_t *         buffer;
    size_t            used;
    uint64_t          bytes;     // that were put in, before compression
    int               failed;    // the errno of the first failure, 0 for none
    bool              unchanged; // set by commit: the file was there already, byte for byte
    bool              standard;  // writes to standard output
};

// `path` "-" is standard output. Exactly one of commit and discard follows a successful open.
int  ggs_target_open(struct ggs_target * target, const char * path, bool gzip, struct ggs_error * error);
int  ggs_target_commit(struct ggs_target * target, struct ggs_error * error);
void ggs_target_discard(struct ggs_target * target);

// The first failure sticks; commit and ggs_target_result give it.
void ggs_target_write(struct ggs_target * target, const void * data, size_t length);
void ggs_target_text(struct ggs_target * target, const char * text);
__attribute__((format(printf, 2, 3))) void ggs_target_format(struct ggs_target * target, const char * format, ...);
// For writers that want to stop early: 0, or the failure with its reason.
int ggs_target_result(const struct ggs_target * target, struct ggs_error * error);

// For ggs_json_init: context is the target.
int ggs_target_json(void * target, const char * data, size_t length);
