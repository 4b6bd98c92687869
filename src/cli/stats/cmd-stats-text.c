// ggscope stats as text: at most 80 columns, and readable without colour. "\v" breaks a sentence
// that would be longer (base/system/terminal.h).
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/walk/words.h"
#include "base/number.h"
#include "base/system/terminal.h"
#include "base/table.h"
#include "cli/scaffold/recording-summary.h"
#include "cli/scaffold/verb.h"
#include "cli/stats/cmd-stats.h"
#include "trace/schema.h"

enum { TOP = 5, NAME_COLUMNS = 24 };

static void print_pattern(const struct ggs_pattern * p) {
    char a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH], c[GGS_NUMBER_LENGTH];
    if (p->bytes == 0) return;
    printf("order     %s of the bytes read from the model continue where the read\v",
           ggs_format_percent(a, p->sequential, p->bytes));
    if (p->gap == 0)
        printf("before ended, without any gap;\v");
    else
        printf("before ended, gaps of at most %s passed over (%s without);\v", ggs_format_bytes(a, p->gap),
               ggs_format_percent(b, p->sequential_strict, p->bytes));
    printf("%s jumps", ggs_format_count(a, p->jumps));
    if (p->jumps > p->jumps_between_files)
        printf(", half of them of at most %s,\vnine tenths of at most %s", ggs_format_bytes(b, p->jump_median),
               ggs_format_bytes(c, p->jump_90));
    putchar('\n');
    uint64_t again = p->bytes - p->first_bytes;
    if (again == 0) return;
    printf("reuse     %s are read again: half of them after at most %s of\v", ggs_format_percent(a, again, p->bytes),
           ggs_format_bytes(b, p->reuse_median));
    printf("reads, nine tenths after at most %s\n", ggs_format_bytes(b, p->reuse_90));
}

static int print_groups(const struct ggs_stats * stats, enum ggs_by by) {
    char                      a[GGS_NUMBER_LENGTH], bar[3 * 8 + 1], name[128];
    uint64_t                  all = 0, limit = stats->rates.memory_bytes_per_second;
    const struct ggs_groups * groups = &stats->groups[by];
    struct ggs_table *        table  = ggs_table_new();
    bool                      bytes = groups->has_bytes, above = false;
    for (uint64_t i = 0; i < groups->n; i++) all += groups->group[i].wall_ns;
    if (by == GGS_BY_KERNEL && groups->n == 0) {
        puts("no kernels were recorded: only CUDA has them, with libcupti");
        ggs_table_free(table);
        return 0;
    }
    ggs_table_column(table, by == GGS_BY_TOKEN ? ggs_word_step(stats->trace) : ggs_groupings[by].name, GGS_LEFT);
    ggs_table_columns(table, by == GGS_BY_KERNEL ? "~>times|>wall|>share|~|~>wait" : "~>ops|>wall|>share|~|~>wait");
    if (bytes) ggs_table_columns(table, limit > 0 ? ">read|~>of limit" : ">read|~>GB/s");
    for (uint64_t i = 0; i < groups->n; i++) {
        const struct ggs_group * g = &groups->group[i];
        ggs_table_cell(table, "%s", ggs_verb_fit(name, sizeof(name), g->name, NAME_COLUMNS));
        ggs_table_cell(table, "%s", ggs_format_count(a, g->ops));
        bool wall = ggs_group_has_wall(g, by);
        ggs_table_cell(table, "%s", wall ? ggs_format_nanoseconds(a, g->wall_ns) : "-");
        ggs_table_cell(table, "%s", wall ? ggs_format_percent(a, g->wall_ns, all) : "-");
        ggs_terminal_bar(bar, sizeof(bar), 6, all == 0 ? 0 : (double) g->wall_ns / (double) all);
        ggs_table_cell(table, "%s", bar);
        ggs_table_cell(table, "%s", g->unwaited ? "-" : ggs_format_percent(a, g->wait_ns, g->busy_ns + g->wait_ns));
        if (!bytes) continue;
        ggs_table_cell(table, "%s", ggs_format_bytes(a, g->read));
        // Bytes per ns are GB/s.
        double rate = g->wall_ns == 0 ? 0 : (double) (g->read + g->written) / (double) g->wall_ns;
        if (!ggs_group_has_rate(g, by) || (limit > 0 && g->on_device)) {
            ggs_table_cell(table, "-"); // the limit is the host's
        } else if (limit > 0) {
            ggs_table_cell(table, "%.0f %%", 1e11 * rate / (double) limit);
            above |= 1e9 * rate > (double) limit;
        } else {
            ggs_table_cell(table, "%.2f", rate);
        }
    }
    int status = ggs_table_end(table, stdout, ggs_terminal_limit(stdout));
    if (above) puts(stats_above_limit);
    if (by == GGS_BY_REQUEST || by == GGS_BY_SEQUENCE)
        puts("estimated: steps are shared out by tokens, though a batch reads its weights once for all");
    for (uint64_t i = 0; by == GGS_BY_CONTEXT && i < stats->contexts.n_contexts; i++) {
        char before[32];
        snprintf(before, sizeof(before), "context %" PRIu64 ": ", stats->contexts.context[i].context);
        ggs_summary_drafts(&stats->contexts.context[i], before, stdout);
    }
    return status;
}

static void print_cold(const struct ggs_weights * weights) {
    char a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH], name[128];
    printf("cold: %s in %" PRIu64 " tensor%s never touched", ggs_format_bytes(a, weights->never_bytes), weights->never,
           weights->never == 1 ? "" : "s");
    if (weights->partial > 0)
        printf(", and %s of %" PRIu64 " touched in part", ggs_format_bytes(a, weights->untouched_bytes),
               weights->partial);
    putchar('\n');
    for (uint64_t i = 0; i < weights->n_cold && i < TOP; i++) {
        const struct ggs_weight_totals * w = weights->cold[i];
        printf("  %-40s %10s  of %s\n", ggs_verb_fit(name, sizeof(name), w->name, 40),
               ggs_format_bytes(a, w->size - w->touched), ggs_format_bytes(b, w->size));
    }
    if (weights->n_cold > TOP) printf("  and %" PRIu64 " more\n", weights->n_cold - TOP);
    if (weights->unknown > 0)
        printf("not seen: which rows or experts were read of %s in %" PRIu64 " tensor%s\n",
               ggs_format_bytes(a, weights->unknown_bytes), weights->unknown, weights->unknown == 1 ? "" : "s");
}

static void print_weights(const struct ggs_weights * weights) {
    char a[GGS_NUMBER_LENGTH], name[128];
    if (weights->n == 0) return;
    puts("\nhot: most bytes read");
    for (uint64_t i = 0; i < weights->n && i < TOP && weights->weight[i].bytes > 0; i++) {
        const struct ggs_weight_totals * w = &weights->weight[i];
        printf("  %-40s %10s  %" PRIu64 " read%s\n", ggs_verb_fit(name, sizeof(name), w->name, 40),
               ggs_format_bytes(a, w->bytes), w->reads, w->reads == 1 ? "" : "s");
    }
    if (weights->unread > 0)
        puts("cold: not known, because the model's file is gone");
    else
        print_cold(weights);
}

static void print_windows(const struct ggs_stats * stats) {
    enum { MOST = 8 };
    const struct ggs_windows * w = &stats->windows;
    char                       a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH], name[256];
    if (w->n == 0) return;
    printf("windows   %" PRIu64 " recorded: %s of %s; what was outside of them is not known\n", w->recorded,
           ggs_format_nanoseconds(a, w->recorded_ns), ggs_format_nanoseconds(b, w->whole_ns));
    for (uint64_t i = 0; i < w->n && i < MOST; i++) {
        const struct ggs_window * row   = &w->window[i];
        double                    begin = (double) row->begin_ns / 1e9, end = (double) row->end_ns / 1e9;
        if (row->kind == GGS_WINDOW_MARK)
            printf("            %.3f s   %s\n", begin,
                   ggs_verb_fit(name, sizeof(name), ggs_reader_string(stats->trace->reader, row->text), 60));
        else
            printf("            %.3f s to %.3f s\n", begin, end);
    }
    if (w->n > MOST) printf("            and %" PRIu64 " more\n", w->n - MOST);
}

// Prints how the times of a process were converted to the common clock.
static void print_clock(const struct ggs_process * row) {
    char a[GGS_NUMBER_LENGTH];
    if (row->clock == GGS_CLOCK_OWN)
        fputs("the clock of all", stdout);
    else if (row->error_ns < 0)
        printf("clock by %s: its times may be off", ggs_clock_source_name(row->clock));
    else if (row->error_ns == 0)
        printf("the same clock");
    else
        printf("clock by %s, off by %s at most", ggs_clock_source_name(row->clock),
               ggs_format_nanoseconds(a, (uint64_t) row->error_ns));
}

static void print_link(const struct ggs_process_list * list, const struct ggs_process_link * link) {
    const struct ggs_process_totals * server = ggs_process_find(list, link->server);
    char                              a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH], c[GGS_NUMBER_LENGTH], name[128];
    printf("link      %s: ", ggs_verb_fit(name, sizeof(name), link->backend, 40));
    if (server == NULL)
        puts("its server was not recorded");
    else
        printf("%s\n          %s of %s graph runs are in both: %s there of %s\n", server->name,
               ggs_format_count(a, link->matched_runs), ggs_format_count(b, link->runs),
               ggs_format_nanoseconds(c, link->server_ns), ggs_format_nanoseconds(name, link->round_trip_ns));
    printf("          %s sent, %s of them to load the model; %s received\n", ggs_format_bytes(a, link->bytes_sent),
           ggs_format_bytes(b, link->bytes_loaded), ggs_format_bytes(c, link->bytes_received));
}

static void print_processes(const struct ggs_process_list * list) {
    char a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH];
    if (list->n < 2) return;
    printf("processes %" PRIu64 " on %" PRIu64 " host%s\n", list->n, list->hosts, list->hosts == 1 ? "" : "s");
    for (uint64_t i = 0; i < list->n; i++) {
        const struct ggs_process_totals * p = &list->process[i];
        printf("            %s, %s: ", p->host, p->name);
        print_clock(&p->row);
        putchar('\n');
    }
    for (uint64_t i = 0; i < list->n_links; i++) print_link(list, &list->link[i]);
    // Without graphs sent from one to another there is no client, no server and no wire.
    bool linked = list->n_links > 0;
    const struct {
        const char * name;
        uint64_t     ns;
        bool         shown;
    } parts[] = {{"client computes", list->client_compute_ns, linked},
                 {linked ? "server computes" : "computing", list->server_compute_ns, true},
                 {"on the wire", list->wire_ns, linked},
                 {"idle", list->idle_ns, true}};
    printf("time      of %s from the first step to the last\n", ggs_format_nanoseconds(a, list->wall_ns));
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (parts[i].shown)
            printf("            %-16s %10s %8s\n", parts[i].name, ggs_format_nanoseconds(a, parts[i].ns),
                   ggs_format_percent(b, parts[i].ns, list->wall_ns));
}

// An estimate is never a row of the table of recorded times.
static void print_estimate(const struct ggs_estimate * estimate) {
    enum { SHOWN = 8 };
    char     a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH], c[GGS_NUMBER_LENGTH];
    uint64_t all = 0;
    if (estimate->runs == 0) return;
    for (uint64_t i = 0; i < estimate->n; i++) all += estimate->op[i].wall_ns;
    printf("\nestimated: %s graph runs of devices (%s) have no op times; with the shares of the %s that have,\n"
           "ops of devices take in all about\n",
           ggs_format_count(a, estimate->runs), ggs_format_nanoseconds(b, estimate->run_ns),
           ggs_format_count(c, estimate->from_runs));
    for (uint64_t i = 0; i < estimate->n && i < SHOWN; i++)
        printf("  %-18s ~ %9s %8s\n", estimate->op[i].name, ggs_format_nanoseconds(a, estimate->op[i].wall_ns),
               ggs_format_percent(b, estimate->op[i].wall_ns, all));
}

static void print_streamed(const struct ggs_streamed_totals * s) {
    char a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH];
    if (s->uses == 0) return;
    printf("streamed  %s in %" PRIu64 " runs, %s of them early by prediction\n",
           ggs_format_bytes(a, s->bytes_read + s->bytes_early), s->runs, ggs_format_bytes(b, s->bytes_early));
    printf("          waited %s for the disk, %s of the runs' time", ggs_format_nanoseconds(a, s->wait_ns),
           ggs_format_percent(b, s->wait_ns, s->run_ns));
    if (s->mapped > 0) printf("; %s uses were left to the mapping", ggs_format_count(a, s->mapped));
    putchar('\n');
    if (s->hits + s->misses == 0) return;
    printf("          %s of the experts were in memory when they were chosen",
           ggs_format_percent(a, s->hits, s->hits + s->misses));
    if (s->predicted > 0)
        printf(";\v%s of those read early were used", ggs_format_percent(a, s->predicted_used, s->predicted));
    putchar('\n');
}

int stats_text(const struct ggs_stats * stats, unsigned by) {
    int status = 0;
    ggs_summary_subject(stats->trace, &stats->totals, stdout);
    ggs_summary_totals(&stats->totals, stdout);
    ggs_summary_busy(&stats->conditions, &stats->totals, &stats->off_cpu, stdout);
    print_windows(stats);
    print_processes(&stats->processes);
    print_streamed(&stats->streamed);
    print_pattern(&stats->totals.pattern);
    stats_machine_text(stats);
    if (stats->rates.memory_bytes_per_second > 0) {
        char a[GGS_NUMBER_LENGTH];
        printf("memory    can be read at %s a second by %llu thread%s\n",
               ggs_format_bytes(a, stats->rates.memory_bytes_per_second), (unsigned long long) stats->rates.threads,
               stats->rates.threads == 1 ? "" : "s");
    }
    for (unsigned i = 0; i < GGS_BY_COUNT; i++) {
        if ((by == 0 ? 1u << GGS_BY_OP : by) >> i & 1) {
            putchar('\n');
            if (print_groups(stats, (enum ggs_by) i) != 0) status = -1;
        }
    }
    print_estimate(&stats->totals.estimate);
    print_weights(&stats->weights);
    return status != 0 || ferror(stdout) ? -1 : 0;
}
