// The functions of zstd that the reader calls.
#pragma once

#include "wasm/module.h"
#include "wasm/zstd-decode.h"

static inline unsigned long long ZSTD_getFrameContentSize(const void * frame, size_t size) {
    return ggs_zstd_content_size(frame, size);
}
static inline size_t ZSTD_decompress(void * to, size_t capacity, const void * frame, size_t size) {
    ggs_module_tick(); // every walk passes here once per chunk
    return ggs_zstd_decompress(to, capacity, frame, size);
}
static inline unsigned ZSTD_isError(size_t result) {
    return result == GGS_ZSTD_FAILED;
}
