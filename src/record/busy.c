#include "record/busy.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { LEAST_NS = 200000000 }; // twenty ticks of the kernel's clock

static uint64_t cpu_of(int who) {
    struct rusage usage;
    if (getrusage(who, &usage) != 0) return 0;
    return 1000000000u * (uint64_t) (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1000u * (uint64_t) (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

// The first line of /proc/stat, in ticks: user nice system idle iowait irq softirq steal. What a hypervisor took away counts as used by others.
static bool read_busy(uint64_t * ns) {
    uint64_t t[8] = {0};
    FILE *   file = fopen("/proc/stat", "re");
    if (file == NULL) return false;
    int n =
        fscanf(file, "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
               &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]);
    fclose(file);
    *ns = (t[0] + t[1] + t[2] + t[5] + t[6] + t[7]) * (1000000000u / (uint64_t) sysconf(_SC_CLK_TCK));
    return n == 8;
}

void ggs_busy_begin(struct ggs_busy * busy) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *busy = (struct ggs_busy){.own_ns = cpu_of(RUSAGE_SELF) + cpu_of(RUSAGE_CHILDREN),
                              .at_ns  = 1000000000u * (uint64_t) now.tv_sec + (uint64_t) now.tv_nsec};
    if (!read_busy(&busy->busy_ns)) busy->at_ns = 0;
}

void ggs_busy_note(const struct ggs_busy * begin, struct json_object * machine) {
    struct ggs_busy end;
    ggs_busy_begin(&end);
    if (begin->at_ns == 0 || end.at_ns < begin->at_ns + LEAST_NS) return;
    uint64_t all  = (end.at_ns - begin->at_ns) * (uint64_t) sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t busy = end.busy_ns - begin->busy_ns, own = end.own_ns - begin->own_ns;
    uint64_t others = busy < own ? 0 : busy - own < all ? busy - own : all;
    json_object_object_add(machine, "cpu_ns", json_object_new_uint64(all));
    json_object_object_add(machine, "others_cpu_ns", json_object_new_uint64(others));
}
