// Opens a model that may consist of several files.
//
// Large models are split into shards "NAME-00001-of-00003.gguf", "NAME-00002-of-00003.gguf", ...
// The key-values of each shard have its number (split.no, from 0) and the number of shards
// (split.count). The first one has the model's metadata and split.tensors.count, the number of
// tensors in all shards. llama.cpp requires the path of the first shard; this function accepts any
// of them. A file without split.count, or with one below 2, is a whole model.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ggs_error;
struct ggs_gguf;

struct ggs_model {
    struct ggs_gguf ** files; // in the order of split.no; files[0] has the metadata
    size_t             n_files;
    size_t             n_tensors; // in all files
    uint64_t           size;      // bytes of all files
};

// Opens a model with all its shards. A missing shard, a shard with another number, a wrong number
// of tensors, or a tensor in two shards is an error that names the file. On failure *out is NULL.
int  ggs_model_open(struct ggs_model ** out, const char * path, struct ggs_error * error);
void ggs_model_free(struct ggs_model * model); // NULL is fine
