// A GGUF model as JSON. The json export writes tensors and metadata of memory-map.json with the
// same functions.
#pragma once

#include "gguf/gguf-map.h"
#include "gguf/gguf-name.h"
#include "gguf/gguf-split.h"

struct ggs_error;
struct ggs_gguf_value;
struct ggs_json;

extern const struct ggs_object ggs_gguf_object, ggs_gguf_regions_object, ggs_gguf_kv_object, ggs_gguf_extents_object;

// `maps`: one per file of the model.
int  ggs_gguf_write_map(struct ggs_json * json, const struct ggs_model * model, const struct ggs_gguf_map * maps,
                        struct ggs_error * error);
void ggs_gguf_write_regions(struct ggs_json * json, const struct ggs_model * model, const struct ggs_gguf_map * maps);
void ggs_gguf_write_kv(struct ggs_json * json, const struct ggs_model * model);
int  ggs_gguf_write_extents(struct ggs_json * json, const struct ggs_model * model, const struct ggs_gguf_map * maps,
                            struct ggs_error * error);

// One tensor, or one expert of a tensor.
struct ggs_gguf_line {
    const char *     name;
    size_t           name_length;
    uint64_t         offset, size;
    const uint64_t * ne;
    unsigned         n_dims;
    const char *     type;
    struct ggs_name  parts;
    int64_t          expert; // -1: none
    int64_t          slice;  // the same, for the component's title
    const char *     file;
    bool             size_known;
};
void ggs_gguf_write_line(struct ggs_json * json, const struct ggs_gguf_line * line);
// Writes all tensors of a file, with separate entries for experts, into an open array. `file`: the
// file name to write.
int ggs_gguf_write_lines(struct ggs_json * json, const struct ggs_gguf * gguf, const struct ggs_gguf_map * map,
                         const char * file, struct ggs_error * error);
// Writes "metadata"; `gguf` NULL: only the number of tensors is known.
void ggs_gguf_write_metadata(struct ggs_json * json, const struct ggs_gguf * gguf, uint64_t n_tensors);

// Returns the model's name (general.name), else that of its first file. Not NUL-terminated.
const char * ggs_gguf_model_name(const struct ggs_model * model, size_t * length);
// Converts a float to the shortest decimal with the same f32: 1e-05, not 9.999999747378752e-06.
double ggs_gguf_float(const struct ggs_gguf_value * value);
