// Reads GGUF files: key-values, tensor infos, and the place of each tensor.
//
// A file, as llama.cpp reads it (versions 2 and 3, little endian):
//
//     0     "GGUF"           magic
//     4     u32              version
//     8     i64              number of tensors
//     16    i64              number of key-values
//     24    key-values       each: string key, i32 type, value
//           tensor infos     each: string name, u32 n_dims, i64 ne[n_dims], i32 type, u64 offset
//           padding          to a multiple of general.alignment (32 if the file does not say)
//     data  tensors          each begins at a multiple of the alignment
//
//     string = u64 length, bytes (no NUL)       array = i32 element type, u64 count, elements
//
// Files are untrusted. Every length and count is checked against the available bytes before it is
// used, so memory stays within a small multiple of the metadata; metadata above
// GGS_GGUF_METADATA_MAX is refused. The metadata is read with pread, not mapped: a file that is
// truncated meanwhile causes an error, not a SIGBUS. Tensor data is never read.
//
// All pointers in a struct ggs_gguf live until ggs_gguf_free. Several threads may read one.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_error;

enum {
    GGS_GGUF_HEADER_SIZE  = 24,
    GGS_GGUF_ALIGNMENT    = 32,        // if general.alignment is absent
    GGS_GGUF_METADATA_MAX = 256 << 20, // key-values and tensor infos together; real files have at most some 20 MB
    GGS_GGUF_DIMS_MAX     = 4,
};

enum ggs_gguf_value_type {
    GGS_GGUF_U8     = 0,
    GGS_GGUF_I8     = 1,
    GGS_GGUF_U16    = 2,
    GGS_GGUF_I16    = 3,
    GGS_GGUF_U32    = 4,
    GGS_GGUF_I32    = 5,
    GGS_GGUF_F32    = 6,
    GGS_GGUF_BOOL   = 7,
    GGS_GGUF_STRING = 8,
    GGS_GGUF_ARRAY  = 9, // never the type of an element: llama.cpp refuses arrays of arrays too
    GGS_GGUF_U64    = 10,
    GGS_GGUF_I64    = 11,
    GGS_GGUF_F64    = 12,
};

// One key-value. For an array, `type` is the type of its elements.
struct ggs_gguf_kv {
    const char *             key; // not NUL-terminated
    size_t                   key_length;
    enum ggs_gguf_value_type type;
    bool                     array;
    uint64_t                 count;  // number of elements: 1 if it is not an array
    const uint8_t *          data;   // the value as stored in the file: walk it with ggs_gguf_values
    uint64_t                 size;   // bytes of `data`
    uint64_t                 offset; // of the entry in the file
};

// One tensor. [offset, offset + size) lies inside the file. gguf-map.h checks for overlaps and
// gaps.
struct ggs_gguf_tensor {
    const char * name; // not NUL-terminated
    uint32_t     name_length;
    uint32_t     type;                  // a number of gguf-type.h, possibly unknown there
    uint64_t     ne[GGS_GGUF_DIMS_MAX]; // 1 beyond n_dims
    uint64_t     offset;                // from the start of the file
    uint64_t     size;                  // bytes, without padding
    uint64_t     info_offset;           // of its tensor info
    uint8_t      n_dims;
    bool         size_known; // false: unknown type; `size` extends to the next tensor
};

struct ggs_gguf {
    char *                   path; // as given to open
    uint64_t                 size; // of the file
    uint32_t                 version;
    uint32_t                 alignment;
    uint64_t                 infos_offset; // end of the key-values, start of the tensor infos
    uint64_t                 infos_end;
    uint64_t                 data_offset; // infos_end rounded up to the alignment
    struct ggs_gguf_kv *     kvs;
    size_t                   n_kvs;
    struct ggs_gguf_tensor * tensors; // in the order of the file's tensor infos
    size_t                   n_tensors;
    uint8_t *                metadata; // keys, values and names point into it
};

// On failure *out is NULL and the error names the file and the offset.
int  ggs_gguf_open(struct ggs_gguf ** out, const char * path, struct ggs_error * error);
void ggs_gguf_free(struct ggs_gguf * gguf); // NULL is fine

// One value, widened: integers in `i64` or `u64` (by `type`), floats in `f64`, bool in `u64`.
struct ggs_gguf_value {
    enum ggs_gguf_value_type type;
    int64_t                  i64;
    uint64_t                 u64;
    double                   f64;
    const char *             string; // not NUL-terminated
    size_t                   length;
};

// Walks the elements of a key-value (one element if it is not an array).
//     struct ggs_gguf_values values = ggs_gguf_values(kv);
//     while (ggs_gguf_next(&values, &value)) ...
struct ggs_gguf_values {
    const struct ggs_gguf_kv * kv;
    uint64_t                   index;
    uint64_t                   position; // in kv->data
};
struct ggs_gguf_values ggs_gguf_values(const struct ggs_gguf_kv * kv);
bool                   ggs_gguf_next(struct ggs_gguf_values * values, struct ggs_gguf_value * value);

const char * ggs_gguf_value_type_name(uint64_t type);             // "u32", "string"; "?" for an invalid number
unsigned     ggs_gguf_value_width(enum ggs_gguf_value_type type); // bytes of one element; 0 for strings and arrays

// Lookups. The typed ones return false if the key is missing, an array, of another type or (u64)
// negative.
const struct ggs_gguf_kv * ggs_gguf_find(const struct ggs_gguf * gguf, const char * key);
bool                       ggs_gguf_get_u64(const struct ggs_gguf * gguf, const char * key, uint64_t * value);
bool ggs_gguf_get_string(const struct ggs_gguf * gguf, const char * key, const char ** string, size_t * length);
// The same for a key below the architecture's name: "block_count" finds "llama.block_count". Of an
// array of integers (one per layer) it returns the largest.
bool ggs_gguf_get_hparam(const struct ggs_gguf * gguf, const char * key, uint64_t * value);

// Number of elements of a tensor, saturating.
uint64_t ggs_gguf_elements(const struct ggs_gguf_tensor * tensor);

// Returns the indices of all tensors in order of their offsets. The caller frees them; NULL if out
// of memory.
size_t * ggs_gguf_by_offset(const struct ggs_gguf * gguf);
