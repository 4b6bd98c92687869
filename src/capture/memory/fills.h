// Weights that a program reads itself: bytes of a file that reach a runtime buffer by read, pread
// or fread, or through memory of the program and ggml_backend_tensor_set. Watched between the
// creation of a buffer and the next graph, and only in programs whose models llama.cpp does not
// load: for those the loader's hooks know more.
#pragma once

#include <stddef.h>
#include <stdint.h>

// The thread has read `bytes` at `offset` of the file behind `fd` into memory at `to`.
void ggs_fills_read(const void * to, size_t bytes, int fd, int64_t offset);
// The thread copies `bytes` from `data` into a buffer, to address `to`.
void ggs_fills_set(uint64_t to, const void * data, size_t bytes);
// A graph that was not seen before uses the tensor, whose bytes are in memory of the host: writes a
// sample of them if a file was read to about there. The program may have written over it.
void ggs_fills_used(const void * data, uint64_t bytes);
