// Shared by the files of the reader.
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "base/system/file.h"
#include "trace/block.h"

struct ggs_reader {
    struct ggs_mapping             mapping; // if the reader opened the file itself
    uint8_t *                      copy;    // of memory that was not aligned
    const uint8_t *                data;
    uint64_t                       size;
    uint64_t                       data_end; // chunks lie before it
    char *                         name;     // for messages
    char *                         warning;
    bool                           skip_damaged; // cursors skip damaged chunks
    uint32_t                       version;
    uint8_t                        uuid[16];
    const struct ggs_index_entry * entries; // in the file, or `walked`
    struct ggs_index_entry *       walked;  // made from chunk headers if the file has no index
    struct ggs_directory           tables[GGS_TABLE_COUNT];
    pthread_mutex_t                lock;    // for the following members
    struct ggs_block **            strings; // chunks of the strings table, read on demand
    struct ggs_block               experiment;
    struct ggs_graph_cursors {
        struct ggs_cursor * graphs;
        struct ggs_cursor * rows[2][2]; // of nodes and edges; of a graph's base and its own
    } graph_cursors;
    bool graphs_busy; // atomic: a thread uses graph_cursors
};

// The cursors of ggs_reader_graph are kept: neighbours of a graph are in the same chunks.
void ggs_graph_cursors_release(struct ggs_graph_cursors * cursors);

// Copies entry i of the table after verifying it against the chunk in the file.
int ggs_reader_entry(const struct ggs_reader * reader, enum ggs_trace_table table, uint64_t i,
                     struct ggs_index_entry * entry, struct ggs_error * error);
// Reads a chunk: checksum, decompression, columns. `scratch` holds the frame's contents and is
// grown as needed.
struct ggs_scratch {
    uint8_t * data;
    uint64_t  capacity;
};
int ggs_reader_chunk(const struct ggs_reader * reader, const struct ggs_index_entry * entry, struct ggs_block * block,
                     struct ggs_scratch * scratch, struct ggs_error * error);
// Returns the chunk of a table that has the row; the number of entries if none does.
uint64_t ggs_reader_find_row(const struct ggs_reader * reader, enum ggs_trace_table table, uint64_t row);

// Fills `walked` and `tables` from the chunk headers (walk.c).
int ggs_reader_walk(struct ggs_reader * reader, struct ggs_error * error);
// True if this is a valid chunk header at `offset`.
bool ggs_reader_header_ok(const struct ggs_reader * reader, uint64_t offset, const struct ggs_chunk_header * header);
