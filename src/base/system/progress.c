#include "base/system/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "base/system/clock.h"
#include "base/system/terminal.h"

void ggs_progress_start(struct ggs_progress * progress, const char * label, uint64_t total) {
    *progress         = (struct ggs_progress){.label = label, .total = total};
    const char * term = getenv("TERM");
    progress->active  = isatty(STDERR_FILENO) == 1 && term != NULL && strcmp(term, "dumb") != 0;
    if (progress->active) progress->started_ns = ggs_clock_now();
}

void ggs_progress_update(struct ggs_progress * progress, uint64_t done) {
    if (!progress->active || progress->total == 0) return;
    uint64_t now = ggs_clock_now();
    if (now - progress->drawn_ns < 100000000u) return;
    progress->drawn_ns = now;

    double   fraction = done >= progress->total ? 1 : (double) done / (double) progress->total;
    uint64_t elapsed  = now - progress->started_ns;
    char     bar[3 * 24 + 1];
    char     left[GGS_NUMBER_LENGTH] = "";
    ggs_terminal_bar(bar, sizeof(bar), 24, fraction);
    if (fraction > 0.02 && elapsed > 500000000u) {
        ggs_format_nanoseconds(left, (uint64_t) ((double) elapsed * (1 - fraction) / fraction));
    }
    fprintf(stderr, "\r\x1b[K%s %s %3.0f %%%s%s", progress->label, bar, 100 * fraction,
            left[0] == '\0' ? "" : ", left ", left);
}

void ggs_progress_finish(struct ggs_progress * progress) {
    if (progress->active && progress->drawn_ns != 0) fputs("\r\x1b[K", stderr);
    progress->active = false;
}
