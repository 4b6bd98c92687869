// Knobs that every program has, and the values that a search may give them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/explain/findings.h"

enum { WHOLE = 512, MOST_UBATCH = 2048 };

static struct ggs_explain_knob * add(struct ggs_explanation * explanation, enum ggs_knob knob,
                                     enum ggs_reason_part part) {
    if (explanation->n_knobs == GGS_EXPLAIN_KNOBS) return NULL;
    struct ggs_explain_knob * it = &explanation->knob[explanation->n_knobs++];
    *it                          = (struct ggs_explain_knob){.knob = knob, .part = part};
    return it;
}

void ggs_explain_knob_add(struct ggs_explain_knob * knob, const char * value) {
    unsigned long number = strtoul(value, NULL, 10);
    unsigned      at     = 0;
    while (at < knob->n && strcmp(knob->value[at], value) != 0 &&
           !(knob->ordered && strtoul(knob->value[at], NULL, 10) > number))
        at++;
    if (knob->n == GGS_EXPLAIN_VALUES || (at < knob->n && strcmp(knob->value[at], value) == 0)) return;
    memmove(&knob->value[at + 1], &knob->value[at], (knob->n - at) * sizeof(knob->value[0]));
    snprintf(knob->value[at], sizeof(knob->value[at]), "%s", value);
    knob->start += knob->n > 0 && at <= knob->start;
    knob->n++;
}

static void add_number(struct ggs_explain_knob * knob, uint64_t value) {
    char text[24];
    snprintf(text, sizeof(text), "%llu", (unsigned long long) value);
    ggs_explain_knob_add(knob, text);
}

// The first value is that of the program.
static void add_threads(struct ggs_explanation * explanation, const struct ggs_explain_facts * f) {
    uint64_t cpus = ggs_explain_facts_cpus(f), busy = f->prompt.busy_ns + f->generate.busy_ns;
    uint64_t wall = f->prompt.wall_ns + f->generate.wall_ns;
    if (f->threads == 0 || cpus < 2 || f->devices > 0) return;
    struct ggs_explain_knob * knob = add(explanation, GGS_KNOB_THREADS, GGS_PART_TOKENS);
    if (knob == NULL) return;
    knob->ordered = true;
    add_number(knob, f->threads);
    for (uint64_t n = 1; n < cpus; n *= 2) add_number(knob, n);
    add_number(knob, cpus);
    double idle  = f->threads < cpus ? 1 - (double) f->threads / (double) cpus : 0;
    double waits = busy + f->wait_ns > 0 ? (double) f->wait_ns / (double) (busy + f->wait_ns) : 0;
    double most  = idle > waits ? idle : waits;
    // Threads that wait for memory count as busy, so the waits that are seen are too small.
    knob->gain_ns = (uint64_t) ((double) wall * (most < 0.1 ? 0.1 : most));
}

// A ubatch above the tokens of a decode is the same as one that holds them all.
static void add_ubatch(struct ggs_explanation * explanation, const struct ggs_explain_facts * f) {
    const char * given = ggs_invocation_value(&f->program, GGS_KNOB_UBATCH);
    uint64_t     start = given == NULL ? WHOLE : strtoul(given, NULL, 10), whole = WHOLE;
    uint64_t     each = f->prompt.decodes > 0 ? f->prompt.tokens / f->prompt.decodes : 0;
    if (start == 0 || each < 2 || f->devices > 0) return;
    struct ggs_explain_knob * knob = add(explanation, GGS_KNOB_UBATCH, GGS_PART_PROMPT);
    if (knob == NULL) return;
    while (whole < each && whole < MOST_UBATCH) whole *= 2;
    knob->ordered = true;
    add_number(knob, start);
    for (uint64_t n = 32; n < each && n < whole; n *= 2) add_number(knob, n);
    if (start < each) add_number(knob, whole);
    uint64_t pieces = (each + start - 1) / start;
    knob->gain_ns   = pieces < 2 ? 0 : (uint64_t) ((double) f->prompt.ns * (1 - 1.0 / (double) pieces) * 2 / 3);
}

static void add_flash(struct ggs_explanation * explanation, const struct ggs_explain_facts * f) {
    bool     numbers = f->program.kind == GGS_PROGRAM_BENCH;
    uint64_t flash = f->prompt.flash_ns + f->generate.flash_ns, softmax = f->prompt.softmax_ns + f->generate.softmax_ns;
    if ((flash == 0) == (softmax == 0) || f->devices > 0) return;
    struct ggs_explain_knob * knob = add(explanation, GGS_KNOB_FLASH_ATTENTION, GGS_PART_TOKENS);
    if (knob == NULL) return;
    ggs_explain_knob_add(knob, flash > 0 ? (numbers ? "1" : "on") : (numbers ? "0" : "off"));
    ggs_explain_knob_add(knob, flash > 0 ? (numbers ? "0" : "off") : (numbers ? "1" : "on"));
    knob->gain_ns = (f->prompt.attention_ns + f->generate.attention_ns) / 2;
}

static void add_repack(struct ggs_explanation * explanation, const struct ggs_explain_facts * f) {
    if (ggs_invocation_value(&f->program, GGS_KNOB_REPACK) == NULL || f->devices > 0) return;
    struct ggs_explain_knob * knob = add(explanation, GGS_KNOB_REPACK, GGS_PART_TOKENS);
    if (knob == NULL) return;
    ggs_explain_knob_add(knob, "no");
    ggs_explain_knob_add(knob, "");
    knob->gain_ns = f->prompt.wall_ns / 10 * 7;
}

void ggs_explain_knobs(struct ggs_explanation * explanation, const struct ggs_explain_facts * facts) {
    add_threads(explanation, facts);
    add_ubatch(explanation, facts);
    add_flash(explanation, facts);
    add_repack(explanation, facts);
}
