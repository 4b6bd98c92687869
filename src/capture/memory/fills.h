// Weights that a program reads by hand: bytes of a file that come to lie in a runtime buffer, by read, pread or fread right into it, or
// through memory of the program's own and ggml_backend_tensor_set. Watched between the making of a buffer and the next graph, and only in
// programs whose models llama.cpp does not load: there the loader's own hooks tell more.
#pragma once

#include <stddef.h>
#include <stdint.h>

// The thread has read `bytes` at `offset` of the file behind `fd` into memory at `to`.
void ggs_fills_read(const void * to, size_t bytes, int fd, int64_t offset);
// The thread copies `bytes` from `data` into a buffer, to address `to`.
void ggs_fills_set(uint64_t to, const void * data, size_t bytes);
