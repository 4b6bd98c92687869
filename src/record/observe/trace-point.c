#include "record/observe/trace-point.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/error.h"

int ggs_trace_points_folder(void) {
    static const char * const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        int folder = open(places[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (folder >= 0 && faccessat(folder, "events", R_OK | X_OK, 0) == 0) return folder;
        if (folder >= 0) close(folder);
    }
    int context = fsopen("tracefs", FSOPEN_CLOEXEC), mount = -1;
    if (context < 0) return -1;
    if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0) mount = fsmount(context, FSMOUNT_CLOEXEC, 0);
    close(context);
    return mount;
}

// Reads a small file below the folder as text. Returns its length, negative if it cannot be read
// whole.
static ssize_t read_text(int folder, const char * path, char * text, size_t size) {
    int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    size_t  used = 0;
    ssize_t n;
    while (used + 1 < size && (n = read(fd, text + used, size - 1 - used)) != 0) {
        if (n > 0) used += (size_t) n;
        if (n < 0 && errno != EINTR) break;
    }
    close(fd);
    text[used] = '\0';
    return used > 0 && used + 1 < size ? (ssize_t) used : -1;
}

int ggs_trace_format_read(struct ggs_trace_format * format, int folder, const char * group, const char * name,
                          struct ggs_error * error) {
    char path[128], number[32];
    snprintf(path, sizeof(path), "events/%s/%s/id", group, name);
    if (read_text(folder, path, number, sizeof(number)) < 0)
        return ggs_fail_errno(error, "cannot read the trace point %s/%s", group, name);
    format->id = strtoull(number, NULL, 10);
    snprintf(path, sizeof(path), "events/%s/%s/format", group, name);
    if (read_text(folder, path, format->text, sizeof(format->text)) < 0)
        return ggs_fail_errno(error, "cannot read the format of the trace point %s/%s", group, name);
    return 0;
}

// A line is "\tfield:char rwbs[10];\toffset:32;\tsize:10;\tsigned:0;".
struct ggs_trace_field ggs_trace_format_field(const struct ggs_trace_format * format, const char * name) {
    size_t length = strlen(name);
    for (const char * at = format->text; (at = strstr(at, "field:")) != NULL; at++) {
        const char * end = strchr(at, ';');
        if (end == NULL) break;
        const char * bracket = memchr(at, '[', (size_t) (end - at));
        const char * last    = bracket != NULL ? bracket : end; // after the name
        if ((size_t) (last - at) <= length || memcmp(last - length, name, length) != 0) continue;
        if (last[-(ptrdiff_t) length - 1] != ' ') continue;
        struct ggs_trace_field field;
        if (sscanf(end + 1, " offset:%u; size:%u;", &field.offset, &field.size) == 2) return field;
    }
    return (struct ggs_trace_field){0, 0};
}
