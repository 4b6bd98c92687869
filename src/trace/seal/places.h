// Where data lies: mappings, files, runtime buffers, and the origins of copied weights. Part of
// sealing.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/seal/seal.h"
#include "trace/spool.h"
#include "trace/writer.h"

struct ggs_area { // a part of a file in memory
    uint64_t start, end, offset;
    uint64_t path;    // string
    char *   text;    // NULL if it is no file: a device, or anonymous shared memory
    int64_t  left_ns; // when its last buffer was freed and its addresses may be reused, or INT64_MAX
};

struct ggs_live_buffer {
    struct ggs_buffer row;
    bool              freed;
    bool              caches;  // holds tensors of a KV cache or recurrent state
    bool              tensors; // holds tensors of graphs that are not inputs
    bool              inputs;
    bool              target; // the engine copied results into it
};

struct ggs_fill { // bytes of a file that were read into a buffer
    uint64_t start, end;
    uint64_t buffer, offset;
    uint64_t file;   // 0 if the program overwrote it
    uint64_t before; // as in the record
};

struct ggs_places {
    struct ggs_writer *             writer;
    const struct ggs_seal_options * options;
    struct ggs_area *               areas; // of the newest snapshot, by start
    size_t                          n_areas;
    struct ggs_map                  known_areas; // written to the mappings table
    struct ggs_file *               files;
    char **                         paths; // of files
    size_t                          n_files, files_capacity;
    struct ggs_live_buffer *        buffers; // all of the recording, by number
    size_t                          n_buffers, buffers_capacity;
    struct ggs_map                  buffer_numbers; // buffer -> index + 1
    struct ggs_map                  origins;        // (address, buffer) -> (offset << 16 | file) + 1
    struct ggs_fill *               fills;          // sorted by start, without overlaps
    size_t                          n_fills, fills_capacity;
    uint64_t                        load; // in progress, 0 for none
};

// The place of a tensor's data.
struct ggs_place {
    uint64_t source, file, file_offset, buffer, buffer_offset, origin_file, origin_offset;
};

void ggs_places_release(struct ggs_places * places);

// Returns the file's number, and assigns one to a new file.
uint64_t ggs_places_file(struct ggs_places * places, const char * path, size_t length);
// Replaces the mappings by the text of a GGS_JOURNAL_MAPS record.
void ggs_places_maps(struct ggs_places * places, const char * text, size_t length, int64_t ns);
void ggs_places_buffer(struct ggs_places * places, const struct ggs_journal_buffer * buffer, const char * type,
                       size_t length, uint64_t device, int64_t ns);
void ggs_places_buffer_free(struct ggs_places * places, uint64_t buffer, int64_t ns);
void ggs_places_buffer_usage(struct ggs_places * places, uint64_t buffer, uint64_t usage);
// Learns from a transfer, and fills in file and offset if its bytes came from one.
void ggs_places_transfer(struct ggs_places * places, struct ggs_transfer * transfer);

// The body and text of a GGS_JOURNAL_FILLED record.
void ggs_places_filled(struct ggs_places * places, const struct ggs_journal_filled * filled, const char * path,
                       size_t length);
// Compares a GGS_JOURNAL_SAMPLE record with the file that was read to that place. If they differ,
// or the file cannot be read, the origin is unknown.
void ggs_places_sample(struct ggs_places * places, const struct ggs_journal_sample * sample, uint64_t length);

// The file that is mapped at an address, 0 for none; its offset, and how many bytes follow in that
// mapping.
uint64_t ggs_places_address(struct ggs_places * places, uint64_t address, uint64_t * offset, uint64_t * room);
// The same without the room, and only for files that are in the recording. Other mappings of the
// program, and those that it may have unmapped, do not count.
uint64_t ggs_places_recorded(const struct ggs_places * places, uint64_t address, int64_t ns, uint64_t * offset);
// Finds the place of `tensor`, whose data is at `address`, and records what kind of tensors its
// buffer has.
struct ggs_place ggs_places_find(struct ggs_places * places, const struct ggs_journal_tensor * tensor, uint64_t address,
                                 const char * name);

// Writes the files and buffers tables.
void ggs_places_finish(struct ggs_places * places);
