// Weights that a program reads itself: bytes of a file that reach a runtime buffer by read, pread
// or fread, or through memory of the program and ggml_backend_tensor_set. Watched between the
// creation of a buffer and the next graph, and only if llama.cpp does not load the program's
// models: the loader's hooks know more.
#pragma once

#include <stddef.h>
#include <stdint.h>

// For `bytes` that this thread has read at `offset` of the file of `fd` into memory at `to`.
void ggs_fills_read(const void * to, size_t bytes, int fd, int64_t offset);
// For `bytes` that this thread copies from `data` into a buffer at address `to`.
void ggs_fills_set(uint64_t to, const void * data, size_t bytes);
// For a tensor of a new graph whose bytes are in host memory: writes a sample of them if a file was
// read to about there. The program may have overwritten it.
void ggs_fills_used(const void * data, uint64_t bytes);
