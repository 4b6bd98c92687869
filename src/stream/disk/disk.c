#undef _FORTIFY_SOURCE

#include "stream/disk/disk.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "stream/disk/reader.h"
#include "stream/memory/memory.h"

enum { MOST_DEPTH = 32, LEAST_DEPTH = 2, LEAST_PIECE = 256 << 10, LEAST_FILE = 16 << 20 };

static const uint64_t LONG = 6000000, LONGEST = 150000000; // ns: of one measurement, and until no more are begun

// ---- measuring ----

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

// Bytes a second of reads of `piece` bytes, `depth` of them at a time; 0 if one fails.
static uint64_t rate(int fd, uint64_t size, char * memory, uint64_t piece, uint32_t depth, bool in_order) {
    static struct ggs_arrival arrivals[MOST_DEPTH];
    static uint64_t           seed = 88172645463325252u;
    uint64_t                  n = size / piece, next = 0, read = 0, begin = now_ns(), ns;
    bool                      failed = false;
    for (uint32_t i = 0; !failed; i = (i + 1) % depth) {
        ggs_reader_wait(&arrivals[i], NULL);
        failed = arrivals[i].failed;
        if (now_ns() - begin >= LONG) break;
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        uint64_t at = (in_order ? next++ : seed) % n;
        arrivals[i] = (struct ggs_arrival){0, false};
        ggs_reader_ask(&arrivals[i], fd, at * piece, piece, piece, memory + i * piece, false);
        ggs_reader_submit();
        read += piece;
    }
    ggs_reader_drain();
    for (uint32_t i = 0; i < depth; i++) failed |= arrivals[i].failed, arrivals[i].failed = false;
    ns = now_ns() - begin;
    return failed || ns == 0 ? 0 : (uint64_t) ((double) read * 1e9 / (double) ns);
}

// The better of two: somebody else may have had the disk, or the processor.
static uint64_t better_rate(int fd, uint64_t size, char * memory, uint64_t piece, uint32_t depth, bool in_order) {
    uint64_t a = rate(fd, size, memory, piece, depth, in_order),
             b = a == 0 ? 0 : rate(fd, size, memory, piece, depth, in_order);
    return a == 0 || b == 0 ? 0 : a > b ? a : b;
}

bool ggs_disk_measure(int fd, uint64_t size, char * memory, size_t bytes, struct ggs_disk * disk) {
    struct ggs_disk found[16];
    uint32_t        n = 0, best = 0, enough = 0, deepest = ggs_reader_depth();
    uint64_t        begin = now_ns();
    if (size < LEAST_FILE) return false;
    if (deepest > MOST_DEPTH) deepest = MOST_DEPTH;
    memset(memory, 0, bytes); // the kernel's time for giving it is not the disk's
    for (uint32_t piece = GGS_READ_PIECE; piece >= LEAST_PIECE; piece /= 4) {
        for (uint32_t depth = LEAST_DEPTH; depth <= deepest && (uint64_t) depth * piece <= bytes && n < 16;
             depth *= 2) {
            if (n > 0 && now_ns() - begin > LONGEST) break;
            uint64_t random = better_rate(fd, size, memory, piece, depth, false);
            if (random == 0) return false;
            if (n == 0 || random > found[best].random) best = n;
            found[n++] = (struct ggs_disk){.random = random, .depth = depth, .piece = piece};
        }
    }
    if (n == 0) return false;
    while ((double) found[enough].random < 0.9 * (double) found[best].random) enough++;
    *disk            = found[enough];
    disk->sequential = better_rate(fd, size, memory, disk->piece, disk->depth, true);
    return disk->sequential > 0;
}

// ---- which device ----

// What is put into a name and a line of JSON: letters, digits and a few others.
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

// The file system and what it was mounted from, by the line of /proc/self/mountinfo that has these numbers.
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

void ggs_disk_identity(int fd, const char * proc, const char * sys, char * text, size_t size) {
    static const char * const names[] = {"serial", "wwid", "device/model", "device/serial", "device/wwid"};
    struct stat               status;
    struct utsname            host;
    char                      folder[PATH_MAX], parent[PATH_MAX + 16];
    text[0] = '\0';
    if (fstat(fd, &status) != 0) return;
    unsigned numbers[2] = {major(status.st_dev), minor(status.st_dev)};
    if (uname(&host) == 0) append(text, size, host.nodename); // a home may be several machines'
    append_mount(text, size, proc, numbers[0], numbers[1]);
    snprintf(folder, sizeof(folder), "%s/dev/block/%u:%u", sys, numbers[0], numbers[1]);
    append_file(text, size, folder, "size");
    // A partition says little of itself: the disk around it does.
    snprintf(parent, sizeof(parent), "%s/partition", folder);
    if (access(parent, F_OK) == 0)
        snprintf(folder, sizeof(folder), "%s/dev/block/%u:%u/..", sys, numbers[0], numbers[1]);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) append_file(text, size, folder, names[i]);
}

// ---- the file ----

bool ggs_disk_path(const char * identity, char path[PATH_MAX]) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool        own  = cache != NULL && cache[0] == '/';
    uint64_t    hash = 0xcbf29ce484222325u;
    if (!own && (home == NULL || home[0] != '/')) return false;
    for (const char * at = identity; *at != '\0'; at++) hash = (hash ^ (unsigned char) *at) * 0x100000001b3u;
    return snprintf(path, PATH_MAX, "%s%s/ggscope/disk-%016llx.json", own ? cache : home, own ? "" : "/.cache",
                    (unsigned long long) hash) < PATH_MAX;
}

bool ggs_disk_read(const char * path, const char * identity, struct ggs_disk * disk) {
    char               text[4096] = "", device[2048] = "";
    unsigned long long sequential, random;
    int                end  = 0;
    FILE *             file = fopen(path, "re");
    if (file == NULL) return false;
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    int n = sscanf(text, "{\"device\":\"%2047[^\"]\",\"sequential\":%llu,\"random\":%llu,\"depth\":%u,\"piece\":%u}%n",
                   device, &sequential, &random, &disk->depth, &disk->piece, &end);
    disk->sequential = sequential;
    disk->random     = random;
    return n == 5 && end > 0 && strcmp(text + end, "\n") == 0 && strcmp(device, identity) == 0 && sequential > 0 &&
           random > 0 && disk->depth >= 1 && disk->depth <= MOST_DEPTH && disk->piece >= LEAST_PIECE &&
           disk->piece <= GGS_READ_PIECE && disk->piece % LEAST_PIECE == 0;
}

bool ggs_disk_write(const char * path, const char * identity, const struct ggs_disk * disk) {
    char   folder[PATH_MAX], other[PATH_MAX];
    int    n      = snprintf(folder, sizeof(folder), "%.*s", (int) (strrchr(path, '/') - path), path);
    char * parent = strrchr(folder, '/');
    if (n <= 0 || parent == NULL) return false;
    *parent = '\0';
    mkdir(folder, 0700); // ~/.cache, where it is missing
    *parent = '/';
    mkdir(folder, 0700);
    if (snprintf(other, sizeof(other), "%s.%d", path, (int) getpid()) >= (int) sizeof(other)) return false;
    int fd = open(other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    bool ok =
        dprintf(fd, "{\"device\":\"%s\",\"sequential\":%llu,\"random\":%llu,\"depth\":%u,\"piece\":%u}\n", identity,
                (unsigned long long) disk->sequential, (unsigned long long) disk->random, disk->depth, disk->piece) > 0;
    ok &= close(fd) == 0;
    ok = ok && rename(other, path) == 0;
    if (!ok) unlink(other);
    return ok;
}

bool ggs_disk_know(int fd, uint64_t size, struct ggs_disk * disk) {
    char   identity[2048], path[PATH_MAX] = "";
    char * memory;
    *disk = (struct ggs_disk){0};
    ggs_disk_identity(fd, "/proc", "/sys", identity, sizeof(identity));
    bool kept = ggs_disk_path(identity, path);
    if (kept && ggs_disk_read(path, identity, disk)) return true;
    bool ok = (memory = ggs_memory_take(GGS_DISK_MEMORY, GGS_DISK_MEMORY)) != NULL &&
              ggs_disk_measure(fd, size, memory, GGS_DISK_MEMORY, disk);
    ggs_memory_give_back(memory, GGS_DISK_MEMORY);
    if (!ok) *disk = (struct ggs_disk){0};
    if (ok && kept) ggs_disk_write(path, identity, disk);
    return ok;
}
