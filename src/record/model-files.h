// The model files of an experiment: how they are recognised later, and where a tensor lies in them.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_object;

// [{"path", "size", "metadata_xxh3"}]: the digest is XXH3 (64 bits, seed 0) over the file up to its
// tensor data: header, key-values and tensor infos. A file that cannot be read has neither.
struct json_object * ggs_model_files_json(char * const * paths, size_t n_paths);

// Finds tensors by name in GGUF files, which it opens once and keeps open. A zeroed struct is
// empty.
struct ggs_gguf;
struct ggs_model_files {
    struct model_file * files;
    size_t              n_files, capacity;
};
// For struct ggs_seal_options: `context` is a struct ggs_model_files.
bool ggs_model_files_find(void * context, const char * const * paths, size_t n_paths, const char * name, size_t * file,
                          uint64_t * offset);
// The text of a token; also for struct ggs_seal_options.
size_t ggs_model_files_token(void * context, const char * path, int64_t token, char * buffer, size_t size);
bool   ggs_model_files_ends(void * context, const char * path, int64_t * begin, int64_t * end);
void   ggs_model_files_release(struct ggs_model_files * files);
