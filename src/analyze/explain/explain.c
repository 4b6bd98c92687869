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
#include "base/secrets.h"

const char * ggs_reason_part_name(uint64_t part) {
    static const char * const names[] = {"load", "prompt", "generation", "tokens", "graphs", "memory"};
    return part < GGS_PARTS ? names[part] : "";
}

char * ggs_reason_gain(char text[64], const struct ggs_reason * reason) {
    static const char * const of[GGS_PARTS] = {"the load",       "the prompt",     "generating",
                                               "the token time", "the graph runs", "memory"};
    char                      bytes[GGS_NUMBER_LENGTH];
    if (reason->part == GGS_PART_MEMORY)
        snprintf(text, 64, "saves %s", ggs_format_bytes(bytes, reason->gain_bytes));
    else if (reason->unseen)
        snprintf(text, 64, "%s is not seen", of[reason->part]);
    else if (reason->gain_ns == 0)
        snprintf(text, 64, "gain not known");
    else if (reason->gain < 0.005)
        snprintf(text, 64, "less than 1 %% of %s", of[reason->part]);
    else
        snprintf(text, 64, "up to %.0f %% of %s", 100 * reason->gain, of[reason->part]);
    return text;
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

const char * ggs_reason_words(char text[96], const struct ggs_explain_facts * f, enum ggs_knob knob,
                              const char * value) {
    struct ggs_knob_setting setting = {.knob = knob};
    struct ggs_text         words   = {0};
    bool                    lacks   = ggs_reason_is_llama(f) || f->program.kind == GGS_PROGRAM_ENGINE;
    snprintf(setting.value, sizeof(setting.value), "%s", value);
    text[0] = '\0';
    if (lacks && !ggs_invocation_takes(&f->program, &setting, 1)) return text;
    ggs_invocation_say(&f->program, &setting, &words);
    snprintf(text, 96, "%s", ggs_text_string(&words));
    ggs_text_release(&words);
    return text;
}

bool ggs_reason_is_llama(const struct ggs_explain_facts * f) {
    return f->program.kind == GGS_PROGRAM_LLAMA || f->program.kind == GGS_PROGRAM_SERVER ||
           f->program.kind == GGS_PROGRAM_BENCH;
}

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
    if (text->length > 0 && strstr(text->data, GGS_SECRET) != NULL)
        ggs_text_puts(text, "   # with the hidden words put back");
    char * result = text->failed || text->length == 0 ? NULL : strdup(text->data);
    ggs_text_release(text);
    return result;
}

static char * remedy_of(const struct ggs_invocation * program, const struct ggs_reason * finding) {
    struct ggs_text text = {0};
    for (unsigned i = 0; i < SETTINGS && finding->settings[i].knob != GGS_KNOB_NONE; i++) {
        size_t before = text.length;
        if (before > 0) ggs_text_putc(&text, ' ');
        size_t blank = text.length;
        ggs_invocation_say(program, &finding->settings[i], &text);
        if (text.length == blank && before > 0) text.data[text.length = before] = '\0'; // it has no words for that
    }
    if (finding->advice[0] != '\0') ggs_text_printf(&text, "%s%s", text.length > 0 ? "; " : "", finding->advice);
    return text_end(&text);
}

// The program as it is, in turns with the program that has the remedy.
static void write_bench(struct ggs_text * text, const struct ggs_explain_facts * facts,
                        const struct ggs_reason * finding, const char * command) {
    const struct ggs_invocation * program = &facts->program;
    ggs_text_puts(text, "ggscope bench ");
    // As in the recording: otherwise neither side waits for memory or the disk.
    if (facts->conditions.memory_limit > 0)
        ggs_text_printf(text, "--memory %llu ", (unsigned long long) facts->conditions.memory_limit);
    if (facts->conditions.cold) ggs_text_puts(text, "--cold ");
    ggs_text_puts(text, "-b ");
    ggs_invocation_quote(text, command);
    ggs_text_puts(text, " -- ");
    if (ggs_invocation_takes(program, finding->settings, SETTINGS))
        ggs_invocation_command(program, finding->settings, SETTINGS, text);
    else
        ggs_text_printf(text, "%s   # a copy with the change", command);
}

static char * verify_of(const struct ggs_explain_facts * facts, const struct ggs_reason * finding) {
    const struct ggs_invocation * program = &facts->program;
    struct ggs_text               text = {0}, old = {0};
    if (program->n == 0) return NULL;
    ggs_invocation_command(program, NULL, 0, &old);
    const char * command = ggs_text_string(&old);
    bool         option = finding->settings[0].knob != GGS_KNOB_NONE, server = program->kind == GGS_PROGRAM_SERVER;
    // A server does not end by itself: tune sends it requests and ends it.
    if (server && option)
        ggs_text_printf(&text, "ggscope tune --for server -- %s", command);
    else if (!option && (finding->condition || finding->once_more || server))
        ggs_text_printf(&text, "ggscope record -o once-more -- %s && ggscope explain once-more", command);
    else if (!option && finding->measure != NULL)
        ggs_text_printf(&text, "%s -- %s", finding->measure, command);
    else
        write_bench(&text, facts, finding, command);
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
        if (facts->graphs && out->part != GGS_PART_LOAD && out->part != GGS_PART_MEMORY) out->part = GGS_PART_GRAPHS;
        uint64_t part = explanation->part_ns[out->part];
        if (out->gain_ns > part) out->gain_ns = part;
        out->gain   = part > 0 ? (double) out->gain_ns / (double) part : 0;
        out->unseen = part == 0 && out->part != GGS_PART_MEMORY;
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

void ggs_explain_rest(struct ggs_explanation * explanation, const struct ggs_explain_facts * f) {
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
        snprintf(bound, sizeof(bound), "%s read %.1f GB/s; ggscope doctor --bandwidth tells what this machine can",
                 f->graphs ? "graph runs" : "tokens", gigabytes);
    // A truncated recording may end before its first token.
    if (explanation->part_ns[GGS_PART_TOKENS] == 0) {
        snprintf(explanation->rest, sizeof(explanation->rest),
                 "no token is seen from its begin to its end: what costs time in tokens is not known");
        return;
    }
    snprintf(explanation->rest, sizeof(explanation->rest), "%s%s%s",
             none ? "nothing stands out" : "nothing else costs more than 5 %", none && bound[0] != '\0' ? ": " : "",
             none ? bound : "");
    size_t n = strlen(explanation->rest);
    if (f->cores > 0 && f->conditions.others_cpu_share < 0 && f->load >= (double) f->cores)
        snprintf(explanation->rest + n, sizeof(explanation->rest) - n,
                 "; what other programs used is not recorded: the load was %.1f", f->load);
}

int ggs_explain_compute(struct ggs_explanation * explanation, struct ggs_trace * trace,
                        const struct ggs_totals * totals, struct ggs_error * error) {
    struct ggs_explain_facts facts;
    *explanation = (struct ggs_explanation){0};
    int status   = ggs_explain_facts_gather(&facts, trace, totals, error);
    if (status < 0) return status;
    ggs_reasons_apply(explanation, &facts);
    ggs_explain_rest(explanation, &facts);
    ggs_explain_knobs(explanation, &facts);
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
