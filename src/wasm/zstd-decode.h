// Decompresses one zstd frame (RFC 8878), in 7 KB of the module. zstd's own decoder, optimised for
// size, takes 27 KB there and 19,000 lines in this tree, because no package has it for WebAssembly.
//
// Dictionaries are not supported, and the checksum of a frame is ignored (chunks of a trace have
// their own). Frames are untrusted: every size and offset is checked.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define GGS_ZSTD_FAILED SIZE_MAX

// Returns the content size that the frame states; UINT64_MAX if it states none, UINT64_MAX - 1 if
// this is not a frame.
uint64_t ggs_zstd_content_size(const void * frame, size_t size);

// Returns the number of bytes written, or GGS_ZSTD_FAILED: damaged, larger than `capacity`, or out
// of memory.
size_t ggs_zstd_decompress(void * to, size_t capacity, const void * frame, size_t size);
