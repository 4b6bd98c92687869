// ggscope diff --values A B: the first op whose inputs agree and whose output does not.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/diff/diff.h"
#include "answer/values-diff.h"
#include "base/error.h"
#include "base/number.h"
#include "base/system/terminal.h"
#include "base/table.h"
#include "cli/diff/cmd-diff.h"

enum { MOST_SHOWN = 10 };

struct result {
    struct ggs_value_diff values;
    struct ggs_diff       diff; // for conditions
    bool                  has_diff;
    struct ggs_judgement  judgements[GGS_FAIL_IF_MOST + 1];
    unsigned              n;
    char                  note[256];
};

static const struct ggs_figure    wrong_figure    = {.name = "wrong_ops", .unit = ""};
static const struct ggs_condition wrong_condition = {"wrong_ops > 0", &wrong_figure, ">", 0, false};

// ---- text ----

static void print_compared(const struct ggs_value_diff * d) {
    char tokens[GGS_NUMBER_LENGTH], ops[GGS_NUMBER_LENGTH], outputs[GGS_NUMBER_LENGTH], equal[GGS_NUMBER_LENGTH];
    printf("compared  %s tokens, %s ops: %s of %s outputs are equal bit by bit\n", ggs_format_count(tokens, d->tokens),
           ggs_format_count(ops, d->matched), ggs_format_count(equal, d->equal), ggs_format_count(outputs, d->outputs));
    if (d->only_a + d->only_b > 0)
        printf("          only in A %" PRIu64 " ops, only in B %" PRIu64 "\n", d->only_a, d->only_b);
    if (d->other_choices > 0)
        printf("experts   %" PRIu64 " tokens go to other experts: their choice was closer than the error\n",
               d->other_choices);
    if (d->other_meaning > 0)
        printf("meaning   %" PRIu64 " ops are something else in B: what is computed from them is right\n",
               d->other_meaning);
}

static void print_parted(const struct ggs_value_diff * d, char * const * paths) {
    if (d->parted < 0) return;
    printf("texts     part at position %" PRId64 ": what follows is not compared. To go on, feed B the text of A:\n"
           "            ggscope run --values --teacher %s -m MODEL -o B2\n",
           d->parted, paths[0]);
}

static void print_op(const struct ggs_value_compared * op, const char * title) {
    const struct ggs_value_node *  node  = op->node;
    const struct ggs_value_event * first = &op->found.first;
    char                           name[128];
    printf("%-10s%s %s", title, node->op, ggs_verb_fit(name, sizeof(name), node->name, 56));
    if (node->alias[0] != '\0') printf(" (%s)", node->alias);
    if (node->model > 1) printf(" of model %u", node->model);
    printf(", position %" PRId64, first->position);
    if (first->sequence > 0) printf(" of sequence %" PRId64, first->sequence);
    printf(", in %" PRIu64 " of %" PRIu64 " tokens\n", op->found.n, op->tokens);
}

static void print_weight(const struct ggs_value_compared * op) {
    const struct ggs_value_event * first = &op->found.first;
    printf("          the weight itself differs: %s\n", op->weight->name);
    if (first->nan > 0)
        printf("            %" PRIu64 " of %" PRIu64 " elements are not finite, and are in A\n", first->nan,
               op->weight->elements);
    else
        printf("            error %.2g; its types explain %.2g\n", first->error, first->allowed);
}

static void print_why(const struct ggs_value_compared * op) {
    const struct ggs_value_event * first = &op->found.first;
    if (op->weight != NULL) {
        print_weight(op);
        return;
    }
    printf("          %s\n", ggs_value_rule_text(op->rule));
    if (op->rule == GGS_RULE_NAN || op->rule == GGS_RULE_INF) {
        printf("            %" PRIu64 " elements that are finite in A\n", first->nan);
        return;
    }
    if (op->rule == GGS_RULE_CHOICE) return;
    if (isfinite(first->allowed))
        printf("            error %.2g, inputs %.2g; these and rounding explain %.2g\n", first->error, first->inputs,
               first->allowed);
    if (op->rule == GGS_RULE_BIAS)
        printf("            length %+.3g %%; rounding explains %.2g %%\n", 100 * op->bias, 100 * op->bias_allowed);
    if (op->rule == GGS_RULE_PEERS)
        printf("            error over inputs is %.1f standard deviations above the other layers; %.0f are usual\n",
               op->sigmas, ggs_value_rules.peer_sigmas);
}

static void print_more(const struct ggs_value_diff * d) {
    if (d->n_wrong > 1) printf("more      %" PRIu64 " more op%s\n", d->n_wrong - 1, d->n_wrong == 2 ? "" : "s");
    for (uint64_t i = 1; i < d->n_wrong && i < MOST_SHOWN; i++) print_op(d->wrong[i], "");
    if (d->n_wrong > MOST_SHOWN) printf("          ... and %" PRIu64 "; --json lists them\n", d->n_wrong - MOST_SHOWN);
    for (unsigned i = 0; i < d->n_common; i++) printf("%-10s%s\n", i == 0 ? "common" : "", d->common[i]);
}

static void print_text(const struct result * r, char * const * paths) {
    const struct ggs_value_diff * d = &r->values;
    printf("A  %s\nB  %s\n\n", paths[0], paths[1]);
    print_compared(d);
    print_parted(d, paths);
    if (d->n_wrong == 0) {
        puts("wrong     none: no op differs by more than rounding explains");
        return;
    }
    print_op(d->wrong[0], "wrong");
    print_why(d->wrong[0]);
    print_more(d);
    if (d->wrong[0]->weight != NULL) {
        puts("next      compare the model files that A and B have read");
        return;
    }
    char room[2 * GGS_VALUE_NAME + 64];
    printf("next      ggscope extract %s '%s' -o op.gguf\n", paths[1],
           ggs_value_key(d->wrong[0]->node, room, sizeof(room)));
}

static void print_markdown(const struct result * r, char * const * paths) {
    const struct ggs_value_diff * d = &r->values;
    printf("### ggscope diff --values\n\nA is `%s`, B is `%s`. %" PRIu64 " tokens, %" PRIu64 " ops.\n", paths[0],
           paths[1], d->tokens, d->matched);
    if (d->n_wrong > 0)
        puts("\n| wrong op | position | tokens | error | explained | why |\n|---|---:|---:|---:|---:|---|");
    for (uint64_t i = 0; i < d->n_wrong && i < MOST_SHOWN; i++) {
        const struct ggs_value_compared * op = d->wrong[i];
        printf("| %s `%s` | %" PRId64 " | %" PRIu64 " of %" PRIu64 " | %.2g | %.2g | %s |\n", op->node->op,
               op->node->name, op->found.first.position, op->found.n, op->tokens, op->found.first.error,
               op->found.first.allowed, ggs_value_rule_text(op->rule));
    }
    ggs_judgements_markdown(stdout, r->judgements, r->n);
}

// ---- the verb ----

static void judge_wrong(struct result * r) {
    struct ggs_judgement * j = &r->judgements[r->n++];
    ggs_fail_if_judge(&wrong_condition, 0, (double) r->values.n_wrong, j);
    if (r->values.n_wrong == 0) return;
    const struct ggs_value_compared * first = r->values.wrong[0];
    snprintf(r->note, sizeof(r->note), "first %s %s at position %" PRId64 ": %s", first->node->op, first->node->name,
             first->found.first.position, ggs_value_rule_text(first->rule));
    j->note = r->note;
}

static int judge(const struct diff_arguments * arguments, struct ggs_trace * traces, struct result * r,
                 struct ggs_error * error) {
    judge_wrong(r);
    if (arguments->fail_if.n == 0) return 0;
    int status = ggs_diff_compute(&r->diff, &traces[0], &traces[1], error);
    if (status < 0) return status;
    r->has_diff = true;
    for (unsigned i = 0; i < arguments->fail_if.n; i++) {
        const struct ggs_condition * c = &arguments->fail_if.conditions[i];
        ggs_fail_if_judge(c, c->figure->of(&r->diff.a), c->figure->of(&r->diff.b), &r->judgements[r->n++]);
    }
    return 0;
}

int diff_values(const struct diff_arguments * arguments, struct ggs_trace * traces, struct ggs_error * error) {
    struct result r      = {.n = 0};
    int           status = ggs_value_diff_compute(&r.values, &traces[0], &traces[1], NULL, error);
    if (status == 0 && r.values.outputs == 0 && r.values.n_wrong == 0)
        status = ggs_fail(error, GGS_ABSENT,
                          "nothing was compared: %s and %s have values of no op and token in common; record the same "
                          "prompt with the same --values",
                          arguments->input.paths[0], arguments->input.paths[1]);
    if (status == 0) status = judge(arguments, traces, &r, error);
    if (status == 0 && arguments->input.json) {
        struct ggs_values_diff_answer answer = {&traces[0], &traces[1], &r.values, r.judgements, r.n};
        ggs_answer_write(arguments->input.out, &ggs_values_diff_object, &answer, traces);
    } else if (status == 0 && arguments->markdown) {
        print_markdown(&r, arguments->input.paths);
    } else if (status == 0) {
        print_text(&r, arguments->input.paths);
        ggs_judgements_text(stdout, r.judgements + 1, r.n - 1);
    }
    if (status == 0 && arguments->junit != NULL)
        status = ggs_judgements_junit(arguments->junit, "diff --values", r.judgements, r.n, error);
    if (status == 0 && ggs_judgements_failed(r.judgements, r.n)) status = 1;
    ggs_value_diff_release(&r.values);
    if (r.has_diff) ggs_diff_release(&r.diff);
    return status;
}
