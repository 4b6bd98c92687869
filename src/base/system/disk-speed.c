#undef _FORTIFY_SOURCE

#include "base/system/disk-speed.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/system/cache.h"

// ---- which device ----

// Appends letters, digits and a few other characters: safe in a file name and in JSON.
static void append(char * text, size_t size, const char * word) {
    size_t at = strlen(text);
    if (at > 0 && at + 1 < size) text[at++] = ' ';
    for (; *word != '\0' && *word != '\n' && at + 1 < size; word++)
        text[at++] = isalnum((unsigned char) *word) || strchr("/.:-_", *word) != NULL ? *word : '_';
    text[at] = '\0';
}

static void append_file(char * text, size_t size, const char * folder, const char * name) {
    char   path[PATH_MAX], line[256];
    FILE * file = snprintf(path, sizeof(path), "%s/%s", folder, name) < (int) sizeof(path) ? fopen(path, "re") : NULL;
    if (file == NULL) return;
    if (fgets(line, sizeof(line), file) != NULL) append(text, size, line);
    fclose(file);
}

// Appends file system and mount source from the line of /proc/self/mountinfo with this device
// number.
static void append_mount(char * text, size_t size, const char * proc, unsigned major, unsigned minor) {
    char     path[PATH_MAX], *line = NULL, type[128], source[512];
    size_t   room = 0;
    unsigned a, b;
    FILE *   file =
        snprintf(path, sizeof(path), "%s/self/mountinfo", proc) < (int) sizeof(path) ? fopen(path, "re") : NULL;
    while (file != NULL && getline(&line, &room, file) > 0) {
        const char * behind = strstr(line, " - ");
        if (behind == NULL || sscanf(line, "%*u %*u %u:%u", &a, &b) != 2 || a != major || b != minor) continue;
        if (sscanf(behind, " - %127s %511s", type, source) != 2) continue;
        append(text, size, type);
        append(text, size, source);
        break;
    }
    free(line);
    if (file != NULL) fclose(file);
}

void ggs_speed_identity(int fd, const char * proc, const char * sys, char * text, size_t size) {
    static const char * const names[] = {"serial", "wwid", "device/model", "device/serial", "device/wwid"};
    struct stat               status;
    struct utsname            host;
    char                      folder[PATH_MAX], parent[PATH_MAX + 16];
    text[0] = '\0';
    if (fstat(fd, &status) != 0) return;
    unsigned numbers[2] = {major(status.st_dev), minor(status.st_dev)};
    if (uname(&host) == 0) append(text, size, host.nodename); // machines may share a home directory
    append_mount(text, size, proc, numbers[0], numbers[1]);
    snprintf(folder, sizeof(folder), "%s/dev/block/%u:%u", sys, numbers[0], numbers[1]);
    append_file(text, size, folder, "size");
    // A partition has no description of its own: use that of its disk.
    snprintf(parent, sizeof(parent), "%s/partition", folder);
    if (access(parent, F_OK) == 0)
        snprintf(folder, sizeof(folder), "%s/dev/block/%u:%u/..", sys, numbers[0], numbers[1]);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) append_file(text, size, folder, names[i]);
}

// ---- the file ----

bool ggs_speed_path(const char * identity, char path[PATH_MAX]) {
    return ggs_cache_path("disk", identity, path);
}

bool ggs_speed_read(const char * path, const char * identity, struct ggs_speed * speed) {
    char               text[4096], device[2048] = "";
    unsigned long long sequential, random, in_place;
    int                end = 0;
    if (!ggs_cache_read(path, text, sizeof(text))) return false;
    int n             = sscanf(text,
                               "{\"device\":\"%2047[^\"]\",\"sequential\":%llu,\"random\":%llu,\"depth\":%u,\"piece\":%u,"
                                           "\"in_place\":%llu}%n",
                               device, &sequential, &random, &speed->depth, &speed->piece, &in_place, &end);
    speed->sequential = sequential;
    speed->random     = random;
    speed->in_place   = in_place;
    return n == 6 && end > 0 && strcmp(text + end, "\n") == 0 && strcmp(device, identity) == 0 && sequential > 0 &&
           random > 0 && speed->depth >= 1 && speed->depth <= GGS_SPEED_MOST_DEPTH &&
           speed->piece >= GGS_SPEED_LEAST_PIECE && speed->piece <= GGS_SPEED_MOST_PIECE &&
           speed->piece % GGS_SPEED_LEAST_PIECE == 0;
}

bool ggs_speed_write(const char * path, const char * identity, const struct ggs_speed * speed) {
    char text[4096];
    int  n = snprintf(
         text, sizeof(text),
         "{\"device\":\"%s\",\"sequential\":%llu,\"random\":%llu,\"depth\":%u,\"piece\":%u,\"in_place\":%llu}\n",
         identity, (unsigned long long) speed->sequential, (unsigned long long) speed->random, speed->depth,
         speed->piece, (unsigned long long) speed->in_place);
    return n > 0 && (size_t) n < sizeof(text) && ggs_cache_write(path, text, (size_t) n);
}
