#include "record/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/options/nearest.h"
#include "base/system/file.h"

#define EXPERIMENT "experiment"
#define PATHS      "paths"
#define TEMPORARY  "temp_files"

enum { MOST_FILE = 16 << 20 };

// Settings of the runner are in its own table.
static const struct {
    const char * section;
    const char * key;
} keys[GGS_SETTINGS] = {
    [GGS_SETTING_ENGINE]           = {PATHS, "engine"},
    [GGS_SETTING_OUTPUT]           = {PATHS, "output_dir"},
    [GGS_SETTING_LLAMA_DIRECTORY]  = {PATHS, "llama_cpp_dir"},
    [GGS_SETTING_LLAMA_BINARY]     = {PATHS, "llama_binary"},
    [GGS_SETTING_WEBUI_DIRECTORY]  = {PATHS, "webui_data_dir"},
    [GGS_SETTING_BUFFER_STATS]     = {TEMPORARY, "buffer_stats"},
    [GGS_SETTING_GRAPHS_DIRECTORY] = {TEMPORARY, "graphs_dir"},
};

static const char * key_of(int setting) {
    return setting < GGS_RUN_OPTIONS ? ggs_runner_forms[setting].key : keys[setting].key;
}

static const char * section_of(int setting) {
    return setting < GGS_RUN_OPTIONS ? EXPERIMENT : keys[setting].section;
}

// Names in llama.cpp's own programs.
static const struct {
    const char *           key;
    enum ggs_runner_option setting;
} aliases[] = {{"model", GGS_RUN_MODEL},      {"n_predict", GGS_RUN_TOKENS},       {"n_threads", GGS_RUN_THREADS},
               {"n_ctx", GGS_RUN_CONTEXT},    {"ctx_size", GGS_RUN_CONTEXT},       {"n_batch", GGS_RUN_BATCH},
               {"batch_size", GGS_RUN_BATCH}, {"n_ubatch", GGS_RUN_UBATCH},        {"ubatch_size", GGS_RUN_UBATCH},
               {"temp", GGS_RUN_TEMPERATURE}, {"n_gpu_layers", GGS_RUN_GPU_LAYERS}};

// ---- values ----

// All settings that are not the runner's are paths.
static enum ggs_value_kind kind_of(int setting) {
    return setting < GGS_RUN_OPTIONS ? ggs_runner_forms[setting].kind : GGS_VALUE_PATH;
}

static int check_value(int setting, const char * shown, const char * value, struct ggs_error * error) {
    if (setting < GGS_RUN_OPTIONS) return ggs_runner_check((enum ggs_runner_option) setting, shown, value, error);
    return value[0] != '\0' ? 0 : ggs_fail(error, GGS_USAGE, "%s is empty: it must name a file or folder", shown);
}

static bool is_in(int setting, const char * section) {
    return key_of(setting) != NULL && strcmp(section_of(setting), section) == 0;
}

void ggs_settings_release(struct ggs_settings * settings) {
    for (int i = 0; i < GGS_SETTINGS; i++) free(settings->values[i]);
    *settings = (struct ggs_settings){0};
}

// ---- keys ----

static int unknown_key(const char * path, const char * section, const char * key, struct ggs_error * error) {
    static const char * const sections[] = {EXPERIMENT, PATHS, TEMPORARY};
    struct ggs_nearest        nearest    = {.word = key};
    for (size_t i = 0; section == NULL && i < sizeof(sections) / sizeof(sections[0]); i++)
        ggs_nearest_try(&nearest, sections[i]);
    for (int i = 0; section != NULL && i < GGS_SETTINGS; i++) {
        if (is_in(i, section)) ggs_nearest_try(&nearest, key_of(i));
    }
    return ggs_fail(error, GGS_USAGE, "%s: unknown key \"%s%s%.64s\"; the nearest known one is \"%s\"", path,
                    section == NULL ? "" : section, section == NULL ? "" : ".", key, nearest.best);
}

static const char * type_name(struct json_object * value) {
    static const char * const names[] = {
        [json_type_null] = "null",          [json_type_boolean] = "true or false", [json_type_double] = "a number",
        [json_type_int] = "a whole number", [json_type_object] = "an object",      [json_type_array] = "a list",
        [json_type_string] = "a string",
    };
    return names[json_object_get_type(value)];
}

static bool has_type(enum ggs_value_kind kind, struct json_object * value) {
    switch (kind) {
        case GGS_VALUE_TEXT:
        case GGS_VALUE_PATH:
            return json_object_is_type(value, json_type_string);
        case GGS_VALUE_WHOLE:
            return json_object_is_type(value, json_type_int);
        case GGS_VALUE_NUMBER:
            return json_object_is_type(value, json_type_int) || json_object_is_type(value, json_type_double);
        case GGS_VALUE_SWITCH:
            return json_object_is_type(value, json_type_boolean);
    }
    return false;
}

// `key`: the name of the setting in the file.
static int set_value(struct ggs_settings * settings, int setting, const char * key, struct json_object * value,
                     const char * path, struct ggs_error * error) {
    static const char * const wanted[] = {
        [GGS_VALUE_TEXT] = "a string",   [GGS_VALUE_PATH] = "a string (a path)", [GGS_VALUE_WHOLE] = "a whole number",
        [GGS_VALUE_NUMBER] = "a number", [GGS_VALUE_SWITCH] = "true or false",
    };
    enum ggs_value_kind kind = kind_of(setting);
    char                shown[256];
    snprintf(shown, sizeof(shown), "%s: %s.%s", path, section_of(setting), key_of(setting));
    if (!has_type(kind, value))
        return ggs_fail(error, GGS_FORMAT, "%s must be %s, not %s", shown, wanted[kind], type_name(value));
    if (kind == GGS_VALUE_SWITCH && !json_object_get_boolean(value)) return 0;
    const char * text   = kind == GGS_VALUE_SWITCH ? "1" : json_object_get_string(value);
    bool         string = kind == GGS_VALUE_TEXT || kind == GGS_VALUE_PATH;
    if (string && strlen(text) != (size_t) json_object_get_string_len(value))
        return ggs_fail(error, GGS_FORMAT, "%s holds a NUL character", shown);
    int status = check_value(setting, shown, text, error);
    if (status != 0) return status;
    // A file may have a key and another program's name for it, as long as they agree.
    if (settings->values[setting] != NULL)
        return strcmp(settings->values[setting], text) == 0
                   ? 0
                   : ggs_fail(error, GGS_USAGE, "%s is given twice: %s, and as %s %s", shown, settings->values[setting],
                              key, text);
    settings->values[setting] = strdup(text);
    return settings->values[setting] == NULL ? ggs_fail_memory(error) : 0;
}

static int set_section(struct ggs_settings * settings, const char * section, struct json_object * object,
                       const char * path, struct ggs_error * error) {
    if (!json_object_is_type(object, json_type_object))
        return ggs_fail(error, GGS_FORMAT, "%s: %s must be an object, not %s", path, section, type_name(object));
    struct json_object_iterator at = json_object_iter_begin(object), end = json_object_iter_end(object);
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        const char * key     = json_object_iter_peek_name(&at);
        int          setting = 0;
        while (setting < GGS_SETTINGS && (!is_in(setting, section) || strcmp(key_of(setting), key) != 0)) setting++;
        for (size_t i = 0; setting == GGS_SETTINGS && i < sizeof(aliases) / sizeof(aliases[0]); i++) {
            if (strcmp(aliases[i].key, key) == 0 && strcmp(section, EXPERIMENT) == 0)
                setting = (int) aliases[i].setting;
        }
        if (setting == GGS_SETTINGS && strcmp(section, TEMPORARY) == 0) continue; // trace_bin
        if (setting == GGS_SETTINGS) return unknown_key(path, section, key, error);
        int status = set_value(settings, setting, key, json_object_iter_peek_value(&at), path, error);
        if (status != 0) return status;
    }
    return 0;
}

static int set_all(struct ggs_settings * settings, struct json_object * root, const char * path,
                   struct ggs_error * error) {
    if (!json_object_is_type(root, json_type_object))
        return ggs_fail(error, GGS_FORMAT, "%s must hold an object, not %s", path, type_name(root));
    struct json_object_iterator at = json_object_iter_begin(root), end = json_object_iter_end(root);
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        const char *         key   = json_object_iter_peek_name(&at);
        struct json_object * value = json_object_iter_peek_value(&at);
        int                  status;
        if (strcmp(key, TEMPORARY) == 0 && !json_object_is_type(value, json_type_object)) continue;
        if (strcmp(key, EXPERIMENT) != 0 && strcmp(key, PATHS) != 0 && strcmp(key, TEMPORARY) != 0)
            return unknown_key(path, NULL, key, error);
        if ((status = set_section(settings, key, value, path, error)) != 0) return status;
    }
    return 0;
}

// ---- paths ----

static bool join(char ** value, const char * folder, size_t length) {
    char * joined;
    if (*value == NULL || (*value)[0] == '/' || length == 0) return true;
    if (asprintf(&joined, "%.*s%s%s", (int) length, folder, folder[length - 1] == '/' ? "" : "/", *value) < 0)
        return false;
    free(*value);
    *value = joined;
    return true;
}

static int resolve(struct ggs_settings * settings, const char * path, struct ggs_error * error) {
    const char * slash  = strrchr(path, '/');
    size_t       length = slash == NULL ? 0 : (size_t) (slash - path) + 1;
    char **      values = settings->values;
    bool         good   = join(&values[GGS_SETTING_LLAMA_DIRECTORY], path, length);
    const char * llama  = values[GGS_SETTING_LLAMA_DIRECTORY];
    char **      binary = &values[GGS_SETTING_LLAMA_BINARY];
    char *       beside = *binary == NULL ? NULL : strdup(*binary);
    if (good && llama != NULL) good = join(&values[GGS_RUN_MODEL], llama, strlen(llama));
    for (int i = 0; i < GGS_SETTINGS && good; i++) {
        bool done = i == GGS_SETTING_LLAMA_DIRECTORY || (i == GGS_RUN_MODEL && llama != NULL);
        if (kind_of(i) == GGS_VALUE_PATH && !done) good = join(&values[i], path, length);
    }
    if (good && beside != NULL && llama != NULL && access(*binary, F_OK) != 0 && join(&beside, llama, strlen(llama)) &&
        access(beside, F_OK) == 0) {
        free(*binary);
        *binary = beside;
        beside  = NULL;
    }
    free(beside);
    return good ? 0 : ggs_fail_memory(error);
}

// ---- the file ----

// Returns a copy without comments: blanks from // to the end of the line, so that positions stay
// the same. The caller frees it.
static char * without_comments(const struct ggs_mapping * file) {
    char * text   = malloc(file->size);
    bool   string = false, comment = false;
    for (uint64_t i = 0; text != NULL && i < file->size; i++) {
        char c = (char) file->data[i];
        if (c == '\n') comment = false;
        if (!string && !comment && c == '/' && i + 1 < file->size && file->data[i + 1] == '/') comment = true;
        text[i] = comment ? ' ' : c;
        if (comment) continue;
        if (string && c == '\\' && i + 1 < file->size) {
            i++;
            text[i] = (char) file->data[i];
        } else if (c == '"') {
            string = !string;
        }
    }
    return text;
}

static int parse_text(struct json_object ** root, const struct ggs_mapping * file, const char * path,
                      struct ggs_error * error) {
    char * text = without_comments(file);
    if (text == NULL) return ggs_fail_memory(error);
    struct json_tokener * tokener = json_tokener_new();
    if (tokener == NULL) {
        free(text);
        return ggs_fail_memory(error);
    }
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    *root                         = json_tokener_parse_ex(tokener, text, (int) file->size);
    enum json_tokener_error cause = json_tokener_get_error(tokener);
    size_t                  at    = json_tokener_get_parse_end(tokener);
    const char *            what  = json_tokener_error_desc(cause);
    if (cause == json_tokener_continue) what = "it ends too early";
    while (cause == json_tokener_success && at < file->size && strchr(" \t\r\n", text[at]) != NULL) at++;
    if (cause == json_tokener_success && at < file->size) what = "there is something behind its end";
    bool bad = cause != json_tokener_success || at < file->size;
    json_tokener_free(tokener);
    free(text);
    if (!bad) return 0;
    unsigned line = 1, column = 1;
    for (size_t i = 0; i < at && i < file->size; i++) {
        column = file->data[i] == '\n' ? 1 : column + 1;
        line += file->data[i] == '\n';
    }
    json_object_put(*root);
    *root = NULL;
    return ggs_fail(error, GGS_FORMAT, "%s: not valid JSON at line %u, column %u (offset %zu): %s", path, line, column,
                    at, what);
}

int ggs_settings_read(struct ggs_settings * settings, const char * path, struct ggs_error * error) {
    struct ggs_mapping   file;
    struct json_object * root = NULL;
    *settings                 = (struct ggs_settings){0};
    int status                = ggs_mapping_open(&file, path, error);
    if (status != 0) return status;
    if (file.size == 0 || file.size > MOST_FILE) {
        status = ggs_fail(error, GGS_FORMAT, "%s is %s: not a settings file", path,
                          file.size == 0 ? "empty" : "larger than 16 MiB");
    } else {
        status = parse_text(&root, &file, path, error);
    }
    if (status == 0) status = set_all(settings, root, path, error);
    if (status == 0) status = resolve(settings, path, error);
    json_object_put(root);
    ggs_mapping_close(&file);
    if (status != 0) ggs_settings_release(settings);
    return status;
}

// ---- the user's config file ----

static bool config_path(char path[PATH_MAX]) {
    const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (xdg != NULL && xdg[0] == '/') return snprintf(path, PATH_MAX, "%s/ggscope/config", xdg) < PATH_MAX;
    if (home == NULL || home[0] != '/') return false;
    return snprintf(path, PATH_MAX, "%s/.config/ggscope/config", home) < PATH_MAX;
}

int ggs_settings_config(struct ggs_settings * settings, struct ggs_error * error) {
    char path[PATH_MAX];
    *settings = (struct ggs_settings){0};
    if (!config_path(path) || access(path, F_OK) != 0) return 0;
    return ggs_settings_read(settings, path, error);
}

int ggs_settings_complete(struct ggs_settings * settings, const struct ggs_settings * defaults,
                          struct ggs_error * error) {
    char ** values = settings->values;
    bool    prompt = values[GGS_RUN_PROMPT] != NULL || values[GGS_RUN_PROMPT_FILE] != NULL;
    for (int i = 0; i < GGS_SETTINGS; i++) {
        if (values[i] != NULL || defaults->values[i] == NULL || i == GGS_SETTING_OUTPUT) continue;
        if (prompt && (i == GGS_RUN_PROMPT || i == GGS_RUN_PROMPT_FILE)) continue;
        values[i] = strdup(defaults->values[i]);
        if (values[i] == NULL) return ggs_fail_memory(error);
    }
    return 0;
}

int ggs_settings_folder(char * folder, struct ggs_error * error) {
    struct ggs_settings config;
    int                 status = ggs_settings_config(&config, error);
    if (status != 0) return status;
    const char * chosen = config.values[GGS_SETTING_OUTPUT];
    snprintf(folder, PATH_MAX, "%s", chosen == NULL ? "experiments" : chosen);
    ggs_settings_release(&config);
    return 0;
}
