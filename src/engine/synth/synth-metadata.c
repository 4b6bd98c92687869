#include "engine/synth/synth-metadata.h"

#include "gguf.h"

#include <string.h>

// Numbers and quantized weights are copied from memory as they are.
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "synthetic models are written on little-endian machines only");

void ggs_synth_metadata_release(struct ggs_synth_metadata * metadata) {
    ggs_text_release(&metadata->bytes);
    metadata->count = 0;
}

void ggs_synth_put_u32(struct ggs_text * bytes, uint32_t value) {
    ggs_text_append(bytes, (const char *) &value, sizeof value);
}

void ggs_synth_put_u64(struct ggs_text * bytes, uint64_t value) {
    ggs_text_append(bytes, (const char *) &value, sizeof value);
}

void ggs_synth_put_string(struct ggs_text * bytes, const char * string) {
    size_t length = strlen(string);
    ggs_synth_put_u64(bytes, length);
    ggs_text_append(bytes, string, length);
}

void ggs_synth_metadata_begin(struct ggs_synth_metadata * metadata, const char * key, uint32_t type) {
    ggs_synth_put_string(&metadata->bytes, key);
    ggs_synth_put_u32(&metadata->bytes, type);
    metadata->count++;
}

void ggs_synth_metadata_u16(struct ggs_synth_metadata * metadata, const char * key, uint16_t value) {
    ggs_synth_metadata_begin(metadata, key, GGUF_TYPE_UINT16);
    ggs_text_append(&metadata->bytes, (const char *) &value, sizeof value);
}

void ggs_synth_metadata_u32(struct ggs_synth_metadata * metadata, const char * key, uint32_t value) {
    ggs_synth_metadata_begin(metadata, key, GGUF_TYPE_UINT32);
    ggs_synth_put_u32(&metadata->bytes, value);
}

void ggs_synth_metadata_i32(struct ggs_synth_metadata * metadata, const char * key, int32_t value) {
    ggs_synth_metadata_begin(metadata, key, GGUF_TYPE_INT32);
    ggs_synth_put_u32(&metadata->bytes, (uint32_t) value);
}

void ggs_synth_metadata_f32(struct ggs_synth_metadata * metadata, const char * key, float value) {
    ggs_synth_metadata_begin(metadata, key, GGUF_TYPE_FLOAT32);
    ggs_text_append(&metadata->bytes, (const char *) &value, sizeof value);
}

void ggs_synth_metadata_string(struct ggs_synth_metadata * metadata, const char * key, const char * value) {
    ggs_synth_metadata_begin(metadata, key, GGUF_TYPE_STRING);
    ggs_synth_put_string(&metadata->bytes, value);
}
