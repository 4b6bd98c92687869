// The model files that the program has mapped.
//
// Found when they are mapped: a file that begins with the letters of a GGUF. Each is opened once more, past the page cache.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GGS_STREAM_FILES = 256, GGS_STREAM_MAPPINGS = 512 };

struct ggs_stream_file {
    uint64_t device, inode, size;
    int64_t  changed;   // its modification time, ns
    int      direct;    // open with O_DIRECT, or -1
    int      plain;     // open through the page cache: for --verify
    uint32_t alignment; // of offsets, sizes and addresses of direct reads
    uint32_t mappings;  // how many there are
};

// Takes note of a mapping that was just made. Returns the file's number, or -1 if it is not a model.
int ggs_files_note(int fd, const void * address, size_t length, uint64_t offset);

bool ggs_files_is_model(int fd);

// Takes note that a range is unmapped. Returns whether any of it belonged to a model.
bool ggs_files_unmapped(const void * address, size_t length);

// Is any part of this range a model's?
bool ggs_files_touches(const void * address, size_t length);

// The file and offset of an address whose `bytes` lie in one mapping; -1 if it is no model's.
int ggs_files_find(const void * address, uint64_t bytes, uint64_t * offset);

struct ggs_stream_file * ggs_files_get(int file);

// The largest file that can be read directly; NULL if there is none.
const struct ggs_stream_file * ggs_files_largest(void);

// Has a file been changed or cut since it was mapped? Its number and the size it has now, or -1.
int ggs_files_changed(uint64_t * size);

// Bytes of all model files that are open or mapped now.
uint64_t ggs_files_total(void);

// Drops what the page cache holds of them.
void ggs_files_drop_cache(void);

// The program wanted its models read when they were loaded, and that was left out. Was it? Then it is for the caller to catch up.
void ggs_files_leave_out(void);
bool ggs_files_catch_up(void);

// Has the kernel read these bytes of a mapping into memory, and waits for them.
void ggs_files_populate(const char * address, uint64_t bytes);
