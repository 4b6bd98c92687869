#include "trials/tune-knobs.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- what counts for a goal ----

// True if a gain in this part is one for the goal. Findings about memory gain no time.
static bool counts(enum ggs_tune_goal goal, enum ggs_reason_part part) {
    switch (goal) {
        case GGS_TUNE_PROMPT:
            return part == GGS_PART_PROMPT || part == GGS_PART_TOKENS;
        case GGS_TUNE_GENERATE:
            return part == GGS_PART_GENERATE || part == GGS_PART_TOKENS;
        case GGS_TUNE_LOAD:
            return part == GGS_PART_LOAD;
        default:
            return part != GGS_PART_LOAD && part != GGS_PART_MEMORY;
    }
}

static double share_of(enum ggs_tune_goal goal, const struct ggs_explanation * explanation, enum ggs_reason_part part,
                       uint64_t gain_ns) {
    static const enum ggs_reason_part whole[GGS_TUNE_GOALS] = {GGS_PART_TOKENS, GGS_PART_PROMPT, GGS_PART_GENERATE,
                                                               GGS_PART_TOKENS, GGS_PART_LOAD};
    uint64_t                          of = explanation->part_ns[part == GGS_PART_TOKENS ? part : whole[goal]];
    return of == 0 ? 0 : (double) gain_ns / (double) of;
}

// ---- collecting ----

// True if a knob of the user sets the same option. The user's knob wins.
static bool is_own(const struct ggs_invocation * program, const struct ggs_knob_setting * setting) {
    struct ggs_text text  = {0};
    bool            found = false;
    ggs_invocation_say(program, setting, &text);
    for (unsigned i = 0; i < program->n_own; i++) {
        size_t length = strlen(program->own[i].option);
        found |= strncmp(ggs_text_string(&text), program->own[i].option, length) == 0;
    }
    ggs_text_release(&text);
    return found;
}

static struct ggs_tune_knob * find(struct ggs_tune_knobs * knobs, enum ggs_knob knob) {
    for (unsigned i = 0; i < knobs->n; i++)
        if (knobs->list[i].values.knob == knob) return &knobs->list[i];
    return NULL;
}

static const struct ggs_explain_knob * find_values(const struct ggs_explanation * explanation, enum ggs_knob knob) {
    for (unsigned i = 0; i < explanation->n_knobs; i++)
        if (explanation->knob[i].knob == knob) return &explanation->knob[i];
    return NULL;
}

static unsigned index_of(const struct ggs_explain_knob * values, const char * value) {
    for (unsigned i = 0; i < values->n; i++)
        if (strcmp(values->value[i], value) == 0) return i;
    return values->start;
}

static struct ggs_tune_knob * add(struct ggs_tune_knobs * knobs, const struct ggs_explain_knob * values) {
    if (knobs->n == GGS_SEARCH_KNOBS) return NULL;
    struct ggs_tune_knob * knob = &knobs->list[knobs->n++];
    *knob                       = (struct ggs_tune_knob){.values = *values, .remedy = values->start};
    return knob;
}

// A ubatch that holds the prompt is the same as a larger one.
static const char * same_as(const struct ggs_explain_knob * values, const char * value) {
    const char * most = values->value[values->n - 1];
    bool         more = values->knob == GGS_KNOB_UBATCH && strtoul(value, NULL, 10) > strtoul(most, NULL, 10);
    return more && values->n - 1 != values->start ? most : value;
}

static void add_remedy(struct ggs_tune_knobs * knobs, const struct ggs_explanation * explanation,
                       const struct ggs_reason * reason, const struct ggs_knob_setting * setting,
                       const struct ggs_tune_options * options) {
    bool other_model = setting->knob == GGS_KNOB_MODEL; // the file does not exist yet
    if (other_model || !ggs_invocation_takes(&explanation->program, setting, 1)) return;
    if (ggs_knob_is_lossy(setting->knob) && !options->lossy) {
        knobs->lossy_left_out++;
        return;
    }
    struct ggs_tune_knob * knob = find(knobs, setting->knob);
    if (knob == NULL) {
        const struct ggs_explain_knob * known = find_values(explanation, setting->knob);
        struct ggs_explain_knob         two   = {.knob = setting->knob, .value = {"(as it is)"}, .n = 1};
        knob                                  = add(knobs, known != NULL ? known : &two);
    }
    if (knob == NULL || knob->remedy != knob->values.start) return; // the larger gain comes first
    const char * value = same_as(&knob->values, setting->value);
    ggs_explain_knob_add(&knob->values, value);
    knob->remedy = index_of(&knob->values, value);
    knob->bound  = share_of(options->goal, explanation, reason->part, reason->gain_ns);
    snprintf(knob->finding, sizeof(knob->finding), "%s", reason->name);
}

static bool are_rising_numbers(const struct ggs_own_knob * knob) {
    unsigned long last = 0;
    for (unsigned i = 0; i < knob->n; i++) {
        char *        end;
        unsigned long number = strtoul(knob->value[i], &end, 10);
        if (!isdigit((unsigned char) knob->value[i][0]) || *end != '\0' || (i > 0 && number <= last)) return false;
        last = number;
    }
    return true;
}

// The program's value comes first, so that it is the start.
static void add_own(struct ggs_tune_knobs * knobs, const struct ggs_invocation * program,
                    const struct ggs_tune_options * options, unsigned number) {
    const struct ggs_own_knob * own    = &options->knobs[number];
    enum ggs_knob               id     = (enum ggs_knob)(GGS_KNOBS + (int) number);
    const char *                has    = ggs_invocation_value(program, id);
    struct ggs_explain_knob     values = {.knob = id, .ordered = has != NULL && are_rising_numbers(own)};
    values.ordered                     = values.ordered && has[0] != '\0' && has[strspn(has, "0123456789")] == '\0';
    ggs_explain_knob_add(&values, has != NULL ? has : "(as it is)");
    for (unsigned i = 0; i < own->n; i++) ggs_explain_knob_add(&values, own->value[i]);
    struct ggs_tune_knob * knob = add(knobs, &values);
    if (knob != NULL) knob->own = true, knob->bound = 1;
}

void ggs_tune_knobs_choose(struct ggs_tune_knobs * knobs, const struct ggs_explanation * explanation,
                           const struct ggs_tune_options * options) {
    const struct ggs_invocation * program = &explanation->program;
    *knobs                                = (struct ggs_tune_knobs){.n = 0};
    for (unsigned i = 0; i < options->n_knobs; i++) add_own(knobs, program, options, i);
    for (unsigned i = 0; i < explanation->n; i++) {
        const struct ggs_reason * reason = &explanation->finding[i];
        for (unsigned k = 0; k < sizeof(reason->settings) / sizeof(reason->settings[0]); k++)
            if (reason->settings[k].knob != GGS_KNOB_NONE && counts(options->goal, reason->part) &&
                !is_own(program, &reason->settings[k]))
                add_remedy(knobs, explanation, reason, &reason->settings[k], options);
    }
    for (unsigned i = 0; i < explanation->n_knobs; i++) {
        const struct ggs_explain_knob * values = &explanation->knob[i];
        struct ggs_knob_setting         other  = {.knob = values->knob};
        memcpy(other.value, values->value[values->start == 0 ? values->n - 1 : 0], sizeof(other.value));
        if (values->n < 2 || find(knobs, values->knob) != NULL || !counts(options->goal, values->part)) continue;
        if (is_own(program, &other) || !ggs_invocation_takes(program, &other, 1)) continue;
        struct ggs_tune_knob * knob = add(knobs, values);
        if (knob != NULL) knob->bound = share_of(options->goal, explanation, values->part, values->gain_ns);
    }
}
