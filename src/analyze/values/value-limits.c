#include "analyze/values/value-limits.h"

#include <math.h>
#include <string.h>

const struct ggs_value_rules ggs_value_rules = {
    .slack          = 3,
    .peer_sigmas    = 6,
    .peer_least     = 0.08,
    .peer_ratio     = 0.25,
    .peers          = 5,
    .same_peers     = 2,
    .same_tokens    = 3,
    .bias_slack     = 1.5,
    .bias_inputs    = 2,
    .bias_noise     = 6,
    .bias_least     = 2e-6,
    .share_of_worst = 0.5,
};

// ---- types ----

// Half a step of the type, relative to numbers of typical size.
static const struct {
    const char * type;
    double       error;
} type_errors[] = {
    {"f32", 6e-8},    {"f16", 4.9e-4}, {"bf16", 3.9e-3}, {"q8_0", 6e-3},   {"q4_0", 9e-2},
    {"iq4_nl", 9e-2}, {"q4_1", 8e-2},  {"q5_0", 4.5e-2}, {"q5_1", 4.5e-2},
};
static const double OTHER_TYPE_ERROR = 2e-2;

double ggs_value_type_error(const char * type) {
    for (unsigned i = 0; i < sizeof(type_errors) / sizeof(type_errors[0]); i++)
        if (strcmp(type_errors[i].type, type) == 0) return type_errors[i].error;
    return OTHER_TYPE_ERROR;
}

// ---- ops ----

enum weight { ANY, F32, HALF, QUANTIZED };

static enum weight weight_of(const char * type) {
    if (strcmp(type, "f32") == 0) return F32;
    return strcmp(type, "f16") == 0 || strcmp(type, "bf16") == 0 ? HALF : QUANTIZED;
}

// The first row that matches is used. own = base + root * sqrt(K) + types * (errors of the types),
// where K is the number of elements that are added up.
static const struct row {
    const char *          op; // prefix of the op's name
    enum weight           weight;
    double                base, root;
    double                input, output; // factors on the errors of these types
    double                amplify;
    enum ggs_value_growth growth;
    double                bias;
} rows[] = {
    // products: with quantised weights the engine rounds the other factor to 8 bits
    {"MUL_MAT", QUANTIZED, 1.2e-2, 0, 0, 0, 2.5, GGS_GROWTH_RELATIVE, 2e-3},
    {"MUL_MAT", F32, 5e-4, 6e-8, 0, 0, 2.5, GGS_GROWTH_RELATIVE, 2e-3},
    // with 16-bit weights a device may also add up in 16 bits: 2^-11 / sqrt(24) of a random walk
    {"MUL_MAT", HALF, 0, 1e-4, 2, 0, 2.5, GGS_GROWTH_RELATIVE, 2e-3},
    {"OUT_PROD", ANY, 5e-4, 6e-8, 0, 0, 2.5, GGS_GROWTH_RELATIVE, 2e-3},
    {"FLASH_ATTN", ANY, 2e-3, 0, 0, 0, 6, GGS_GROWTH_RELATIVE, 2e-3},
    // conversions
    {"SET_ROWS", ANY, 0, 0, 0, 1, 1.5, GGS_GROWTH_RELATIVE, 1e-3},
    {"CPY", ANY, 0, 0, 0, 1, 1.5, GGS_GROWTH_RELATIVE, 1e-3},
    {"DUP", ANY, 0, 0, 0, 1, 1.5, GGS_GROWTH_RELATIVE, 1e-3},
    {"CONT", ANY, 0, 0, 0, 1, 1.5, GGS_GROWTH_PART, 1e-3},
    // functions computed from tables or polynomials
    {"SOFT_MAX", ANY, 1e-5, 0, 0, 0, 6, GGS_GROWTH_EXPONENTIAL, 1e-5},
    {"GLU", ANY, 1e-3, 0, 0, 0, 3, GGS_GROWTH_RELATIVE, 1e-5},
    {"UNARY", ANY, 1e-3, 0, 0, 0, 3, GGS_GROWTH_RELATIVE, 1e-5},
    {"SILU", ANY, 1e-3, 0, 0, 0, 3, GGS_GROWTH_RELATIVE, 1e-5},
    {"GELU", ANY, 1e-3, 0, 0, 0, 3, GGS_GROWTH_RELATIVE, 1e-5},
    {"ROPE", ANY, 2e-6, 0, 0, 0, 1.5, GGS_GROWTH_PART, 1e-5},
    // rows and sums
    {"GET_ROWS", ANY, 1e-6, 0, 0, 0, 1.5, GGS_GROWTH_PART, 1e-5},
    {"SUM_ROWS", ANY, 1e-5, 6e-8, 0, 0, 1.5, GGS_GROWTH_PART, 1e-5},
    {"ADD", ANY, 1e-5, 6e-8, 0, 0, 0, GGS_GROWTH_ABSOLUTE, 1e-5},
    {"SUB", ANY, 1e-5, 6e-8, 0, 0, 0, GGS_GROWTH_ABSOLUTE, 1e-5},
    {"MUL", ANY, 1e-5, 6e-8, 0, 0, 3, GGS_GROWTH_RELATIVE, 1e-5},
    {"DIV", ANY, 1e-5, 6e-8, 0, 0, 3, GGS_GROWTH_RELATIVE, 1e-5},
    {"", ANY, 1e-5, 6e-8, 0, 0, 1.5, GGS_GROWTH_RELATIVE, 1e-5},
};

static bool is_product(const struct row * row) {
    return strcmp(row->op, "MUL_MAT") == 0 || strcmp(row->op, "OUT_PROD") == 0;
}

// The output of a product with few elements (a router of 4 experts) is short by chance for some
// tokens, while its error is not. Returns the factor by which the shortest of 1,000 is shorter than
// usual: a quantile of the chi-squared distribution, by Wilson and Hilferty. From 32 elements on,
// half of the slack covers it.
static double shortness(uint64_t outputs) {
    static const double QUANTILE = 3.09, MOST = 10, COVERED = 1.6;
    double              part = 2 / (9 * (double) outputs), root = 1 - part - QUANTILE * sqrt(part);
    double              times = root <= 0 ? MOST : fmin(MOST, 1 / sqrt(root * root * root));
    return fmax(1, times / COVERED);
}

struct ggs_value_limit ggs_value_limit(const char * op, const char * input_type, const char * type, uint64_t inner,
                                       uint64_t outer) {
    enum weight        weight = weight_of(input_type);
    const struct row * row    = rows;
    while (strncmp(row->op, op, strlen(row->op)) != 0 || (row->weight != ANY && row->weight != weight)) row++;
    double times = is_product(row) ? shortness(outer < inner ? outer : inner) : 1;
    return (struct ggs_value_limit){
        .own = times * (row->base + row->root * sqrt((double) inner) + row->input * ggs_value_type_error(input_type) +
                        row->output * ggs_value_type_error(type)),
        .amplify = times * row->amplify,
        .growth  = row->growth,
        .bias    = row->bias,
        // An output with more elements than the input has no more independent directions than it.
        .directions = is_product(row) ? (double) inner : INFINITY,
    };
}

double ggs_value_allowed(const struct ggs_value_limit * limit, double in, double absolute, double norm) {
    static const double ROUNDED_SUM = 1.1; // lengths are those of A alone
    double              sum         = norm > 0 ? ROUNDED_SUM * absolute / norm : absolute > 0 ? 1 : 0;
    switch (limit->growth) {
        case GGS_GROWTH_ABSOLUTE:
            return sum + limit->own;
        case GGS_GROWTH_PART:
            return sum + limit->amplify * in + limit->own;
        case GGS_GROWTH_EXPONENTIAL:
            return limit->amplify * in + 2 * absolute + limit->own;
        default:
            return limit->amplify * in + limit->own;
    }
}
