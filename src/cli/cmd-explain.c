// ggscope explain DIR: causes of slowness, remedies, and commands that verify them.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/explain/explain.h"
#include "answer/answer.h"
#include "answer/explain.h"
#include "base/error.h"
#include "base/system/terminal.h"
#include "cli/commands.h"
#include "cli/scaffold/explained.h"
#include "cli/scaffold/verb.h"

// A limit on the gain of findings: "gain > 5 %".
struct gate {
    bool   there;
    double most; // a share
};

struct arguments {
    struct ggs_input input;
    struct gate      gate;
};
#define AT(member) offsetof(struct arguments, member)

static bool set_gate(void * member, const char * text) {
    struct gate * gate = member;
    char *        end;
    while (isspace((unsigned char) *text)) text++;
    if (strncmp(text, "gain", 4) != 0) return false;
    text += 4 + strspn(text + 4, " ");
    if (*text != '>') return false;
    text += text[1] == '=' ? 2 : 1;
    double percent = strtod(text, &end);
    if (end == text || !(percent >= 0 && percent <= 100)) return false;
    end += strspn(end, " ");
    if (*end == '%') end++;
    *gate = (struct gate){.there = true, .most = percent / 100};
    return end[strspn(end, " ")] == '\0';
}

// With the recording in the place of each DIR.
static void print_query(const struct ggs_reason * finding, const char * directory) {
    struct ggs_text text = {0};
    const char *    at   = finding->query;
    for (const char * next = strstr(at, "DIR"); next != NULL; next = strstr(at, "DIR")) {
        ggs_text_append(&text, at, (size_t) (next - at));
        ggs_invocation_quote(&text, directory);
        at = next + 3;
    }
    ggs_text_puts(&text, at);
    printf("   see     %s\n", ggs_text_string(&text));
    ggs_text_release(&text);
}

static void print_finding(const struct ggs_explanation * explanation, unsigned i, const char * directory) {
    const struct ggs_reason * finding = &explanation->finding[i];
    char                      gain[64];
    bool                      bold = ggs_terminal_colour(stdout);
    printf("%u  %s%-52s%s  %s\n", i + 1, bold ? "\x1b[1m" : "", finding->title, bold ? "\x1b[0m" : "",
           ggs_reason_gain(gain, finding));
    printf("   %s\n", finding->evidence);
    if (finding->estimated) printf("   the bound is a typical one, not of this machine: measure it\n");
    if (explanation->distorted && finding->timed && !finding->condition) printf("   its times are distorted, see 1\n");
    if (finding->remedy != NULL) printf("   try     %s\n", finding->remedy);
    if (finding->verify != NULL) printf("   verify  %s\n", finding->verify);
    print_query(finding, directory);
}

static void print_text(const struct ggs_explanation * explanation, const char * directory) {
    for (unsigned i = 0; i < explanation->n; i++) print_finding(explanation, i, directory);
    printf("%s\n", explanation->rest);
}

static int explain(void * arguments, struct ggs_trace * traces, struct ggs_error * error) {
    const struct arguments * a = arguments;
    struct ggs_totals        totals;
    struct ggs_explanation   explanation;
    int                      status = ggs_totals_compute(&totals, &traces[0], &ggs_totals_all, error);
    if (status < 0) return status;
    status = ggs_explain_compute(&explanation, &traces[0], &totals, error);
    ggs_totals_release(&totals);
    if (status < 0) return status;
    if (a->input.json)
        ggs_answer_write(a->input.out, &ggs_explanation_object, &explanation, &traces[0]);
    else
        print_text(&explanation, a->input.paths[0]);
    bool failed = a->gate.there && ggs_explanation_most(&explanation) > a->gate.most;
    ggs_explanation_release(&explanation);
    return failed ? 1 : 0;
}

int cmd_explain(int argc, char ** argv) {
    static const struct ggs_option options[] = {GGS_OPTION("fail-if", 0, "CONDITION",
                                                           "Exit 1 if a finding could gain more, such as 'gain > 5 %'",
                                                           1, AT(gate), set_gate, "a condition such as 'gain > 5 %'"),
                                                GGS_OPTION_JSON(2),
                                                {0}};
    static const struct ggs_verb   verb      = {
               GGS_OPENS_ONE, .options = options, .run = explain,
               .text = "Say why a recording is slow: findings with what mending each could gain at most, the figures that "
                              "show it, what to try in the words of the program that ran, and a command that verifies it."};
    struct arguments arguments = {0};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
