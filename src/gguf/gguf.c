#include "gguf/gguf.h"

#include "base/checked.h"
#include "base/error.h"
#include "gguf/gguf-slice.h"
#include "gguf/gguf-type.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Bytes read at a time. A vocabulary fits into a few chunks.
enum { CHUNK = 1 << 20 };

// The state of the parser. Bytes [0, filled) of the file are at gguf->metadata; the rest is read
// from `fd` on demand, up to `limit`. They never move, so keys and names can point to them.
struct cursor {
    struct ggs_gguf *  gguf;
    struct ggs_error * error;
    uint64_t           filled;
    uint64_t           limit;
    uint64_t           position;
    int                fd;
    int                status; // of the first failure
};

static int fill(struct cursor * cursor, uint64_t end) {
    uint64_t target = end;
    if (target - cursor->filled < CHUNK) {
        target = cursor->limit - cursor->filled < CHUNK ? cursor->limit : cursor->filled + CHUNK;
    }
    while (cursor->filled < target) {
        ssize_t got =
            pread(cursor->fd, cursor->gguf->metadata + cursor->filled, target - cursor->filled, (off_t) cursor->filled);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            return ggs_fail_errno(cursor->error, "%s: cannot read at offset %" PRIu64, cursor->gguf->path,
                                  cursor->filled);
        }
        if (got == 0) {
            return ggs_fail(cursor->error, GGS_IO,
                            "%s: the file became shorter while it was read (no bytes at offset %" PRIu64 ")",
                            cursor->gguf->path, cursor->filled);
        }
        cursor->filled += (uint64_t) got;
    }
    return 0;
}

// Returns the next `length` bytes, or NULL with the error set. `what` names them in the message.
static const uint8_t * next_bytes(struct cursor * cursor, uint64_t length, const char * what) {
    const struct ggs_gguf * gguf = cursor->gguf;
    uint64_t                at   = cursor->position;
    if (!ggs_inside(at, length, gguf->size)) {
        cursor->status = ggs_fail(cursor->error, GGS_FORMAT,
                                  "%s: truncated or damaged: %s at offset %" PRIu64 " takes %" PRIu64
                                  " bytes but the file has %" PRIu64 " left",
                                  gguf->path, what, at, length, gguf->size - at);
        return NULL;
    }
    if (!ggs_inside(at, length, cursor->limit)) {
        cursor->status =
            ggs_fail(cursor->error, GGS_FORMAT,
                     "%s: %s at offset %" PRIu64 " would make the metadata larger than %d MiB, which no real "
                     "model has",
                     gguf->path, what, at, GGS_GGUF_METADATA_MAX >> 20);
        return NULL;
    }
    if (at + length > cursor->filled) {
        cursor->status = fill(cursor, at + length);
        if (cursor->status < 0) return NULL;
    }
    cursor->position += length;
    return cursor->gguf->metadata + at;
}

static bool read_u32(struct cursor * cursor, const char * what, uint32_t * value) {
    const uint8_t * bytes = next_bytes(cursor, 4, what);
    if (bytes == NULL) return false;
    *value = (uint32_t) ggs_little_endian(bytes, 4);
    return true;
}

static bool read_u64(struct cursor * cursor, const char * what, uint64_t * value) {
    const uint8_t * bytes = next_bytes(cursor, 8, what);
    if (bytes == NULL) return false;
    *value = ggs_little_endian(bytes, 8);
    return true;
}

static bool read_string(struct cursor * cursor, const char * what, const char ** string, uint64_t * length) {
    if (!read_u64(cursor, what, length)) return false;
    *string = (const char *) next_bytes(cursor, *length, what);
    return *string != NULL;
}

// ---- header ----

static int read_version(struct cursor * cursor) {
    struct ggs_gguf * gguf = cursor->gguf;
    if (!read_u32(cursor, "the version", &gguf->version)) return cursor->status;
    uint32_t version = gguf->version;
    if (version == 2 || version == 3) return 0;
    if (version != 0 && (version & 0xffff) == 0) {
        return ggs_fail(cursor->error, GGS_UNSUPPORTED,
                        "%s: a big-endian GGUF file (version bytes 0x%08" PRIx32
                        " at offset 4); only little-endian files can be read here",
                        gguf->path, version);
    }
    if (version == 1) {
        return ggs_fail(
            cursor->error, GGS_UNSUPPORTED,
            "%s: GGUF version 1 (at offset 4) is read neither by llama.cpp nor here; convert the model again",
            gguf->path);
    }
    return ggs_fail(cursor->error, GGS_UNSUPPORTED,
                    "%s: GGUF version %" PRIu32 " at offset 4; versions 2 and 3 can be read", gguf->path, version);
}

// Refuses an impossible count before anything is allocated: each entry takes at least `smallest`
// bytes.
static int read_count(struct cursor * cursor, const char * what, uint64_t smallest, uint64_t * count) {
    uint64_t at = cursor->position;
    if (!read_u64(cursor, what, count)) return cursor->status;
    if (*count > (cursor->gguf->size - GGS_GGUF_HEADER_SIZE) / smallest) {
        return ggs_fail(cursor->error, GGS_FORMAT,
                        "%s: damaged: %s at offset %" PRIu64 " is %" PRIu64 ", more than a file of %" PRIu64
                        " bytes can hold",
                        cursor->gguf->path, what, at, *count, cursor->gguf->size);
    }
    return 0;
}

static int read_header(struct cursor * cursor, uint64_t * n_tensors, uint64_t * n_kvs) {
    struct ggs_gguf * gguf = cursor->gguf;
    if (gguf->size == 0) {
        return ggs_fail(cursor->error, GGS_FORMAT, "%s: an empty file, not a GGUF file (nothing at offset 0)",
                        gguf->path);
    }
    if (gguf->size >= 4) {
        const uint8_t * magic = next_bytes(cursor, 4, "the magic");
        if (magic == NULL) return cursor->status;
        if (memcmp(magic, "GGUF", 4) != 0) {
            return ggs_fail(cursor->error, GGS_FORMAT, "%s: not a GGUF file (bytes %02x %02x %02x %02x at offset 0)",
                            gguf->path, magic[0], magic[1], magic[2], magic[3]);
        }
    }
    if (gguf->size < GGS_GGUF_HEADER_SIZE) {
        return ggs_fail(cursor->error, GGS_FORMAT,
                        "%s: not a whole GGUF file: it ends at offset %" PRIu64 ", inside the header of %d bytes",
                        gguf->path, gguf->size, GGS_GGUF_HEADER_SIZE);
    }
    int status = read_version(cursor);
    if (status < 0) return status;
    status = read_count(cursor, "the number of tensors", 24, n_tensors); // an empty name, no dimensions
    if (status < 0) return status;
    return read_count(cursor, "the number of key-values", 14, n_kvs); // a key and a value of one byte each
}

// ---- key-values ----

static int fail_value_type(struct cursor * cursor, const struct ggs_gguf_kv * kv, uint64_t at, uint32_t type) {
    char printable[GGS_PRINTABLE_LENGTH];
    ggs_printable(printable, sizeof printable, kv->key, kv->key_length);
    if (type == GGS_GGUF_ARRAY) {
        return ggs_fail(cursor->error, GGS_UNSUPPORTED,
                        "%s: key \"%s\" holds an array of arrays (at offset %" PRIu64
                        "), which llama.cpp does not read either",
                        cursor->gguf->path, printable, at);
    }
    return ggs_fail(cursor->error, GGS_FORMAT,
                    "%s: key \"%s\" has the value type %" PRIu32 " at offset %" PRIu64 "; types 0 to 12 exist",
                    cursor->gguf->path, printable, type, at);
}

static int read_elements(struct cursor * cursor, struct ggs_gguf_kv * kv) {
    uint64_t begin = cursor->position;
    unsigned width = ggs_gguf_value_width(kv->type);
    if (width > 0) {
        uint64_t size;
        if (!ggs_mul(kv->count, width, &size)) size = UINT64_MAX;
        if (next_bytes(cursor, size, "an array's elements") == NULL) return cursor->status;
    } else {
        for (uint64_t i = 0; i < kv->count; i++) {
            const char * string;
            uint64_t     length;
            if (!read_string(cursor, "a string", &string, &length)) return cursor->status;
        }
    }
    kv->data = cursor->gguf->metadata + begin;
    kv->size = cursor->position - begin;
    return 0;
}

static int read_kv(struct cursor * cursor, struct ggs_gguf_kv * kv) {
    uint64_t length;
    uint32_t type;
    kv->offset = cursor->position;
    kv->count  = 1;
    if (!read_string(cursor, "a key", &kv->key, &length)) return cursor->status;
    if (length == 0) {
        return ggs_fail(cursor->error, GGS_FORMAT, "%s: the key at offset %" PRIu64 " is empty", cursor->gguf->path,
                        kv->offset);
    }
    kv->key_length = (size_t) length;
    uint64_t at    = cursor->position;
    if (!read_u32(cursor, "a value's type", &type)) return cursor->status;
    if (type == GGS_GGUF_ARRAY) {
        kv->array = true;
        at        = cursor->position;
        if (!read_u32(cursor, "an array's type", &type)) return cursor->status;
        if (!read_u64(cursor, "an array's length", &kv->count)) return cursor->status;
    }
    if (type == GGS_GGUF_ARRAY || type > GGS_GGUF_F64) return fail_value_type(cursor, kv, at, type);
    kv->type = (enum ggs_gguf_value_type) type;
    return read_elements(cursor, kv);
}

// Makes room for one more entry. Arrays grow with the entries that were read, so a false count
// costs nothing.
static void * grow(void * array, size_t used, uint64_t expected, size_t entry) {
    bool full = used == 0 || (used >= 64 && (used & (used - 1)) == 0);
    if (!full) return array;
    size_t room = used == 0 ? 64 : used * 2;
    if (room > expected) room = (size_t) expected;
    return reallocarray(array, room, entry);
}

static int read_kvs(struct cursor * cursor, uint64_t count) {
    struct ggs_gguf * gguf = cursor->gguf;
    for (uint64_t i = 0; i < count; i++) {
        struct ggs_gguf_kv * kvs = grow(gguf->kvs, gguf->n_kvs, count, sizeof *kvs);
        if (kvs == NULL) return ggs_fail_memory(cursor->error);
        gguf->kvs        = kvs;
        kvs[gguf->n_kvs] = (struct ggs_gguf_kv){0};
        int status       = read_kv(cursor, &kvs[gguf->n_kvs]);
        if (status < 0) return status;
        gguf->n_kvs++;
    }
    gguf->infos_offset = cursor->position;
    return 0;
}

static int read_alignment(struct cursor * cursor) {
    struct ggs_gguf *          gguf = cursor->gguf;
    const struct ggs_gguf_kv * kv   = ggs_gguf_find(gguf, "general.alignment");
    gguf->alignment                 = GGS_GGUF_ALIGNMENT;
    if (kv == NULL) return 0;
    if (kv->array || kv->type != GGS_GGUF_U32) {
        return ggs_fail(cursor->error, GGS_FORMAT,
                        "%s: general.alignment at offset %" PRIu64 " is of type %s%s; it must be a u32", gguf->path,
                        kv->offset, kv->array ? "array of " : "", ggs_gguf_value_type_name(kv->type));
    }
    gguf->alignment = (uint32_t) ggs_little_endian(kv->data, 4);
    if (gguf->alignment == 0 || (gguf->alignment & (gguf->alignment - 1)) != 0) {
        return ggs_fail(cursor->error, GGS_FORMAT,
                        "%s: general.alignment at offset %" PRIu64 " is %" PRIu32 "; it must be a power of two",
                        gguf->path, kv->offset, gguf->alignment);
    }
    return 0;
}

// ---- tensor infos ----

static int fail_tensor(struct cursor * cursor, const struct ggs_gguf_tensor * tensor, uint64_t at, const char * what,
                       uint64_t value) {
    char printable[GGS_PRINTABLE_LENGTH];
    ggs_printable(printable, sizeof printable, tensor->name, tensor->name_length);
    return ggs_fail(cursor->error, GGS_FORMAT, "%s: damaged: tensor \"%s\" has %s (%" PRIu64 " at offset %" PRIu64 ")",
                    cursor->gguf->path, printable, what, value, at);
}

static int read_shape(struct cursor * cursor, struct ggs_gguf_tensor * tensor, uint64_t * elements) {
    uint64_t at = cursor->position;
    uint32_t n_dims;
    if (!read_u32(cursor, "a tensor's number of dimensions", &n_dims)) return cursor->status;
    if (n_dims > GGS_GGUF_DIMS_MAX) return fail_tensor(cursor, tensor, at, "more than 4 dimensions", n_dims);
    tensor->n_dims = (uint8_t) n_dims;
    bool empty     = false;
    *elements      = 1;
    for (unsigned i = 0; i < GGS_GGUF_DIMS_MAX; i++) {
        tensor->ne[i] = 1;
        at            = cursor->position;
        if (i < n_dims && !read_u64(cursor, "a tensor's shape", &tensor->ne[i])) return cursor->status;
        if (tensor->ne[i] > INT64_MAX) return fail_tensor(cursor, tensor, at, "an impossible dimension", tensor->ne[i]);
        if (tensor->ne[i] == 0) empty = true;
        if (!empty && (!ggs_mul(*elements, tensor->ne[i], elements) || *elements > INT64_MAX)) {
            return fail_tensor(cursor, tensor, at, "more elements than can be counted", tensor->ne[i]);
        }
    }
    if (empty) *elements = 0;
    return 0;
}

static int read_type(struct cursor * cursor, struct ggs_gguf_tensor * tensor, uint64_t elements) {
    uint64_t at = cursor->position;
    if (!read_u32(cursor, "a tensor's type", &tensor->type)) return cursor->status;
    const struct ggs_gguf_type * type = ggs_type_find(tensor->type);
    if (type == NULL) return 0;
    tensor->size_known = true;
    if (tensor->ne[0] % type->block_elements != 0) {
        return fail_tensor(cursor, tensor, at, "rows that are not whole blocks of its type", tensor->type);
    }
    if (!ggs_mul(elements / type->block_elements, type->block_bytes, &tensor->size)) {
        return fail_tensor(cursor, tensor, at, "more bytes than can be counted with its type", tensor->type);
    }
    return 0;
}

static int read_tensor(struct cursor * cursor, struct ggs_gguf_tensor * tensor) {
    uint64_t length, elements = 0;
    tensor->info_offset = cursor->position;
    if (!read_string(cursor, "a tensor's name", &tensor->name, &length)) return cursor->status;
    tensor->name_length = (uint32_t) length;
    int status          = read_shape(cursor, tensor, &elements);
    if (status < 0) return status;
    status = read_type(cursor, tensor, elements);
    if (status < 0) return status;
    return read_u64(cursor, "a tensor's offset", &tensor->offset) ? 0 : cursor->status;
}

static int read_tensors(struct cursor * cursor, uint64_t count) {
    struct ggs_gguf * gguf = cursor->gguf;
    for (uint64_t i = 0; i < count; i++) {
        struct ggs_gguf_tensor * tensors = grow(gguf->tensors, gguf->n_tensors, count, sizeof *tensors);
        if (tensors == NULL) return ggs_fail_memory(cursor->error);
        gguf->tensors            = tensors;
        tensors[gguf->n_tensors] = (struct ggs_gguf_tensor){0};
        int status               = read_tensor(cursor, &tensors[gguf->n_tensors]);
        if (status < 0) return status;
        gguf->n_tensors++;
    }
    gguf->infos_end = cursor->position;
    return 0;
}

// ---- placement ----

static int locate_tensor(struct cursor * cursor, struct ggs_gguf_tensor * tensor) {
    struct ggs_gguf * gguf = cursor->gguf;
    char              printable[GGS_PRINTABLE_LENGTH];
    uint64_t          relative = tensor->offset;
    if (!ggs_add(relative, gguf->data_offset, &tensor->offset) || tensor->offset > gguf->size) {
        ggs_printable(printable, sizeof printable, tensor->name, tensor->name_length);
        return ggs_fail(cursor->error, GGS_FORMAT,
                        "%s: truncated or damaged: tensor \"%s\" (info at offset %" PRIu64 ") begins %" PRIu64
                        " bytes into the data, which starts at offset %" PRIu64 " of %" PRIu64,
                        gguf->path, printable, tensor->info_offset, relative, gguf->data_offset, gguf->size);
    }
    if (!ggs_inside(tensor->offset, tensor->size, gguf->size)) {
        ggs_printable(printable, sizeof printable, tensor->name, tensor->name_length);
        return ggs_fail(cursor->error, GGS_FORMAT,
                        "%s: truncated or damaged: tensor \"%s\" takes %" PRIu64 " bytes from offset %" PRIu64
                        ", but the file ends at offset %" PRIu64,
                        gguf->path, printable, tensor->size, tensor->offset, gguf->size);
    }
    return 0;
}

// A tensor of unknown type extends to the next tensor behind it, or to the end of the file.
static int locate_unknown(struct cursor * cursor) {
    struct ggs_gguf * gguf  = cursor->gguf;
    size_t *          order = ggs_gguf_by_offset(gguf);
    if (order == NULL) return ggs_fail_memory(cursor->error);
    uint64_t next = gguf->size, same = gguf->size;
    for (size_t i = gguf->n_tensors; i-- > 0;) {
        struct ggs_gguf_tensor * tensor = &gguf->tensors[order[i]];
        if (tensor->offset < same) {
            next = same;
            same = tensor->offset;
        }
        if (!tensor->size_known) tensor->size = next - tensor->offset;
    }
    free(order);
    return 0;
}

static int locate_tensors(struct cursor * cursor) {
    struct ggs_gguf * gguf = cursor->gguf;
    gguf->data_offset      = gguf->infos_end;
    if (gguf->n_tensors == 0) return 0;
    if (!ggs_align(gguf->infos_end, gguf->alignment, &gguf->data_offset) || gguf->data_offset > gguf->size) {
        return ggs_fail(cursor->error, GGS_FORMAT,
                        "%s: truncated or damaged: the metadata ends at offset %" PRIu64
                        " and tensors begin at the next multiple of %" PRIu32
                        ", past the file's end at offset %" PRIu64,
                        gguf->path, gguf->infos_end, gguf->alignment, gguf->size);
    }
    bool unknown = false;
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        int status = locate_tensor(cursor, &gguf->tensors[i]);
        if (status < 0) return status;
        if (!gguf->tensors[i].size_known) unknown = true;
    }
    return unknown ? locate_unknown(cursor) : 0;
}

// ---- duplicates ----

// Takes ownership of `names`, whose tags are the offsets of their entries.
static int reject_duplicates(struct cursor * cursor, struct ggs_slice * names, size_t count, const char * what) {
    if (names == NULL) return ggs_fail_memory(cursor->error);
    const struct ggs_slice * twice  = ggs_find_duplicate(names, count);
    int                      status = 0;
    if (twice != NULL) {
        char printable[GGS_PRINTABLE_LENGTH];
        ggs_printable(printable, sizeof printable, twice->data, twice->length);
        status = ggs_fail(cursor->error, GGS_FORMAT,
                          "%s: damaged: %s \"%s\" occurs twice, at offset %" PRIu64 " and at offset %" PRIu64,
                          cursor->gguf->path, what, printable, twice[0].tag, twice[1].tag);
    }
    free(names);
    return status;
}

static int reject_duplicate_keys(struct cursor * cursor) {
    const struct ggs_gguf * gguf  = cursor->gguf;
    struct ggs_slice *      names = calloc(gguf->n_kvs + 1, sizeof *names);
    for (size_t i = 0; names != NULL && i < gguf->n_kvs; i++) {
        names[i] = (struct ggs_slice){gguf->kvs[i].key, gguf->kvs[i].key_length, gguf->kvs[i].offset};
    }
    return reject_duplicates(cursor, names, gguf->n_kvs, "key");
}

static int reject_duplicate_tensors(struct cursor * cursor) {
    const struct ggs_gguf * gguf  = cursor->gguf;
    struct ggs_slice *      names = calloc(gguf->n_tensors + 1, sizeof *names);
    for (size_t i = 0; names != NULL && i < gguf->n_tensors; i++) {
        const struct ggs_gguf_tensor * tensor = &gguf->tensors[i];
        names[i] = (struct ggs_slice){tensor->name, tensor->name_length, tensor->info_offset};
    }
    return reject_duplicates(cursor, names, gguf->n_tensors, "the tensor name");
}

// ---- open ----

static int parse(struct cursor * cursor) {
    uint64_t n_tensors = 0, n_kvs = 0;
    int      status = read_header(cursor, &n_tensors, &n_kvs);
    if (status == 0) status = read_kvs(cursor, n_kvs);
    if (status == 0) status = reject_duplicate_keys(cursor);
    if (status == 0) status = read_alignment(cursor);
    if (status == 0) status = read_tensors(cursor, n_tensors);
    if (status == 0) status = reject_duplicate_tensors(cursor);
    if (status == 0) status = locate_tensors(cursor);
    return status;
}

static int open_parsed(struct ggs_gguf ** out, struct cursor * cursor, const char * path, uint64_t size) {
    struct ggs_gguf * gguf = calloc(1, sizeof *gguf);
    if (gguf == NULL) return ggs_fail_memory(cursor->error);
    cursor->gguf  = gguf;
    cursor->limit = size < GGS_GGUF_METADATA_MAX ? size : GGS_GGUF_METADATA_MAX;
    gguf->size    = size;
    gguf->path    = strdup(path);
    // Untouched pages of a large block cost nothing: only what is read uses memory.
    gguf->metadata = malloc(cursor->limit + 1);
    int status     = gguf->path == NULL || gguf->metadata == NULL ? ggs_fail_memory(cursor->error) : parse(cursor);
    if (status < 0) {
        ggs_gguf_free(gguf);
        return status;
    }
    *out = gguf;
    return 0;
}

static int refuse_irregular(const char * path, mode_t mode, struct ggs_error * error) {
    if (S_ISREG(mode)) return 0;
    const char * kind = S_ISDIR(mode)    ? "a directory"
                        : S_ISFIFO(mode) ? "a pipe"
                        : S_ISSOCK(mode) ? "a socket"
                                         : "a device";
    return ggs_fail(error, GGS_FORMAT, "%s: this is %s, not a GGUF file", path, kind);
}

int ggs_gguf_open(struct ggs_gguf ** out, const char * path, struct ggs_error * error) {
    *out = NULL;
    // O_NONBLOCK: opening a FIFO without a writer must not block.
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return ggs_fail_errno(error, "%s: cannot open", path);
    struct stat facts;
    int         status;
    if (fstat(fd, &facts) != 0) {
        status = ggs_fail_errno(error, "%s: cannot find out its size", path);
    } else {
        status = refuse_irregular(path, facts.st_mode, error);
    }
    if (status == 0) {
        struct cursor cursor = {.error = error, .fd = fd};
        status               = open_parsed(out, &cursor, path, (uint64_t) facts.st_size);
    }
    close(fd);
    return status;
}

void ggs_gguf_free(struct ggs_gguf * gguf) {
    if (gguf == NULL) return;
    free(gguf->path);
    free(gguf->kvs);
    free(gguf->tensors);
    free(gguf->metadata);
    free(gguf);
}
