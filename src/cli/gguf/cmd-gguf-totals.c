// The part of `ggscope gguf` below the table of tensors: totals by type, component and layer, and
// the account of all bytes.
#include "base/error.h"
#include "base/number.h"
#include "base/system/file.h"
#include "base/system/terminal.h"
#include "base/table.h"
#include "cli/gguf/cmd-gguf.h"
#include "gguf/gguf-entry.h"
#include "gguf/gguf-type.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BAR_WIDTH = 20 };

// One line of a table of totals.
struct total {
    int64_t      key;   // order of appearance by component; number of the layer or type
    const char * title; // of a component, else NULL
    bool         experts;
    uint64_t     tensors;
    uint64_t     elements;
    uint64_t     bytes;
};

struct totals {
    struct total * lines;
    size_t         n_lines;
    bool           failed;
};

static void count(struct total * total, const struct ggs_entry * entry) {
    total->tensors++;
    total->bytes += entry->size;
    // Saturating: a damaged file may state anything for an unknown type.
    if (__builtin_add_overflow(total->elements, entry->elements, &total->elements)) total->elements = UINT64_MAX;
}

static struct total * append(struct totals * totals, int64_t key) {
    size_t n = totals->n_lines;
    if ((n & (n - 1)) == 0) { // full at every power of two
        struct total * larger = reallocarray(totals->lines, n == 0 ? 1 : 2 * n, sizeof *larger);
        if (larger == NULL) {
            totals->failed = true;
            return NULL;
        }
        totals->lines = larger;
    }
    totals->lines[n] = (struct total){.key = key};
    totals->n_lines++;
    return &totals->lines[n];
}

static int compare_key(const void * left, const void * right) {
    const struct total * a = left;
    const struct total * b = right;
    return (a->key > b->key) - (a->key < b->key);
}

static int compare_bytes(const void * left, const void * right) {
    const struct total * a = left;
    const struct total * b = right;
    if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
    return compare_key(left, right);
}

static void sort(struct totals * totals, int (*compare)(const void *, const void *)) {
    if (totals->n_lines > 1) qsort(totals->lines, totals->n_lines, sizeof *totals->lines, compare);
}

// Sums lines with the same key. A file may have any number of layers, so this sorts instead of
// searching.
static void merge(struct totals * totals) {
    sort(totals, compare_key);
    size_t kept = 0;
    for (size_t i = 0; i < totals->n_lines; i++) {
        struct total * last = kept > 0 ? &totals->lines[kept - 1] : NULL;
        if (last != NULL && last->key == totals->lines[i].key) {
            last->tensors += totals->lines[i].tensors;
            last->bytes += totals->lines[i].bytes;
            if (__builtin_add_overflow(last->elements, totals->lines[i].elements, &last->elements)) {
                last->elements = UINT64_MAX;
            }
        } else {
            totals->lines[kept++] = totals->lines[i];
        }
    }
    totals->n_lines = kept;
}

// There are about a hundred titles, all constants.
static struct total * find_component(struct totals * totals, const struct ggs_name * name) {
    bool experts = name->experts || name->expert >= 0;
    for (size_t i = 0; i < totals->n_lines; i++) {
        struct total * line = &totals->lines[i];
        if (line->experts == experts && strcmp(line->title, name->title) == 0) return line;
    }
    struct total * line = append(totals, (int64_t) totals->n_lines);
    if (line != NULL) {
        line->title   = name->title;
        line->experts = experts;
    }
    return line;
}

struct sums {
    struct totals components;
    struct totals layers;
    struct totals types;
    struct total  all;
};

static void collect(struct sums * sums, const struct gguf_report * report) {
    for (size_t i = 0; i < report->model->n_files; i++) {
        struct ggs_entries entries = ggs_entries(report->model->files[i], &report->maps[i], false);
        struct ggs_entry   entry;
        while (ggs_entries_next(&entries, &entry)) {
            struct total * lines[] = {
                find_component(&sums->components, &entry.name),
                append(&sums->layers, entry.name.layer < 0 ? INT64_MAX : entry.name.layer),
                append(&sums->types, entry.tensor->type),
                &sums->all,
            };
            for (size_t j = 0; j < sizeof lines / sizeof lines[0]; j++) {
                if (lines[j] != NULL) count(lines[j], &entry);
            }
        }
    }
    merge(&sums->layers);
    merge(&sums->types);
    sort(&sums->types, compare_bytes);
    sort(&sums->components, compare_bytes);
}

static void put_title(struct ggs_table * table, const struct total * total) {
    if (total->title != NULL) {
        ggs_table_cell(table, "%s%s", total->title, total->experts ? " Experts" : "");
    } else if (total->key == INT64_MAX) {
        ggs_table_cell(table, "none");
    } else {
        ggs_table_cell(table, "%lld", (long long) total->key);
    }
}

static int print_totals(const char * title, const struct totals * totals, const struct total * all,
                        const struct gguf_report * report, struct ggs_error * error) {
    struct ggs_table * table = ggs_table_new();
    uint64_t           most  = 0;
    ggs_table_column(table, title, GGS_LEFT);
    ggs_table_columns(table, ">tensors|>parameters|>size|>share|");
    for (size_t i = 0; i < totals->n_lines; i++) {
        if (totals->lines[i].bytes > most) most = totals->lines[i].bytes;
    }
    for (size_t i = 0; i < totals->n_lines; i++) {
        const struct total * line = &totals->lines[i];
        char                 number[GGS_NUMBER_LENGTH];
        char                 bar[3 * BAR_WIDTH + 1];
        put_title(table, line);
        ggs_table_cell(table, "%s", ggs_format_count(number, line->tensors));
        ggs_table_cell(table, "%s", ggs_format_count(number, line->elements));
        ggs_table_cell(table, "%s", ggs_format_bytes(number, line->bytes));
        ggs_table_cell(table, "%s", ggs_format_percent(number, line->bytes, all->bytes));
        ggs_terminal_bar(bar, sizeof bar, BAR_WIDTH, most == 0 ? 0 : (double) line->bytes / (double) most);
        ggs_table_cell(table, "%s", bar);
    }
    putchar('\n');
    if (table == NULL) return ggs_fail_memory(error);
    int result = ggs_table_end(table, stdout, report->width);
    return result != 0 && !ferror(stdout) ? ggs_fail_memory(error) : 0;
}

// "  tensors       201, 1,100,048,384 parameters: q4_K 135 (78.2 %), f32 45 (0.1 %)"
static void print_mix(const struct sums * sums) {
    char number[GGS_NUMBER_LENGTH], type[GGS_TYPE_NAME_LENGTH];
    printf("  tensors       %s, ", ggs_format_count(number, sums->all.tensors));
    printf("%s parameters", ggs_format_count(number, sums->all.elements));
    for (size_t i = 0; i < sums->types.n_lines; i++) {
        const struct total * line = &sums->types.lines[i];
        printf("%s%s", i == 0 ? ": " : ", ", ggs_type_name(type, sizeof type, (uint32_t) line->key));
        printf(" %s", ggs_format_count(number, line->tensors));
        printf(" (%s)", ggs_format_percent(number, line->bytes, sums->all.bytes));
    }
    putchar('\n');
}

static void print_notes(const struct gguf_report * report) {
    char   number[GGS_NUMBER_LENGTH];
    size_t unknown = 0;
    for (size_t i = 0; i < report->model->n_files; i++) {
        const struct ggs_gguf * gguf     = report->model->files[i];
        uint64_t                trailing = report->maps[i].bytes[GGS_REGION_TRAILING];
        for (size_t j = 0; j < gguf->n_tensors; j++) unknown += !gguf->tensors[j].size_known;
        if (trailing > 0) {
            printf("note: the last %s bytes of %s belong to nothing\n", ggs_format_count(number, trailing),
                   ggs_file_name(gguf->path));
        }
    }
    if (unknown > 0) {
        printf(
            "note: %zu tensor%s of a type that ggscope does not know (marked \"?\"); the extent shown reaches to the "
            "next tensor\n",
            unknown, unknown == 1 ? " is" : "s are");
    }
}

static void print_account(const struct gguf_report * report) {
    static const char * const         words[GGS_REGION_KINDS] = {"header",  "key-values", "tensor infos",
                                                                 "padding", "tensors",    "trailing"};
    static const enum ggs_region_kind order[] = {GGS_REGION_HEADER, GGS_REGION_KEY_VALUES, GGS_REGION_TENSOR_INFOS,
                                                 GGS_REGION_TENSOR, GGS_REGION_PADDING,    GGS_REGION_TRAILING};
    char                              number[GGS_NUMBER_LENGTH];
    const char *                      separator = "";
    printf("\nevery byte accounted for: ");
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        uint64_t bytes = 0;
        for (size_t j = 0; j < report->model->n_files; j++) bytes += report->maps[j].bytes[order[i]];
        if (bytes == 0 && order[i] == GGS_REGION_TRAILING) continue;
        printf("%s%s %s B", separator, words[order[i]], ggs_format_count(number, bytes));
        separator = ", ";
    }
    printf("; %s bytes in all\n", ggs_format_count(number, report->model->size));
}

static int print_sums(const struct sums * sums, const struct gguf_report * report, struct ggs_error * error) {
    int status = 0;
    if (sums->all.tensors > 0) {
        status = print_totals("component", &sums->components, &sums->all, report, error);
        if (status == 0) status = print_totals("layer", &sums->layers, &sums->all, report, error);
    }
    if (status < 0) return status;
    print_account(report);
    print_notes(report);
    return 0;
}

int gguf_text_totals(const struct gguf_report * report, enum gguf_totals which, struct ggs_error * error) {
    struct sums sums = {0};
    collect(&sums, report);
    int status = 0;
    if (sums.components.failed || sums.layers.failed || sums.types.failed) {
        status = ggs_fail_memory(error);
    } else if (which == GGUF_TOTALS_MIX) {
        print_mix(&sums);
    } else {
        status = print_sums(&sums, report, error);
    }
    free(sums.components.lines);
    free(sums.layers.lines);
    free(sums.types.lines);
    return status;
}
