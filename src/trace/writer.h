// Writes trace.ggs: rows in, chunks out. The first failure is kept: append freely and check the
// result of finish.
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "base/array.h"
#include "base/map.h"
#include "trace/block.h"

// Turns blocks into chunks. One belongs to the caller's thread and one to the helper's.
struct ggs_packer {
    void *           zstd;
    uint8_t *        raw; // scratch
    uint64_t         raw_capacity;
    uint8_t *        stored; // a chunk as written
    uint64_t         stored_capacity;
    int              status;
    struct ggs_error error;
};

// Op runs are nearly all of a trace. A thread of its own packs their chunks, one at a time, while
// the caller fills the next one.
struct ggs_helper {
    pthread_t         thread;
    bool              started;
    pthread_mutex_t   lock; // of this, and of the file: offset and entries
    pthread_cond_t    changed;
    bool              busy, stop;
    struct ggs_block  block; // being packed, or the memory of the last one
    uint64_t          first_row;
    struct ggs_packer packer;
};

struct ggs_writer {
    bool                     opened;
    int                      fd;
    const char *             path; // for messages
    int                      status;
    struct ggs_error         error;
    uint64_t                 offset;  // bytes written
    uint64_t                 process; // value of the column `process`
    int                      process_column[GGS_TABLE_COUNT];
    struct ggs_block         blocks[GGS_TABLE_COUNT];
    uint64_t                 rows[GGS_TABLE_COUNT]; // of closed chunks
    struct ggs_index_entry * entries;
    uint64_t                 n_entries, entries_capacity;
    struct ggs_packer        packer;
    struct ggs_helper        helper;
    struct ggs_map           strings;
    uint64_t                 n_strings;
    bool                     op_runs_only; // chunks of all other tables are dropped
    bool                     counts;       // op runs are only counted: their chunks exist
};

// The caller keeps `fd`; `path` must outlive the writer, which must not move. Writes the header.
int ggs_writer_init(struct ggs_writer * writer, int fd, const char * path, const uint8_t uuid[16]);
// The same for chunks of op runs alone, from the file's position on. Rows of other tables are
// dropped.
int  ggs_writer_init_op_runs(struct ggs_writer * writer, int fd, const char * path);
void ggs_writer_release(struct ggs_writer * writer);

// Sets the failure, if there was none before.
void ggs_writer_fail_memory(struct ggs_writer * writer);
// ggs_array_reserve with the writer's failure.
#define ggs_writer_reserve(writer, array, capacity, needed) \
    (ggs_array_reserve(array, capacity, needed) || (ggs_writer_fail_memory(writer), false))

// `row` is the table's struct in ggscope.h. Bytes are copied. Full chunks are written.
void ggs_writer_append(struct ggs_writer * writer, enum ggs_trace_table table, const void * row);
// The number of the table's next row.
uint64_t ggs_writer_next_row(const struct ggs_writer * writer, enum ggs_trace_table table);
// The string's number; 0 for the empty string.
uint64_t ggs_writer_string(struct ggs_writer * writer, const void * text, uint64_t length);

// Writes the table's pending rows.
void ggs_writer_flush(struct ggs_writer * writer, enum ggs_trace_table table);
// Call it between graph runs: closes the chunk of op runs if it is long enough, and before it the
// chunks of everything that it refers to, so that a truncated file is readable. Returns true if it
// closed one.
bool ggs_writer_checkpoint(struct ggs_writer * writer);
// Waits until all closed chunks are in the file.
void ggs_writer_settle(struct ggs_writer * writer);
// While on, op runs are only counted, because their chunks are already in the file.
void ggs_writer_count(struct ggs_writer * writer, bool on);
// Counts op runs that are not appended one by one.
void ggs_writer_skip(struct ggs_writer * writer, uint64_t op_runs);
// Closes what ggs_writer_checkpoint closes beside op runs; and copies such a chunk, with header and
// padding.
void ggs_writer_close_others(struct ggs_writer * writer);
void ggs_writer_copy(struct ggs_writer * writer, const void * chunk, uint64_t length);
// Writes pending rows, the index and the trailer.
int ggs_writer_finish(struct ggs_writer * writer, struct ggs_error * error);
