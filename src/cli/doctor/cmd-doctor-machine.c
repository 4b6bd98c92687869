// ggscope doctor: the machine.
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <limits.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/number.h"
#include "base/system/ticks.h"
#include "cli/doctor/cmd-doctor.h"

#include "record/inspect/doctor-findings.h"
#include "record/limits-cache.h"
#include "record/measure.h"
#include "record/memory/limit.h"
#include "record/observe/block-requests.h"
#include "record/observe/faults.h"

static void check_kernel(struct ggs_findings * report) {
    struct utsname kernel;
    if (uname(&kernel) == 0)
        ggs_findings_add(report, GGS_FINDING_OK, "kernel", NULL, "%s %s, %s", kernel.sysname, kernel.release,
                         kernel.machine);
}

static void check_clock(struct ggs_findings * report) {
    ggs_ticks_choose();
#if defined(__aarch64__)
    ggs_findings_add(report, GGS_FINDING_OK, "clock", NULL, "the generic timer counts at %.6g MHz on all cores",
                     (double) ggs_ticks_rate() / 1e6);
#else
    bool     invariant = false;
#if defined(__x86_64__)
    unsigned a, b, c, d;
    invariant = __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & 1u << 8) != 0;
#endif
    if (!ggs_ticks_are_ns) {
        ggs_findings_add(report, GGS_FINDING_OK, "clock", NULL,
                         "the time stamp counter is invariant, and the kernel trusts it");
    } else {
        ggs_findings_add(
            report, GGS_FINDING_WARN, "clock", "nothing needs to be done; recording costs a little more per operation",
            "%s: CLOCK_MONOTONIC is used instead",
            invariant ? "the kernel does not trust the time stamp counter" : "the time stamp counter is not invariant");
    }
#endif
}

static void check_memory(struct ggs_findings * report) {
    static const char fix[] = "enlarge it (mount -o remount,size=2G /dev/shm), or name another tmpfs with --spool";
    struct statfs     space;
    char              whole[GGS_NUMBER_LENGTH], left[GGS_NUMBER_LENGTH];
    if (statfs("/dev/shm", &space) != 0 || space.f_type != TMPFS_MAGIC || access("/dev/shm", W_OK | X_OK) != 0) {
        ggs_findings_add(
            report, GGS_FINDING_WARN, "spool", "mount a tmpfs at /dev/shm, or name one with --spool",
            "/dev/shm is not a writable tmpfs: spools are kept beside the experiment until they are sealed");
        return;
    }
    uint64_t available = (uint64_t) space.f_bavail * (uint64_t) space.f_frsize;
    bool     enough    = available >= 256ull << 20;
    ggs_findings_add(report, enough ? GGS_FINDING_OK : GGS_FINDING_WARN, "spool", enough ? NULL : fix,
                     "/dev/shm: %s free of %s%s", ggs_format_bytes(left, available),
                     ggs_format_bytes(whole, (uint64_t) space.f_blocks * (uint64_t) space.f_frsize),
                     enough ? "" : ": too little, so spools are kept beside the experiment until they are sealed");
}

static void check_faults(struct ggs_findings * report) {
    struct ggs_error error;
    if (ggs_faults_probe(&error) == 0) {
        ggs_findings_add(report, GGS_FINDING_OK, "faults", NULL, "page faults can be observed");
    } else {
        ggs_findings_add(report, GGS_FINDING_WARN, "faults", "recordings work without them",
                         "page faults cannot be observed: %s", error.text);
    }
}

static void check_io(struct ggs_findings * report) {
    struct ggs_error error;
    if (ggs_block_requests_probe(&error) == 0) {
        ggs_findings_add(report, GGS_FINDING_OK, "io", NULL, "block requests can be observed (--io)");
    } else {
        ggs_findings_add(report, GGS_FINDING_WARN, "io", "recordings work without them",
                         "block requests cannot be observed: %s", error.text);
    }
}

// Makes a limit and removes it: only that shows whether it is permitted.
static void check_limit(struct ggs_findings * report) {
    struct ggs_limit limit;
    struct ggs_error error = {0};
    if (ggs_limit_make(&limit, 64u << 20, &error) == 0) {
        ggs_findings_add(report, GGS_FINDING_OK, "memory", NULL, "memory can be limited (%s)", limit.mechanism);
        ggs_limit_end(&limit);
    } else {
        ggs_findings_add(
            report, GGS_FINDING_WARN, "memory",
            "run ggscope as root, or in a control group that is delegated to you (systemd-run --user --scope)", "%s",
            error.text);
    }
}

// Measures if asked to, or if an earlier request found a busy machine. False if nothing can be
// stored.
static bool measure_limits(struct ggs_findings * report, bool asked) {
    struct ggs_limits limits;
    struct ggs_error  error = {0}, kept = {0};
    if (!asked && !ggs_limits_cache_is_wanted()) return true;
    bool refused = ggs_measure_machine(&limits, &error) < 0;
    int  status  = refused ? ggs_limits_cache_want(&kept) : ggs_limits_cache_write(&limits, &kept);
    if (status < 0)
        ggs_findings_add(report, GGS_FINDING_FAIL, "limits", "set XDG_CACHE_HOME to a folder that can be written to",
                         "%s", kept.text);
    else if (refused)
        ggs_findings_add(report, GGS_FINDING_WARN, "limits",
                         "the next recording, or ggscope doctor, does that by itself", "%s", error.text);
    return status >= 0;
}

static void check_limits(struct ggs_findings * report, bool measure) {
    struct ggs_limits limits;
    char              path[PATH_MAX], when[64] = "";
    if (!measure_limits(report, measure)) return;
    ggs_limits_cache_read(&limits);
    if (limits.n == 0 || ggs_limits_cache_path(path, NULL) < 0) {
        if (ggs_limits_cache_is_wanted()) return; // said above
        ggs_findings_add(report, GGS_FINDING_OK, "limits", NULL,
                         "not measured: ggscope doctor --bandwidth measures memory and cores, for later recordings");
        return;
    }
    for (unsigned i = 0; i < limits.n; i++) {
        const struct ggs_rates * rate = &limits.rate[i];
        time_t                   at   = (time_t) rate->measured_at;
        struct tm                utc;
        if (at == 0 || gmtime_r(&at, &utc) == NULL || strftime(when, sizeof(when), "%Y-%m-%d %H:%M UTC", &utc) == 0)
            snprintf(when, sizeof(when), "at an unknown time");
        ggs_findings_add(report, GGS_FINDING_OK, "limits", NULL,
                         "%llu thread%s: %.1f GB/s of memory, %.1f Gflop/s (%s, others used %llu %% of the CPUs)%s%s",
                         (unsigned long long) rate->threads, rate->threads == 1 ? "" : "s",
                         (double) rate->memory_bytes_per_second / 1e9, (double) rate->flops_per_second / 1e9, when,
                         (unsigned long long) rate->others_percent, i + 1 < limits.n ? "" : ", kept in ",
                         i + 1 < limits.n ? "" : path);
    }
}

void doctor_machine(struct ggs_findings * report, bool bandwidth) {
    check_kernel(report);
    check_clock(report);
    check_memory(report);
    check_faults(report);
    check_io(report);
    check_limit(report);
    check_limits(report, bandwidth);
}
