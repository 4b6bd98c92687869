// Files: reading through a mapping, atomic writing.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct ggs_error;

// A whole regular file mapped for reading. An empty file has data == NULL and size == 0.
// Directories, pipes and devices are refused with a sentence.
struct ggs_mapping {
    const uint8_t * data;
    uint64_t        size;
};
int  ggs_mapping_open(struct ggs_mapping * mapping, const char * path, struct ggs_error * error);
void ggs_mapping_close(struct ggs_mapping * mapping);

// Opens a regular file for reading; -1 with errno otherwise. Never blocks on a FIFO.
int ggs_file_open(const char * path);

// Flushes stdio's buffer. Returns -1 with errno if this or an earlier write failed, and clears the
// error.
int ggs_file_flush(FILE * file);

// A file that appears whole or not at all. If the file system supports it, the file has no name
// until it is complete, so a killed process leaves nothing behind. Otherwise it is written as
// "PATH.tmp-PID-N" and renamed.
//     if (ggs_output_open(&output, path, error) < 0) ...
//     fwrite(..., output.file);
//     return ggs_output_commit(&output, error);      // or ggs_output_discard(&output)
// Exactly one of commit and discard follows a successful open. The mode is 0666 less the umask. A
// symbolic link stays one: its target is replaced. Devices and pipes are written directly.
struct ggs_output {
    FILE * file;
    char * path;
    char * temporary; // NULL: no name yet
    bool   direct;    // a device or a pipe
};
int  ggs_output_open(struct ggs_output * output, const char * path, struct ggs_error * error);
int  ggs_output_commit(struct ggs_output * output, struct ggs_error * error);
void ggs_output_discard(struct ggs_output * output);
// For writers that need a path: `temporary` names an empty file. Refuses devices and pipes.
int ggs_output_open_named(struct ggs_output * output, const char * path, struct ggs_error * error);
// Commits, but leaves a file with the same bytes untouched, including its modification time.
int ggs_output_commit_changed(struct ggs_output * output, bool * unchanged, struct ggs_error * error);
// Removes files "PREFIX*.tmp-PID-N" whose writers are dead. `prefix` is a path and may be
// "DIRECTORY/".
void ggs_output_sweep(const char * prefix);

// The last part of a path.
const char * ggs_file_name(const char * path);

// Creates a directory and its missing parents with mode 0777 less the umask. An existing one is
// fine.
int ggs_make_directories(const char * path, struct ggs_error * error);
