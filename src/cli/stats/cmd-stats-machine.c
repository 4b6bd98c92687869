// ggscope stats as text: conditions of the machine, kernel events, model loading, memory.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "cli/scaffold/recording-summary.h"
#include "cli/scaffold/verb.h"
#include "cli/stats/cmd-stats.h"

enum { TOP = 3 };

static uint64_t count_of(const struct ggs_fault_sum * sum) {
    return sum->minor + sum->major + sum->open;
}

static void print_fault_parts(const struct ggs_fault_totals * faults) {
    char         a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH];
    const char * before = "          ";
    unsigned     column = 0;
    for (int i = 0; i < GGS_STAGES; i++) {
        const struct ggs_fault_sum * sum = &faults->stages[i];
        if (count_of(sum) == 0) continue;
        if (column == 2) before = ",\v", column = 0;
        printf("%s%s %s in %s", before, ggs_stage_name((enum ggs_stage) i), ggs_format_count(a, count_of(sum)),
               ggs_format_nanoseconds(b, sum->stalled_ns));
        before = ", ";
        column++;
    }
    putchar('\n');
}

static void print_faults(const struct ggs_fault_totals * faults) {
    char a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH], c[GGS_NUMBER_LENGTH], name[128];
    if (count_of(&faults->all) > 0) {
        printf("faults    %s minor and %s major page faults held threads up for %s:\n",
               ggs_format_count(a, faults->all.minor), ggs_format_count(b, faults->all.major),
               ggs_format_nanoseconds(c, faults->all.stalled_ns));
        print_fault_parts(faults);
    }
    bool significant = faults->model.stalled_ns > faults->all.stalled_ns / 100;
    if (significant)
        printf("          %s of that time at the model's own bytes, most of it at\n",
               ggs_format_percent(a, faults->model.stalled_ns, faults->all.stalled_ns));
    for (uint64_t i = 0; significant && i < faults->by_expert.n && i < TOP; i++) {
        const struct ggs_fault_group * g          = &faults->by_expert.group[i];
        char                           expert[32] = "", label[256];
        if (g->order >= 0) snprintf(expert, sizeof(expert), "[%" PRId64 "]", g->order);
        snprintf(label, sizeof(label), "%s%s",
                 g->name[0] == '\0' ? "(no tensor)"
                                    : ggs_verb_fit(name, sizeof(name), g->name, 36 - (unsigned) strlen(expert)),
                 expert);
        printf("            %-36s %10s  %s fault%s\n", label, ggs_format_nanoseconds(a, g->sum.stalled_ns),
               ggs_format_count(b, count_of(&g->sum)), count_of(&g->sum) == 1 ? "" : "s");
    }
    if (faults->lost > 0)
        printf("          %s more were lost: the kernel had no room for them\n", ggs_format_count(a, faults->lost));
}

static void print_off_cpu(const struct ggs_off_cpu_totals * off) {
    enum { OPS = 4 };
    char a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH], c[GGS_NUMBER_LENGTH], who[128];
    if (!off->recorded || off->run_ns == 0) return;
    printf("off CPU   a thread that was waited for had no CPU in %s of %s (%s)\n",
           ggs_format_nanoseconds(a, off->lost_ns), ggs_format_nanoseconds(b, off->run_ns),
           ggs_format_percent(c, off->lost_ns, off->run_ns));
    if (off->lost_ns < off->run_ns / 100) return;
    fputs("          in ", stdout);
    for (uint64_t i = 0; i < off->n_by_op && i < OPS; i++)
        printf("%s%s %s", i > 0 ? ", " : "", off->by_op[i].name, ggs_format_nanoseconds(a, off->by_op[i].lost_ns));
    putchar('\n');
    if (!off->others_seen)
        puts("          which program ran instead was not recorded: that takes root");
    else if (ggs_off_cpu_who(off, who, sizeof(who))[0] != '\0')
        printf("          the CPU went first to %s\n", who);
    if (off->lost_events > 0)
        printf("          %s switches were lost: the kernel had no room for them\n",
               ggs_format_count(a, off->lost_events));
}

static void print_quartiles(const struct ggs_histogram * histogram,
                            char * (*format)(char buffer[GGS_NUMBER_LENGTH], uint64_t value)) {
    char a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH], c[GGS_NUMBER_LENGTH];
    printf("%s, %s, %s", format(a, ggs_histogram_quantile(histogram, 0.25)),
           format(b, ggs_histogram_quantile(histogram, 0.5)), format(c, ggs_histogram_quantile(histogram, 0.75)));
}

static void print_requests(const struct ggs_stats * stats) {
    const struct ggs_request_totals * r = &stats->requests;
    char                              a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH];
    if (r->model.requests + r->other.requests + r->writes.requests + r->lost == 0) return;
    if (r->model.requests == 0) {
        puts("disk      nothing was read from the model's files");
    } else {
        printf("disk      %s request%s read %s of the model's files:\n", ggs_format_count(a, r->model.requests),
               r->model.requests == 1 ? "" : "s", ggs_format_bytes(b, r->model.bytes));
    }
    const char * before = "          ";
    for (int i = 0; i < GGS_STAGES; i++) {
        if (r->stages[i].requests == 0) continue;
        printf("%s%s %s", before, ggs_stage_name((enum ggs_stage) i), ggs_format_bytes(a, r->stages[i].bytes));
        before = ", ";
    }
    if (r->model.requests > 0) putchar('\n');
    uint64_t generated = r->stages[GGS_STAGE_GENERATE].bytes;
    if (generated > 0 && stats->totals.generate_steps > 0)
        printf("          %s for each generated token\n",
               ggs_format_bytes(a, generated / stats->totals.generate_steps));
    if (r->model.bytes > 0)
        printf("          %s of the bytes continue where the request before ended\n",
               ggs_format_percent(a, r->sequential, r->model.bytes));
    if (r->model.requests > 0) {
        printf("          quartiles: ");
        print_quartiles(&r->sizes, ggs_format_bytes);
        printf(" in ");
        print_quartiles(&r->latencies, ggs_format_nanoseconds);
        putchar('\n');
        if (r->latencies.n < r->model.requests)
            printf("          the end of %s was not seen\n", ggs_format_count(a, r->model.requests - r->latencies.n));
    }
    if (r->other.bytes > 0)
        printf("          meanwhile %s were read from the same disk by or for others\n",
               ggs_format_bytes(a, r->other.bytes));
    if (r->lost > 0)
        printf("          %s more were lost: the kernel had no room for them\n", ggs_format_count(a, r->lost));
}

static void print_loading(const struct ggs_loading * loading) {
    static const uint64_t order[] = {GGS_READ_POPULATE, GGS_READ_ADVICE, GGS_READ_LOCK, GGS_READ_FILE};
    char                  a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH];
    if (loading->reads == 0) return;
    fputs("load      ", stdout);
    if (loading->models > 0)
        printf("%" PRIu64 " model%s in %s, ", loading->models, loading->models == 1 ? "" : "s",
               ggs_format_nanoseconds(a, loading->wall_ns));
    printf("%s%s to ask for %s of files\n", ggs_format_nanoseconds(a, loading->ns),
           loading->models > 0 ? " of that" : "", ggs_format_bytes(b, loading->bytes));
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        const struct ggs_loading_kind * kind = &loading->by_kind[order[i]];
        if (kind->reads > 0)
            printf("            %-14s %10s %10s\n", ggs_loading_name(order[i]), ggs_format_bytes(a, kind->bytes),
                   ggs_format_nanoseconds(b, kind->ns));
    }
}

// Snapshots after tokens: the last one of each token counts.
struct tokens {
    uint64_t n, first, last, least, most;
};

static struct tokens sum_up(const struct ggs_resident_list * list) {
    struct tokens tokens = {.least = UINT64_MAX};
    for (uint64_t i = 0; i < list->n; i++) {
        uint64_t bytes = list->snapshot[i].bytes;
        if (!ggs_stats_ends_token(list, i)) continue;
        if (tokens.n++ == 0) tokens.first = bytes;
        tokens.last = bytes;
        if (bytes < tokens.least) tokens.least = bytes;
        if (bytes > tokens.most) tokens.most = bytes;
    }
    return tokens;
}

static void print_residency(const struct ggs_stats * stats) {
    const struct ggs_resident_list * list   = &stats->resident;
    const struct ggs_resident *      loaded = ggs_resident_last(list, GGS_MOMENT_LOAD);
    const struct ggs_resident *      ended  = ggs_resident_last(list, GGS_MOMENT_END);
    struct tokens                    tokens = sum_up(list);
    char a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH], c[GGS_NUMBER_LENGTH], d[GGS_NUMBER_LENGTH];
    if (strcmp(stats->conditions.residency, "none") == 0) puts("resident  unknown: no file of the model was mapped");
    if (list->n == 0) return;
    printf("resident  of %s of files%s\n", ggs_format_bytes(a, list->bytes),
           strcmp(stats->conditions.residency, "pagemap") == 0 ? ", where the program itself has them mapped" : "");
    if (loaded != NULL)
        printf("            %-14s %10s, of which %s no op touches\n", "after loading",
               ggs_format_bytes(a, loaded->bytes), ggs_format_bytes(b, loaded->untouched));
    if (tokens.n > 0)
        printf("            %-14s %10s after the first, %s after the last\n"
               "            %-14s %10s at least, %s at most\n",
               "after tokens", ggs_format_bytes(a, tokens.first), ggs_format_bytes(b, tokens.last), "",
               ggs_format_bytes(c, tokens.least), ggs_format_bytes(d, tokens.most));
    if (ended != NULL)
        printf("            %-14s %10s, of which %s no op touches\n", "at the end", ggs_format_bytes(a, ended->bytes),
               ggs_format_bytes(b, ended->untouched));
}

void stats_machine_text(const struct ggs_stats * stats) {
    print_off_cpu(&stats->off_cpu);
    print_faults(&stats->faults);
    print_requests(stats);
    ggs_summary_conditions(&stats->conditions, stdout);
    print_loading(&stats->loading);
    print_residency(stats);
}
