#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "base/text.h"
#include "record/recording.h"
#include "trials/study.h"

// ---- lists of words ----

static bool insert(char *** list, unsigned * n, unsigned at, const char * word) {
    char ** longer = realloc(*list, (*n + 2) * sizeof(**list));
    char *  copy   = longer == NULL ? NULL : strdup(word);
    if (longer != NULL) *list = longer;
    if (copy == NULL) return false;
    memmove(longer + at + 1, longer + at, (*n - at) * sizeof(*longer));
    longer[at]     = copy;
    longer[++(*n)] = NULL;
    return true;
}

static bool append(char *** list, unsigned * n, const char * word) {
    return insert(list, n, *n, word);
}

static void cut(char ** list, unsigned * n, unsigned at) {
    free(list[at]);
    memmove(list + at, list + at + 1, (*n - at) * sizeof(*list)); // with the NULL
    (*n)--;
}

void ggs_study_variant_release(struct ggs_study_variant * variant) {
    for (unsigned i = 0; i < variant->n_options; i++) free(variant->options[i]);
    for (unsigned i = 0; i < variant->n_program; i++) free(variant->program[i]);
    free(variant->options);
    free(variant->program);
    *variant = (struct ggs_study_variant){0};
}

// ---- applying a factor ----

static int fail_value(const char * factor, const char * value, const char * expects, struct ggs_error * error) {
    return ggs_fail(error, GGS_USAGE, "%s takes %s, not '%s'", factor, expects, value);
}

// Returns -1 if it is neither.
static int yes_or_no(const char * value) {
    return strcmp(value, "yes") == 0 ? 1 : strcmp(value, "no") == 0 ? 0 : -1;
}

static int set_switch(const char * factor, const char * value, bool * is, struct ggs_error * error) {
    int answer = yes_or_no(value);
    *is        = answer == 1;
    return answer < 0 ? fail_value(factor, value, "yes or no", error) : 0;
}

// Sets an argument of the program: after `name` or `other`, or as --name=value; appended if
// missing. "no" removes a switch.
static int set_argument(struct ggs_study_variant * variant, const char * name, const char * other, const char * value,
                        struct ggs_error * error) {
    bool is_switch = yes_or_no(value) >= 0, ok = true;
    for (unsigned i = 1; i < variant->n_program; i++) {
        char * word   = variant->program[i];
        size_t length = strlen(name);
        if (strncmp(word, name, length) == 0 && word[length] == '=' && length > 2) {
            char * whole = NULL;
            if (asprintf(&whole, "%s=%s", name, value) < 0) return ggs_fail_memory(error);
            free(word);
            variant->program[i] = whole;
            return 0;
        }
        if (strcmp(word, name) != 0 && (other == NULL || strcmp(word, other) != 0)) continue;
        if (is_switch) {
            if (yes_or_no(value) == 0) cut(variant->program, &variant->n_program, i);
            return 0;
        }
        if (variant->program[i + 1] != NULL) cut(variant->program, &variant->n_program, i + 1);
        return insert(&variant->program, &variant->n_program, i + 1, value) ? 0 : ggs_fail_memory(error);
    }
    if (is_switch && yes_or_no(value) == 0) return 0;
    ok = append(&variant->program, &variant->n_program, name);
    if (ok && !is_switch) ok = append(&variant->program, &variant->n_program, value);
    return ok ? 0 : ggs_fail_memory(error);
}

static const struct ggs_option * option_of_record(const char * name) {
    static const char * const       ours[]  = {"output", "force", "quiet", "name", "group", "memory", "cold", NULL};
    const struct ggs_option * const lists[] = {ggs_recording_options, ggs_machine_options};
    for (unsigned i = 0; ours[i] != NULL; i++) {
        if (strcmp(ours[i], name) == 0) return NULL;
    }
    for (unsigned i = 0; i < 2; i++) {
        for (const struct ggs_option * option = lists[i]; option->name != NULL; option++) {
            if (strcmp(option->name, name) == 0) return option;
        }
    }
    return NULL;
}

static int set_option(struct ggs_study_variant * variant, const char * name, const char * value,
                      struct ggs_error * error) {
    const struct ggs_option * option = option_of_record(name);
    struct ggs_recording      trial  = {0};
    struct ggs_text           word   = {0};
    bool                      given;
    if (option == NULL)
        return ggs_fail(error, GGS_USAGE,
                        "a study cannot vary '%s': it varies memory, cold, readahead, drop-caches, model, prompt, "
                        "options of ggscope record and, with their dash, arguments of the program",
                        name);
    if (option->value == NULL) {
        int status = set_switch(name, value, &given, error);
        if (status != 0) return status;
        ggs_text_printf(&word, "--%s", name);
    } else {
        given = strcmp(value, "none") != 0;
        if (given && !option->set((char *) &trial + option->offset, value))
            return fail_value(name, value, option->expects != NULL ? option->expects : "a word that it knows", error);
        ggs_text_printf(&word, "--%s=%s", name, value);
    }
    bool ok = !word.failed && (!given || append(&variant->options, &variant->n_options, ggs_text_string(&word)));
    ggs_text_release(&word);
    return ok ? 0 : ggs_fail_memory(error);
}

static int set_readahead(struct ggs_study_variant * variant, const char * value, struct ggs_error * error) {
    uint64_t bytes;
    if (strcmp(value, "none") == 0) return 0;
    if (!ggs_parse_bytes(value, &bytes) || bytes > (1u << 30))
        return fail_value("readahead", value, "a size such as 128K, at most 1G, or none", error);
    variant->readahead = (int64_t) bytes;
    return 0;
}

static int set_one(struct ggs_study_variant * variant, struct ggs_memory_size * memory, const char * name,
                   const char * value, struct ggs_error * error) {
    if (strcmp(name, "memory") == 0)
        return strcmp(value, "none") == 0 || ggs_set_memory(memory, value)
                   ? 0
                   : fail_value("memory", value, GGS_EXPECTS_MEMORY ", or none", error);
    if (strcmp(name, "cold") == 0) {
        int status    = set_switch(name, value, &variant->cold, error);
        variant->warm = !variant->cold;
        return status;
    }
    if (strcmp(name, "drop-caches") == 0) return set_switch(name, value, &variant->drop_caches, error);
    if (strcmp(name, "readahead") == 0) return set_readahead(variant, value, error);
    if (strcmp(name, "model") == 0) return set_argument(variant, "-m", "--model", value, error);
    if (strcmp(name, "prompt") == 0) return set_argument(variant, "-p", "--prompt", value, error);
    if (name[0] == '-') return set_argument(variant, name, NULL, value, error);
    return set_option(variant, name, value, error);
}

int ggs_study_variant_make(const struct ggs_study * study, unsigned number, struct ggs_study_variant * out,
                           struct ggs_error * error) {
    struct ggs_memory_size memory = {0};
    int                    status = 0;
    bool                   ok     = true;
    struct ggs_text        title  = {0};
    *out                          = (struct ggs_study_variant){.readahead = -1};
    snprintf(out->name, sizeof(out->name), "v%02u", number + 1);
    for (char ** word = study->program; ok && *word != NULL; word++) ok = append(&out->program, &out->n_program, *word);
    ok = ok && append(&out->options, &out->n_options, "-q");
    if (!ok) return ggs_fail_memory(error);
    for (unsigned i = 0; i < study->n_factors && status == 0; i++) {
        const char * value = ggs_study_value(study, number, i);
        status             = set_one(out, &memory, study->factors[i].name, value, error);
        ggs_text_printf(&title, "%s%s=%s", i == 0 ? "" : " ", study->factors[i].name, value);
    }
    snprintf(out->title, sizeof(out->title), "%s", title.length == 0 ? out->name : ggs_text_string(&title));
    ggs_text_release(&title);
    out->model = ggs_recording_find_model(out->program);
    if (status == 0) status = ggs_memory_size_resolve(&memory, out->model, "memory", error);
    out->memory = memory.bytes;
    if (status == 0 && (out->cold || out->warm || out->readahead >= 0) && out->model == NULL)
        status = ggs_fail(error, GGS_USAGE, "%s needs the model, and the program names none with -m FILE",
                          out->readahead >= 0 ? "readahead" : "cold");
    return status;
}
