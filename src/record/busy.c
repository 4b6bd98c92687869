#include "record/busy.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/system/clock.h"

enum { LEAST_NS = 200000000 }; // twenty ticks of the kernel's clock

static uint64_t cpu_of(int who) {
    struct rusage usage;
    if (getrusage(who, &usage) != 0) return 0;
    return 1000000000u * (uint64_t) (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1000u * (uint64_t) (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

// The first line of /proc/stat, in ticks: user nice system idle iowait irq softirq steal.
static bool read_busy(struct ggs_busy * busy) {
    uint64_t t[8] = {0}, tick = 1000000000u / (uint64_t) sysconf(_SC_CLK_TCK);
    FILE *   file = fopen("/proc/stat", "re");
    if (file == NULL) return false;
    int n =
        fscanf(file, "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
               &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]);
    fclose(file);
    busy->busy_ns  = (t[0] + t[1] + t[2] + t[5] + t[6]) * tick;
    busy->steal_ns = t[7] * tick;
    return n == 8;
}

static bool read_process(struct ggs_busy * busy) {
    clockid_t clock;
    if (busy->process == 0) return true;
    if (clock_getcpuclockid(busy->process, &clock) != 0) return false;
    uint64_t used = ggs_clock_read(clock);
    if (clock_getcpuclockid(busy->process, &clock) != 0) return false; // it has ended
    busy->own_ns += used;
    return true;
}

void ggs_busy_begin(struct ggs_busy * busy, pid_t process) {
    *busy = (struct ggs_busy){
        .process = process, .own_ns = cpu_of(RUSAGE_SELF) + cpu_of(RUSAGE_CHILDREN), .at_ns = ggs_clock_now()};
    if (!read_process(busy) || !read_busy(busy)) busy->at_ns = 0;
}

// CPU time since the begin: in total, used by others, and taken by the hypervisor.
struct used {
    uint64_t all, others, steal;
};

static uint64_t at_most(uint64_t ns, uint64_t most) {
    return ns < most ? ns : most;
}

// Returns false if it is unknown.
static bool used_since(const struct ggs_busy * begin, struct used * used) {
    struct ggs_busy end;
    ggs_busy_begin(&end, begin->process);
    if (begin->at_ns == 0 || end.at_ns == 0 || end.at_ns < begin->at_ns + LEAST_NS) return false;
    uint64_t busy = end.busy_ns - begin->busy_ns, own = end.own_ns - begin->own_ns;
    used->all    = (end.at_ns - begin->at_ns) * (uint64_t) sysconf(_SC_NPROCESSORS_ONLN);
    used->others = busy < own ? 0 : at_most(busy - own, used->all);
    used->steal  = at_most(end.steal_ns - begin->steal_ns, used->all);
    return used->all > 0;
}

double ggs_busy_share(const struct ggs_busy * begin) {
    struct used used;
    if (!used_since(begin, &used)) return -1;
    return (double) at_most(used.others + used.steal, used.all) / (double) used.all;
}

void ggs_busy_annotate(const struct ggs_busy * begin, struct json_object * machine) {
    struct used used;
    if (!used_since(begin, &used)) return;
    json_object_object_add(machine, "cpu_ns", json_object_new_uint64(used.all));
    json_object_object_add(machine, "others_cpu_ns", json_object_new_uint64(used.others));
    json_object_object_add(machine, "steal_cpu_ns", json_object_new_uint64(used.steal));
}
