#include "base/system/maps.h"

#include <string.h>
#include <sys/sysmacros.h>

bool ggs_maps_open(struct ggs_maps * maps, const char * process) {
    char path[64 + NAME_MAX];
    snprintf(path, sizeof(path), "/proc/%s/maps", process);
    maps->file = fopen(path, "re");
    return maps->file != NULL;
}

void ggs_maps_close(struct ggs_maps * maps) {
    if (maps->file != NULL) fclose(maps->file);
    maps->file = NULL;
}

// Reads a line without its newline. A line that does not fit is skipped whole, because its rest
// would look like another line.
static bool read_line(struct ggs_maps * maps) {
    while (fgets(maps->line, sizeof(maps->line), maps->file) != NULL) {
        size_t length = strcspn(maps->line, "\n");
        if (maps->line[length] == '\n') {
            maps->line[length] = '\0';
            return true;
        }
        for (int c = 0; c != '\n' && c != EOF;) c = fgetc(maps->file);
    }
    return false;
}

bool ggs_maps_next(struct ggs_maps * maps, struct ggs_maps_entry * entry) {
    while (read_line(maps)) {
        unsigned long long start, end, offset, inode;
        unsigned           major_number, minor_number;
        char               permissions[8];
        int                path = 0;
        if (sscanf(maps->line, "%llx-%llx %7s %llx %x:%x %llu %n", &start, &end, permissions, &offset, &major_number,
                   &minor_number, &inode, &path) < 7 ||
            path == 0)
            continue;
        *entry = (struct ggs_maps_entry){.start      = start,
                                         .end        = end,
                                         .offset     = offset,
                                         .device     = makedev(major_number, minor_number),
                                         .inode      = inode,
                                         .readable   = permissions[0] == 'r',
                                         .writable   = permissions[1] == 'w',
                                         .executable = permissions[2] == 'x',
                                         .shared     = permissions[3] == 's',
                                         .path       = maps->line + path};
        return true;
    }
    return false;
}
