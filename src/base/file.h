// Files, the careful way: reading through a mapping, writing through a temporary name.
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

// Opens a regular file for reading; -1 with errno otherwise. A pipe that nobody writes to does not hang us.
int ggs_file_open(const char * path);

// A file that appears whole or not at all: written without a name, or as "PATH.tmp-PID-N" if the file system cannot do that, then renamed.
// A symbolic link stays one: what it leads to is written. Devices and pipes are written to as they are.
//     if (ggs_output_open(&output, path, error) < 0) ...
//     fwrite(..., output.file);
//     return ggs_output_commit(&output, error);      // or ggs_output_discard(&output)
// Exactly one of commit and discard follows a successful open. Mode 0666 less the umask.
struct ggs_output {
    FILE * file;
    char * path;
    char * temporary; // NULL: nothing is renamed
    bool   named;     // the temporary name exists
};
int  ggs_output_open(struct ggs_output * output, const char * path, struct ggs_error * error);
int  ggs_output_commit(struct ggs_output * output, struct ggs_error * error);
void ggs_output_discard(struct ggs_output * output);
// Gives the file its temporary name, for those who rename it themselves and clear `named` then. False with errno if that fails.
bool ggs_output_name(struct ggs_output * output);

// Makes a directory and all that is missing above it, with mode 0777 less the umask. One that is there is fine.
int ggs_make_directories(const char * path, struct ggs_error * error);
