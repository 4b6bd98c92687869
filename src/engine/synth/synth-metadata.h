// The key-values of a GGUF file in their binary form.
#pragma once

#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

struct ggs_synth_metadata {
    struct ggs_text bytes; // bytes.failed is set if memory ran out
    uint64_t        count; // of key-values
};

// A zeroed struct is empty.
void ggs_synth_metadata_release(struct ggs_synth_metadata * metadata);

void ggs_synth_metadata_u16(struct ggs_synth_metadata * metadata, const char * key, uint16_t value);
void ggs_synth_metadata_u32(struct ggs_synth_metadata * metadata, const char * key, uint32_t value);
void ggs_synth_metadata_i32(struct ggs_synth_metadata * metadata, const char * key, int32_t value);
void ggs_synth_metadata_f32(struct ggs_synth_metadata * metadata, const char * key, float value);
void ggs_synth_metadata_string(struct ggs_synth_metadata * metadata, const char * key, const char * value);

// For other values: writes the key and the type (an enum gguf_type); the caller appends the value's
// bytes.
void ggs_synth_metadata_begin(struct ggs_synth_metadata * metadata, const char * key, uint32_t type);

// Parts of a GGUF file, little endian: a number, a string with its length.
void ggs_synth_put_u32(struct ggs_text * bytes, uint32_t value);
void ggs_synth_put_u64(struct ggs_text * bytes, uint64_t value);
void ggs_synth_put_string(struct ggs_text * bytes, const char * string);
