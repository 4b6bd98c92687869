// trace.ggs, byte by byte. (docs/man/ggscope-trace.5 is the specification for other readers.)
//
//     0           struct ggs_trace_header   64 bytes
//     64          chunk, chunk, ...         each begins at a multiple of 8
//     index       struct ggs_index_entry    one per chunk, by table, then in the order of rows
//     directory   struct ggs_directory      one per table that has chunks, by number
//     size - 64   struct ggs_trace_trailer  64 bytes; without it the file was cut off
//
// A chunk is up to GGS_CHUNK_ROWS_MAX rows of one table:
//
//     struct ggs_chunk_header   96 bytes
//     one zstd frame            `stored` bytes; `raw` bytes when decompressed
//     zeros                     to a multiple of 8
//
// What the frame holds, for 3 rows of a table with two columns, both 10, 11, 13 and 7, 7, 7:
//
//     u32 2 columns   u32 3 rows
//     column header   id 0   DELTA  width 1  base 10  bytes 3
//     column header   id 1   PLAIN  width 0  base 7   bytes 0
//     00 02 04        column 0: zigzag of 10 - base, 11 - 10, 13 - 11
//                     column 1: all values equal the base: width 0, nothing stored
//
// Every value is one 64-bit integer. A column turns them into residuals
//
//     PLAIN    value - base (base: the least value)
//     DELTA    zigzag(value - previous value; base for the first row)
//     FOLLOW   zigzag(value - (previous value + spans of the previous row)): a begin after an end;
//              spans are the columns of role GGS_ROLE_DURATION and GGS_ROLE_WAIT
//     BYTES    the lengths as PLAIN, then the bytes of all rows
//
// and stores them in the least number of bytes that holds the largest (`width`), transposed: the
// low byte of every row, then the second byte of every row, and so on. zstd finds the rest.
// Arithmetic is modulo 2^64; zigzag(x) = x << 1 ^ x >> 63.
//
// Readers skip chunks whose id they do not know, and tables and columns whose number they do not
// know. Missing columns are 0. They refuse versions outside MIN..CURRENT and features in
// the low 32 bits that they do not know; those in the high 32 bits may be ignored.
//
// Checksums are XXH3 with 64 bits and seed 0.
#pragma once

#include <stdint.h>

#define GGS_TRACE_MAGIC   "GGSCOPE1"
#define GGS_TRAILER_MAGIC "GGSEND01"
#define GGS_CHUNK_ROWS_ID "ROWS"

enum {
    GGS_TRACE_VERSION_MIN = 2,
    GGS_TRACE_VERSION     = 3,
    GGS_TRACE_BYTE_ORDER  = 0x01020304,
    GGS_CHUNK_ALIGNMENT   = 8,
    GGS_CHUNK_ROWS        = 32768,    // a chunk ends at the first good place from here on
    GGS_CHUNK_ROWS_MAX    = 65536,    // and at the latest here
    GGS_CHUNK_BYTES       = 1 << 20,  // the same for the bytes of its BYTES column
    GGS_CHUNK_RAW_MAX     = 64 << 20, // readers refuse more
    GGS_BYTES_MAX         = 16 << 20, // of one BYTES value
    GGS_COLUMNS_MAX       = 48,
    GGS_ZSTD_LEVEL        = 1,
};

#define GGS_FEATURES_REQUIRED 0xffffffffull // bits that a reader must know
#define GGS_FEATURES_KNOWN    0ull

struct ggs_trace_header {
    char     magic[8];
    uint32_t version;
    uint32_t byte_order;
    uint64_t features;
    uint8_t  uuid[16];
    uint8_t  reserved[24]; // 0
};
_Static_assert(sizeof(struct ggs_trace_header) == 64, "layout");

struct ggs_chunk_header {
    char     id[4]; // GGS_CHUNK_ROWS_ID
    uint32_t table; // enum ggs_trace_table
    uint64_t stored;
    uint64_t raw;
    uint64_t checksum;  // of the stored bytes
    uint64_t first_row; // number of the first row in its table
    uint32_t rows;
    uint32_t flags;     // 0
    int64_t  first_key; // least and largest key of the rows, 0 if the table has none
    int64_t  last_key;
    int64_t  begin_ns; // first begin and last end, 0 if the table has no times
    int64_t  end_ns;
    uint64_t threads;         // bit min(thread, 63) for every thread with a row
    uint64_t header_checksum; // of the 88 bytes before
};
_Static_assert(sizeof(struct ggs_chunk_header) == 96, "layout");

enum ggs_encoding {
    GGS_ENCODING_PLAIN  = 1,
    GGS_ENCODING_DELTA  = 2,
    GGS_ENCODING_FOLLOW = 3,
    GGS_ENCODING_BYTES  = 4,
};

struct ggs_column_header {
    uint16_t id; // index in the table's schema
    uint8_t  encoding;
    uint8_t  width; // bytes per residual, 0..8
    uint32_t reserved;
    uint64_t base;
    uint64_t bytes; // of data, which follow all column headers in the same order
};
_Static_assert(sizeof(struct ggs_column_header) == 24, "layout");

struct ggs_index_entry {
    uint64_t                offset; // of the chunk header in the file
    struct ggs_chunk_header header; // a copy of it
};
_Static_assert(sizeof(struct ggs_index_entry) == 104, "layout");

struct ggs_directory {
    uint32_t table;
    uint32_t reserved;
    uint64_t first; // entry of the index
    uint64_t entries;
    uint64_t rows;
};
_Static_assert(sizeof(struct ggs_directory) == 32, "layout");

struct ggs_trace_trailer {
    uint64_t index; // offset of the index, which ends where the directory begins
    uint64_t entries;
    uint64_t directory; // offset of the directory, which ends where the trailer begins
    uint64_t directories;
    uint64_t directory_checksum;
    uint64_t size;     // of the file
    uint64_t checksum; // of the 48 bytes before
    char     magic[8];
};
_Static_assert(sizeof(struct ggs_trace_trailer) == 64, "layout");
