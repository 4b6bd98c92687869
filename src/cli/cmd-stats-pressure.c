// ggscope stats: the conditions of a recording, how models were loaded, what was in memory.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/number.h"
#include "cli/cmd-stats.h"
#include "cli/summary.h"

// ---- text ----

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

// Of the snapshots after tokens: the last one of each token counts.
struct tokens {
    uint64_t n, first, last, least, most;
};

static bool ends_token(const struct ggs_resident_list * list, uint64_t i) {
    const struct ggs_resident * at = &list->snapshot[i];
    if (at->moment != GGS_MOMENT_GRAPH || at->step < 0) return false;
    for (uint64_t k = i + 1; k < list->n; k++) {
        if (list->snapshot[k].moment == GGS_MOMENT_GRAPH) return list->snapshot[k].step != at->step;
    }
    return true;
}

static struct tokens sum_up(const struct ggs_resident_list * list) {
    struct tokens tokens = {.least = UINT64_MAX};
    for (uint64_t i = 0; i < list->n; i++) {
        uint64_t bytes = list->snapshot[i].bytes;
        if (!ends_token(list, i)) continue;
        if (tokens.n++ == 0) tokens.first = bytes;
        tokens.last = bytes;
        if (bytes < tokens.least) tokens.least = bytes;
        if (bytes > tokens.most) tokens.most = bytes;
    }
    return tokens;
}

static void print_residency(const struct stats_report * report) {
    const struct ggs_resident_list * list   = &report->resident;
    const struct ggs_resident *      loaded = ggs_resident_last(list, GGS_MOMENT_LOAD);
    const struct ggs_resident *      ended  = ggs_resident_last(list, GGS_MOMENT_END);
    struct tokens                    tokens = sum_up(list);
    char a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH], c[GGS_NUMBER_LENGTH], d[GGS_NUMBER_LENGTH];
    if (strcmp(report->conditions.residency, "none") == 0)
        puts("resident  nothing to tell: no file of the model was mapped");
    if (list->n == 0) return;
    printf("resident  of %s of files%s\n", ggs_format_bytes(a, list->bytes),
           strcmp(report->conditions.residency, "pagemap") == 0 ? ", where the program itself has them mapped" : "");
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

void stats_pressure_text(const struct stats_report * report) {
    ggs_summary_conditions(&report->conditions, stdout);
    print_loading(&report->loading);
    print_residency(report);
}

// ---- JSON ----

static void write_loading(struct ggs_json * json, const struct ggs_loading * loading) {
    if (loading->reads == 0) return;
    ggs_json_object(json, "load");
    ggs_json_u64(json, "models", loading->models);
    ggs_json_u64(json, "wall_ns", loading->wall_ns);
    ggs_json_u64(json, "bytes", loading->bytes);
    ggs_json_u64(json, "ns", loading->ns);
    ggs_json_array(json, "by_kind");
    for (uint64_t i = 0; i < GGS_LOADING_KINDS; i++) {
        const struct ggs_loading_kind * kind = &loading->by_kind[i];
        if (kind->reads == 0) continue;
        ggs_json_object_inline(json, NULL);
        ggs_json_string(json, "kind", ggs_loading_name(i));
        ggs_json_u64(json, "reads", kind->reads);
        ggs_json_u64(json, "bytes", kind->bytes);
        ggs_json_u64(json, "ns", kind->ns);
        ggs_json_end(json);
    }
    ggs_json_end(json);
    ggs_json_end(json);
}

static void write_snapshot(struct ggs_json * json, const char * key, const struct ggs_resident * snapshot) {
    if (snapshot == NULL) {
        ggs_json_null(json, key);
        return;
    }
    ggs_json_object_inline(json, key);
    if (key == NULL) ggs_json_i64(json, "token", snapshot->step);
    ggs_json_i64(json, "ns", snapshot->ns);
    ggs_json_u64(json, "bytes", snapshot->bytes);
    ggs_json_u64(json, "untouched", snapshot->untouched);
    ggs_json_end(json);
}

static void write_residency(struct ggs_json * json, const struct stats_report * report) {
    const struct ggs_resident_list * list = &report->resident;
    if (report->conditions.residency[0] == '\0' && list->n == 0) return;
    ggs_json_object(json, "residency");
    ggs_json_string(json, "method", report->conditions.residency[0] == '\0' ? NULL : report->conditions.residency);
    ggs_json_u64(json, "bytes", list->bytes);
    write_snapshot(json, "load", ggs_resident_last(list, GGS_MOMENT_LOAD));
    ggs_json_array(json, "tokens");
    for (uint64_t i = 0; i < list->n; i++) {
        if (ends_token(list, i)) write_snapshot(json, NULL, &list->snapshot[i]);
    }
    ggs_json_end(json);
    write_snapshot(json, "end", ggs_resident_last(list, GGS_MOMENT_END));
    ggs_json_end(json);
}

void stats_pressure_json(const struct stats_report * report, struct ggs_json * json) {
    ggs_conditions_json(&report->conditions, json);
    write_loading(json, &report->loading);
    write_residency(json, report);
}
