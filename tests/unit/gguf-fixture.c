#include "gguf-fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"

void put(struct ggs_text * file, uint64_t value, unsigned width) {
    for (unsigned i = 0; i < width; i++) ggs_text_putc(file, (char) (value >> (8 * i)));
}

void put_string(struct ggs_text * file, const char * string) {
    put(file, strlen(string), 8);
    ggs_text_puts(file, string);
}

void put_header(struct ggs_text * file, uint64_t n_tensors, uint64_t n_kvs) {
    ggs_text_puts(file, "GGUF");
    put(file, 3, 4);
    put(file, n_tensors, 8);
    put(file, n_kvs, 8);
}

void put_kv_u32(struct ggs_text * file, const char * key, uint32_t value) {
    put_string(file, key);
    put(file, GGS_GGUF_U32, 4);
    put(file, value, 4);
}

void put_kv_string(struct ggs_text * file, const char * key, const char * value) {
    put_string(file, key);
    put(file, GGS_GGUF_STRING, 4);
    put_string(file, value);
}

void put_tensor(struct ggs_text * file, const char * name, uint32_t type, uint64_t columns, uint64_t rows,
                uint64_t offset) {
    put_string(file, name);
    put(file, 2, 4);
    put(file, columns, 8);
    put(file, rows, 8);
    put(file, type, 4);
    put(file, offset, 8);
}

void pad(struct ggs_text * file, size_t alignment) {
    while (file->length % alignment != 0) ggs_text_putc(file, 0);
}

void put_zeros(struct ggs_text * file, size_t count) {
    for (size_t i = 0; i < count; i++) ggs_text_putc(file, 0);
}

// Two tensors, f32 of 8 x 1 (32 bytes) and f16 of 10 x 1 (20 bytes, 12 of padding), data at a
// multiple of 32.
struct ggs_text small_file(void) {
    struct ggs_text file = {0};
    put_header(&file, 2, 2);
    put_kv_string(&file, "general.architecture", "llama");
    put_kv_u32(&file, "llama.block_count", 1);
    put_tensor(&file, "token_embd.weight", 0, 8, 1, 0);
    put_tensor(&file, "blk.0.attn_q.weight", 1, 10, 1, 32);
    pad(&file, 32);
    put_zeros(&file, 64);
    return file;
}

void poke(struct ggs_text * file, size_t at, uint64_t value, unsigned width) {
    assert_true(at + width <= file->length);
    for (unsigned i = 0; i < width; i++) file->data[at + i] = (char) (value >> (8 * i));
}

int open_made(struct ggs_gguf ** gguf, const struct ggs_text * file, struct ggs_error * error) {
    char path[64];
    int  fd = memfd_create("made.gguf", MFD_CLOEXEC);
    assert_int_equal(write(fd, file->data, file->length), file->length);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int status = ggs_gguf_open(gguf, path, error);
    close(fd);
    return status;
}

struct ggs_gguf * opened(const struct ggs_text * file) {
    struct ggs_gguf * gguf  = NULL;
    struct ggs_error  error = {0};
    if (open_made(&gguf, file, &error) < 0) fail_msg("%s", error.text);
    return gguf;
}
