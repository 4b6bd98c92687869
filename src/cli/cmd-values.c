// ggscope values DIR: where NaN come from, and other remarkable outputs of ops.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "answer/answer.h"
#include "base/number.h"
#include "base/system/terminal.h"
#include "base/table.h"
#include "cli/commands.h"
#include "cli/scaffold/verb.h"

enum { MOST_SHOWN = 5, NAME_COLUMNS = 28 };

struct arguments {
    struct ggs_input       input;
    struct ggs_value_asked asked;
    int64_t                tokens[2];
};
#define AT(member) offsetof(struct arguments, member)

// ---- text ----

static void print_place(const struct ggs_value_origin * origin) {
    printf(", token %" PRId64, origin->token);
    if (origin->position >= 0) printf(" at position %" PRId64, origin->position);
    printf(": %" PRIu64 " of %" PRIu64 " elements", origin->count, origin->elements);
    if (origin->of_rows > 1) printf(", in %" PRIu64 " of %" PRIu64 " tokens", origin->rows, origin->of_rows);
    putchar('\n');
}

static void print_inputs(const struct ggs_value_origin * origin) {
    static const char * const words[] = {"not seen", "finite", "not finite"};
    char                      name[128];
    for (uint64_t i = 0; i < origin->n_inputs; i++)
        printf("            from %s (%s)\n", ggs_verb_fit(name, sizeof(name), origin->inputs[i].name, NAME_COLUMNS * 2),
               words[origin->inputs[i].seen % 3]);
}

static void print_leaf(const struct ggs_value_origin * origin, const char * name) {
    printf("%s %s", origin->weight ? "weight" : "input", name);
    if (origin->weight && origin->batch_row >= 0) printf(", expert %" PRId64, origin->batch_row);
    printf(": %" PRIu64 " of %" PRIu64 " elements; read by %s %s\n", origin->count, origin->elements, origin->op,
           origin->name);
}

static void print_origins(const char * title, const struct ggs_value_origin * list, uint64_t n) {
    char name[128];
    if (n == 0) {
        printf("%-10snone\n", title);
        return;
    }
    for (uint64_t i = 0; i < n && i < GGS_VALUE_ORIGINS && i < MOST_SHOWN; i++) {
        bool         leaf  = list[i].leaf[0] != '\0';
        const char * shown = ggs_verb_fit(name, sizeof(name), leaf ? list[i].leaf : list[i].name, NAME_COLUMNS * 2);
        printf("%-10s", i == 0 ? title : "");
        if (leaf) {
            print_leaf(&list[i], shown);
            continue;
        }
        printf("%s %s", list[i].op, shown);
        print_place(&list[i]);
        if (i == 0) print_inputs(&list[i]);
    }
    if (n > MOST_SHOWN) printf("          ... and %" PRIu64 " more; --json lists them\n", n - MOST_SHOWN);
}

// The name of an op's tensor, as ggscope diff writes it: "ffn_out-1@2" in a program's second model.
static const char * name_of(char room[128], const char * name, unsigned model) {
    if (model <= 1) return name;
    snprintf(room, 128, "%s@%u", name, model);
    return room;
}

static void print_near_f16(const struct ggs_value_report * report) {
    char name[128];
    for (uint64_t i = 0; i < report->n_near_f16 && i < MOST_SHOWN; i++) {
        const struct ggs_value_op * op = report->near_f16[i];
        printf("%-10s%s %s reaches %.6g, F16 holds %.0f\n", i == 0 ? "overflow" : "", op->op,
               name_of(name, op->name, op->model), op->largest, GGS_F16_MOST);
    }
    if (report->n_near_f16 > MOST_SHOWN)
        printf("          ... and %" PRIu64 " more ops\n", report->n_near_f16 - MOST_SHOWN);
}

static void print_constants(const struct ggs_value_report * report) {
    char name[128];
    for (uint64_t i = 0; i < report->n_constants && i < MOST_SHOWN; i++) {
        const struct ggs_value_op * op = report->constants[i];
        printf("%-10s%s %s: all %" PRIu64 " elements of every token are the same%s\n", i == 0 ? "constant" : "", op->op,
               name_of(name, op->name, op->model), op->elements, op->largest == 0 ? ", 0" : "");
    }
    if (report->n_constants > MOST_SHOWN)
        printf("          ... and %" PRIu64 " more ops\n", report->n_constants - MOST_SHOWN);
}

static void print_outliers(const struct ggs_value_report * report) {
    char name[128];
    for (uint64_t i = 0; i < report->n_channels && i < MOST_SHOWN; i++) {
        const struct ggs_value_op * op = report->channels[i];
        printf("%-10s%" PRIu64 " of %s %s: %.1f times the rms, the largest in %.0f %% of tokens\n",
               i == 0 ? "channel" : "", op->channel, op->op, name_of(name, op->name, op->model), op->peak,
               100 * op->share);
    }
    if (report->n_channels > MOST_SHOWN)
        printf("          ... and %" PRIu64 " more ops\n", report->n_channels - MOST_SHOWN);
    for (uint64_t i = 0; i < report->n_unlike && i < MOST_SHOWN; i++) {
        const struct ggs_value_token * token = &report->unlike[i];
        printf("%-10sat position %" PRId64 " is unlike the others in %" PRIu64 " of %" PRIu64
               " outputs: up to %.3g times their rms\n",
               i == 0 ? "token" : "", token->position, token->ops, token->of_ops, token->times);
    }
}

static int print_layers(const struct ggs_value_report * report) {
    char               name[128];
    struct ggs_table * table = ggs_table_new();
    ggs_table_columns(table, ">layer|>ops|>min|>max|largest in|>rms|of");
    for (uint64_t i = 0; i < report->n_layers; i++) {
        const struct ggs_value_layer * layer = &report->layers[i];
        ggs_table_cell(table, "%" PRId64, layer->layer);
        ggs_table_cell(table, "%" PRIu64, layer->ops);
        ggs_table_cell(table, "%.4g", layer->min);
        ggs_table_cell(table, "%.4g", layer->max);
        ggs_table_cell(table, "%s", name_of(name, layer->largest_in, layer->model));
        ggs_table_cell(table, "%.4g", layer->rms);
        ggs_table_cell(table, "%s", layer->output == NULL ? "" : name_of(name, layer->output, layer->model));
    }
    return ggs_table_end(table, stdout, ggs_terminal_width(stdout));
}

static int print_ops(const struct ggs_value_report * report) {
    char               name[128];
    struct ggs_table * table = ggs_table_new();
    ggs_table_columns(table, "op|name|>tokens|>nan|>inf|>min|>max|>mean|>rms");
    for (uint64_t i = 0; i < report->n_ops; i++) {
        const struct ggs_value_op * op = &report->ops[i];
        ggs_table_cell(table, "%s", op->op);
        ggs_table_cell(table, "%s", name_of(name, op->name, op->model));
        ggs_table_cell(table, "%" PRIu64, op->rows);
        ggs_table_cell(table, "%" PRIu64, op->nan);
        ggs_table_cell(table, "%" PRIu64, op->inf);
        ggs_table_cell(table, "%.4g", op->min);
        ggs_table_cell(table, "%.4g", op->max);
        ggs_table_cell(table, "%.4g", op->mean);
        ggs_table_cell(table, "%.4g", op->rms);
    }
    return ggs_table_end(table, stdout, ggs_terminal_width(stdout));
}

static void print_lost(const struct ggs_value_report * report) {
    char     count[GGS_NUMBER_LENGTH];
    uint64_t weights = report->lost_weights, others = report->lost - weights;
    if (others > 0)
        printf("lost      %s records could not be kept: what is missing may have NaN\n",
               ggs_format_count(count, others));
    if (weights > 0)
        printf("lost      %s weight%s not read: the model's file was gone or changed when the program had ended\n",
               ggs_format_count(count, weights), weights == 1 ? " was" : "s were");
}

static int print_text(const struct ggs_value_report * report, bool narrowed) {
    char rows[GGS_NUMBER_LENGTH], ops[GGS_NUMBER_LENGTH], runs[GGS_NUMBER_LENGTH];
    printf("values    %s outputs of %s ops in %s graph run%s\n", ggs_format_count(rows, report->rows),
           ggs_format_count(ops, report->n_ops), ggs_format_count(runs, report->runs), report->runs == 1 ? "" : "s");
    print_lost(report);
    print_origins("NaN", report->nan, report->n_nan);
    print_origins("infinite", report->inf, report->n_inf);
    print_near_f16(report);
    print_constants(report);
    print_outliers(report);
    putchar('\n');
    return narrowed || report->n_layers == 0 ? print_ops(report) : print_layers(report);
}

// ---- the verb ----

static int show(void * arguments, struct ggs_trace * traces, struct ggs_error * error) {
    struct arguments *      a = arguments;
    struct ggs_value_report report;
    a->asked.first_step = a->tokens[0];
    a->asked.last_step  = a->tokens[1];
    int  status         = ggs_value_report_compute(&report, traces, &a->asked, error);
    bool bad            = report.n_nan > 0;
    if (status == 0 && a->input.json)
        ggs_answer_write(a->input.out, &ggs_values_object, &report, traces);
    else if (status == 0 && print_text(&report, a->asked.layer >= 0 || a->asked.tensor != NULL) != 0)
        status = -1;
    ggs_value_report_release(&report);
    return status != 0 ? status : bad;
}

int cmd_values(int argc, char ** argv) {
    static const struct ggs_option options[] = {
        GGS_OPTION("tensor", 0, "TEXT", "Only ops that compute a tensor with TEXT in its name", 1, AT(asked.tensor),
                   ggs_set_path, "a part of a name"),
        GGS_OPTION("layer", 0, "N", "Only this layer", 1, AT(asked.layer), ggs_set_layer, "the number of a layer"),
        GGS_OPTION("token", 0, "A..B", "Only these token steps", 1, AT(tokens), ggs_set_tokens, GGS_EXPECTS_TOKENS),
        GGS_OPTION_JSON(2),
        GGS_OPTION_DAMAGED(2),
        {0}};
    static const struct ggs_verb verb = {
        GGS_OPENS_ONE, .options = options, .run = show,
        .text = "Find NaN, overflows and outliers in what ops computed, in a recording made with --values. "
                "Exit 1 if an op computed NaN from inputs that have none, or a weight has NaN."};
    struct arguments arguments = {.asked = {.layer = -1}, .tokens = {0, INT64_MAX}};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
