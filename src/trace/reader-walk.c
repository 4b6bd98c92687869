// Opens a trace that lost its end, from the headers of its chunks.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/checked.h"
#include "trace/reader-private.h"

static int by_table(const void * a, const void * b) {
    const struct ggs_index_entry *x = a, *y = b;
    if (x->header.table != y->header.table) return x->header.table < y->header.table ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

// Collects intact chunks; returns their number, or UINT64_MAX when out of memory. *end is where the
// walk stopped.
static uint64_t collect(struct ggs_reader * reader, uint64_t * end) {
    uint64_t n = 0, capacity = 0, offset = sizeof(struct ggs_trace_header);
    for (;;) {
        struct ggs_chunk_header header;
        uint64_t                next;
        *end = offset;
        if (!ggs_inside(offset, sizeof(header), reader->size)) return n;
        memcpy(&header, reader->data + offset, sizeof(header));
        if (!ggs_reader_header_ok(reader, offset, &header)) return n;
        if (memcmp(header.id, GGS_CHUNK_ROWS_ID, sizeof(header.id)) == 0 && ggs_trace_schema(header.table) != NULL) {
            struct ggs_index_entry entry = {offset, header};
            if (!ggs_array_push(reader->walked, n, capacity, entry)) return UINT64_MAX;
        }
        if (!ggs_align(offset + sizeof(header) + header.stored, GGS_CHUNK_ALIGNMENT, &next)) return n;
        offset = next;
    }
}

int ggs_reader_walk(struct ggs_reader * reader, struct ggs_error * error) {
    uint64_t end, n = collect(reader, &end);
    if (n == UINT64_MAX) return ggs_fail_memory(error);
    if (asprintf(&reader->warning,
                 "%s has no intact end (it was cut off or damaged at offset %llu): every figure is of what lies before",
                 reader->name, (unsigned long long) end) < 0) {
        reader->warning = NULL;
        return ggs_fail_memory(error);
    }
    if (n > 1) qsort(reader->walked, n, sizeof(*reader->walked), by_table);
    for (uint64_t i = 0; i < n; i++) {
        const struct ggs_chunk_header * header    = &reader->walked[i].header;
        struct ggs_directory *          directory = &reader->tables[header->table];
        uint64_t                        rows;
        if (directory->entries++ == 0)
            *directory = (struct ggs_directory){.table = header->table, .first = i, .entries = 1};
        if (ggs_add(header->first_row, header->rows, &rows) && rows > directory->rows) directory->rows = rows;
    }
    reader->entries = reader->walked;
    return 0;
}
