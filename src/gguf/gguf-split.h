// A model as one thing, though it may lie in several files.
//
// Large models come as shards "NAME-00001-of-00003.gguf", "NAME-00002-of-00003.gguf", ... Each says
// in its key-values which one it is (split.no, from 0) and how many there are (split.count); the
// first one has the model's metadata and split.tensors.count, the number of tensors in all of them.
// llama.cpp wants to be given the first one; here any of them will do. A file without split.count,
// or with one below 2, is a model by itself.
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

// Opens a model and every shard of it. An absent shard, one that claims to be another, a wrong
// number of tensors, or a tensor that is in two of them is an error which names the file. On
// failure *out is NULL.
int  ggs_model_open(struct ggs_model ** out, const char * path, struct ggs_error * error);
void ggs_model_free(struct ggs_model * model); // NULL is fine
