// The trace reader on anything. Checksums stop nearly every mutation, so the first byte chooses how
// much of them is ours: 0: the input is a file; else: the input is the contents of chunks, and the
// file around them is right.
//
//     contents of a chunk: u8 table, u8 rows (0: what the frame itself says), u16 bytes, that many bytes of frame
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#include "trace/format.h"
#include "trace/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size);

static void read_everything(struct ggs_reader * reader) {
    uint64_t row[GGS_COLUMNS_MAX];
    for (unsigned table = 1; table < GGS_TABLE_COUNT; table++) {
        struct ggs_cursor * cursor;
        if (ggs_cursor_open(&cursor, reader, table, NULL) != 0) continue;
        while (ggs_cursor_next(cursor, row, NULL) > 0) ggs_reader_string(reader, row[1]);
        ggs_cursor_times(cursor, 1000, 100000);
        while (ggs_cursor_next(cursor, row, NULL) > 0) continue;
        if (ggs_cursor_steps(cursor, 0, 3, NULL) == 0)
            while (ggs_cursor_next(cursor, row, NULL) > 0) continue;
        ggs_cursor_range(cursor, 3, 5);
        while (ggs_cursor_next(cursor, row, NULL) > 0) continue;
        if (table != GGS_TABLE_STRINGS) ggs_reader_row(reader, table, 1, row, NULL);
        ggs_cursor_close(cursor);
    }
    for (uint64_t id = 0; id < 4; id++) {
        struct ggs_graph * graph;
        if (ggs_reader_graph(reader, id, &graph, NULL) == 0) ggs_graph_free(graph);
    }
    ggs_reader_experiment(reader);
    ggs_reader_verify(reader, NULL, NULL, NULL);
}

static void open_and_read(const void * data, size_t size) {
    struct ggs_reader * reader;
    if (ggs_reader_open_memory(&reader, data, size, NULL) != 0) return;
    read_everything(reader);
    ggs_reader_close(reader);
}

// Adds a chunk with a right header around the bytes; returns the new size of the file.
static size_t add_chunk(uint8_t * file, size_t at, uint8_t table, uint32_t rows, const uint8_t * frame, size_t length) {
    struct ggs_chunk_header header = {.table = table, .raw = length, .last_key = INT64_MAX, .end_ns = INT64_MAX};
    if (rows == 0 && length >= 8) memcpy(&rows, frame + 4, sizeof(rows));
    header.rows = rows;
    memcpy(header.id, GGS_CHUNK_ROWS_ID, sizeof(header.id));
    header.stored = ZSTD_compress(file + at + sizeof(header), ZSTD_compressBound(length), frame, length, 1);
    if (ZSTD_isError(header.stored)) return at;
    header.checksum        = XXH3_64bits(file + at + sizeof(header), header.stored);
    header.header_checksum = XXH3_64bits(&header, offsetof(struct ggs_chunk_header, header_checksum));
    memcpy(file + at, &header, sizeof(header));
    return at + sizeof(header) + (header.stored + 7) / 8 * 8;
}

int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size) {
    if (size < 1 || size > 1 << 16) return 0;
    if (data[0] == 0) {
        open_and_read(data + 1, size - 1);
        return 0;
    }
    struct ggs_trace_header header = {.version = GGS_TRACE_VERSION, .byte_order = GGS_TRACE_BYTE_ORDER};
    memcpy(header.magic, GGS_TRACE_MAGIC, sizeof(header.magic));
    uint8_t * file = calloc(1, 64 + 64 * size + (1 << 16));
    if (file == NULL) return 0;
    memcpy(file, &header, sizeof(header));
    size_t end = sizeof(header);
    for (size_t at = 1, chunks = 0; at + 4 <= size && chunks < 32; chunks++) {
        size_t length = (size_t) (data[at + 2] | data[at + 3] << 8);
        if (length > size - at - 4) length = size - at - 4;
        end = add_chunk(file, end, data[at] % GGS_TABLE_COUNT, data[at + 1], data + at + 4, length);
        at += 4 + length;
    }
    open_and_read(file, end);
    free(file);
    return 0;
}
