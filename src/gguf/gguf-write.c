#include "gguf/gguf-write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/number.h"
#include "base/system/file.h"
#include "base/system/room.h"
#include "base/text.h"
#include "gguf/gguf-slice.h"

enum { PIECE = 1 << 20 };

static const char alignment_key[] = "general.alignment";

static void put(struct ggs_text * text, uint64_t value, unsigned width) {
    char bytes[8];
    for (unsigned i = 0; i < width; i++) bytes[i] = (char) (value >> (8 * i));
    ggs_text_append(text, bytes, width);
}

// ---- metadata ----

// The key-values as they are; the alignment in its place, or behind them if the file had none.
static void put_key_values(struct ggs_text * text, const struct ggs_gguf * gguf, uint32_t alignment) {
    const struct ggs_gguf_kv * kv   = ggs_gguf_find(gguf, alignment_key);
    const char *               all  = (const char *) gguf->metadata;
    uint64_t                   stop = kv == NULL ? gguf->infos_offset : (uint64_t) (kv->data - gguf->metadata);
    ggs_text_append(text, all + GGS_GGUF_HEADER_SIZE, stop - GGS_GGUF_HEADER_SIZE);
    if (kv == NULL) {
        put(text, sizeof(alignment_key) - 1, 8);
        ggs_text_puts(text, alignment_key);
        put(text, GGS_GGUF_U32, 4);
    }
    put(text, alignment, 4);
    if (kv != NULL) ggs_text_append(text, all + stop + 4, gguf->infos_offset - stop - 4);
}

// Name, shape and type of a tensor as they are, and where it lies now.
static void put_info(struct ggs_text * text, const struct ggs_gguf * gguf, const struct ggs_gguf_tensor * tensor,
                     uint64_t offset) {
    uint64_t length = 8 + (uint64_t) tensor->name_length + 4 + 8 * (uint64_t) tensor->n_dims + 4;
    ggs_text_append(text, (const char *) gguf->metadata + tensor->info_offset, length);
    put(text, offset, 8);
}

// Everything before the first tensor, padding included. `end`: where the last tensor's padding ends, from there. False if it cannot be.
static bool make_metadata(struct ggs_text * text, uint64_t * end, const struct ggs_gguf * gguf,
                          const struct ggs_gguf_layout * layout) {
    uint64_t padded;
    bool     fits = true;
    ggs_text_append(text, (const char *) gguf->metadata, 16); // magic, version, number of tensors
    put(text, gguf->n_kvs + (ggs_gguf_find(gguf, alignment_key) == NULL), 8);
    put_key_values(text, gguf, layout->alignment);
    *end = 0;
    for (size_t i = 0; fits && i < gguf->n_tensors; i++) {
        const struct ggs_gguf_tensor * tensor = &gguf->tensors[layout->order[i]];
        put_info(text, gguf, tensor, *end);
        fits = ggs_add(*end, tensor->size, end) && ggs_align(*end, layout->alignment, end);
    }
    if (!fits || !ggs_align(text->length, layout->alignment, &padded)) return false;
    while (text->length < padded && !text->failed) ggs_text_putc(text, '\0');
    return !text->failed;
}

uint64_t ggs_gguf_written_size(const struct ggs_gguf * gguf, const struct ggs_gguf_layout * layout) {
    struct ggs_text text = {0};
    uint64_t        size;
    if (!make_metadata(&text, &size, gguf, layout) || !ggs_add(size, text.length, &size)) size = 0;
    ggs_text_release(&text);
    return size;
}

// ---- tensors ----

struct copy {
    const struct ggs_gguf *        gguf;
    const struct ggs_gguf_layout * layout;
    struct ggs_output              output;
    uint64_t                       done;
    int                            fd; // the model
    char *                         piece;
    struct ggs_error *             error;
};

static int write_bytes(struct copy * copy, const void * bytes, uint64_t length) {
    if (fwrite(bytes, 1, length, copy->output.file) != length)
        return ggs_fail_errno(copy->error, "cannot write %s", copy->output.path);
    copy->done += length;
    if (copy->layout->progress == NULL || copy->layout->progress(copy->layout->context, copy->done)) return 0;
    return ggs_fail(copy->error, GGS_IO, "%s: interrupted, nothing was written", copy->output.path);
}

static int write_zeros(struct copy * copy, uint64_t length) {
    int status = 0;
    memset(copy->piece, 0, PIECE);
    for (uint64_t n; status == 0 && length > 0; length -= n) {
        n      = length < PIECE ? length : PIECE;
        status = write_bytes(copy, copy->piece, n);
    }
    return status;
}

static int copy_tensor(struct copy * copy, const struct ggs_gguf_tensor * tensor) {
    int status = 0;
    for (uint64_t at = 0; status == 0 && at < tensor->size;) {
        uint64_t wanted = tensor->size - at < PIECE ? tensor->size - at : PIECE;
        ssize_t  got    = pread(copy->fd, copy->piece, wanted, (off_t) (tensor->offset + at));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return ggs_fail_errno(copy->error, "%s: cannot read", copy->gguf->path);
        if (got == 0)
            return ggs_fail(copy->error, GGS_IO,
                            "%s: the file became shorter while it was read (no bytes at offset %" PRIu64 ")",
                            copy->gguf->path, tensor->offset + at);
        status = write_bytes(copy, copy->piece, (uint64_t) got);
        at += (uint64_t) got;
    }
    uint64_t padded = 0;
    if (status == 0 && ggs_align(tensor->size, copy->layout->alignment, &padded) && padded > tensor->size) {
        status = write_zeros(copy, padded - tensor->size);
    }
    return status;
}

static int copy_all(struct copy * copy, const struct ggs_text * metadata, uint64_t size) {
    char number[GGS_NUMBER_LENGTH];
    int  failure = copy->output.direct ? 0 : ggs_room_take(fileno(copy->output.file), size); // a device has its own
    if (failure != 0) {
        errno = failure;
        return ggs_fail_errno(copy->error, "cannot write %s, which needs %s", copy->output.path,
                              ggs_format_bytes(number, size));
    }
    int status = write_bytes(copy, metadata->data, metadata->length);
    for (size_t i = 0; status == 0 && i < copy->gguf->n_tensors; i++)
        status = copy_tensor(copy, &copy->gguf->tensors[copy->layout->order[i]]);
    return status;
}

int ggs_gguf_check_writable(const struct ggs_gguf * gguf, struct ggs_error * error) {
    char     name[GGS_PRINTABLE_LENGTH];
    uint64_t files;
    if (ggs_gguf_get_u64(gguf, "split.count", &files) && files > 1)
        return ggs_fail(error, GGS_UNSUPPORTED,
                        "%s is one of %" PRIu64 " files of a model; make one of them with llama-gguf-split --merge",
                        gguf->path, files);
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        const struct ggs_gguf_tensor * tensor = &gguf->tensors[i];
        if (tensor->size_known) continue;
        return ggs_fail(error, GGS_UNSUPPORTED, "%s: how large %s is cannot be told: its type %" PRIu32 " is not known",
                        gguf->path, ggs_printable(name, sizeof(name), tensor->name, tensor->name_length), tensor->type);
    }
    return 0;
}

int ggs_gguf_write(const struct ggs_gguf * gguf, const struct ggs_gguf_layout * layout, const char * path,
                   struct ggs_error * error) {
    struct ggs_text metadata = {0};
    struct copy     copy     = {.gguf = gguf, .layout = layout, .fd = -1, .error = error};
    uint64_t        size     = 0;
    int             status   = ggs_gguf_check_writable(gguf, error);
    if (status < 0) return status;
    copy.piece = malloc(PIECE);
    if (copy.piece == NULL || !make_metadata(&metadata, &size, gguf, layout)) {
        status = ggs_fail_memory(error);
        goto end;
    }
    copy.fd = ggs_file_open(gguf->path);
    if (copy.fd < 0) {
        status = ggs_fail_errno(error, "%s: cannot open", gguf->path);
        goto end;
    }
    status = ggs_output_open(&copy.output, path, error);
    if (status < 0) goto end;
    status = copy_all(&copy, &metadata, metadata.length + size);
    if (status == 0) {
        status = ggs_output_commit(&copy.output, error);
    } else {
        ggs_output_discard(&copy.output);
    }
end:
    if (copy.fd >= 0) close(copy.fd);
    free(copy.piece);
    ggs_text_release(&metadata);
    return status;
}
