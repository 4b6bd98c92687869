#include "analyze/machine/loading.h"

#include <stdlib.h>

#include "analyze/walk/intervals.h"
#include "base/error.h"

const char * ggs_loading_name(uint64_t kind) {
    static const char * const names[GGS_LOADING_KINDS] = {"unknown", "read", "populate", "advice", "lock"};
    return names[kind < GGS_LOADING_KINDS ? kind : 0];
}

static int walk_loads(struct ggs_loading * loading, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_load     load;
    int                 status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_LOADS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &load, error)) > 0) {
        if (load.end_ns < load.begin_ns) continue;
        loading->models++;
        loading->wall_ns += (uint64_t) (load.end_ns - load.begin_ns);
    }
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

static int walk_reads(struct ggs_loading * loading, struct ggs_trace * trace, struct ggs_intervals * files,
                      struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_read     read;
    int                 status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_READS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &read, error)) > 0) {
        struct ggs_loading_kind * kind = &loading->by_kind[read.kind < GGS_LOADING_KINDS ? read.kind : 0];
        kind->reads++;
        kind->bytes += read.bytes;
        kind->ns += read.duration_ns;
        loading->reads++;
        loading->ns += read.duration_ns;
        if (read.file == 0 || read.file > trace->n_files || read.bytes > UINT64_MAX - read.file_offset) continue;
        if (!ggs_intervals_add(&files[read.file - 1], read.file_offset, read.file_offset + read.bytes))
            status = ggs_fail_memory(error);
    }
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

int ggs_loading_compute(struct ggs_loading * loading, struct ggs_trace * trace, struct ggs_error * error) {
    *loading                     = (struct ggs_loading){0};
    struct ggs_intervals * files = calloc(trace->n_files + 1, sizeof(*files));
    if (files == NULL) return ggs_fail_memory(error);
    int status = walk_loads(loading, trace, error);
    if (status == 0) status = walk_reads(loading, trace, files, error);
    for (uint64_t i = 0; i < trace->n_files; i++) {
        loading->bytes += ggs_intervals_bytes(&files[i]);
        ggs_intervals_release(&files[i]);
    }
    free(files);
    return status;
}
