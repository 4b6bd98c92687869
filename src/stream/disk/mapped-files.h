// The model files that the program has mapped.
//
// They are detected when mapped: a file with the magic of a GGUF. Each is opened once more, past
// the page cache, and closed with its last mapping. Any thread may call any function. A file's
// struct neither moves nor changes while it is mapped.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_stream_file {
    uint64_t                 device, inode, size;
    int64_t                  changed;   // modification time, ns
    int                      direct;    // descriptor with O_DIRECT, or -1
    int                      plain;     // descriptor through the page cache, or -1
    uint32_t                 alignment; // of offsets, sizes and addresses of direct reads
    uint32_t                 mappings;  // number of mappings; 0: the entry is free
    uint64_t                 copied;    // bytes that the engine copied out of its mappings
    struct ggs_stream_file * next;
};

struct ggs_model_mapping {
    uintptr_t                  low, high;
    uint64_t                   offset;
    struct ggs_stream_file *   file;
    struct ggs_model_mapping * next;
};

// A zeroed struct with an initialised lock is empty. Nothing is allocated or freed under the lock:
// the allocator may unmap memory, and the munmap hook takes this lock.
struct ggs_files {
    pthread_mutex_t            lock;
    struct ggs_stream_file *   files;
    struct ggs_model_mapping * mappings;
    uintptr_t                  low, high; // range of all mappings; read without the lock
    bool                       left_out;  // requests of the program to read its model were suppressed
};

void ggs_files_release(struct ggs_files * files);

bool ggs_files_is_model(int fd);

// Adds a mapping that was just made. False if memory is out.
bool ggs_files_add_mapping(struct ggs_files * files, int fd, const void * address, size_t length, uint64_t offset);

// Removes an unmapped range. No read may be in flight from a file that is mapped nowhere else.
void ggs_files_unmapped(struct ggs_files * files, const void * address, size_t length);

// True if any part of this range belongs to a model. Cheap if not.
bool ggs_files_touches(struct ggs_files * files, const void * address, size_t length);
// The same for a signal handler: true if it cannot be determined.
bool ggs_files_may_touch(struct ggs_files * files, const void * address);

// Returns the file and offset of an address whose `bytes` lie in one mapping; NULL if it is not a
// model's.
const struct ggs_stream_file * ggs_files_find(struct ggs_files * files, const void * address, uint64_t bytes,
                                              uint64_t * offset);

// Returns the n-th mapped file, NULL beyond the last.
const struct ggs_stream_file * ggs_files_at(struct ggs_files * files, size_t n);

// Returns the largest file that can be read directly; NULL if there is none.
const struct ggs_stream_file * ggs_files_largest(struct ggs_files * files);

// Returns a file that was changed or truncated since it was mapped, with its current size; or NULL.
const struct ggs_stream_file * ggs_files_changed(struct ggs_files * files, uint64_t * size);

// Bytes of all model files that are open or mapped.
uint64_t ggs_files_total(struct ggs_files * files);

// Notes that the engine copied these bytes into a buffer and will not read the mapping again.
// Returns the total of all files.
void     ggs_files_add_copy(struct ggs_files * files, const void * address, uint64_t bytes);
uint64_t ggs_files_copied(struct ggs_files * files);

// Drops their pages from the page cache.
void ggs_files_drop_cache(struct ggs_files * files);

// Makes the kernel read these bytes of a mapping into memory, and waits.
void ggs_files_populate(struct ggs_files * files, const char * address, uint64_t bytes);
