// A plot of bytes read per token over memory, in characters.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/walk/words.h"
#include "base/number.h"
#include "cli/paging/cmd-paging.h"

enum { ROWS = 12, MARGIN = 12, MOST_COLUMNS = 200 };

// By row from the top, then column: an index into the marks, 0 for empty.
struct canvas {
    unsigned char cell[ROWS][MOST_COLUMNS];
    unsigned      columns;
    uint64_t      most_memory, most_read;
    uint64_t      least_read; // logarithmic scale: second row from the bottom; 0: linear
};

enum mark { BLANK, CURVE, LINUX, PIN_HOT, OPT, STREAM, SEVERAL };

static bool is_utf8(void) {
    static const char * const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char * value = getenv(variables[i]);
        if (value == NULL || value[0] == '\0') continue;
        return strcasestr(value, "utf-8") != NULL || strcasestr(value, "utf8") != NULL;
    }
    return false;
}

// Returns the row of an amount, from the top; ROWS or more if there is none.
static uint64_t row_of(const struct canvas * canvas, uint64_t read) {
    if (canvas->least_read == 0) return ROWS - 1 - (read * (ROWS - 1) + canvas->most_read / 2) / canvas->most_read;
    if (read < canvas->least_read) return ROWS - 1;
    double share = log((double) read / (double) canvas->least_read) /
                   log((double) canvas->most_read / (double) canvas->least_read);
    return (uint64_t) lround((1 - share) * (ROWS - 2));
}

static uint64_t amount_at(const struct canvas * canvas, unsigned row) {
    if (canvas->least_read == 0) return canvas->most_read * (ROWS - 1 - row) / (ROWS - 1);
    double share = 1 - row / (double) (ROWS - 2);
    return row == ROWS - 1 ? 0
                           : (uint64_t) ((double) canvas->least_read *
                                         pow((double) canvas->most_read / (double) canvas->least_read, share));
}

static void put(struct canvas * canvas, uint64_t memory, uint64_t read, enum mark mark) {
    uint64_t column = memory * (canvas->columns - 1) / canvas->most_memory, row = row_of(canvas, read);
    if (column >= canvas->columns || row >= ROWS) return;
    unsigned char * cell = &canvas->cell[row][column];
    *cell                = *cell == BLANK || *cell == CURVE ? mark : SEVERAL;
}

static void measure(struct canvas * canvas, const struct paging_report * report) {
    const struct ggs_paging * p = report->paging;
    canvas->most_memory         = p->budget[p->n_budgets - 1].memory;
    canvas->most_read           = ggs_paging_demand(p);
    for (unsigned k = 0; k < p->n_budgets; k++) {
        for (unsigned i = 0; i < GGS_PAGING_POLICIES; i++) {
            uint64_t read = ggs_paging_per_token(p, &p->budget[k].cost[i]);
            if (report->options->policies[i] && read > canvas->most_read) canvas->most_read = read;
        }
    }
    if (canvas->most_read == 0) canvas->most_read = 1;
    // A policy that reads many times the demand would squeeze all others onto the lowest row.
    uint64_t demand = ggs_paging_demand(p);
    if (demand >= 64 && canvas->most_read / demand >= 4) canvas->least_read = demand / 64;
}

static void draw(struct canvas * canvas, const struct paging_report * report) {
    static const enum mark    marks[] = {CURVE, LINUX, PIN_HOT, OPT, STREAM};
    const struct ggs_paging * p       = report->paging;
    for (unsigned c = 0; report->options->policies[GGS_PAGING_LRU] && c < canvas->columns; c++) {
        uint64_t               memory = canvas->most_memory / (canvas->columns - 1) * c;
        struct ggs_paging_cost cost   = ggs_paging_lru_cost(&p->lru, memory);
        uint64_t               row    = row_of(canvas, ggs_paging_per_token(p, &cost));
        if (row < ROWS) canvas->cell[row][c] = CURVE;
    }
    for (unsigned k = 0; k < p->n_budgets; k++) {
        for (unsigned i = GGS_PAGING_LINUX; i < GGS_PAGING_POLICIES; i++) {
            if (report->options->policies[i])
                put(canvas, p->budget[k].memory, ggs_paging_per_token(p, &p->budget[k].cost[i]), marks[i]);
        }
    }
}

static void print_axis(const struct canvas * canvas, bool utf8) {
    char a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH];
    printf("%*s %s", MARGIN - 2, "", utf8 ? "└" : "+");
    for (unsigned i = 0; i < canvas->columns; i++) fputs(utf8 ? "─" : "-", stdout);
    ggs_format_bytes(a, canvas->most_memory / 2);
    ggs_format_bytes(b, canvas->most_memory);
    int half = (int) canvas->columns / 2 + (int) strlen(a) / 2, rest = (int) canvas->columns - half;
    printf("\n%*s0%*s%*s\n", MARGIN, "", half - 1, a, rest, b);
}

static void print_legend(const struct paging_report * report, bool utf8) {
    static const char * const letters[] = {".", "L", "p", "o", "s"};
    printf("%*s", MARGIN, "");
    for (unsigned i = 0; i < GGS_PAGING_POLICIES; i++) {
        if (report->options->policies[i])
            printf("%s %s   ", utf8 && i == GGS_PAGING_LRU ? "·" : letters[i], ggs_paging_policy_names[i]);
    }
    puts("* several");
}

void paging_plot(const struct paging_report * report, unsigned width) {
    static const char * const ascii[]   = {" ", ".", "L", "p", "o", "s", "*"};
    static const char * const unicode[] = {" ", "·", "L", "p", "o", "s", "*"};
    bool                      utf8      = is_utf8();
    struct canvas             canvas    = {.columns = width < MARGIN + 20 ? 20 : width - MARGIN};
    char                      a[GGS_NUMBER_LENGTH];
    if (canvas.columns > MOST_COLUMNS) canvas.columns = MOST_COLUMNS;
    measure(&canvas, report);
    draw(&canvas, report);
    printf("\nread per %s, against memory%s:\n", ggs_word_step(report->trace),
           canvas.least_read > 0 ? " (logarithmic)" : "");
    for (unsigned row = 0; row < ROWS; row++) {
        bool     labelled = row == 0 || row == ROWS / 2 || row == ROWS - 1;
        uint64_t value    = amount_at(&canvas, row);
        unsigned end      = canvas.columns;
        while (end > 0 && canvas.cell[row][end - 1] == BLANK) end--;
        printf("%*s %s", MARGIN - 2, labelled ? ggs_format_bytes(a, value) : "", utf8 ? "│" : "|");
        for (unsigned c = 0; c < end; c++) fputs((utf8 ? unicode : ascii)[canvas.cell[row][c]], stdout);
        putchar('\n');
    }
    print_axis(&canvas, utf8);
    print_legend(report, utf8);
}
