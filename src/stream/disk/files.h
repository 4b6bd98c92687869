// The model files that the program has mapped.
//
// Found when they are mapped: a file that begins with the letters of a GGUF. Each is opened once
// more, past the page cache, and closed when its last mapping is gone. Every function may be called
// by any thread. A file stays where it is, and its members as they are, while it is mapped.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_stream_file {
    uint64_t                 device, inode, size;
    int64_t                  changed;   // its modification time, ns
    int                      direct;    // open with O_DIRECT, or -1
    int                      plain;     // open through the page cache, or -1
    uint32_t                 alignment; // of offsets, sizes and addresses of direct reads
    uint32_t                 mappings;  // how many there are; 0: the entry is free
    uint64_t                 copied;    // bytes that the engine has copied out of its mappings
    struct ggs_stream_file * next;
};

struct ggs_model_mapping {
    uintptr_t                  low, high;
    uint64_t                   offset;
    struct ggs_stream_file *   file;
    struct ggs_model_mapping * next;
};

// A zeroed struct, with its lock made, has none. Nothing is allocated or freed while the lock is
// held: the allocator may unmap memory, and whoever unmaps is asked whether that is a model's.
struct ggs_files {
    pthread_mutex_t            lock;
    struct ggs_stream_file *   files;
    struct ggs_model_mapping * mappings;
    uintptr_t                  low, high; // around all mappings; read without the lock
    bool                       left_out;  // what the program asked the kernel to read when it loaded
};

void ggs_files_release(struct ggs_files * files);

bool ggs_files_is_model(int fd);

// Takes note of a mapping that was just made. False if there is no memory.
bool ggs_files_add_mapping(struct ggs_files * files, int fd, const void * address, size_t length, uint64_t offset);

// Takes note that a range is unmapped. Nothing may be on its way from a file that is mapped nowhere
// else.
void ggs_files_unmapped(struct ggs_files * files, const void * address, size_t length);

// Is any part of this range a model's? Cheap where it is not.
bool ggs_files_touches(struct ggs_files * files, const void * address, size_t length);
// The same in a signal handler: where that cannot be found out, true.
bool ggs_files_may_touch(struct ggs_files * files, const void * address);

// The file and offset of an address whose `bytes` lie in one mapping; NULL if it is no model's.
const struct ggs_stream_file * ggs_files_find(struct ggs_files * files, const void * address, uint64_t bytes,
                                              uint64_t * offset);

// The n-th file that is mapped, NULL behind the last.
const struct ggs_stream_file * ggs_files_at(struct ggs_files * files, size_t n);

// The largest file that can be read directly; NULL if there is none.
const struct ggs_stream_file * ggs_files_largest(struct ggs_files * files);

// Has a file been changed or cut since it was mapped? The file and the size it has now, or NULL.
const struct ggs_stream_file * ggs_files_changed(struct ggs_files * files, uint64_t * size);

// Bytes of all model files that are open or mapped now.
uint64_t ggs_files_total(struct ggs_files * files);

// The engine copies these bytes into a buffer: it does not read them in the mapping again. How many
// those are, of all files.
void     ggs_files_add_copy(struct ggs_files * files, const void * address, uint64_t bytes);
uint64_t ggs_files_copied(struct ggs_files * files);

// Drops what the page cache holds of them.
void ggs_files_drop_cache(struct ggs_files * files);

// Has the kernel read these bytes of a mapping into memory, and waits for them.
void ggs_files_populate(struct ggs_files * files, const char * address, uint64_t bytes);
