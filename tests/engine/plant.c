// A preload library for tests: a bug in one op of the CPU. What the op has computed is changed as a
// wrong kernel would have left it, before the capture library reads it.
//
//     PLANT=KIND,NUMBER,REGEX    which bug, and in which ops: REGEX is on "OP:tensor", or on
//                                "OP:(first input)" of a tensor without a name
//     PLANT_KV=NUMBER            a ggml_type for the KV cache, which ggscope-engine has no option for
//
// It stands before the capture library in LD_PRELOAD. It calls that one's functions by jumps, so
// that these see the engine as their caller.
#include <dlfcn.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ggml.h"
#include "llama.h"

struct ggml_cgraph;
struct ggml_cplan;

// The head of the engine's parameters of an op.
struct params {
    int    ith, nth;
    size_t wsize;
    void * wdata;
    void * pool;
};

static struct {
    bool    on;
    char    kind[24];
    double  number;
    regex_t where;
} plant;
static unsigned                           generation; // counts graphs
static _Thread_local unsigned             seen;
static _Thread_local struct ggml_tensor * before; // the last op of this thread
static void (*barrier)(void * pool);
static const char * (*op_name)(enum ggml_op op);

__attribute__((constructor)) static void configure(void) {
    const char * text = getenv("PLANT");
    char         where[256];
    if (text == NULL || sscanf(text, "%23[^,],%lf,%255[^\n]", plant.kind, &plant.number, where) != 3) return;
    plant.on = regcomp(&plant.where, where, REG_EXTENDED | REG_NOSUB) == 0;
}

static void find_engine(const void * caller) {
    Dl_info info;
    if (barrier != NULL || dladdr(caller, &info) == 0) return;
    void * handle = dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
    if (handle == NULL) return;
    *(void **) &op_name = dlsym(handle, "ggml_op_name");
    *(void **) &barrier = dlsym(handle, "ggml_barrier");
}

// ---- what is changed ----

struct output {
    struct ggml_tensor * t;
    int                  dim; // of tokens
    int64_t              tokens, elements;
};

static struct output output_of(struct ggml_tensor * t) {
    const char * op  = op_name(t->op);
    bool         two = strcmp(op, "SOFT_MAX") == 0 || t->ne[2] == 1;
    if (strcmp(op, "ROPE") == 0 || strcmp(op, "FLASH_ATTN_EXT") == 0 || strcmp(op, "MUL_MAT_ID") == 0) two = false;
    struct output out = {.t = t, .dim = two ? 1 : 2};
    out.tokens        = t->ne[out.dim];
    out.elements      = t->ne[0] * t->ne[two ? 2 : 1];
    return out;
}

static float * at(const struct output * out, int64_t token, int64_t element) {
    struct ggml_tensor * t  = out->t;
    int64_t              i0 = element % t->ne[0], rest = element / t->ne[0];
    size_t               step = out->dim == 1 ? t->nb[2] : t->nb[1];
    return (float *) ((char *) t->data + (size_t) i0 * t->nb[0] + (size_t) rest * step +
                      (size_t) token * t->nb[out->dim]);
}

static void scale(const struct output * out, int64_t token, int64_t from, int64_t to, float factor) {
    for (int64_t i = from; i < to; i++) *at(out, token, i) *= factor;
}

static float coarse(float x) { // rounded to BF16
    uint32_t bits;
    memcpy(&bits, &x, 4);
    bits &= 0xffff0000u;
    memcpy(&x, &bits, 4);
    return x;
}

// A wrong frequency: rotates pairs a bit more for each position.
static void turn(const struct output * out, int64_t token, double angle) {
    int64_t half = out->t->ne[0] / 2;
    float   c = (float) cos(angle), s = (float) sin(angle);
    for (int64_t i = 0; i < out->elements; i++) {
        if (i % out->t->ne[0] >= half) continue;
        float *x = at(out, token, i), *y = at(out, token, i + half), a = *x, b = *y;
        *x = a * c - b * s;
        *y = a * s + b * c;
    }
}

// The position after the right one: rotates each pair by its own angle. Pairs are neighbours, or
// halves of a head (NEOX).
static void next_position(const struct output * out, int64_t token) {
    int32_t mode, half = (int32_t) out->t->ne[0] / 2;
    float   base;
    memcpy(&mode, (const char *) out->t->op_params + 2 * sizeof(int32_t), sizeof(mode));
    memcpy(&base, (const char *) out->t->op_params + 5 * sizeof(int32_t), sizeof(base));
    for (int64_t head = 0; head < out->elements; head += out->t->ne[0]) {
        for (int64_t i = 0; i < half; i++) {
            double angle = pow((double) base, -(double) i / half);
            float *x     = at(out, token, head + ((mode & 2) != 0 ? i : 2 * i)),
                  *y     = at(out, token, head + ((mode & 2) != 0 ? i + half : 2 * i + 1));
            float a = *x, b = *y, c = (float) cos(angle), s = (float) sin(angle);
            *x = a * c - b * s;
            *y = a * s + b * c;
        }
    }
}

// Swaps parts `i` and `i` + 1 of `width` elements: heads, or the outputs of chosen experts.
static void swap_parts(const struct output * out, int64_t token, int64_t i, int64_t width) {
    for (int64_t e = 0; (i + 2) * width <= out->elements && e < width; e++) {
        float *x = at(out, token, i * width + e), *y = at(out, token, (i + 1) * width + e), a = *x;
        *x = *y;
        *y = a;
    }
}

static void wrong_epsilon(const struct output * out, int64_t token, float epsilon) {
    const struct ggml_tensor * norm = out->t->src[0];
    const struct ggml_tensor * in   = norm->src[0];
    double                     sum  = 0, right;
    float                      own;
    if (in == NULL || in->type != GGML_TYPE_F32) return;
    memcpy(&own, norm->op_params, sizeof(own));
    const float * x = (const float *) ((const char *) in->data + (size_t) token * in->nb[1]);
    for (int64_t i = 0; i < in->ne[0]; i++) sum += (double) x[i] * (double) x[i];
    right = sum / (double) in->ne[0];
    scale(out, token, 0, out->elements, (float) sqrt((right + (double) own) / (right + (double) epsilon)));
}

static void wrong_expert(const struct output * out, int64_t token, int32_t expert) {
    const struct ggml_tensor * ids = out->t->src[2];
    for (int64_t s = 0; s < out->t->ne[1]; s++) {
        int32_t id =
            *(const int32_t *) ((const char *) ids->data + (size_t) s * ids->nb[0] + (size_t) token * ids->nb[1]);
        if (id == expert) scale(out, token, s * out->t->ne[0], (s + 1) * out->t->ne[0], 0.8f);
    }
}

// Copies the row of the token before to the last token of the batch, or clears it (`forget`).
static bool shift_rows(struct ggml_tensor * t, bool forget) {
    const struct ggml_tensor *given = t->src[0], *ids = t->src[1];
    int64_t                   n = ids->ne[0];
    if (n < 2 || t->ne[0] != given->ne[0]) return false;
    int64_t last[2] = {0};
    for (int64_t i = 0; i < 2; i++) {
        const char * id = (const char *) ids->data + (size_t) (n - 2 + i) * ids->nb[0];
        last[i]         = ids->type == GGML_TYPE_I64 ? *(const int64_t *) id : *(const int32_t *) id;
    }
    char * row = (char *) t->data + (size_t) last[1] * t->nb[1];
    if (forget)
        memset(row, 0, t->nb[1]);
    else
        memcpy(row, (char *) t->data + (size_t) last[0] * t->nb[1], t->nb[1]);
    return true;
}

static void change_token(const struct output * out, int64_t t) {
    const char * k = plant.kind;
    double       x = plant.number;
    int64_t      n = out->elements, i = (int64_t) x, width = out->t->ne[0];
    if (!strcmp(k, "flip") && i < n) *at(out, t, i) *= -1;
    if (!strcmp(k, "nan") && (t == i || out->tokens == 1)) *at(out, t, n / 2) = NAN;
    if (!strcmp(k, "inf") && t == i) *at(out, t, 1) = INFINITY;
    if (!strcmp(k, "scale")) scale(out, t, 0, n, (float) x);
    if (!strcmp(k, "odd") && t % 2 == 1) scale(out, t, 0, n, (float) x);
    if (!strcmp(k, "generated") && out->tokens == 1) scale(out, t, 0, n, (float) x);
    if (!strcmp(k, "large") && out->tokens > 32) scale(out, t, 0, n, (float) x);
    if (!strcmp(k, "turn")) turn(out, t, x * (double) (t + 1));
    if (!strcmp(k, "position")) next_position(out, t);
    if (!strcmp(k, "parts")) swap_parts(out, t, i, width);
    if (!strcmp(k, "channel") && i < n) *at(out, t, i) *= 1.5f;
    if (!strcmp(k, "bias") && i < n) *at(out, t, i) += 0.5f;
    if (!strcmp(k, "tail")) scale(out, t, width - i, width, 0);
    if (!strcmp(k, "epsilon")) wrong_epsilon(out, t, (float) x);
    if (!strcmp(k, "expert")) wrong_expert(out, t, i);
    if (!strcmp(k, "head")) scale(out, t, i * width, (i + 1) * width, 0);
    if (!strcmp(k, "block") && n >= 32 * (i + 1)) scale(out, t, 32 * i, 32 * (i + 1), 0);
    if (!strcmp(k, "coarse"))
        for (int64_t e = 0; e < n; e++) *at(out, t, e) = coarse(*at(out, t, e));
    if (!strcmp(k, "clamp"))
        for (int64_t e = 0; e < n; e++) *at(out, t, e) = fmaxf((float) -x, fminf((float) x, *at(out, t, e)));
    if (!strcmp(k, "offset"))
        for (int64_t e = 0; e < n; e++) *at(out, t, e) += (float) x;
    if (!strcmp(k, "stale") && t > 0 && t == out->tokens - 1)
        for (int64_t e = 0; e < n; e++) *at(out, t, e) = *at(out, t - 1, e);
    if (!strcmp(k, "swap") && i + 1 < n) {
        float a = *at(out, t, i), *b = at(out, t, i + 1);
        *at(out, t, i) = *b;
        *b             = a;
    }
}

static void name_of(const struct ggml_tensor * t, char * text, size_t size) {
    bool                       nameless = t->name[0] == '\0' || strncmp(t->name, "node_", 5) == 0;
    const struct ggml_tensor * from     = nameless && t->src[0] != NULL ? t->src[0] : t;
    snprintf(text, size, "%s:%s%.*s%s", op_name(t->op), nameless ? "(" : "", (int) strcspn(from->name, " "), from->name,
             nameless ? ")" : "");
}

static bool is_planted(const struct ggml_tensor * t) {
    char text[256];
    name_of(t, text, sizeof(text));
    return regexec(&plant.where, text, 0, NULL, 0) == 0;
}

static void change(struct ggml_tensor * t) {
    if (strcmp(plant.kind, "shift") == 0 || strcmp(plant.kind, "forget") == 0) {
        shift_rows(t, plant.kind[0] == 'f');
        return;
    }
    struct output out = output_of(t);
    if (t->type != GGML_TYPE_F32) return;
    for (int64_t i = 0; i < out.tokens; i++) change_token(&out, i);
}

// Every thread is about to compute `next`: the output of the previous op is complete.
static void begin(const struct params * params, struct ggml_tensor * next, const void * caller) {
    find_engine(caller);
    if (!plant.on || barrier == NULL || op_name == NULL) return;
    if (strcmp(plant.kind, "late") == 0) { // thread NUMBER comes late to the op
        if (params->ith == (int) plant.number && is_planted(next)) usleep(200);
        return;
    }
    if (seen != generation) before = NULL;
    seen = generation;
    if (before != NULL && is_planted(before)) {
        if (params->ith == 0) change(before);
        barrier(params->pool);
    }
    before = next;
}

// ---- hooks ----

#define NEXT(name) ((__typeof__(&name)) dlsym(RTLD_NEXT, #name))
#define CALLER     __builtin_return_address(0)

bool ggml_cpu_extra_compute_forward(struct params * params, struct ggml_tensor * node);
bool ggml_cpu_extra_compute_forward(struct params * params, struct ggml_tensor * node) {
    begin(params, node, CALLER);
    return NEXT(ggml_cpu_extra_compute_forward)(params, node);
}

void ggml_compute_forward_rms_norm_mul_fused(struct params * params, struct ggml_tensor * norm,
                                             struct ggml_tensor * mul);
void ggml_compute_forward_rms_norm_mul_fused(struct params * params, struct ggml_tensor * norm,
                                             struct ggml_tensor * mul) {
    begin(params, mul, CALLER);
    NEXT(ggml_compute_forward_rms_norm_mul_fused)(params, norm, mul);
}

enum ggml_status ggml_graph_compute(struct ggml_cgraph * graph, struct ggml_cplan * plan);
enum ggml_status ggml_graph_compute(struct ggml_cgraph * graph, struct ggml_cplan * plan) {
    __atomic_add_fetch(&generation, 1, __ATOMIC_RELAXED);
    return NEXT(ggml_graph_compute)(graph, plan);
}

struct llama_context * llama_init_from_model(struct llama_model * model, struct llama_context_params params) {
    const char * type = getenv("PLANT_KV");
    if (type != NULL) params.type_k = params.type_v = (enum ggml_type) atoi(type);
    return NEXT(llama_init_from_model)(model, params);
}
