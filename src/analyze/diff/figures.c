#include "analyze/diff/figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/ops/totals.h"

static double rate(uint64_t n, uint64_t ns) {
    return n == 0 || ns == 0 ? NAN : 1e9 * (double) n / (double) ns;
}

// As the user gets them: time between decodes included.
static double tokens_per_s(const struct ggs_totals * t) {
    return rate(t->generate_steps, t->generate_ns + t->between_ns);
}

static double prompt_tokens_per_s(const struct ggs_totals * t) {
    return rate(t->prompt_tokens, t->prompt_ns);
}

static double token_ns(const struct ggs_totals * t) {
    return t->generate_steps == 0 ? NAN : (double) t->generate_ns / (double) t->generate_steps;
}

static double token_quiet_ns(const struct ggs_totals * t) {
    return t->generate_steps == 0 ? NAN : (double) t->quiet_ns;
}

static double prompt_ns(const struct ggs_totals * t) {
    return t->prompt_tokens == 0 ? NAN : (double) t->prompt_ns;
}

static double load_ns(const struct ggs_totals * t) {
    return t->load_ns == 0 ? NAN : (double) t->load_ns;
}

#define COUNT(name, member)                           \
    static double name(const struct ggs_totals * t) { \
        return (double) t->member;                    \
    }
COUNT(wall_ns, wall_ns)
COUNT(tokens, steps)
COUNT(ops, ops)
COUNT(op_runs, op_runs)
COUNT(bytes_read, read)
COUNT(bytes_written, written)
COUNT(bytes_disk, disk)
COUNT(bytes_touched, touched_bytes)
COUNT(peak_bytes, peak_bytes)
COUNT(opaque, opaque)
COUNT(unseen, unseen)
COUNT(lost, dropped)

const struct ggs_figure ggs_figures[] = {
    {"tokens_per_s", "/s", true, true, tokens_per_s, "tokens per second"},
    {"prompt_tokens_per_s", "/s", true, true, prompt_tokens_per_s, "prompt tokens per second"},
    {"token_ns", "ns", true, false, token_ns, "time per token"},
    {"token_quiet_ns", "ns", true, false, token_quiet_ns, "time per token, fastest tenth"},
    {"prompt_ns", "ns", true, false, prompt_ns, "time of the prompt"},
    {"load_ns", "ns", true, false, load_ns, "time to load"},
    {"wall_ns", "ns", true, false, wall_ns, "time in all"},
    {"tokens", "", false, true, tokens, "token steps"},
    {"ops", "", false, false, ops, "ops"},
    {"op_runs", "", false, false, op_runs, "op runs"},
    {"bytes_read", "bytes", false, false, bytes_read, "bytes read"},
    {"bytes_written", "bytes", false, false, bytes_written, "bytes written"},
    {"bytes_disk", "bytes", false, false, bytes_disk, "bytes in mapped files"},
    {"bytes_touched", "bytes", false, false, bytes_touched, "bytes of the model touched"},
    {"peak_bytes", "bytes", false, false, peak_bytes, "peak of buffers"},
    {"opaque", "", false, false, opaque, "nodes seen as a whole"},
    {"unseen", "", false, false, unseen, "nodes not seen"},
    {"lost", "", false, false, lost, "lost records"},
};
const size_t ggs_n_figures = sizeof(ggs_figures) / sizeof(ggs_figures[0]);

static const char * skip(const char * text) {
    return text + strspn(text, " \t");
}

bool ggs_fail_if_add(struct ggs_fail_if * list, const char * text) {
    struct ggs_condition condition = {.text = text};
    const char *         at        = skip(text);
    size_t               length    = strspn(at, "abcdefghijklmnopqrstuvwxyz_");
    char *               end;
    if (list->n == GGS_FAIL_IF_MOST) return false;
    for (size_t i = 0; i < ggs_n_figures; i++) {
        if (strlen(ggs_figures[i].name) == length && strncmp(ggs_figures[i].name, at, length) == 0)
            condition.figure = &ggs_figures[i];
    }
    at     = skip(at + length);
    length = strspn(at, "<>=!");
    if (condition.figure == NULL || length == 0 || length > 2) return false;
    memcpy(condition.op, at, length);
    if (strcmp(condition.op, "<") != 0 && strcmp(condition.op, ">") != 0 && strcmp(condition.op, "<=") != 0 &&
        strcmp(condition.op, ">=") != 0 && strcmp(condition.op, "!=") != 0)
        return false;
    at              = skip(at + length);
    condition.limit = strtod(at, &end);
    if (end == at || !isfinite(condition.limit)) return false;
    at                = skip(end);
    condition.percent = *at == '%';
    if (*skip(at + condition.percent) != '\0') return false;
    list->conditions[list->n++] = condition;
    return true;
}

static bool holds(const struct ggs_condition * condition, double change) {
    switch (condition->op[0]) {
        case '<':
            return condition->op[1] == '=' ? change <= condition->limit : change < condition->limit;
        case '>':
            return condition->op[1] == '=' ? change >= condition->limit : change > condition->limit;
        default:
            return change != condition->limit;
    }
}

void ggs_fail_if_judge(const struct ggs_condition * condition, double a, double b, struct ggs_judgement * judgement) {
    double change = b - a;
    if (condition->percent) change = change == 0 ? 0 : a == 0 ? copysign(INFINITY, change) : 100 * change / fabs(a);
    bool seen  = !isnan(change);
    *judgement = (struct ggs_judgement){.condition = condition,
                                        .a         = a,
                                        .b         = b,
                                        .change    = change,
                                        .failed    = !seen || holds(condition, change),
                                        .note      = seen ? "" : "not seen in one of the two"};
}
