#include "answer/answer.h"

#define OP(member, key, ...) GGS_FIELD(struct ggs_value_op, member, key, __VA_ARGS__)

static const struct ggs_field op_fields[] = {
    OP(op, "op"),
    OP(name, "name", "name of the tensor that it computes; in parentheses, the name of its source"),
    GGS_FIELD_OR_NULL(struct ggs_value_op, layer, "layer", "null for ops outside of layers"),
    OP(model, "model", "2 for the second model of a program, such as a draft model"),
    OP(choice, "choice", "its elements are numbers of rows or experts: only by_op has it"),
    OP(rows, "rows", "outputs, one per token"),
    OP(elements, "elements", "elements of an output"),
    OP(nan, "nan", "elements that are NaN, in all rows"),
    OP(inf, "inf", "elements that are infinite"),
    OP(min, "min", "least of the finite elements; 0 if there are none, as all that follows"),
    OP(max, "max"),
    OP(mean, "mean"),
    OP(rms, "rms", "root of the mean square"),
    OP(largest, "largest", "absolute value", .least = 0),
    GGS_FIELD_OR_NULL(struct ggs_value_op, position, "position",
                      "position of the token that has it; null if not known"),
    OP(run, "run", "graph run that computed it"),
    OP(node, "node", "node of that run's graph"),
    OP(peak, "peak", "largest absolute value / rms of the row, mean over rows", .least = 0),
    OP(channel, "channel", "index that most often has the largest absolute value of a row"),
    OP(share, "share", "least share of rows in which this channel has the largest absolute value", .least = 0,
       .most = 1),
    OP(constant, "constant_rows", "rows whose elements are all the same"),
    {0},
};
static const struct ggs_object op = {.name = "ValuesOp", .fields = op_fields};

static const char * seen_word(uint64_t seen) {
    static const char * const words[] = {"not seen", "finite", "not finite"};
    return seen < sizeof(words) / sizeof(words[0]) ? words[seen] : "";
}

static const struct ggs_field input_fields[] = {
    GGS_FIELD(struct ggs_value_input, name, "name"),
    GGS_FIELD_WORD(struct ggs_value_input, seen, "values", seen_word, "finite; not seen: not recorded",
                   .words = (const char * const[]){"not seen", "finite", "not finite", NULL}),
    {0},
};
static const struct ggs_object input = {.fields = input_fields};

#define ORIGIN(member, key, ...)      GGS_FIELD(struct ggs_value_origin, member, key, __VA_ARGS__)
#define ORIGIN_NULL(member, key, ...) GGS_FIELD_OR_NULL(struct ggs_value_origin, member, key, __VA_ARGS__)

GGS_NEXT(next_input) {
    const struct ggs_value_origin * origin = at;
    return *i < origin->n_inputs ? &origin->inputs[(*i)++] : NULL;
}

GGS_GET_TEXT(leaf_of, struct ggs_value_origin, it->leaf)
GGS_GET(bool, is_weight, struct ggs_value_origin, it->weight)

static const struct ggs_field origin_fields[] = {
    ORIGIN(op, "op"),
    ORIGIN(name, "name"),
    ORIGIN_NULL(layer, "layer"),
    ORIGIN(run, "run"),
    ORIGIN(node, "node"),
    ORIGIN_NULL(token, "token"),
    GGS_TEXT_OR_NULL("from", leaf_of,
                     "the weight, or input of the graph, that has them and that the op reads; null: the op makes them"),
    GGS_TEST("from_weight", is_weight, "from is a weight"),
    ORIGIN_NULL(batch_row, "batch_row",
                "first row with such elements; of a weight, its expert; null if it is not divided"),
    ORIGIN_NULL(position, "position", "position of its token"),
    ORIGIN(count, "count", "elements of that row that are not finite"),
    ORIGIN(elements, "elements", "elements of that row"),
    ORIGIN(rows, "rows", "rows with such elements"),
    ORIGIN(of_rows, "of_rows"),
    GGS_EACH("inputs", next_input, &input, "what the op reads"),
    {0},
};
static const struct ggs_object origin = {.name = "ValuesOrigin", .fields = origin_fields};

GGS_NEXT(next_nan) {
    const struct ggs_value_report * report = at;
    return *i < report->n_nan && *i < GGS_VALUE_ORIGINS ? &report->nan[(*i)++] : NULL;
}
GGS_NEXT(next_inf) {
    const struct ggs_value_report * report = at;
    return *i < report->n_inf && *i < GGS_VALUE_ORIGINS ? &report->inf[(*i)++] : NULL;
}
static const void * next_of(const struct ggs_value_report * report, struct ggs_value_op * const * list, uint64_t n,
                            uint64_t * i) {
    return *i < n && !(report->brief && *i >= GGS_VALUE_BRIEF) ? list[(*i)++] : NULL;
}
GGS_NEXT(next_near_f16) {
    const struct ggs_value_report * report = at;
    return next_of(report, report->near_f16, report->n_near_f16, i);
}
GGS_NEXT(next_constant) {
    const struct ggs_value_report * report = at;
    return next_of(report, report->constants, report->n_constants, i);
}
GGS_NEXT(next_channel) {
    const struct ggs_value_report * report = at;
    return next_of(report, report->channels, report->n_channels, i);
}
GGS_NEXT(next_unlike) {
    const struct ggs_value_report * report = at;
    return *i < report->n_unlike && !(report->brief && *i >= GGS_VALUE_BRIEF) ? &report->unlike[(*i)++] : NULL;
}
GGS_GET(bool, is_full, struct ggs_value_report, !it->brief)

#define LAYER(member, key, ...) GGS_FIELD(struct ggs_value_layer, member, key, __VA_ARGS__)

static const struct ggs_field layer_fields[] = {
    LAYER(model, "model", "2 for the second model of a program, such as a draft model"),
    LAYER(layer, "layer", "", .from_0 = true),
    LAYER(ops, "ops"),
    LAYER(min, "min", "minimum over all its ops"),
    LAYER(max, "max"),
    LAYER(largest_in, "largest_in", "name of the op with the largest absolute value"),
    GGS_FIELD_OR_NULL(struct ggs_value_layer, output, "output", "name of its last op that has an output"),
    LAYER(rms, "rms", "rms of that output"),
    {0},
};
static const struct ggs_object layer = {.fields = layer_fields};

#define TOKEN(member, key, ...) GGS_FIELD(struct ggs_value_token, member, key, __VA_ARGS__)

static const struct ggs_field token_fields[] = {
    TOKEN(position, "position", "", .from_0 = true),
    TOKEN(ops, "outputs", "outputs in which its rms is 6 times that of the batch's median, or a sixth"),
    TOKEN(of_ops, "of_outputs", "outputs with 8 tokens or more"),
    TOKEN(times, "times", "rms / median, where it is farthest off", .least = 0),
    {0},
};
static const struct ggs_object token = {.fields = token_fields};

#define REPORT(member, key, ...) GGS_FIELD(struct ggs_value_report, member, key, __VA_ARGS__)

static const struct ggs_field fields[] = {
    GGS_ABOUT,
    REPORT(runs, "runs", "graph runs that have values"),
    REPORT(rows, "rows", "outputs of ops, one per token"),
    REPORT(weights, "weights", "weights that were read"),
    REPORT(lost, "lost", "records of the recording that could not be kept: values may be missing"),
    REPORT(n_nan, "nan_origins", "ops that have NaN and whose inputs have none, weights and inputs that have NaN"),
    GGS_EACH("nan", next_nan, &origin, "the first 16 of them"),
    REPORT(n_inf, "inf_origins", "the same for infinities; inputs are left out, masks have them by design"),
    GGS_EACH("inf", next_inf, &origin, "the first 16 of them"),
    GGS_EACH("near_f16", next_near_f16, &op,
             "ops with an absolute value above 16376, a quarter of what F16 can hold; the largest first"),
    GGS_EACH("constant", next_constant, &op, "ops whose outputs have the same value in all elements of every row"),
    GGS_EACH(
        "channels", next_channel, &op,
        "ops in which one channel has the largest absolute value in at least half of the rows, at 6 times the rms"),
    GGS_EACH("tokens", next_unlike, &token, "tokens that are unlike the others in a tenth of the outputs"),
    GGS_ROWS(struct ggs_value_report, layers, n_layers, "by_layer", &layer, "ranges of values by layer"),
    GGS_ROWS(struct ggs_value_report, ops, n_ops, "by_op", &op,
             "in order of computation; the server leaves it out, and of the lists above all but the first 64",
             .asked = is_full),
    {0},
};
const struct ggs_object ggs_values_object = {
    .name   = "Values",
    .text   = "What is remarkable in the values that ops computed, in a recording made with --values.",
    .fields = fields,
    .lines  = true,
};
