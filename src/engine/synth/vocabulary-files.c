#include "engine/synth/vocabulary-files.h"

#include "base/error.h"
#include "engine/synth/synth-metadata.h"

#include "gguf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The directory of the running program, without a slash at the end.
static int program_directory(char directory[PATH_MAX], struct ggs_error * error) {
    ssize_t length = readlink("/proc/self/exe", directory, PATH_MAX - 1);
    if (length < 0)
        return ggs_fail_errno(
            error, "cannot find the directory of this program, which has the vocabularies; use --vocab FILE");
    directory[length] = '\0';
    char * slash      = strrchr(directory, '/');
    if (slash != NULL) *slash = '\0';
    return 0;
}

static bool readable(char path[PATH_MAX], const char * directory, const char * below, const char * name) {
    int length = snprintf(path, PATH_MAX, "%s%s/%s", directory, below, name);
    return length > 0 && length < PATH_MAX && access(path, R_OK) == 0;
}

int ggs_vocabulary_find(char path[PATH_MAX], const char * chosen, const char * name, struct ggs_error * error) {
    // Relative to build/bin, to build/asan/bin and the like, and to an installation.
    static const char * const places[] = {"/../engine/source/models", "/../../engine/source/models",
                                          "/../share/ggscope/vocabularies"};

    if (chosen != NULL) {
        if (snprintf(path, PATH_MAX, "%s", chosen) >= PATH_MAX)
            return ggs_fail(error, GGS_USAGE, "the path given to --vocab is too long");
        if (access(path, R_OK) != 0) return ggs_fail_errno(error, "%s: cannot read this vocabulary", path);
        return 0;
    }
    const char * environment = getenv("GGSCOPE_VOCAB_DIR");
    if (environment != NULL && environment[0] != '\0') {
        if (readable(path, environment, "", name)) return 0;
        return ggs_fail(error, GGS_ABSENT,
                        "%s is not in %s, the directory that GGSCOPE_VOCAB_DIR names; use --vocab FILE", name,
                        environment);
    }
    char directory[PATH_MAX];
    int  status = program_directory(directory, error);
    if (status < 0) return status;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (readable(path, directory, places[i], name)) return 0;
    }
    return ggs_fail(error, GGS_ABSENT,
                    "%s is neither in %.200s%s nor in %.200s%s; run make, set GGSCOPE_VOCAB_DIR or use --vocab FILE",
                    name, directory, places[0], directory, places[2]);
}

static size_t type_size(enum gguf_type type) {
    switch (type) {
        case GGUF_TYPE_UINT8:
        case GGUF_TYPE_INT8:
        case GGUF_TYPE_BOOL:
            return 1;
        case GGUF_TYPE_UINT16:
        case GGUF_TYPE_INT16:
            return 2;
        case GGUF_TYPE_UINT32:
        case GGUF_TYPE_INT32:
        case GGUF_TYPE_FLOAT32:
            return 4;
        case GGUF_TYPE_UINT64:
        case GGUF_TYPE_INT64:
        case GGUF_TYPE_FLOAT64:
            return 8;
        default:
            return 0;
    }
}

static void copy_array(const struct gguf_context * vocabulary, int64_t id, struct ggs_text * bytes) {
    enum gguf_type type  = gguf_get_arr_type(vocabulary, id);
    size_t         count = gguf_get_arr_n(vocabulary, id);
    ggs_synth_put_u32(bytes, type);
    ggs_synth_put_u64(bytes, count);
    if (type != GGUF_TYPE_STRING) {
        if (count > 0) ggs_text_append(bytes, gguf_get_arr_data(vocabulary, id), count * type_size(type));
        return;
    }
    for (size_t i = 0; i < count; i++) ggs_synth_put_string(bytes, gguf_get_arr_str(vocabulary, id, i));
}

static void copy_pair(const struct gguf_context * vocabulary, int64_t id, struct ggs_synth_metadata * metadata) {
    enum gguf_type type = gguf_get_kv_type(vocabulary, id);
    ggs_synth_metadata_begin(metadata, gguf_get_key(vocabulary, id), type);
    switch (type) {
        case GGUF_TYPE_STRING:
            ggs_synth_put_string(&metadata->bytes, gguf_get_val_str(vocabulary, id));
            break;
        case GGUF_TYPE_ARRAY:
            copy_array(vocabulary, id, &metadata->bytes);
            break;
        default:
            ggs_text_append(&metadata->bytes, gguf_get_val_data(vocabulary, id), type_size(type));
    }
}

int ggs_vocabulary_copy(const char * path, struct ggs_synth_metadata * metadata, uint32_t * tokens,
                        struct ggs_error * error) {
    struct gguf_context * vocabulary =
        gguf_init_from_file(path, (struct gguf_init_params){.no_alloc = true, .ctx = NULL});
    if (vocabulary == NULL)
        return ggs_fail(error, GGS_FORMAT, "%s: not a GGUF file that the engine can read, so no vocabulary either",
                        path);

    int     status = 0;
    int64_t list   = gguf_find_key(vocabulary, "tokenizer.ggml.tokens");
    if (list < 0 || gguf_get_kv_type(vocabulary, list) != GGUF_TYPE_ARRAY || gguf_get_arr_n(vocabulary, list) == 0) {
        status =
            ggs_fail(error, GGS_FORMAT, "%s: no vocabulary: it has no list of tokens (tokenizer.ggml.tokens)", path);
        goto out;
    }
    *tokens = (uint32_t) gguf_get_arr_n(vocabulary, list);
    for (int64_t id = 0; id < gguf_get_n_kv(vocabulary); id++) {
        if (strncmp(gguf_get_key(vocabulary, id), "tokenizer.", strlen("tokenizer.")) == 0)
            copy_pair(vocabulary, id, metadata);
    }
    if (metadata->bytes.failed) status = ggs_fail_memory(error);
out:
    gguf_free(vocabulary);
    return status;
}
