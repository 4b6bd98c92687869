#include "analyze/explain/explain.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/explain/facts.h"
#include "analyze/explain/findings.h"
#include "base/error.h"
#include "base/number.h"

const char * ggs_reason_part_name(uint64_t part) {
    static const char * const names[] = {"load", "prompt", "generation", "tokens", "memory"};
    return part < GGS_PARTS ? names[part] : "";
}

// ---- helpers of findings ----

#define FILL(name_, member_)                                                     \
    void ggs_reason_##name_(struct ggs_reason * out, const char * format, ...) { \
        va_list arguments;                                                       \
        va_start(arguments, format);                                             \
        vsnprintf(out->member_, sizeof(out->member_), format, arguments);        \
        va_end(arguments);                                                       \
    }
FILL(title, title)
FILL(evidence, evidence)
FILL(advise, advice)

void ggs_reason_set(struct ggs_reason * out, enum ggs_knob knob, const char * value) {
    for (unsigned i = 0; i < sizeof(out->settings) / sizeof(out->settings[0]); i++) {
        if (out->settings[i].knob != GGS_KNOB_NONE) continue;
        out->settings[i].knob = knob;
        snprintf(out->settings[i].value, sizeof(out->settings[i].value), "%s", value);
        return;
    }
}

void ggs_reason_set_number(struct ggs_reason * out, enum ggs_knob knob, uint64_t value) {
    char text[24];
    snprintf(text, sizeof(text), "%llu", (unsigned long long) value);
    ggs_reason_set(out, knob, text);
}

// ---- common to all ----

enum { SETTINGS = sizeof(((struct ggs_reason *) 0)->settings) / sizeof(struct ggs_knob_setting) };

static char * text_end(struct ggs_text * text) {
    char * result = text->failed || text->length == 0 ? NULL : strdup(text->data);
    ggs_text_release(text);
    return result;
}

static char * remedy_of(const struct ggs_invocation * program, const struct ggs_reason * finding) {
    struct ggs_text text = {0};
    for (unsigned i = 0; i < SETTINGS && finding->settings[i].knob != GGS_KNOB_NONE; i++) {
        if (text.length > 0) ggs_text_putc(&text, ' ');
        ggs_invocation_say(program, &finding->settings[i], &text);
    }
    if (finding->advice[0] != '\0') ggs_text_printf(&text, "%s%s", text.length > 0 ? "; " : "", finding->advice);
    return text_end(&text);
}

static char * verify_of(const struct ggs_explain_facts * facts, const struct ggs_reason * finding) {
    const struct ggs_invocation * program = &facts->program;
    struct ggs_text               text = {0}, old = {0};
    if (program->n == 0 || finding->condition) return NULL;
    ggs_invocation_command(program, NULL, 0, &old);
    if (finding->settings[0].knob == GGS_KNOB_NONE) {
        if (finding->measure != NULL) ggs_text_printf(&text, "%s -- %s", finding->measure, ggs_text_string(&old));
        ggs_text_release(&old);
        return text_end(&text);
    }
    ggs_text_puts(&text, "ggscope bench -b ");
    ggs_invocation_quote(&text, ggs_text_string(&old));
    ggs_text_puts(&text, " -- ");
    if (ggs_invocation_takes(program, finding->settings, SETTINGS))
        ggs_invocation_command(program, finding->settings, SETTINGS, &text);
    else
        ggs_text_printf(&text, "%s   (a copy with the change)", ggs_text_string(&old));
    ggs_text_release(&old);
    return text_end(&text);
}

// Conditions come first, time gains next by size, memory last.
static int by_gain(const void * a, const void * b) {
    const struct ggs_reason *x = a, *y = b;
    if (x->condition != y->condition) return x->condition ? -1 : 1;
    if (x->gain_ns != y->gain_ns) return x->gain_ns > y->gain_ns ? -1 : 1;
    return x->gain_bytes > y->gain_bytes ? -1 : x->gain_bytes < y->gain_bytes;
}

typedef bool (*finder)(const struct ggs_explain_facts * f, struct ggs_reason * out);

static const struct {
    const char * name;
    finder       find;
} findings[] = {
#define ROW(name_, function_) {name_, ggs_find_##function_},
    GGS_REASONS(ROW)
#undef ROW
};

void ggs_reasons_apply(struct ggs_explanation * explanation, const struct ggs_explain_facts * facts) {
    for (unsigned i = 0; i < GGS_PARTS; i++)
        explanation->part_ns[i] = ggs_explain_facts_part_ns(facts, (enum ggs_reason_part) i);
    for (size_t i = 0; i < sizeof(findings) / sizeof(findings[0]) && explanation->n < GGS_REASONS_MOST; i++) {
        struct ggs_reason * out = &explanation->finding[explanation->n];
        *out                    = (struct ggs_reason){.name = findings[i].name, .figure = NAN, .figure_of = ""};
        if (!findings[i].find(facts, out)) continue;
        uint64_t part = explanation->part_ns[out->part];
        if (out->gain_ns > part) out->gain_ns = part;
        out->gain = part > 0 ? (double) out->gain_ns / (double) part : 0;
        if (!out->condition && out->gain_bytes == 0 && out->gain < GGS_REASON_LEAST) continue;
        explanation->distorted |= out->condition;
        explanation->n++;
    }
    qsort(explanation->finding, explanation->n, sizeof(explanation->finding[0]), by_gain);
    for (unsigned i = 0; i < explanation->n; i++) {
        explanation->finding[i].remedy = remedy_of(&facts->program, &explanation->finding[i]);
        explanation->finding[i].verify = verify_of(facts, &explanation->finding[i]);
    }
}

// ---- the rest ----

static void explain_rest(struct ggs_explanation * explanation, const struct ggs_explain_facts * f) {
    const struct ggs_phase_facts * g          = &f->generate;
    double                         gigabytes  = g->wall_ns > 0 ? (double) g->read / (double) g->wall_ns : 0;
    bool                           none       = explanation->n == 0;
    char                           bound[192] = "";
    if (g->steps > 0 && f->devices == 0 && f->rates.memory_bytes_per_second > 0)
        snprintf(bound, sizeof(bound),
                 "memory-bound at %.0f %% of this machine's bandwidth; fewer bytes (smaller quantization, fewer active "
                 "experts) are what is left",
                 100 * gigabytes * 1e9 / (double) f->rates.memory_bytes_per_second);
    else if (g->steps > 0 && f->devices == 0)
        snprintf(bound, sizeof(bound), "tokens read %.1f GB/s; ggscope doctor --bandwidth tells what this machine can",
                 gigabytes);
    snprintf(explanation->rest, sizeof(explanation->rest), "%s%s%s",
             none ? "nothing stands out" : "nothing else costs more than 5 %", none && bound[0] != '\0' ? ": " : "",
             none ? bound : "");
}

int ggs_explain_compute(struct ggs_explanation * explanation, struct ggs_trace * trace,
                        const struct ggs_totals * totals, struct ggs_error * error) {
    struct ggs_explain_facts facts;
    *explanation = (struct ggs_explanation){0};
    int status   = ggs_explain_facts_gather(&facts, trace, totals, error);
    if (status < 0) return status;
    ggs_reasons_apply(explanation, &facts);
    explain_rest(explanation, &facts);
    explanation->program = facts.program;
    facts.program        = (struct ggs_invocation){0};
    ggs_explain_facts_release(&facts);
    return 0;
}

void ggs_explanation_release(struct ggs_explanation * explanation) {
    for (unsigned i = 0; i < explanation->n; i++) {
        free(explanation->finding[i].remedy);
        free(explanation->finding[i].verify);
    }
    ggs_invocation_release(&explanation->program);
    *explanation = (struct ggs_explanation){0};
}

double ggs_explanation_most(const struct ggs_explanation * explanation) {
    double most = 0;
    for (unsigned i = 0; i < explanation->n; i++)
        if (explanation->finding[i].gain > most) most = explanation->finding[i].gain;
    return most;
}
