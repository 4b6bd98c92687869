#include "record/measure.h"

#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "base/error.h"
#include "base/system/probe.h"
#include "record/busy.h"
#include "record/limits-cache.h"

enum { TRIES = 3, OTHERS_MOST_PERCENT = 10, SLOWER_MOST_PERCENT = 20 };

static struct ggs_rates measure_once(unsigned threads) {
    struct ggs_busy before;
    ggs_busy_begin(&before, 0);
    struct ggs_rates rates = ggs_probe_rates(threads);
    double           share = ggs_busy_share(&before);
    rates.others_percent   = share < 0 ? 0 : (uint64_t) (100 * share + 0.5);
    rates.measured_at      = (uint64_t) time(NULL);
    return rates;
}

int ggs_measure_rates(struct ggs_rates * rates, unsigned threads, struct ggs_error * error) {
    *rates = measure_once(threads);
    for (unsigned i = 1; i < TRIES && rates->others_percent > OTHERS_MOST_PERCENT; i++) {
        struct ggs_rates again = measure_once(threads);
        if (again.others_percent < rates->others_percent) *rates = again;
    }
    if (rates->others_percent <= OTHERS_MOST_PERCENT) return 0;
    return ggs_fail(error, GGS_UNSUPPORTED,
                    "others used %llu %% of the CPUs while memory was measured: nothing is kept; measure again when "
                    "the machine is quiet",
                    (unsigned long long) rates->others_percent);
}

static bool is_slower(uint64_t many, uint64_t few) {
    return (double) many < (1 - SLOWER_MOST_PERCENT / 100.0) * (double) few;
}

bool ggs_limits_are_plausible(const struct ggs_limits * limits, unsigned * at) {
    for (*at = 1; *at < limits->n; ++*at) {
        const struct ggs_rates *few = &limits->rate[*at - 1], *many = &limits->rate[*at];
        if (is_slower(many->memory_bytes_per_second, few->memory_bytes_per_second) ||
            is_slower(many->flops_per_second, few->flops_per_second))
            return false;
    }
    return true;
}

int ggs_measure_machine(struct ggs_limits * limits, struct ggs_error * error) {
    cpu_set_t usable;
    unsigned  cores  = sched_getaffinity(0, sizeof(usable), &usable) == 0 ? (unsigned) CPU_COUNT(&usable) : 1, at;
    int       status = 0;
    *limits          = (struct ggs_limits){0};
    for (unsigned threads = 1; status == 0 && limits->n < GGS_LIMITS_MOST;
         threads          = threads * 2 < cores ? threads * 2 : cores) {
        status = ggs_measure_rates(&limits->rate[limits->n], threads, error);
        limits->n += status == 0;
        if (threads >= cores) break;
    }
    if (status == 0 && !ggs_limits_are_plausible(limits, &at))
        status =
            ggs_fail(error, GGS_UNSUPPORTED,
                     "%llu threads were slower than %llu: something else used the machine; nothing is kept, "
                     "measure again when it is quiet",
                     (unsigned long long) limits->rate[at].threads, (unsigned long long) limits->rate[at - 1].threads);
    if (status < 0) limits->n = 0;
    return status;
}

void ggs_measure_if_wanted(double others_share, bool quiet) {
    struct ggs_limits limits;
    if (others_share < 0 || 100 * others_share > OTHERS_MOST_PERCENT || !ggs_limits_cache_is_wanted()) return;
    if (ggs_measure_machine(&limits, NULL) < 0 || ggs_limits_cache_write(&limits, NULL) < 0) return;
    if (!quiet)
        fprintf(stderr,
                "ggscope: measured what this machine can do, as doctor --bandwidth was asked: recordings to come "
                "are compared with it\n");
}
