// The output of an export: a file, a device, a pipe, or standard output, optionally through gzip.
//
// A file appears whole or not at all (base/system/file.h). A file with the same bytes is left
// untouched, including its time stamps, so repeating an export touches only what changed.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/system/file.h"

struct ggs_error;

struct ggs_target {
    struct ggs_output output; // of a file
    FILE *            file;   // output.file, or stdout
    void *            gzip;   // z_stream; NULL: uncompressed
    uint8_t *         buffer;
    size_t            used;
    uint64_t          bytes;     // written, before compression
    int               failed;    // errno of the first failure, 0 for none
    bool              unchanged; // set by commit: the file existed with the same bytes
    bool              standard;  // true for standard output
};

// `path` "-" is standard output. Exactly one of commit and discard follows a successful open.
int  ggs_target_open(struct ggs_target * target, const char * path, bool gzip, struct ggs_error * error);
int  ggs_target_commit(struct ggs_target * target, struct ggs_error * error);
void ggs_target_discard(struct ggs_target * target);

// The first failure sticks; commit and ggs_target_result return it.
void ggs_target_write(struct ggs_target * target, const void * data, size_t length);
void ggs_target_text(struct ggs_target * target, const char * text);
__attribute__((format(printf, 2, 3))) void ggs_target_format(struct ggs_target * target, const char * format, ...);
// For writers that stop early: 0, or the failure with its reason.
int ggs_target_result(const struct ggs_target * target, struct ggs_error * error);

// A sink for ggs_json_init; the context is the target.
int ggs_target_json(void * target, const char * data, size_t length);
