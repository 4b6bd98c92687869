#include "gguf/gguf-split.h"

#include "base/error.h"
#include "gguf/gguf-slice.h"
#include "gguf/gguf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUFFIX_LENGTH = 56, SHARDS_MAX = 65535 }; // split.count is a u16 in llama.cpp

static void shard_suffix(char buffer[SUFFIX_LENGTH], uint64_t number, uint64_t count) {
    snprintf(buffer, SUFFIX_LENGTH, "-%05" PRIu64 "-of-%05" PRIu64 ".gguf", number + 1, count);
}

// Reads the shard number that a file states. A file without one is shard 0 of 1.
static int read_claim(const struct ggs_gguf * gguf, uint64_t * number, uint64_t * count, struct ggs_error * error) {
    *number                       = 0;
    *count                        = 1;
    const struct ggs_gguf_kv * kv = ggs_gguf_find(gguf, "split.count");
    if (kv == NULL) return 0;
    if (!ggs_gguf_get_u64(gguf, "split.count", count) || *count > SHARDS_MAX) {
        return ggs_fail(error, GGS_FORMAT, "%s: split.count at offset %" PRIu64 " is not a number from 0 to %d",
                        gguf->path, kv->offset, SHARDS_MAX);
    }
    if (*count < 2) {
        *count = 1;
        return 0;
    }
    if (!ggs_gguf_get_u64(gguf, "split.no", number) || *number >= *count) {
        kv = ggs_gguf_find(gguf, "split.no");
        return ggs_fail(error, GGS_FORMAT,
                        "%s: one of %" PRIu64 " files, but split.no (at offset %" PRIu64
                        ") does not say which: a number below split.count is needed",
                        gguf->path, *count, kv != NULL ? kv->offset : gguf->infos_offset);
    }
    return 0;
}

// Finds the length of the path without "-00001-of-00003.gguf".
static int shard_prefix(const struct ggs_gguf * gguf, uint64_t number, uint64_t count, size_t * length,
                        struct ggs_error * error) {
    char suffix[SUFFIX_LENGTH];
    shard_suffix(suffix, number, count);
    size_t whole = strlen(gguf->path);
    size_t tail  = strlen(suffix);
    if (whole <= tail || memcmp(gguf->path + whole - tail, suffix, tail) != 0) {
        return ggs_fail(error, GGS_FORMAT,
                        "%s: this is file %" PRIu64 " of %" PRIu64
                        " of a split model, but its name does not end in \"%s\", so the "
                        "others cannot be found; restore its name",
                        gguf->path, number + 1, count, suffix);
    }
    *length = whole - tail;
    return 0;
}

static void adopt(struct ggs_model * model, uint64_t number, struct ggs_gguf * gguf) {
    model->files[number] = gguf;
    model->n_tensors += gguf->n_tensors;
    model->size += gguf->size;
}

static int open_shard(struct ggs_model * model, const struct ggs_gguf * given, size_t prefix, uint64_t number,
                      uint64_t count, struct ggs_error * error) {
    char suffix[SUFFIX_LENGTH];
    shard_suffix(suffix, number, count);
    char * path = NULL;
    if (asprintf(&path, "%.*s%s", (int) prefix, given->path, suffix) < 0) return ggs_fail_memory(error);
    struct ggs_error  cause  = {0};
    uint64_t          claims = 0, total = 0;
    struct ggs_gguf * shard  = NULL;
    int               status = ggs_gguf_open(&shard, path, &cause);
    free(path);
    if (status < 0) {
        return ggs_fail(error, status, "%s (it is file %" PRIu64 " of %" PRIu64 " of this model)", cause.text,
                        number + 1, count);
    }
    adopt(model, number, shard);
    status = read_claim(shard, &claims, &total, error);
    if (status < 0) return status;
    if (claims != number || total != count) {
        const struct ggs_gguf_kv * kv = ggs_gguf_find(shard, claims != number ? "split.no" : "split.count");
        return ggs_fail(error, GGS_FORMAT,
                        "%s: by its name file %" PRIu64 " of %" PRIu64 ", but its key-values (offset %" PRIu64
                        ") say %" PRIu64 " of %" PRIu64 "; the files of the model are mixed up",
                        shard->path, number + 1, count, kv != NULL ? kv->offset : (uint64_t) GGS_GGUF_HEADER_SIZE,
                        claims + 1, total);
    }
    return 0;
}

static int open_others(struct ggs_model * model, size_t given, struct ggs_error * error) {
    size_t prefix = 0;
    int    status = shard_prefix(model->files[given], given, model->n_files, &prefix, error);
    for (size_t i = 0; status == 0 && i < model->n_files; i++) {
        if (i != given) status = open_shard(model, model->files[given], prefix, i, model->n_files, error);
    }
    return status;
}

static int check_tensor_count(const struct ggs_model * model, struct ggs_error * error) {
    const struct ggs_gguf *    first = model->files[0];
    const struct ggs_gguf_kv * kv    = ggs_gguf_find(first, "split.tensors.count");
    uint64_t                   promised;
    if (kv == NULL || !ggs_gguf_get_u64(first, "split.tensors.count", &promised)) {
        return ggs_fail(error, GGS_FORMAT, "%s: split.tensors.count is missing or not a number (at offset %" PRIu64 ")",
                        first->path, kv == NULL ? first->infos_offset : kv->offset);
    }
    if (promised == model->n_tensors) return 0;
    return ggs_fail(error, GGS_FORMAT,
                    "%s: split.tensors.count at offset %" PRIu64 " promises %" PRIu64
                    " tensors, but the %zu files have %zu",
                    first->path, kv->offset, promised, model->n_files, model->n_tensors);
}

static int check_duplicates(const struct ggs_model * model, struct ggs_error * error) {
    struct ggs_slice * names = calloc(model->n_tensors + 1, sizeof *names);
    if (names == NULL) return ggs_fail_memory(error);
    size_t n = 0;
    for (size_t i = 0; i < model->n_files; i++) {
        const struct ggs_gguf * file = model->files[i];
        for (size_t j = 0; file != NULL && j < file->n_tensors; j++) {
            names[n++] = (struct ggs_slice){file->tensors[j].name, file->tensors[j].name_length, i};
        }
    }
    int                      status = 0;
    const struct ggs_slice * twice  = ggs_find_duplicate(names, n);
    if (twice != NULL) {
        char                    printable[GGS_PRINTABLE_LENGTH];
        const struct ggs_gguf * left  = model->files[twice[0].tag];
        const struct ggs_gguf * right = model->files[twice[1].tag];
        ggs_printable(printable, sizeof printable, twice->data, twice->length);
        status = ggs_fail(error, GGS_FORMAT,
                          "tensor \"%s\" is in two files of the model: %s (tensor infos at offset %" PRIu64
                          ") and %s (offset %" PRIu64 ")",
                          printable, left->path, left->infos_offset, right->path, right->infos_offset);
    }
    free(names);
    return status;
}

static int assemble(struct ggs_model * model, struct ggs_gguf * given, uint64_t number, uint64_t count,
                    struct ggs_error * error) {
    model->files = calloc(count + 1, sizeof(void *));
    if (model->files == NULL) {
        ggs_gguf_free(given);
        return ggs_fail_memory(error);
    }
    model->n_files = count;
    adopt(model, number, given);
    if (count == 1) return 0;
    int status = open_others(model, number, error);
    if (status == 0) status = check_duplicates(model, error);
    if (status == 0) status = check_tensor_count(model, error);
    return status;
}

int ggs_model_open(struct ggs_model ** out, const char * path, struct ggs_error * error) {
    struct ggs_gguf *  given  = NULL;
    struct ggs_model * model  = calloc(1, sizeof *model);
    uint64_t           number = 0, count = 1;
    *out = NULL;
    if (model == NULL) return ggs_fail_memory(error);
    int status = ggs_gguf_open(&given, path, error);
    if (status == 0) status = read_claim(given, &number, &count, error);
    if (status < 0) {
        ggs_gguf_free(given);
    } else {
        status = assemble(model, given, number, count, error); // takes ownership of `given`
    }
    if (status < 0) {
        ggs_model_free(model);
        return status;
    }
    *out = model;
    return 0;
}

void ggs_model_free(struct ggs_model * model) {
    if (model == NULL) return;
    for (size_t i = 0; model->files != NULL && i < model->n_files; i++) ggs_gguf_free(model->files[i]);
    free(model->files);
    free(model);
}
