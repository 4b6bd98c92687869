#include "trials/study.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/number.h"
#include "base/system/file.h"
#include "base/text.h"
#include "record/host.h"
#include "trials/journal.h"

enum { MOST_REPEATS = 1000, MOST_WORDS = 512 };

void ggs_study_release(struct ggs_study * study) {
    for (unsigned i = 0; i < study->n_factors; i++) {
        free(study->factors[i].name);
        for (unsigned k = 0; k < study->factors[i].n; k++) free(study->factors[i].values[k]);
    }
    for (char ** word = study->program; word != NULL && *word != NULL; word++) free(*word);
    free(study->program);
    *study = (struct ggs_study){0};
}

static struct ggs_factor * factor_of(struct ggs_study * study, const char * name) {
    for (unsigned i = 0; i < study->n_factors; i++) {
        if (strcmp(study->factors[i].name, name) == 0) return &study->factors[i];
    }
    return NULL;
}

int ggs_study_add(struct ggs_study * study, const char * name, const char * value, struct ggs_error * error) {
    struct ggs_factor * factor = factor_of(study, name);
    if (factor == NULL) {
        if (study->n_factors == GGS_STUDY_FACTORS)
            return ggs_fail(error, GGS_USAGE, "a study has at most %d factors", GGS_STUDY_FACTORS);
        factor       = &study->factors[study->n_factors];
        factor->name = strdup(name);
        if (factor->name == NULL) return ggs_fail_memory(error);
        study->n_factors++;
    }
    if (factor->n == GGS_STUDY_VALUES)
        return ggs_fail(error, GGS_USAGE, "%s has more than %d values", name, GGS_STUDY_VALUES);
    factor->values[factor->n] = strdup(value);
    if (factor->values[factor->n] == NULL) return ggs_fail_memory(error);
    factor->n++;
    return 0;
}

int ggs_study_add_list(struct ggs_study * study, const char * name, const char * list, struct ggs_error * error) {
    struct ggs_text value  = {0};
    int             status = 0;
    for (const char * at = list; status == 0; at++) {
        if (*at == '\\' && at[1] == ',') {
            ggs_text_putc(&value, *++at);
        } else if (*at != ',' && *at != '\0') {
            ggs_text_putc(&value, *at);
        } else {
            status = value.failed        ? ggs_fail_memory(error)
                     : value.length == 0 ? ggs_fail(error, GGS_USAGE, "%s has an empty value in '%s'", name, list)
                                         : ggs_study_add(study, name, ggs_text_string(&value), error);
            ggs_text_clear(&value);
            if (*at == '\0') break;
        }
    }
    ggs_text_release(&value);
    return status;
}

int ggs_study_set_program(struct ggs_study * study, char * const * words, struct ggs_error * error) {
    size_t n = 0;
    while (words[n] != NULL) n++;
    if (n > MOST_WORDS) return ggs_fail(error, GGS_USAGE, "the program has more than %d arguments", MOST_WORDS);
    study->program = calloc(n + 1, sizeof(*study->program));
    if (study->program == NULL) return ggs_fail_memory(error);
    for (size_t i = 0; i < n; i++) {
        if ((study->program[i] = strdup(words[i])) == NULL) return ggs_fail_memory(error);
    }
    return 0;
}

// ---- the file ----

// Returns a value as text; true and false become yes and no.
static const char * text_of(struct json_object * value) {
    if (json_object_is_type(value, json_type_boolean)) return json_object_get_boolean(value) ? "yes" : "no";
    if (json_object_is_type(value, json_type_array) || json_object_is_type(value, json_type_object)) return NULL;
    return value == NULL ? "none" : json_object_get_string(value);
}

static int read_factors(struct ggs_study * study, struct json_object * factors, const char * path,
                        struct ggs_error * error) {
    int status = 0;
    json_object_object_foreach(factors, name, list) {
        size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
        if (status == 0 && n == 0)
            status = ggs_fail(error, GGS_FORMAT, "%s: factors.%s must be a list of values", path, name);
        for (size_t i = 0; i < n && status == 0; i++) {
            const char * value = text_of(json_object_array_get_idx(list, i));
            status             = value == NULL ? ggs_fail(error, GGS_FORMAT,
                                                          "%s: factors.%s has a value that is neither text nor number", path, name)
                                               : ggs_study_add(study, name, value, error);
        }
    }
    return status;
}

static int read_program(struct ggs_study * study, struct json_object * list, const char * path,
                        struct ggs_error * error) {
    size_t  n     = list == NULL || !json_object_is_type(list, json_type_array) ? 0 : json_object_array_length(list);
    char ** words = calloc(n + 1, sizeof(*words));
    if (words == NULL) return ggs_fail_memory(error);
    for (size_t i = 0; i < n; i++) words[i] = (char *) json_object_get_string(json_object_array_get_idx(list, i));
    int status = n == 0 ? ggs_fail(error, GGS_FORMAT,
                                   "%s: \"program\" must be the list of the program's words, such as "
                                   "[\"llama-cli\", \"-m\", \"model.gguf\"]",
                                   path)
                        : ggs_study_set_program(study, words, error);
    free(words);
    return status;
}

static int read_rest(struct ggs_study * study, const char * path, const char * key, struct json_object * value,
                     struct ggs_error * error) {
    bool number = json_object_is_type(value, json_type_int) && json_object_get_int64(value) >= 0;
    if (strcmp(key, "repeat") == 0 && number)
        study->repeat = json_object_get_uint64(value);
    else if (strcmp(key, "seed") == 0 && number)
        study->seed = json_object_get_uint64(value);
    else if (strcmp(key, "pairs") == 0 && json_object_is_type(value, json_type_boolean))
        study->pairs = json_object_get_boolean(value);
    else if (strcmp(key, "output") == 0 && json_object_is_type(value, json_type_string))
        snprintf(study->directory, sizeof(study->directory), "%s", json_object_get_string(value));
    else
        return ggs_fail(error, GGS_FORMAT,
                        "%s: \"%s\" is not part of a study, or of another type: program, factors, repeat, pairs, seed, "
                        "output",
                        path, key);
    return 0;
}

int ggs_study_read(struct ggs_study * study, const char * path, struct ggs_error * error) {
    struct stat          info;
    struct json_object * root   = ggs_json_file_read(path);
    int                  status = 0;
    if (root == NULL && stat(path, &info) != 0) return ggs_fail_errno(error, "cannot read the study %s", path);
    if (!json_object_is_type(root, json_type_object)) {
        json_object_put(root);
        return ggs_fail(error, GGS_FORMAT, "%s is no study: not a JSON object", path);
    }
    struct json_object *program = NULL, *factors = NULL;
    json_object_object_get_ex(root, "program", &program);
    json_object_object_get_ex(root, "factors", &factors);
    status = read_program(study, program, path, error);
    if (status == 0 && factors != NULL)
        status = json_object_is_type(factors, json_type_object)
                     ? read_factors(study, factors, path, error)
                     : ggs_fail(error, GGS_FORMAT, "%s: \"factors\" must be an object of lists", path);
    json_object_object_foreach(root, key, value) {
        if (status == 0 && strcmp(key, "program") != 0 && strcmp(key, "factors") != 0)
            status = read_rest(study, path, key, value, error);
    }
    json_object_put(root);
    return status;
}

static struct json_object * to_json(const struct ggs_study * study) {
    struct json_object *root = json_object_new_object(), *program = json_object_new_array(),
                       *factors = json_object_new_object();
    for (char ** word = study->program; *word != NULL; word++) json_object_array_add(program, ggs_json_text(*word));
    for (unsigned i = 0; i < study->n_factors; i++) {
        struct json_object * values = json_object_new_array();
        for (unsigned k = 0; k < study->factors[i].n; k++)
            json_object_array_add(values, ggs_json_text(study->factors[i].values[k]));
        json_object_object_add(factors, study->factors[i].name, values);
    }
    json_object_object_add(root, "program", program);
    json_object_object_add(root, "factors", factors);
    json_object_object_add(root, "repeat", json_object_new_uint64(study->repeat));
    json_object_object_add(root, "pairs", json_object_new_boolean(study->pairs));
    json_object_object_add(root, "seed", json_object_new_uint64(study->seed));
    return root;
}

// ---- checks ----

static int count_variants(struct ggs_study * study, struct ggs_error * error) {
    uint64_t n = 1;
    for (unsigned i = 0; i < study->n_factors; i++) {
        const struct ggs_factor * factor = &study->factors[i];
        if (!study->pairs) {
            n *= factor->n;
        } else if (factor->n > 1 && n > 1 && factor->n != n) {
            return ggs_fail(error, GGS_USAGE, "--pairs takes values together, but %s has %u of them and others %llu",
                            factor->name, factor->n, (unsigned long long) n);
        } else if (factor->n > 1) {
            n = factor->n;
        }
        if (n > GGS_STUDY_VARIANTS)
            return ggs_fail(error, GGS_USAGE, "the study has more than %d variants", GGS_STUDY_VARIANTS);
    }
    study->n_variants = (unsigned) n;
    return 0;
}

int ggs_study_check(struct ggs_study * study, struct ggs_error * error) {
    if (study->program == NULL || study->program[0] == NULL)
        return ggs_fail(error, GGS_USAGE, "the study has no program");
    if (study->repeat < 1 || study->repeat > MOST_REPEATS)
        return ggs_fail(error, GGS_USAGE, "a study repeats 1 to %d times", MOST_REPEATS);
    int status = count_variants(study, error);
    for (unsigned i = 0; i < study->n_variants && status == 0; i++) {
        struct ggs_study_variant variant;
        status = ggs_study_variant_make(study, i, &variant, error);
        ggs_study_variant_release(&variant);
    }
    return status;
}

const char * ggs_study_value(const struct ggs_study * study, unsigned variant, unsigned factor) {
    unsigned n = study->factors[factor].n;
    if (study->pairs) return study->factors[factor].values[n == 1 ? 0 : variant];
    for (unsigned i = study->n_factors - 1; i > factor; i--) variant /= study->factors[i].n;
    return study->factors[factor].values[variant % n];
}

// ---- its folder ----

static int write_plan(const struct ggs_study * study, const char * path, struct json_object * plan,
                      struct ggs_error * error) {
    struct ggs_output output;
    int               status = ggs_output_open(&output, path, error);
    (void) study;
    if (status != 0) return status;
    fprintf(output.file, "%s\n",
            json_object_to_json_string_ext(plan, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
                                                     JSON_C_TO_STRING_NOSLASHESCAPE));
    return ggs_output_commit(&output, error);
}

int ggs_study_make(const struct ggs_study * study, struct ggs_error * error) {
    char        path[PATH_MAX + 32];
    struct stat info;
    snprintf(path, sizeof(path), "%s/runs", study->directory);
    int status = ggs_make_directories(path, error);
    if (status != 0) return status;
    snprintf(path, sizeof(path), "%s/study.json", study->directory);
    struct json_object *old = ggs_json_file_read(path), *plan = to_json(study);
    if (old == NULL && stat(path, &info) == 0)
        status = ggs_fail(error, GGS_FORMAT, "%s is no plan of a study: choose another directory", path);
    else if (old == NULL || (!json_object_equal(old, plan) && !ggs_journal_exists(study->directory)))
        status = write_plan(study, path, plan, error);
    else if (!json_object_equal(old, plan))
        status = ggs_fail(error, GGS_USAGE,
                          "%s holds another study: continue that one with ggscope sweep %s, or choose another "
                          "directory",
                          study->directory, study->directory);
    json_object_put(old);
    json_object_put(plan);
    return status;
}
