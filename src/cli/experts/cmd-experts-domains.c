// Experts by domain as text.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/system/file.h"
#include "base/system/terminal.h"
#include "base/table.h"
#include "cli/experts/cmd-experts.h"

static char label(unsigned domain) {
    return (char) ('A' + domain);
}

static void real_cell(struct ggs_table * table, double value, const char * format) {
    char text[32];
    snprintf(text, sizeof(text), format, value);
    ggs_table_cell(table, "%s", isnan(value) ? "-" : text);
}

static double overlap_of(const struct ggs_domains * domains, unsigned a, unsigned b) {
    for (unsigned i = 0; i < domains->n_pairs; i++) {
        const struct ggs_domains_pair * pair = &domains->pairs[i];
        if ((pair->a == a && pair->b == b) || (pair->a == b && pair->b == a)) return pair->overlap;
    }
    return 1;
}

// A row per domain: its figures, and its overlap with the others.
static void print_domains(const struct ggs_domains * domains, char * const * paths) {
    char               number[GGS_NUMBER_LENGTH];
    struct ggs_table * table = ggs_table_new();
    ggs_table_columns(table, "|domain|>tokens|>entropy|>specialists");
    for (unsigned d = 0; d < domains->n; d++) {
        char title[16];
        snprintf(title, sizeof(title), "with %c", label(d));
        ggs_table_column(table, title, GGS_RIGHT);
    }
    for (unsigned d = 0; d < domains->n; d++) {
        ggs_table_cell(table, "%c", label(d));
        ggs_table_cell(table, "%s", ggs_file_name(paths[d]));
        ggs_table_cell(table, "%s", ggs_format_count(number, domains->tokens[d]));
        real_cell(table, domains->entropy[d], "%.2f");
        ggs_table_cell(table, "%s", ggs_format_count(number, domains->specialists[d]));
        for (unsigned other = 0; other < domains->n; other++)
            real_cell(table, 100 * overlap_of(domains, d, other), "%.0f %%");
    }
    ggs_table_end(table, stdout, ggs_terminal_limit(stdout));
}

static void print_layers(const struct ggs_domains * domains) {
    struct ggs_table * table = ggs_table_new();
    ggs_table_columns(table, ">layer|>experts");
    for (unsigned d = 0; d < domains->n; d++) {
        char title[16];
        snprintf(title, sizeof(title), "entropy %c", label(d));
        ggs_table_column(table, title, GGS_RIGHT);
    }
    ggs_table_columns(table, ">overlap|>specialists");
    for (uint64_t i = 0; i < domains->n_layers; i++) {
        const struct ggs_domains_layer * layer = &domains->layers[i];
        ggs_table_cell(table, "%d", layer->layer);
        ggs_table_cell(table, "%" PRIu64, layer->experts);
        for (unsigned d = 0; d < domains->n; d++) real_cell(table, layer->entropy[d], "%.2f");
        real_cell(table, 100 * layer->overlap, "%.0f %%");
        ggs_table_cell(table, "%" PRIu64, layer->specialists);
    }
    putchar('\n');
    ggs_table_end(table, stdout, ggs_terminal_limit(stdout));
}

// Domain x expert: a row per layer and domain, a character per expert or per several neighbours.
static void print_matrix(const struct ggs_domains * domains) {
    static const char * const shades[] = {"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    uint64_t                  experts = 1, width = ggs_terminal_width(stdout);
    double                    most = 0;
    for (uint64_t i = 0; i < domains->n_layers; i++) {
        if (domains->layers[i].experts > experts) experts = domains->layers[i].experts;
    }
    uint64_t room = width > 24 ? width - 10 : 16, step = (experts + room - 1) / room;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1) {
            printf("\nshare of a layer's choices that falls on each expert");
            if (step > 1) printf(" (%" PRIu64 " to a column)", step);
            printf(": · none, █ %.1f %%\n  layer   expert 0 to %" PRIu64 "\n", 100 * most, experts - 1);
        }
        for (uint64_t i = 0; i < domains->n_layers; i++) {
            const struct ggs_domains_layer * layer = &domains->layers[i];
            for (unsigned d = 0; d < domains->n; d++) {
                if (pass == 1 && d == 0) printf("%7d %c ", layer->layer, label(d));
                if (pass == 1 && d > 0) printf("%9c ", label(d));
                for (uint64_t x = 0; x < layer->experts; x += step) {
                    double sum = 0;
                    for (uint64_t k = x; k < x + step && k < layer->experts; k++)
                        sum += layer->shares[d * layer->experts + k];
                    if (pass == 0) most = fmax(most, sum);
                    if (pass == 1) fputs(shades[most == 0 ? 0 : (int) ceil(8 * sum / most - 1e-9)], stdout);
                }
                if (pass == 1) putchar('\n');
            }
        }
    }
}

static void print_specialists(const struct ggs_domains * domains) {
    enum { SHOWN = 10 };
    struct ggs_table * table = ggs_table_new();
    ggs_table_columns(table, "specialist of|>layer|>expert|>share|>in any other");
    for (uint64_t i = 0; i < domains->n_list && i < SHOWN; i++) {
        const struct ggs_specialist * s = &domains->list[i];
        ggs_table_cell(table, "%c", label(s->domain));
        ggs_table_cell(table, "%d", s->layer);
        ggs_table_cell(table, "%" PRIu64, s->expert);
        real_cell(table, 100 * s->share, "%.1f %%");
        real_cell(table, 100 * s->next, "%.1f %%");
    }
    if (domains->n_list > 0) {
        putchar('\n');
        ggs_table_print(table, stdout, ggs_terminal_limit(stdout));
        if (domains->n_list > SHOWN) printf("and %" PRIu64 " more: see --json\n", domains->n_list - SHOWN);
    }
    ggs_table_free(table);
}

void ggs_experts_domains_text(const struct ggs_domains * domains, char * const * paths) {
    print_domains(domains, paths);
    print_layers(domains);
    print_specialists(domains);
    print_matrix(domains);
}
