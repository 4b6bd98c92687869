#include "capture/device/kernels.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "capture/capture.h"
#include "capture/journal.h"
#include "trace/spool.h"

// Concatenated strings, each with its zero.
struct names {
    char *         text;
    uint64_t       used, capacity;
    struct ggs_map offsets; // address -> offset + 1
};

// Returns false if out of memory.
static bool add_name(struct names * names, const char * name, uint64_t * offset) {
    uint64_t * known = ggs_map_put(&names->offsets, ggs_map_key_pointer(name));
    if (known == NULL) return false;
    if (*known == 0) {
        uint64_t bytes = strlen(name) + 1;
        if (!ggs_array_reserve(names->text, names->capacity, names->used + bytes)) return false;
        memcpy(names->text + names->used, name, bytes);
        *known = names->used + 1;
        names->used += bytes;
    }
    *offset = *known - 1;
    return true;
}

static bool describe(struct ggs_journal_kernel * row, const struct ggs_device_kernel * kernel, struct names * names) {
    *row = (struct ggs_journal_kernel){.node     = kernel->node,
                                       .queue    = kernel->stream,
                                       .begin_ns = kernel->begin_ns,
                                       .end_ns   = kernel->end_ns,
                                       .bytes    = kernel->bytes,
                                       .grid     = {kernel->grid[0], kernel->grid[1], kernel->grid[2]},
                                       .block    = {kernel->block[0], kernel->block[1], kernel->block[2]}};
    return add_name(names, kernel->name == NULL ? "" : kernel->name, &row->name);
}

void ggs_kernels_emit(uint64_t run, const struct ggs_device_kernel * kernels, uint32_t n) {
    if (n == 0 || !ggs_capture_recording()) return;
    struct names                names = {0};
    struct ggs_journal_kernel * rows  = malloc(n * sizeof(*rows));
    bool                        good  = rows != NULL;
    for (uint32_t i = 0; good && i < n; i++) good = describe(&rows[i], &kernels[i], &names);
    if (good) {
        struct ggs_journal_kernels head = {.run = run, .count = n};
        struct ggs_piece pieces[]       = {{&head, sizeof(head)}, {rows, n * sizeof(*rows)}, {names.text, names.used}};
        ggs_journal_append(GGS_JOURNAL_KERNELS, pieces, 3);
    }
    free(rows);
    free(names.text);
    ggs_map_release(&names.offsets);
}
