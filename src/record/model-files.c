#include "record/model-files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/array.h"
#include "base/search.h"
#include "base/text.h"
#include "gguf/gguf.h"
#include "gguf/vocabulary.h"
#include "record/host.h"

// ---- identity ----

static bool digest(const char * path, uint64_t length, uint64_t * result) {
    static uint8_t buffer[1 << 16];
    XXH3_state_t * state = XXH3_createState();
    int            fd    = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    uint64_t       done  = 0;
    bool           good  = state != NULL && fd >= 0 && XXH3_64bits_reset(state) == XXH_OK;
    while (good && done < length) {
        uint64_t left = length - done;
        ssize_t  n    = pread(fd, buffer, left < sizeof(buffer) ? left : sizeof(buffer), (off_t) done);
        if (n < 0 && errno == EINTR) continue;
        good = n > 0;
        if (good) XXH3_64bits_update(state, buffer, (size_t) n);
        if (good) done += (uint64_t) n;
    }
    if (good) *result = XXH3_64bits_digest(state);
    if (fd >= 0) close(fd);
    XXH3_freeState(state);
    return good;
}

struct json_object * ggs_model_files_json(char * const * paths, size_t n_paths) {
    struct json_object * list = json_object_new_array();
    for (size_t i = 0; i < n_paths; i++) {
        struct json_object * file = json_object_new_object();
        struct ggs_gguf *    gguf;
        uint64_t             hash;
        char                 text[17];
        json_object_object_add(file, "path", ggs_json_text(paths[i]));
        if (ggs_gguf_open(&gguf, paths[i], NULL) == 0) {
            json_object_object_add(file, "size", json_object_new_uint64(gguf->size));
            if (digest(paths[i], gguf->infos_end, &hash)) {
                snprintf(text, sizeof(text), "%016" PRIx64, hash);
                json_object_object_add(file, "metadata_xxh3", json_object_new_string(text));
            }
            ggs_gguf_free(gguf);
        }
        json_object_array_add(list, file);
    }
    return list;
}

// ---- tensors ----

struct model_file {
    char *                  path;
    struct ggs_gguf *       gguf;       // NULL if it cannot be read
    size_t *                sorted;     // its tensors by name
    struct ggs_vocabulary * vocabulary; // NULL if it has none
};

static int by_name(const struct ggs_gguf_tensor * tensor, const char * name, size_t length) {
    size_t common = tensor->name_length < length ? tensor->name_length : length;
    int    order  = common == 0 ? 0 : memcmp(tensor->name, name, common);
    return order != 0 ? order : (tensor->name_length > length) - (tensor->name_length < length);
}

static int compare(const void * a, const void * b, void * context) {
    const struct ggs_gguf *        gguf  = context;
    const struct ggs_gguf_tensor * right = &gguf->tensors[*(const size_t *) b];
    return by_name(&gguf->tensors[*(const size_t *) a], right->name, right->name_length);
}

static struct model_file * file_of(struct ggs_model_files * files, const char * path) {
    for (size_t i = 0; i < files->n_files; i++) {
        if (strcmp(files->files[i].path, path) == 0) return &files->files[i];
    }
    struct model_file new = {.path = strdup(path)};
    if (new.path == NULL || !ggs_array_push(files->files, files->n_files, files->capacity, new)) {
        free(new.path);
        return NULL;
    }
    struct model_file * file = &files->files[files->n_files - 1];
    if (ggs_gguf_open(&file->gguf, path, NULL) != 0) return file;
    if (ggs_vocabulary_open(&file->vocabulary, file->gguf, NULL) != 0) file->vocabulary = NULL;
    file->sorted = calloc(file->gguf->n_tensors + 1, sizeof(*file->sorted));
    if (file->sorted == NULL) return file;
    for (size_t i = 0; i < file->gguf->n_tensors; i++) file->sorted[i] = i;
    qsort_r(file->sorted, file->gguf->n_tensors, sizeof(*file->sorted), compare, file->gguf);
    return file;
}

static const struct ggs_gguf_tensor * find(const struct model_file * file, const char * name) {
    if (file->sorted == NULL) return NULL;
    size_t                         n = file->gguf->n_tensors, length = strlen(name);
    const struct ggs_gguf_tensor * tensors = file->gguf->tensors;
    size_t                         i       = ggs_search(n, at, by_name(&tensors[file->sorted[at]], name, length) < 0);
    return i < n && by_name(&tensors[file->sorted[i]], name, length) == 0 ? &tensors[file->sorted[i]] : NULL;
}

bool ggs_model_files_find(void * context, const char * const * paths, size_t n_paths, const char * name, size_t * file,
                          uint64_t * offset) {
    for (size_t i = 0; i < n_paths; i++) {
        const struct model_file *      known  = file_of(context, paths[i]);
        const struct ggs_gguf_tensor * tensor = known == NULL ? NULL : find(known, name);
        if (tensor == NULL) continue;
        *file   = i;
        *offset = tensor->offset;
        return true;
    }
    return false;
}

size_t ggs_model_files_token(void * context, const char * path, int64_t token, char * buffer, size_t size) {
    struct model_file * file = file_of(context, path);
    struct ggs_text     text = {0};
    if (file == NULL || file->vocabulary == NULL) return 0;
    ggs_vocabulary_append(file->vocabulary, token, &text);
    size_t length = text.length < size ? text.length : size;
    if (length > 0) memcpy(buffer, text.data, length);
    ggs_text_release(&text);
    return length;
}

bool ggs_model_files_ends(void * context, const char * path, int64_t * begin, int64_t * end) {
    const struct model_file * file = file_of(context, path);
    uint64_t                  ids[2];
    if (file == NULL || file->gguf == NULL || !ggs_gguf_get_u64(file->gguf, "tokenizer.ggml.bos_token_id", &ids[0]) ||
        !ggs_gguf_get_u64(file->gguf, "tokenizer.ggml.eos_token_id", &ids[1]))
        return false;
    *begin = (int64_t) ids[0];
    *end   = (int64_t) ids[1];
    return true;
}

void ggs_model_files_release(struct ggs_model_files * files) {
    for (size_t i = 0; i < files->n_files; i++) {
        free(files->files[i].path);
        free(files->files[i].sorted);
        ggs_vocabulary_free(files->files[i].vocabulary);
        ggs_gguf_free(files->files[i].gguf);
    }
    free(files->files);
    *files = (struct ggs_model_files){0};
}
