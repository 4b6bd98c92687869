// trace.ggs.part: what is sealed of a live recording.
//
//     0      struct ggs_part_header
//     then   chunks of op runs exactly as in trace.ggs; after those that belong together,
//            struct ggs_part_block and one zstd frame: what sealing found in the lanes beside op runs
//     ...
//
// A block ends where a chunk of op runs ends between two graph runs. The chunks and blocks have
// everything that the lanes had up to there, and the last block has the read position of each lane,
// so earlier segments can be removed. The journal and the machine's records stay in the spool:
// sealing reads them as usual (pass-1.c, pass-2.c), and uses the part in place of the lanes. A
// truncated file is read up to its last intact block.
//
// A reader of a live recording holds a shared lock on the file; segments are removed only under an
// exclusive one.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/system/file.h"
#include "trace/seal/runs/lods.h"
#include "trace/spool.h"

struct ggs_error;

#define GGS_PART_NAME  "trace.ggs.part"
#define GGS_PART_MAGIC "GGSPART1"
#define GGS_PART_BLOCK "PART"

struct ggs_part_header {
    char     magic[8];
    uint32_t version; // GGS_SPOOL_VERSION
    uint32_t reserved;
    uint64_t start_ns; // CLOCK_MONOTONIC at time 0
    uint8_t  padding[40];
};
_Static_assert(sizeof(struct ggs_part_header) == 64, "layout");

struct ggs_part_block {
    char     id[4];  // GGS_PART_BLOCK
    uint32_t chunks; // number of its op run chunks
    uint64_t stored, raw;
    uint64_t checksum; // of the stored bytes
    uint64_t op_runs;  // in the file so far
    uint64_t reserved[2];
    uint64_t header_checksum; // of the 56 bytes before
};
_Static_assert(sizeof(struct ggs_part_block) == 64, "layout");

// A frame has this, the bytes of runs, and the arrays in the order of their counts.
struct ggs_part_counts {
    uint64_t level, credit; // of lods.h
    uint64_t run_bytes;
    uint64_t runs, placements, left, lod_lanes, lanes;
};

// A graph run, followed by `nodes` bytes, the fate of each (runs.h), padded to 8; and `index` units
// with their payloads as in a lane.
struct ggs_part_run {
    uint64_t run, op_runs; // from lanes
    int64_t  last_ns;
    uint64_t flags, damaged;
    uint64_t nodes, index;
};

// The place of a machine record: what its own thread computed, and what any thread did; run 0 for
// nothing.
struct ggs_part_place {
    uint64_t run, node, any_run, any_node;
};

struct ggs_part_lod_lane {
    uint64_t       device;
    int64_t        slot;
    uint64_t       thread;
    int64_t        covered_ns;
    struct ggs_lod bin; // the open bin of the finest level
};

// The current op of the reader for machine records (observed.h).
struct ggs_part_op {
    uint64_t os_thread;
    uint64_t next_thread; // of later ops
    uint64_t run, node;   // run 0 for none
    int64_t  begin_ns, end_ns;
    uint64_t exact; // the end is exact
};

// Where reading of a lane continues, for runs and for machine records, and its state.
struct ggs_part_lane {
    uint64_t           lane, sequence, position, missing, damaged, gap, os_thread, unmatched;
    uint64_t           seen_sequence, seen_position;
    struct ggs_part_op seen;
};

// The first segment of the lane that is still needed.
static inline uint32_t ggs_part_base(const struct ggs_part_lane * lane) {
    return (uint32_t) (lane->sequence < lane->seen_sequence ? lane->sequence : lane->seen_sequence);
}

// ---- writing ----

// Data since the last block. ggs_part_keep_release frees all of it.
struct ggs_part_keep {
    uint8_t *               runs; // struct ggs_part_run with their data
    size_t                  n_run_bytes, run_capacity;
    uint8_t *               index; // units of the current run
    size_t                  n_index_bytes, index_capacity;
    uint64_t                n_runs, n_index;
    struct ggs_part_place * placements;
    size_t                  n_placements, placements_capacity;
    bool                    failed; // out of memory
};

void ggs_part_keep_release(struct ggs_part_keep * keep);
void ggs_part_keep_index(struct ggs_part_keep * keep, const struct ggs_spool_index * unit, const void * payload);
void ggs_part_keep_run(struct ggs_part_keep * keep, struct ggs_part_run run, const uint8_t * nodes);
void ggs_part_keep_placement(struct ggs_part_keep * keep, struct ggs_part_place placement);

int ggs_part_write_header(int fd, uint64_t start_ns);
// Writes a block of the data, which is empty afterwards. Its chunks are in the file. Returns 0, or
// -1 with errno.
int ggs_part_write_block(int fd, struct ggs_part_keep * keep, const struct ggs_lods * lods, uint64_t chunks,
                         uint64_t op_runs, const struct ggs_part_lane * lanes, size_t n_lanes);

// ---- reading ----

struct ggs_part {
    int                    fd; // holds the lock
    struct ggs_mapping     mapping;
    uint64_t               start_ns; // 0 if there are no blocks
    uint64_t               at;       // first chunk of the next block
    uint64_t               n_blocks, next;
    struct ggs_part_lane * lanes; // of the last block
    size_t                 n_lanes;
    // The open block:
    bool                             open;
    uint8_t *                        raw;
    uint64_t                         chunks_at, n_chunks, op_runs;
    struct ggs_part_counts           counts;
    const uint8_t *                  run; // the next one
    const uint8_t *                  run_end;
    uint64_t                         runs_left, placements_left;
    const struct ggs_part_place *    placement;
    const struct ggs_lod_bin *       left;
    const struct ggs_part_lod_lane * lod_lanes;
};

// A file that is missing or of another recording (with another start; 0 if unknown) has no blocks.
// Takes the lock.
int  ggs_part_open(struct ggs_part * part, const char * path, uint64_t start_ns, struct ggs_error * error);
void ggs_part_release(struct ggs_part * part);
// Opens the next block; false when there is none, or out of memory.
bool ggs_part_next_block(struct ggs_part * part);
// Finds the run in the open block; false if it has none. `nodes` and `index` point into the block.
bool ggs_part_next_run(struct ggs_part * part, uint64_t run, struct ggs_part_run * out, const uint8_t ** nodes,
                       const uint8_t ** index);
// Returns the next record's place, run 0 if the block has none left.
struct ggs_part_place ggs_part_next_placement(struct ggs_part * part);
// Returns the chunk of op runs at *at and advances; NULL at the end of the block.
const void * ggs_part_chunk(const struct ggs_part * part, uint64_t * at, uint64_t * n, uint64_t * length);
