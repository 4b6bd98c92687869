// Text output of ggscope paging: at most 80 columns, readable without colour.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/walk/words.h"
#include "base/number.h"
#include "base/system/terminal.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/paging/cmd-paging.h"
#include "gguf/gguf-name.h"
#include "gguf/gguf-slice.h"

enum { WIDTH = 80 };

static const char * const readahead_words[] = {[GGS_READAHEAD_GIVEN]   = "as given",
                                               [GGS_READAHEAD_OF_DISK] = "as the model's disk is set here",
                                               [GGS_READAHEAD_USUAL]   = "the usual setting"};

static void print_summary(const struct paging_report * report) {
    const struct ggs_paging * p = report->paging;
    char                      a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH];
    bool                      prompt = ggs_paging_class(p) == GGS_READ_PROMPT;
    uint64_t                  steps  = p->facts.steps[ggs_paging_class(p)];
    printf("model     %s of %s are read by ops from mapped files\n", ggs_format_bytes(a, p->touched_bytes),
           ggs_format_bytes(b, p->model_bytes));
    if (report->trace->tokenless)
        printf("graph run reads %s, mean of %" PRIu64 "\n", ggs_format_bytes(a, ggs_paging_demand(p)), steps);
    else
        printf("token     reads %s, mean of %" PRIu64 " %s step%s\n", ggs_format_bytes(a, ggs_paging_demand(p)), steps,
               prompt ? "prompt" : "generating", steps == 1 ? "" : "s");
    printf("cache     pages of %s; %s\n", ggs_format_bytes(a, p->page),
           p->cold ? "empty at first" : "at first what reading the files once leaves in it");
    if (report->options->policies[GGS_PAGING_LINUX])
        printf("readahead %s, %s; the engine doubles it\n", ggs_format_bytes(a, p->readahead),
               readahead_words[p->readahead_from]);
    if (p->facts.copied > 0)
        puts("copied    weights were copied into memory at load: this is what paging would\n"
             "          cost if they were mapped");
    if (p->facts.stray.n > 0)
        printf("missing   %s weights (%s) whose origin was not seen\n", ggs_format_count(a, p->facts.stray.n),
               ggs_format_bytes((char[GGS_NUMBER_LENGTH]){0}, p->facts.stray.bytes));
    if (p->facts.unknown > 0)
        printf("unknown   %s ops whose rows or experts were not recorded count whole\n",
               ggs_format_count(a, p->facts.unknown));
}

static void print_costs(const struct paging_report * report) {
    const struct ggs_paging * p = report->paging;
    char                      a[GGS_NUMBER_LENGTH];
    struct ggs_table *        table = ggs_table_new();
    ggs_table_columns(table, ">memory|>of touched");
    for (unsigned i = 0; i < GGS_PAGING_POLICIES; i++) {
        if (report->options->policies[i]) ggs_table_column(table, ggs_paging_policy_names[i], GGS_RIGHT);
        if (report->options->policies[i] && i == GGS_PAGING_LINUX) ggs_table_column(table, "range", GGS_LEFT);
    }
    for (unsigned k = 0; k < p->n_budgets; k++) {
        const struct ggs_paging_budget * budget = &p->budget[k];
        ggs_table_cell(table, "%s", ggs_format_bytes(a, budget->memory));
        ggs_table_cell(table, "%.0f %%", 100.0 * (double) budget->memory / (double) p->touched_bytes);
        for (unsigned i = 0; i < GGS_PAGING_POLICIES; i++) {
            if (!report->options->policies[i]) continue;
            if (i == GGS_PAGING_LINUX && !budget->linux_known) {
                ggs_table_cell(table, "not known");
                ggs_table_cell(table, "-");
                continue;
            }
            ggs_table_cell(table, "%s", ggs_format_bytes(a, ggs_paging_per_token(p, &budget->cost[i])));
            if (i != GGS_PAGING_LINUX) continue;
            const double mib = 1 << 20;
            ggs_table_cell(table, "%.0f-%.0f", (double) ggs_paging_share(p, budget->linux_least) / mib,
                           (double) ggs_paging_share(p, budget->linux_most) / mib);
        }
    }
    printf("\nread from the disk per %s:\n", ggs_word_step(report->trace));
    ggs_table_end(table, stdout, 0);
}

// ---- findings ----

// The memory at which the least-recently-used cache reads less than half of its reads without
// memory.
static uint64_t half_point(const struct ggs_paging * p) {
    enum ggs_read_class class_ = ggs_paging_class(p);
    uint64_t            missed = p->lru.all[class_];
    for (uint64_t i = 0; i < p->lru.n; i++) {
        missed -= p->lru.distances[i].count[class_];
        if (2 * missed < p->lru.all[class_]) return p->lru.distances[i].pages * p->page;
    }
    return 0;
}

static void print_scan(const struct paging_report * report) {
    const struct ggs_paging * p = report->paging;
    char                      a[GGS_NUMBER_LENGTH];
    uint64_t                  demand = ggs_paging_demand(p), half = half_point(p);
    struct ggs_paging_cost    below = ggs_paging_lru_cost(&p->lru, demand / 10 * 9);
    if (half == 0 || demand < p->touched_bytes / 10 * 9 || ggs_paging_per_token(p, &below) < demand / 10 * 9) return;
    printf("\nscan      every %s reads nearly the same bytes in the same order: with\n"
           "          less than %s, least recently used is exactly what is needed next\n",
           ggs_word_step(report->trace), ggs_format_bytes(a, half));
}

static void print_waste(const struct paging_report * report) {
    const struct ggs_paging *        p      = report->paging;
    uint64_t                         demand = ggs_paging_demand(p), most = 0;
    const struct ggs_paging_budget * worst = NULL;
    char                             a[GGS_NUMBER_LENGTH];
    for (unsigned i = 0; report->options->policies[GGS_PAGING_LINUX] && i < p->n_budgets; i++) {
        uint64_t read = ggs_paging_per_token(p, &p->budget[i].cost[GGS_PAGING_LINUX]);
        if (read > most) most = read, worst = &p->budget[i];
    }
    if (worst == NULL || demand == 0 || most < demand + demand / 4) return;
    printf("\nwaste     with %s Linux reads %.1f times what ops ask for:\n"
           "          its readahead brings in what no op reads\n",
           ggs_format_bytes(a, worst->memory), (double) most / (double) demand);
}

// ---- pins ----

struct component {
    const char * name;
    size_t       length;
    uint64_t     n, bytes;
};

enum { COMPONENTS = 32 };

static void count_component(struct component * components, unsigned * n, const struct ggs_paging_weight * weight) {
    struct ggs_name parsed = ggs_name_parse(weight->name, strlen(weight->name));
    unsigned        i      = 0;
    while (i < *n && (components[i].length != parsed.component_length ||
                      memcmp(components[i].name, parsed.component, parsed.component_length) != 0))
        i++;
    if (i == COMPONENTS) return;
    if (i == *n) components[(*n)++] = (struct component){parsed.component, parsed.component_length, 0, 0};
    components[i].n++;
    components[i].bytes += weight->size;
    for (; i > 0 && components[i].bytes > components[i - 1].bytes; i--) { // most bytes first
        struct component swap = components[i];
        components[i] = components[i - 1], components[i - 1] = swap;
    }
}

static void put_components(struct ggs_text * line, const struct component * components, unsigned n) {
    static const char more[] = ", ...";
    for (unsigned i = 0; i < n; i++) {
        char part[80], name[64];
        ggs_printable(name, sizeof(name), components[i].name, components[i].length);
        int length = snprintf(part, sizeof(part), "%s %s %" PRIu64, i == 0 ? ":" : ",", name, components[i].n);
        if (line->length + (size_t) length + (i + 1 < n ? sizeof(more) : 0) > WIDTH) {
            ggs_text_puts(line, i == 0 ? "" : more);
            return;
        }
        ggs_text_puts(line, part);
    }
}

static void print_pins(const struct paging_report * report) {
    const struct ggs_paging * p = report->paging;
    char                      a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH];
    if (!report->options->policies[GGS_PAGING_PIN_HOT]) return;
    puts("\nbest to pin (--suggest has lines to paste):");
    for (unsigned k = 0; k < p->n_budgets; k++) {
        const struct ggs_paging_pins * pins = &p->budget[k].pins;
        struct component               components[COMPONENTS];
        unsigned                       n = 0;
        for (uint64_t i = 0; i < pins->n; i++) count_component(components, &n, &p->weights.weight[pins->weight[i]]);
        struct ggs_text line = {0};
        ggs_text_printf(&line, "%10s  %4" PRIu64 " weight%s %10s", ggs_format_bytes(a, p->budget[k].memory), pins->n,
                        pins->n == 1 ? ", " : "s,", ggs_format_bytes(b, pins->bytes));
        put_components(&line, components, n);
        puts(ggs_text_string(&line));
        ggs_text_release(&line);
    }
}

int paging_text(const struct paging_report * report) {
    unsigned width = ggs_terminal_width(stdout);
    print_summary(report);
    paging_plot(report, width < WIDTH ? width : WIDTH);
    print_costs(report);
    print_scan(report);
    print_waste(report);
    print_pins(report);
    return ferror(stdout) ? -1 : 0;
}
