#include "trace/seal/machine.h"

#include <string.h>

// Returns the areas after the fixed part, or NULL if there are fewer than it says.
static const struct ggs_journal_area * areas_of(struct ggs_machine * machine, const void * fixed, size_t fixed_bytes,
                                                uint64_t count, size_t length) {
    if (count <= (length - fixed_bytes) / sizeof(struct ggs_journal_area))
        return (const void *) ((const char *) fixed + fixed_bytes);
    machine->damaged++;
    return NULL;
}

static uint64_t first_page(const struct ggs_machine * machine, uint64_t offset) {
    return offset / machine->page_size;
}

static uint64_t page_count(const struct ggs_machine * machine, uint64_t offset, uint64_t bytes) {
    return (offset % machine->page_size + bytes + machine->page_size - 1) / machine->page_size;
}

void ggs_machine_pages(struct ggs_machine * machine, const struct ggs_journal_pages * body, size_t length) {
    const struct ggs_journal_area * areas = areas_of(machine, body, sizeof(*body), body->count, length);
    struct ggs_pages                row   = {.run = body->run, .node = body->node, .flags = body->flags};
    if (areas != NULL && body->count == 0) ggs_writer_append(machine->writer, GGS_TABLE_PAGES, &row);
    for (uint64_t i = 0; areas != NULL && i < body->count; i++) {
        uint64_t at = areas[i].start, left = areas[i].bytes, offset, room;
        // Neighbours in memory may be mappings of different files.
        while (left > 0 && (row.file = ggs_places_address(machine->places, at, &offset, &room)) != 0) {
            uint64_t part = left < room ? left : room;
            row.page      = first_page(machine, offset);
            row.pages     = page_count(machine, offset, part);
            ggs_writer_append(machine->writer, GGS_TABLE_PAGES, &row);
            at += part;
            left -= part;
        }
        if (left > 0) machine->damaged++;
    }
}

void ggs_machine_read(struct ggs_machine * machine, const struct ggs_journal_read * body, size_t length) {
    const char *    path  = (const char *) (body + 1);
    int64_t         begin = ggs_clock_ns(machine->clock, body->begin), end = ggs_clock_ns(machine->clock, body->end);
    struct ggs_read row = {.kind        = body->kind,
                           .file        = ggs_places_file(machine->places, path, strnlen(path, length - sizeof(*body))),
                           .file_offset = body->offset,
                           .bytes       = body->bytes,
                           .begin_ns    = begin,
                           .duration_ns = end > begin ? (uint64_t) (end - begin) : 0,
                           .os_thread   = body->os_thread,
                           .load        = body->load};
    ggs_writer_append(machine->writer, GGS_TABLE_READS, &row);
}

void ggs_machine_resident(struct ggs_machine * machine, const struct ggs_journal_resident * body, size_t length,
                          int64_t ns) {
    const struct ggs_journal_area * areas = areas_of(machine, body, sizeof(*body), body->count, length);
    if (areas == NULL) return;
    size_t               fixed = sizeof(*body) + body->count * sizeof(*areas);
    const char *         path  = (const char *) body + fixed;
    struct ggs_residency row   = {.snapshot = body->snapshot,
                                  .moment   = body->moment,
                                  .begin_ns = ns,
                                  .step     = body->moment == GGS_MOMENT_GRAPH ? machine->step : -1,
                                  .file     = ggs_places_file(machine->places, path, strnlen(path, length - fixed))};
    if (body->count == 0) ggs_writer_append(machine->writer, GGS_TABLE_RESIDENCY, &row);
    for (uint64_t i = 0; i < body->count; i++) {
        row.page  = first_page(machine, areas[i].start);
        row.pages = page_count(machine, areas[i].start, areas[i].bytes);
        ggs_writer_append(machine->writer, GGS_TABLE_RESIDENCY, &row);
    }
}
