#include "stream/disk.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "stream/reader.h"
#include "stream/stream.h"

enum { MIB = 1 << 20, LEAST_FILE = 64 * MIB, DEPTHS = 5 };

static const uint64_t LONG = 15000000; // ns: of one measurement

// ---- the file ----

bool ggs_disk_path(char * path, size_t size) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char        folder[PATH_MAX];
    if (cache != NULL && cache[0] == '/') {
        snprintf(folder, sizeof(folder), "%s", cache);
    } else if (home != NULL && home[0] == '/') {
        snprintf(folder, sizeof(folder), "%s/.cache", home);
    } else {
        return false;
    }
    mkdir(folder, 0700);
    size_t length = strlen(folder);
    snprintf(folder + length, sizeof(folder) - length, "/ggscope");
    mkdir(folder, 0700);
    return snprintf(path, size, "%s/disks", folder) < (int) size;
}

static bool parse(const char * line, uint64_t * device, struct ggs_disk * disk) {
    unsigned high, low;
    if (sscanf(line, "%u:%u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &high, &low, &disk->sequential,
               &disk->random, &disk->in_flight, &disk->piece) != 6)
        return false;
    *device = makedev(high, low);
    return disk->sequential >= MIB && disk->random >= MIB && disk->piece >= 4096 && disk->piece <= 16 * MIB &&
           disk->piece % 4096 == 0 && disk->in_flight >= disk->piece && disk->in_flight <= 1024 * (uint64_t) MIB;
}

bool ggs_disk_known(const char * path, uint64_t device, struct ggs_disk * disk) {
    FILE *   file = fopen(path, "re");
    char     line[256];
    uint64_t of;
    bool     found = false;
    if (file == NULL) return false;
    while (!found && fgets(line, sizeof(line), file) != NULL) found = parse(line, &of, disk) && of == device;
    fclose(file);
    return found;
}

void ggs_disk_keep(const char * path, uint64_t device, const struct ggs_disk * disk) {
    char new[PATH_MAX], line[256];
    if (snprintf(new, sizeof(new), "%s.%d", path, (int) getpid()) >= (int) sizeof(new)) return;
    FILE *to = fopen(new, "we"), *from = fopen(path, "re");
    bool  ok = to != NULL;
    while (ok && from != NULL && fgets(line, sizeof(line), from) != NULL) {
        struct ggs_disk other;
        uint64_t        of;
        if (parse(line, &of, &other) && of != device) ok = fputs(line, to) >= 0;
    }
    if (ok)
        ok = fprintf(to, "%u:%u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", major(device), minor(device),
                     disk->sequential, disk->random, disk->in_flight, disk->piece) > 0;
    if (from != NULL) fclose(from);
    if (to != NULL && fclose(to) != 0) ok = false;
    if (!ok || rename(new, path) != 0) unlink(new);
}

// ---- measuring ----

// Bytes a second of reads of `piece` bytes, `depth` of them at a time; 0 if one fails.
static uint64_t rate(int fd, uint64_t size, char * memory, uint64_t piece, uint32_t depth, bool in_order) {
    static struct ggs_arrival arrivals[1 << DEPTHS];
    static uint64_t           seed = 88172645463325252u;
    uint64_t                  n = size / piece, next = 0, read = 0, begin = ggs_stream_clock(), ns;
    for (uint32_t i = 0;; i = (i + 1) % depth) {
        ggs_reader_wait(&arrivals[i], NULL);
        if (arrivals[i].failed) return 0;
        ns = ggs_stream_clock() - begin;
        if (ns >= LONG) break;
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
    ns = ggs_stream_clock() - begin;
    return (uint64_t) ((double) read * 1e9 / (double) ns);
}

bool ggs_disk_measure(int fd, uint64_t size, char * memory, size_t bytes, struct ggs_disk * disk) {
    if (size < LEAST_FILE || bytes < 2 * MIB || fd < 0) return false;
    uint64_t rates[DEPTHS + 1] = {0}, best = 0;
    uint32_t deepest = 0;
    memset(memory, 0, bytes); // the kernel's time for giving it is not the disk's
    for (uint32_t i = 1; i <= DEPTHS && (uint64_t) GGS_READ_PIECE << i <= bytes; i++) {
        rates[i] = rate(fd, size, memory, GGS_READ_PIECE, 1u << i, false);
        if (rates[i] == 0) return false;
        deepest = i;
        if (rates[i] > best) best = rates[i];
    }
    uint32_t enough = 1;
    while (enough < deepest && (double) rates[enough] < 0.9 * (double) best) enough++;
    disk->random     = rates[enough];
    disk->in_flight  = (uint64_t) GGS_READ_PIECE << enough;
    disk->piece      = GGS_READ_PIECE;
    disk->sequential = rate(fd, size, memory, GGS_READ_PIECE, 1u << enough, true);
    return disk->sequential > 0;
}
