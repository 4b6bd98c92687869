// The maximum rates of this machine (base/machine-limits.h), measured only while nothing else uses
// it.
#pragma once

#include <stdbool.h>

#include "base/machine-limits.h"

struct ggs_error;

// Measures with this many threads. A busy machine is tried three times, over about two seconds. If
// it stays busy, returns GGS_UNSUPPORTED with a sentence that says how busy, and *rates is what was
// found.
int ggs_measure_rates(struct ggs_rates * rates, unsigned threads, struct ggs_error * error);
// Measures with 1, 2, 4, ... threads up to the number of cores of this process. Fails as a whole.
int ggs_measure_machine(struct ggs_limits * limits, struct ggs_error * error);
// After a recording during which others used that share of the CPUs: makes a measurement that a
// busy machine had prevented, and reports it unless `quiet`.
void ggs_measure_if_wanted(double others_share, bool quiet);
// True if more threads are not much slower than fewer. *at is the entry that is.
bool ggs_limits_are_plausible(const struct ggs_limits * limits, unsigned * at);
