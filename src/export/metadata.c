#include "export/metadata.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/walk/trace.h"
#include "base/error.h"
#include "base/text.h"
#include "export/export.h"
#include "gguf/gguf.h"
#include "gguf/vocabulary.h"

struct ggs_metadata {
    struct json_object *    root; // NULL if the text is not JSON
    struct ggs_gguf *       gguf;
    struct ggs_vocabulary * vocabulary; // NULL if the model is missing or has none
    char *                  prompt;
};

static struct json_object * find(const struct ggs_metadata * facts, const char * path) {
    struct json_object * at = facts->root;
    while (at != NULL && *path != '\0') {
        char   key[64];
        size_t length = strcspn(path, ".");
        if (length >= sizeof(key) || !json_object_is_type(at, json_type_object)) return NULL;
        memcpy(key, path, length);
        key[length] = '\0';
        if (!json_object_object_get_ex(at, key, &at)) return NULL;
        path += length + (path[length] == '.');
    }
    return at;
}

const char * ggs_metadata_text(const struct ggs_metadata * facts, const char * path) {
    struct json_object * value = find(facts, path);
    return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
}

int ggs_metadata_number(const struct ggs_metadata * facts, const char * path, int64_t * value) {
    struct json_object * object = find(facts, path);
    if (!json_object_is_type(object, json_type_int)) return 0;
    *value = json_object_get_int64(object);
    return 1;
}

int ggs_metadata_real(const struct ggs_metadata * facts, const char * path, double * value) {
    struct json_object * object = find(facts, path);
    if (!json_object_is_type(object, json_type_int) && !json_object_is_type(object, json_type_double)) return 0;
    *value = json_object_get_double(object);
    return 1;
}

int ggs_metadata_boolean(const struct ggs_metadata * facts, const char * path, int64_t * value) {
    struct json_object * object = find(facts, path);
    if (!json_object_is_type(object, json_type_boolean)) return 0;
    *value = json_object_get_boolean(object);
    return 1;
}

const char * ggs_metadata_command(const struct ggs_metadata * facts, size_t i) {
    struct json_object * words = find(facts, "command");
    if (!json_object_is_type(words, json_type_array) || i >= json_object_array_length(words)) return NULL;
    return json_object_get_string(json_object_array_get_idx(words, i));
}

int ggs_metadata_token(const struct ggs_metadata * facts, int64_t token, struct ggs_text * text) {
    if (facts->vocabulary == NULL || token < 0) return 0;
    ggs_vocabulary_append(facts->vocabulary, token, text);
    return 1;
}

const char * ggs_metadata_prompt(const struct ggs_metadata * facts) {
    return facts->prompt;
}

static const char * prompt_of_command(const struct ggs_metadata * facts) {
    const char * word;
    for (size_t i = 0; (word = ggs_metadata_command(facts, i)) != NULL; i++) {
        if (strcmp(word, "-p") == 0 || strcmp(word, "--prompt") == 0) return ggs_metadata_command(facts, i + 1);
        if (strncmp(word, "--prompt=", 9) == 0) return word + 9;
    }
    return NULL;
}

// Decodes the tokens of the first step.
static void prompt_of_tokens(struct ggs_metadata * facts, struct ggs_trace * trace) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_token    row;
    struct ggs_text     text = {0};
    if (facts->vocabulary == NULL || ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_TOKENS, NULL) < 0) return;
    ggs_cursor_keys(cursor, 0, 0);
    while (ggs_cursor_next(cursor, &row, NULL) > 0) ggs_metadata_token(facts, row.token, &text);
    ggs_cursor_close(cursor);
    ggs_text_make_valid(&text);
    if (!text.failed && text.length > 0) facts->prompt = strdup(ggs_text_string(&text));
    ggs_text_release(&text);
}

// The first file of a model has its vocabulary. A missing file is not a failure.
static void open_vocabulary(struct ggs_metadata * facts, struct ggs_trace * trace) {
    for (uint64_t i = 0; i < trace->n_files && facts->vocabulary == NULL; i++) {
        if (trace->files[i].gguf == 0) continue;
        if (ggs_gguf_open(&facts->gguf, ggs_reader_string(trace->reader, trace->files[i].path), NULL) < 0) continue;
        if (ggs_vocabulary_open(&facts->vocabulary, facts->gguf, NULL) < 0) {
            ggs_gguf_free(facts->gguf);
            facts->gguf       = NULL;
            facts->vocabulary = NULL;
        }
    }
}

int ggs_metadata_open(struct ggs_metadata ** out, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_metadata * facts = calloc(1, sizeof(*facts));
    *out                        = facts;
    if (facts == NULL) return ggs_fail_memory(error);
    facts->root = json_tokener_parse(ggs_reader_experiment(trace->reader));
    open_vocabulary(facts, trace);
    const char * prompt = prompt_of_command(facts);
    if (prompt != NULL) {
        facts->prompt = strdup(prompt);
    } else {
        prompt_of_tokens(facts, trace);
    }
    return 0;
}

void ggs_metadata_free(struct ggs_metadata * facts) {
    if (facts == NULL) return;
    json_object_put(facts->root);
    ggs_vocabulary_free(facts->vocabulary);
    ggs_gguf_free(facts->gguf);
    free(facts->prompt);
    free(facts);
}
