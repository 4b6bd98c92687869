// The PCIe link of a device has fewer lanes than it can have.
#include <stdio.h>

#include "analyze/explain/findings.h"
#include "base/number.h"

bool ggs_find_narrow_link(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    const struct ggs_device_facts * d = &f->device;
    char                            time[GGS_NUMBER_LENGTH], bytes[GGS_NUMBER_LENGTH];
    if (f->devices == 0 || d->lanes == 0 || d->lanes >= d->most_lanes || d->transfer_ns == 0) return false;
    double left    = (double) d->lanes / (double) d->most_lanes;
    out->part      = f->load_ns > 0 ? GGS_PART_LOAD : GGS_PART_TOKENS;
    out->gain_ns   = (uint64_t) ((double) d->transfer_ns * (1 - left));
    out->once_more = true;
    out->estimated = true;
    out->figure    = (double) d->lanes;
    out->figure_of = "PCIe lanes in use";
    ggs_reason_title(out, "the PCIe link of a device has %llu of %llu lanes", (unsigned long long) d->lanes,
                     (unsigned long long) d->most_lanes);
    ggs_reason_evidence(out, "%s moved to and from %s in %s: %.1f GB/s", ggs_format_bytes(bytes, d->bytes), d->name,
                        ggs_format_nanoseconds(time, d->transfer_ns), (double) d->bytes / (double) d->transfer_ns);
    ggs_reason_advise(out, "another slot of the board (lspci -vv: LnkCap and LnkSta)");
    snprintf(out->query, sizeof(out->query), "grep -A 9 links DIR/experiment.json; ggscope stats DIR --by device");
    return true;
}
