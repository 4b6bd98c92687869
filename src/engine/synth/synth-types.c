#include "engine/synth/synth-types.h"

#include "base/error.h"
#include "base/text.h"
#include "engine/synth/synth-plan.h"

#include "ggml.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

// The types that the library can quantize to and multiply with; it aborts the process for any
// other. The numbers are those of GGUF files and never change.
static const struct {
    const char * name;
    int          type;
} types[] = {
    {"f32", GGML_TYPE_F32},         {"f16", GGML_TYPE_F16},       {"bf16", GGML_TYPE_BF16},
    {"q4_0", GGML_TYPE_Q4_0},       {"q4_1", GGML_TYPE_Q4_1},     {"q5_0", GGML_TYPE_Q5_0},
    {"q5_1", GGML_TYPE_Q5_1},       {"q8_0", GGML_TYPE_Q8_0},     {"q2_k", GGML_TYPE_Q2_K},
    {"q3_k", GGML_TYPE_Q3_K},       {"q4_k", GGML_TYPE_Q4_K},     {"q5_k", GGML_TYPE_Q5_K},
    {"q6_k", GGML_TYPE_Q6_K},       {"iq1_s", GGML_TYPE_IQ1_S},   {"iq1_m", GGML_TYPE_IQ1_M},
    {"iq2_xxs", GGML_TYPE_IQ2_XXS}, {"iq2_xs", GGML_TYPE_IQ2_XS}, {"iq2_s", GGML_TYPE_IQ2_S},
    {"iq3_xxs", GGML_TYPE_IQ3_XXS}, {"iq3_s", GGML_TYPE_IQ3_S},   {"iq4_nl", GGML_TYPE_IQ4_NL},
    {"iq4_xs", GGML_TYPE_IQ4_XS},   {"tq1_0", GGML_TYPE_TQ1_0},   {"tq2_0", GGML_TYPE_TQ2_0},
    {"mxfp4", GGML_TYPE_MXFP4},     {"nvfp4", GGML_TYPE_NVFP4},   {"q1_0", GGML_TYPE_Q1_0},
    {"q2_0", GGML_TYPE_Q2_0},
};

static int fail_type(const char * name, struct ggs_error * error) {
    struct ggs_text list = {0};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        ggs_text_printf(&list, "%s%s", i > 0 ? ", " : "", types[i].name);
    }
    ggs_fail(error, GGS_USAGE, "--types: no tensor can have the type '%s'; there are %s", name, ggs_text_string(&list));
    ggs_text_release(&list);
    return GGS_USAGE;
}

// An engine of another release may lack a type of the table, or have another name for it.
static int find_type(const char * name, int * type, struct ggs_error * error) {
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcasecmp(types[i].name, name) != 0) continue;
        const char * known = ggml_type_name((enum ggml_type) types[i].type);
        if (known == NULL || strcasecmp(known, name) != 0) {
            return ggs_fail(error, GGS_UNSUPPORTED, "--types: this engine does not know the type %s", types[i].name);
        }
        *type = types[i].type;
        return 0;
    }
    return fail_type(name, error);
}

static bool fits(const struct ggs_synth_tensor * tensor, int type) {
    return tensor->shape[0] % (uint64_t) ggml_blck_size((enum ggml_type) type) == 0;
}

static int mixed_type(const struct ggs_synth_tensor * tensor) {
    static const int usual[2]   = {GGML_TYPE_Q4_K, GGML_TYPE_Q4_0};
    static const int precise[2] = {GGML_TYPE_Q6_K, GGML_TYPE_Q8_0};

    if (tensor->class == GGS_SYNTH_FIXED) return GGML_TYPE_F32;
    if (strcmp(tensor->component, "position_embd") == 0) return GGML_TYPE_F32;
    const int * candidates = tensor->precise || tensor->class == GGS_SYNTH_APART ? precise : usual;
    for (int i = 0; i < 2; i++) {
        if (fits(tensor, candidates[i])) return candidates[i];
    }
    return GGML_TYPE_F16;
}

static int measure(struct ggs_synth_tensor * tensor, struct ggs_error * error) {
    enum ggml_type type = (enum ggml_type) tensor->type;
    if (!fits(tensor, tensor->type)) {
        return ggs_fail(
            error, GGS_USAGE,
            "%s cannot be %s: its rows of %llu values are not a multiple of the block of %lld: change widths or --types",
            tensor->name, ggml_type_name(type), (unsigned long long) tensor->shape[0],
            (long long) ggml_blck_size(type));
    }
    tensor->size = ggml_row_size(type, (int64_t) tensor->shape[0]) * tensor->shape[1] * tensor->shape[2];
    return 0;
}

// Lists the components that --types can name, each once, in file order.
static void list_components(const struct ggs_synth_plan * plan, struct ggs_text * list) {
    ggs_text_puts(list, "default");
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->tensors[i].class == GGS_SYNTH_FIXED) continue;
        size_t before = 0;
        while (before < i && strcmp(plan->tensors[before].component, plan->tensors[i].component) != 0) before++;
        if (before == i) ggs_text_printf(list, ", %s", plan->tensors[i].component);
    }
}

static int fail_component(const struct ggs_synth_plan * plan, const char * component, struct ggs_error * error) {
    struct ggs_text list = {0};
    list_components(plan, &list);
    ggs_fail(error, GGS_USAGE, "--types: this model has no component '%s' whose type can be chosen; there are %s",
             component, ggs_text_string(&list));
    ggs_text_release(&list);
    return GGS_USAGE;
}

// Applies one "component=type" of the spec, or a "type" for the default.
static int apply_entry(struct ggs_synth_plan * plan, const char * component, const char * name,
                       struct ggs_error * error) {
    int  type = 0, status = find_type(name, &type, error);
    bool everything = strcasecmp(component, "default") == 0;
    bool found      = everything;
    for (size_t i = 0; i < plan->count && status == 0; i++) {
        struct ggs_synth_tensor * tensor = &plan->tensors[i];
        if (tensor->class == GGS_SYNTH_FIXED) continue;
        if (everything ? tensor->class == GGS_SYNTH_APART : strcmp(tensor->component, component) != 0) continue;
        tensor->type = type;
        found        = true;
    }
    if (status == 0 && !found) return fail_component(plan, component, error);
    return status;
}

// Two passes over the spec, so that components override `default` in any order.
static int apply_spec(struct ggs_synth_plan * plan, char * spec, bool defaults, struct ggs_error * error) {
    for (char * entry = spec; entry != NULL;) {
        char * next   = strchr(entry, ',');
        char * equals = strchr(entry, '=');
        if (next != NULL) *next = '\0';
        if (equals != NULL && (next == NULL || equals < next)) {
            *equals = '\0';
        } else {
            equals = NULL;
        }
        const char * component = equals != NULL ? entry : "default";
        const char * type      = equals != NULL ? equals + 1 : entry;
        if ((strcasecmp(component, "default") == 0) == defaults) {
            int status = apply_entry(plan, component, type, error);
            if (status < 0) return status;
        }
        if (equals != NULL) *equals = '=';
        if (next != NULL) *next = ',';
        entry = next != NULL ? next + 1 : NULL;
    }
    return 0;
}

int ggs_synth_types_apply(struct ggs_synth_plan * plan, const char * spec, struct ggs_error * error) {
    int status = 0;
    for (size_t i = 0; i < plan->count; i++) plan->tensors[i].type = mixed_type(&plan->tensors[i]);

    if (spec != NULL) {
        char * copy = strdup(spec);
        if (copy == NULL) return ggs_fail_memory(error);
        status = apply_spec(plan, copy, true, error);
        if (status == 0) status = apply_spec(plan, copy, false, error);
        free(copy);
    }

    for (size_t i = 0; i < plan->count && status == 0; i++) {
        status = measure(&plan->tensors[i], error);
    }
    return status;
}
