// ggscope stats: what the machine did while the program ran.
#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "base/number.h"
#include "cli/cmd-stats.h"
#include "cli/verb.h"

enum { TOP = 3 };

static uint64_t count_of(const struct ggs_fault_sum * sum) {
    return sum->minor + sum->major + sum->open;
}

// ---- text ----

static void print_fault_parts(const struct ggs_fault_totals * faults) {
    char         a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH];
    const char * before = "          ";
    unsigned     column = 0;
    for (int i = 0; i < GGS_PARTS; i++) {
        const struct ggs_fault_sum * sum = &faults->parts[i];
        if (count_of(sum) == 0) continue;
        if (column == 2) before = ",\n          ", column = 0;
        printf("%s%s %s in %s", before, ggs_part_name((enum ggs_part) i), ggs_format_count(a, count_of(sum)),
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
    bool telling = faults->model.stalled_ns > faults->all.stalled_ns / 100;
    if (telling)
        printf("          %s of that time at the model's own bytes, most of it at\n",
               ggs_format_percent(a, faults->model.stalled_ns, faults->all.stalled_ns));
    for (uint64_t i = 0; telling && i < faults->by_weight.n && i < TOP; i++) {
        const struct ggs_fault_group * g = &faults->by_weight.group[i];
        printf("            %-36s %10s  %s fault%s\n",
               g->name[0] == '\0' ? "(no tensor)" : ggs_verb_fit(name, sizeof(name), g->name, 36),
               ggs_format_nanoseconds(a, g->sum.stalled_ns), ggs_format_count(b, count_of(&g->sum)),
               count_of(&g->sum) == 1 ? "" : "s");
    }
    if (faults->lost > 0)
        printf("          %s more were lost: the kernel had no room for them\n", ggs_format_count(a, faults->lost));
}

static void print_quartiles(const struct ggs_histogram * histogram,
                            char * (*format)(char buffer[GGS_NUMBER_LENGTH], uint64_t value)) {
    char a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH], c[GGS_NUMBER_LENGTH];
    printf("%s, %s, %s", format(a, ggs_histogram_quantile(histogram, 0.25)),
           format(b, ggs_histogram_quantile(histogram, 0.5)), format(c, ggs_histogram_quantile(histogram, 0.75)));
}

static void print_requests(const struct stats_report * report) {
    const struct ggs_request_totals * r = &report->requests;
    char                              a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH];
    if (r->model.requests + r->other.requests + r->writes.requests + r->lost == 0) return;
    if (r->model.requests == 0) {
        puts("disk      nothing was read from the model's files");
    } else {
        printf("disk      %s request%s read %s of the model's files:\n", ggs_format_count(a, r->model.requests),
               r->model.requests == 1 ? "" : "s", ggs_format_bytes(b, r->model.bytes));
    }
    const char * before = "          ";
    for (int i = 0; i < GGS_PARTS; i++) {
        if (r->parts[i].requests == 0) continue;
        printf("%s%s %s", before, ggs_part_name((enum ggs_part) i), ggs_format_bytes(a, r->parts[i].bytes));
        before = ", ";
    }
    if (r->model.requests > 0) putchar('\n');
    uint64_t generated = r->parts[GGS_PART_GENERATE].bytes;
    if (generated > 0 && report->totals.generate_steps > 0)
        printf("          %s for each generated token\n",
               ggs_format_bytes(a, generated / report->totals.generate_steps));
    if (r->model.bytes > 0)
        printf("          %s of the bytes continue where the request before ended\n",
               ggs_format_percent(a, r->sequential, r->model.bytes));
    if (r->model.requests > 0) {
        printf("          quartiles: ");
        print_quartiles(&r->sizes, ggs_format_bytes);
        printf(" in ");
        print_quartiles(&r->latencies, ggs_format_nanoseconds);
        putchar('\n');
    }
    if (r->other.bytes > 0)
        printf("          meanwhile %s were read from the same disk by or for others\n",
               ggs_format_bytes(a, r->other.bytes));
    if (r->lost > 0)
        printf("          %s more were lost: the kernel had no room for them\n", ggs_format_count(a, r->lost));
}

void stats_machine_text(const struct stats_report * report) {
    print_faults(&report->faults);
    print_requests(report);
}

// ---- JSON ----

static void write_sum(struct ggs_json * json, const struct ggs_fault_sum * sum) {
    ggs_json_u64(json, "minor", sum->minor);
    ggs_json_u64(json, "major", sum->major);
    ggs_json_u64(json, "open", sum->open);
    ggs_json_u64(json, "stalled_ns", sum->stalled_ns);
}

static void write_number(struct ggs_json * json, const char * key, int64_t number) {
    if (number < 0) {
        ggs_json_null(json, key);
    } else {
        ggs_json_i64(json, key, number);
    }
}

// Groups that have a name (`key` is what it means), or a number.
static void write_fault_groups(struct ggs_json * json, const char * list, const char * key, bool named,
                               const struct ggs_fault_groups * groups) {
    ggs_json_array(json, list);
    for (uint64_t i = 0; i < groups->n; i++) {
        const struct ggs_fault_group * g = &groups->group[i];
        ggs_json_object_inline(json, NULL);
        if (named) {
            ggs_json_string(json, key, g->name[0] == '\0' ? NULL : g->name);
        } else {
            write_number(json, key, g->order);
        }
        write_sum(json, &g->sum);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

static void write_faults(struct ggs_json * json, const struct ggs_fault_totals * faults) {
    ggs_json_object(json, "faults");
    write_sum(json, &faults->all);
    ggs_json_u64(json, "lost", faults->lost);
    ggs_json_object_inline(json, "model");
    write_sum(json, &faults->model);
    ggs_json_end(json);
    ggs_json_object_inline(json, "in_ops");
    write_sum(json, &faults->in_ops);
    ggs_json_end(json);
    ggs_json_array(json, "by_phase");
    for (int i = 0; i < GGS_PARTS; i++) {
        ggs_json_object_inline(json, NULL);
        ggs_json_string(json, "phase", ggs_part_name((enum ggs_part) i));
        write_sum(json, &faults->parts[i]);
        ggs_json_end(json);
    }
    ggs_json_end(json);
    write_fault_groups(json, "by_op", "op", true, &faults->by_op);
    write_fault_groups(json, "by_layer", "layer", false, &faults->by_layer);
    write_fault_groups(json, "by_token", "token", false, &faults->by_token);
    write_fault_groups(json, "by_weight", "weight", true, &faults->by_weight);
    ggs_json_end(json);
}

static void write_request_sum(struct ggs_json * json, const char * key, const struct ggs_request_sum * sum) {
    ggs_json_object_inline(json, key);
    ggs_json_u64(json, "requests", sum->requests);
    ggs_json_u64(json, "bytes", sum->bytes);
    ggs_json_end(json);
}

static void write_histogram(struct ggs_json * json, const char * key, const struct ggs_histogram * histogram) {
    ggs_json_object_inline(json, key);
    ggs_json_u64(json, "quarter", ggs_histogram_quantile(histogram, 0.25));
    ggs_json_u64(json, "median", ggs_histogram_quantile(histogram, 0.5));
    ggs_json_u64(json, "three_quarters", ggs_histogram_quantile(histogram, 0.75));
    ggs_json_end(json);
}

static void write_requests(struct ggs_json * json, const struct ggs_request_totals * r) {
    ggs_json_object(json, "block_requests");
    write_request_sum(json, "model", &r->model);
    write_request_sum(json, "other", &r->other);
    write_request_sum(json, "writes", &r->writes);
    ggs_json_u64(json, "lost", r->lost);
    ggs_json_u64(json, "sequential_bytes", r->sequential);
    write_histogram(json, "size_bytes", &r->sizes);
    write_histogram(json, "latency_ns", &r->latencies);
    ggs_json_array(json, "by_phase");
    for (int i = 0; i < GGS_PARTS; i++) {
        ggs_json_object_inline(json, NULL);
        ggs_json_string(json, "phase", ggs_part_name((enum ggs_part) i));
        ggs_json_u64(json, "requests", r->parts[i].requests);
        ggs_json_u64(json, "bytes", r->parts[i].bytes);
        ggs_json_end(json);
    }
    ggs_json_end(json);
    ggs_json_array(json, "by_token");
    for (uint64_t i = 0; i < r->n_by_token; i++) {
        ggs_json_object_inline(json, NULL);
        ggs_json_i64(json, "token", r->by_token[i].order);
        ggs_json_u64(json, "requests", r->by_token[i].sum.requests);
        ggs_json_u64(json, "bytes", r->by_token[i].sum.bytes);
        ggs_json_end(json);
    }
    ggs_json_end(json);
    ggs_json_array(json, "by_weight");
    for (uint64_t i = 0; i < r->n_by_weight; i++) {
        ggs_json_object_inline(json, NULL);
        ggs_json_string(json, "weight", r->by_weight[i].name[0] == '\0' ? NULL : r->by_weight[i].name);
        ggs_json_u64(json, "requests", r->by_weight[i].sum.requests);
        ggs_json_u64(json, "bytes", r->by_weight[i].sum.bytes);
        ggs_json_end(json);
    }
    ggs_json_end(json);
    ggs_json_object(json, "over_time");
    ggs_json_i64(json, "begin_ns", r->bin_begin_ns);
    ggs_json_u64(json, "bin_ns", r->bin_ns);
    ggs_json_array_inline(json, "bytes");
    for (uint64_t i = 0; i < r->n_bins; i++) ggs_json_u64(json, NULL, r->bins[i]);
    ggs_json_end(json);
    ggs_json_end(json);
    ggs_json_end(json);
}

void stats_machine_json(struct ggs_json * json, const struct stats_report * report) {
    const struct ggs_request_totals * r = &report->requests;
    ggs_json_object(json, "machine");
    if (count_of(&report->faults.all) + report->faults.lost > 0) {
        write_faults(json, &report->faults);
    } else {
        ggs_json_null(json, "faults");
    }
    if (r->model.requests + r->other.requests + r->writes.requests + r->lost > 0) {
        write_requests(json, r);
    } else {
        ggs_json_null(json, "block_requests");
    }
    ggs_json_end(json);
}
