// GGUF files made by hand, value by value.
#pragma once

#include "base/text.h"
#include "gguf/gguf.h"

void put(struct ggs_text * file, uint64_t value, unsigned width);
void put_string(struct ggs_text * file, const char * string);
void put_header(struct ggs_text * file, uint64_t n_tensors, uint64_t n_kvs);
void put_kv_u32(struct ggs_text * file, const char * key, uint32_t value);
void put_kv_string(struct ggs_text * file, const char * key, const char * value);
void put_tensor(struct ggs_text * file, const char * name, uint32_t type, uint64_t columns, uint64_t rows,
                uint64_t offset);
void pad(struct ggs_text * file, size_t alignment);
void put_zeros(struct ggs_text * file, size_t count);
// Two tensors, f32 of 8 x 1 (32 bytes) and f16 of 10 x 1 (20 bytes, 12 of padding), data at a
// multiple of 32.
struct ggs_text   small_file(void);
void              poke(struct ggs_text * file, size_t at, uint64_t value, unsigned width);
int               open_made(struct ggs_gguf ** gguf, const struct ggs_text * file, struct ggs_error * error);
struct ggs_gguf * opened(const struct ggs_text * file);
