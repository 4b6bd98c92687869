// Decompresses one zstd frame (RFC 8878): what the module needs of zstd, small enough to travel in
// every report: 7 KB of the module. zstd's own decoder, with its options for size, takes 27 KB
// there and 19,000 lines here, because no package has it for WebAssembly.
//
// Not read: dictionaries, and the checksum at the end of a frame (chunks of a trace have their
// own). Frames are untrusted: every size and every offset is checked against what is there.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define GGS_ZSTD_FAILED SIZE_MAX

// What the frame says that it holds; UINT64_MAX if it does not say, UINT64_MAX - 1 if it is no
// frame.
uint64_t ggs_zstd_content_size(const void * frame, size_t size);

// Returns how many bytes were written, or GGS_ZSTD_FAILED: damaged, larger than `capacity`, or out
// of memory.
size_t ggs_zstd_decompress(void * to, size_t capacity, const void * frame, size_t size);
