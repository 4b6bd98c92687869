// The kernel's trace points: their numbers and the offsets of their fields, from tracefs.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ggs_error;

struct ggs_trace_field {
    uint32_t offset, size; // size 0: there is no such field
};

struct ggs_trace_format {
    uint64_t id;
    char     text[8192]; // of the format file
};

// Opens a folder of tracefs; if it is not mounted, a private mount that lasts until the folder is
// closed. Negative if neither is possible.
int ggs_trace_points_folder(void);

int ggs_trace_format_read(struct ggs_trace_format * format, int folder, const char * group, const char * name,
                          struct ggs_error * error);
struct ggs_trace_field ggs_trace_format_field(const struct ggs_trace_format * format, const char * name);
