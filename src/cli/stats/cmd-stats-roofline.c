// ggscope stats --roofline: performance of ops as a table.
#include <stdio.h>

#include "analyze/ops/roofline.h"
#include "analyze/walk/words.h"
#include "base/number.h"
#include "base/table.h"
#include "cli/scaffold/verb.h"
#include "cli/stats/cmd-stats.h"

// bytes per ns = GB/s, flops per ns = Gflop/s
static double per_ns(double amount, uint64_t ns) {
    return ns == 0 ? 0 : amount / (double) ns;
}

const char stats_above_limit[] = "above 100 %: these bytes came from the CPU's caches, which are faster than memory";

// Returns true if it exceeds the limit.
static bool cell_rate(struct ggs_table * table, double rate, uint64_t limit) {
    if (limit > 0)
        ggs_table_cell(table, "%.0f %%", 1e11 * rate / (double) limit);
    else
        ggs_table_cell(table, "–");
    return limit > 0 && 1e9 * rate > (double) limit;
}

// Returns true if its bytes exceed the memory bandwidth.
static bool print_row(struct ggs_table * table, const struct ggs_roofline_row * row, const struct ggs_rates * rates) {
    char   a[GGS_NUMBER_LENGTH];
    double bytes = (double) (row->read + row->written), memory = per_ns(bytes, row->wall_ns);
    ggs_table_cell(table, "%s", ggs_word_phase(row->phase));
    ggs_table_cell(table, row->on_device ? "%s, on a device" : "%s", row->op);
    ggs_table_cell(table, "%s", row->component);
    ggs_table_cell(table, "%s", ggs_format_count(a, row->ops));
    ggs_table_cell(table, "%s", ggs_format_nanoseconds(a, row->wall_ns));
    ggs_table_cell(table, "%.2f", memory);
    // The limits are the host's.
    bool above = cell_rate(table, memory, row->on_device ? 0 : rates->memory_bytes_per_second);
    if (row->flops < 0) {
        for (int i = 0; i < 3; i++) ggs_table_cell(table, "–");
    } else {
        double flops = per_ns((double) row->flops, row->wall_ns);
        ggs_table_cell(table, "%.2f", flops);
        cell_rate(table, flops, row->on_device ? 0 : rates->flops_per_second);
        ggs_table_cell(table, bytes > 0 ? "%.2f" : "–", (double) row->flops / bytes);
    }
    uint64_t all = row->shared_ns + row->uneven_ns + row->barrier_ns;
    ggs_table_cell(table, "%s", row->shared == 0 ? "–" : ggs_format_percent(a, row->uneven_ns, all));
    ggs_table_cell(table, "%s", row->shared == 0 ? "–" : ggs_format_percent(a, row->barrier_ns, all));
    return above;
}

int stats_roofline_text(const struct ggs_roofline * roofline, const struct ggs_rates * rates) {
    char               a[GGS_NUMBER_LENGTH];
    struct ggs_table * table = ggs_table_new();
    if (rates->memory_bytes_per_second > 0)
        printf("limits    %.1f GB/s and %.1f Gflop/s with %s thread%s\n\n",
               (double) rates->memory_bytes_per_second / 1e9, (double) rates->flops_per_second / 1e9,
               ggs_format_count(a, rates->threads), rates->threads == 1 ? "" : "s");
    else
        puts(
            "limits    not known: ggscope stats --probe measures them here, ggscope doctor --bandwidth for later recordings\n");
    ggs_table_columns(table,
                      "phase|op|component|>ops|>wall|>GB/s|>of limit|>Gflop/s|>of limit|>flop/byte|>uneven|>barrier");
    bool above = false;
    for (uint64_t i = 0; i < roofline->n; i++) above |= print_row(table, &roofline->row[i], rates);
    int status = ggs_table_end(table, stdout, 0);
    if (above) puts(stats_above_limit);
    return status;
}
