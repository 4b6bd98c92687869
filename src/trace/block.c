#include "trace/block.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

static uint64_t zigzag(uint64_t delta) {
    return (delta << 1) ^ (uint64_t) - (int64_t) (delta >> 63);
}

static uint64_t unzigzag(uint64_t code) {
    return (code >> 1) ^ (uint64_t) - (int64_t) (code & 1);
}

// ---- memory ----

void ggs_block_release(struct ggs_block * block) {
    free(block->storage);
    free(block->bytes);
    *block = (struct ggs_block){0};
}

// Makes room for `rows` rows of the schema. Existing rows stay.
static int reserve(struct ggs_block * block, const struct ggs_schema * schema, uint32_t rows) {
    block->schema = schema;
    if (rows <= block->capacity) return 0;
    // Columns a power of two apart would compete for the same cache lines.
    uint64_t   stride  = rows + 72;
    uint64_t * storage = malloc(sizeof(*storage) * stride * schema->n_words);
    if (storage == NULL) return GGS_MEMORY;
    for (uint32_t i = 0; i < schema->n_words; i++) {
        if (block->rows > 0) memcpy(storage + i * stride, block->words[i], sizeof(*storage) * block->rows);
        block->words[i] = storage + i * stride;
    }
    free(block->storage);
    block->storage  = storage;
    block->capacity = rows;
    return 0;
}

static int reserve_bytes(struct ggs_block * block, uint64_t needed) {
    if (needed <= block->bytes_capacity) return 0;
    uint64_t capacity = needed > 2 * block->bytes_capacity ? needed : 2 * block->bytes_capacity;
    char *   bytes    = realloc(block->bytes, capacity);
    if (bytes == NULL) return GGS_MEMORY;
    block->bytes          = bytes;
    block->bytes_capacity = capacity;
    return 0;
}

int ggs_block_append(struct ggs_block * block, const void * row) {
    const struct ggs_schema * schema = block->schema;
    const uint64_t *          word   = row;
    if (block->rows == block->capacity && reserve(block, schema, block->capacity == 0 ? 64 : 2 * block->capacity) != 0)
        return GGS_MEMORY;
    for (uint32_t i = 0; i < schema->n_words; i++) block->words[i][block->rows] = word[i];
    if (schema->n_words > schema->n_columns) {
        uint64_t length = word[schema->n_columns];
        if (reserve_bytes(block, block->n_bytes + length + 1) != 0) return GGS_MEMORY;
        if (length > 0)
            memcpy(block->bytes + block->n_bytes, (const void *) (uintptr_t) word[schema->n_columns - 1], length);
        block->bytes[block->n_bytes + length]            = '\0';
        block->words[schema->n_columns - 1][block->rows] = block->n_bytes;
        block->n_bytes += length + 1;
    }
    block->rows++;
    return 0;
}

// ---- encoding ----

// Residuals are computed twice, for as many rows at a time as fit into the L1 cache: first for
// their width, and again to store them.
enum { STRIDE = 1024 };

struct column {
    const uint64_t * values;
    const uint64_t * duration; // FOLLOW
    const uint64_t * wait;
    uint64_t         base;
    uint8_t          encoding;
};

static uint64_t least_of(const uint64_t * values, uint32_t n) {
    uint64_t least = values[0];
    for (uint32_t i = 1; i < n; i++) least = (int64_t) values[i] < (int64_t) least ? values[i] : least;
    return least;
}

static struct column describe(const struct ggs_block * block, uint32_t which, uint8_t encoding) {
    struct column column = {.values = block->words[which], .encoding = encoding};
    if (encoding == GGS_ENCODING_FOLLOW) {
        column.duration = block->words[ggs_schema_role(block->schema, GGS_ROLE_DURATION)];
        column.wait     = block->words[ggs_schema_role(block->schema, GGS_ROLE_WAIT)];
    }
    bool relative = encoding == GGS_ENCODING_DELTA || encoding == GGS_ENCODING_FOLLOW;
    column.base   = relative ? column.values[0] : least_of(column.values, block->rows);
    return column;
}

// Writes the residuals of rows [from, from + n) to out; returns their bits ORed.
static uint64_t residuals(const struct column * column, uint32_t from, uint32_t n, uint64_t * out) {
    const uint64_t * values = column->values + from;
    uint64_t         all    = 0;
    uint32_t         i      = 0;
    // The base makes the first residual of a relative column 0.
    if (from == 0 && column->encoding != GGS_ENCODING_PLAIN && column->encoding != GGS_ENCODING_BYTES) out[i++] = 0;
    if (column->encoding == GGS_ENCODING_DELTA) {
        for (; i < n; i++) all |= out[i] = zigzag(values[i] - values[(int64_t) i - 1]);
    } else if (column->encoding == GGS_ENCODING_FOLLOW) {
        const uint64_t * duration = column->duration + from;
        const uint64_t * wait     = column->wait + from;
        for (; i < n; i++) {
            int64_t before = (int64_t) i - 1;
            all |= out[i]  = zigzag(values[i] - (values[before] + duration[before] + wait[before]));
        }
    } else {
        for (; i < n; i++) all |= out[i] = values[i] - column->base;
    }
    return all;
}

static uint8_t width_of(uint64_t all) {
    return (uint8_t) ((64 - (all == 0 ? 64 : __builtin_clzll(all)) + 7) / 8);
}

// Stores the residuals of a column, transposed; returns their width.
static uint8_t store(const struct column * column, uint32_t rows, uint8_t * out) {
    uint64_t scratch[STRIDE], all = 0;
    for (uint32_t from = 0; from < rows; from += STRIDE)
        all |= residuals(column, from, rows - from < STRIDE ? rows - from : STRIDE, scratch);
    uint8_t width = width_of(all);
    for (uint32_t from = 0; width > 0 && from < rows; from += STRIDE) {
        uint32_t n = rows - from < STRIDE ? rows - from : STRIDE;
        residuals(column, from, n, scratch);
        for (uint8_t plane = 0; plane < width; plane++) {
            uint8_t * target = out + (uint64_t) plane * rows + from;
            for (uint32_t i = 0; i < n; i++) target[i] = (uint8_t) (scratch[i] >> (8 * plane));
        }
    }
    return width;
}

uint64_t ggs_block_encode(struct ggs_block * block, uint8_t ** out, uint64_t * capacity) {
    const struct ggs_schema * schema  = block->schema;
    uint64_t                  columns = schema->n_columns, rows = block->rows;
    uint64_t largest = 8 + columns * sizeof(struct ggs_column_header) + schema->n_words * rows * 8 + block->n_bytes;
    if (largest > *capacity) {
        uint8_t * bigger = realloc(*out, largest);
        if (bigger == NULL) return 0;
        *out      = bigger;
        *capacity = largest;
    }
    uint32_t counts[2] = {(uint32_t) columns, (uint32_t) rows};
    memcpy(*out, counts, sizeof(counts));
    uint8_t * header = *out + sizeof(counts);
    uint8_t * data   = header + columns * sizeof(struct ggs_column_header);
    for (uint32_t i = 0; i < columns; i++, header += sizeof(struct ggs_column_header)) {
        bool                     bytes  = schema->columns[i].type == GGS_COLUMN_BYTES;
        struct column            values = describe(block, bytes ? i + 1 : i, schema->columns[i].encoding);
        struct ggs_column_header column = {.id = (uint16_t) i, .encoding = values.encoding, .base = values.base};
        column.width                    = store(&values, block->rows, data);
        column.bytes                    = column.width * rows;
        data += column.bytes;
        for (uint32_t r = 0; bytes && r < rows; r++) {
            uint64_t length = block->words[i + 1][r];
            memcpy(data, block->bytes + block->words[i][r], length);
            data += length;
            column.bytes += length;
        }
        memcpy(header, &column, sizeof(column));
    }
    return (uint64_t) (data - *out);
}

// ---- decoding ----

static void untranspose(uint64_t * values, const uint8_t * in, uint32_t rows, uint8_t width) {
    if (width == 0) memset(values, 0, sizeof(*values) * rows);
    if (width > 0)
        for (uint32_t i = 0; i < rows; i++) values[i] = in[i];
    for (uint8_t plane = 1; plane < width; plane++) {
        const uint8_t * bytes = in + (size_t) plane * rows;
        for (uint32_t i = 0; i < rows; i++) values[i] |= (uint64_t) bytes[i] << (8 * plane);
    }
}

static void restore(uint64_t * values, uint32_t rows, const struct ggs_column_header * column) {
    if (column->encoding == GGS_ENCODING_DELTA) {
        uint64_t value = column->base;
        for (uint32_t i = 0; i < rows; i++) values[i] = value += unzigzag(values[i]);
    } else {
        for (uint32_t i = 0; i < rows; i++) values[i] += column->base;
    }
}

static void restore_follow(struct ggs_block * block, uint32_t which, uint64_t base) {
    uint64_t *       values   = block->words[which];
    const uint64_t * duration = block->words[ggs_schema_role(block->schema, GGS_ROLE_DURATION)];
    const uint64_t * wait     = block->words[ggs_schema_role(block->schema, GGS_ROLE_WAIT)];
    uint64_t         value    = base + unzigzag(values[0]);
    values[0]                 = value;
    for (uint32_t i = 1; i < block->rows; i++) values[i] = value += duration[i - 1] + wait[i - 1] + unzigzag(values[i]);
}

// Restores `bytes` bytes of a BYTES column, whose lengths are in words[which + 1].
static int restore_bytes(struct ggs_block * block, uint32_t which, const uint8_t * data, uint64_t bytes,
                         const char ** why) {
    uint64_t used = 0;
    if (reserve_bytes(block, bytes + block->rows) != 0) return GGS_MEMORY;
    block->n_bytes = 0;
    for (uint32_t i = 0; i < block->rows; i++) {
        uint64_t length = block->words[which + 1][i];
        if (length > bytes - used) {
            *why = "lengths that exceed the bytes";
            return GGS_FORMAT;
        }
        char * target = block->bytes + block->n_bytes;
        memcpy(target, data + used, length);
        target[length]         = '\0';
        block->words[which][i] = (uint64_t) (uintptr_t) target;
        used += length;
        block->n_bytes += length + 1;
    }
    if (used == bytes) return 0;
    *why = "bytes that no row owns";
    return GGS_FORMAT;
}

static int decode_column(struct ggs_block * block, const struct ggs_column_header * column, const uint8_t * data,
                         const char ** why) {
    uint64_t planes = (uint64_t) column->width * block->rows;
    bool     bytes  = column->encoding == GGS_ENCODING_BYTES;
    if (column->width > 8 || planes > column->bytes || (!bytes && planes != column->bytes)) {
        *why = "a column of impossible length";
        return GGS_FORMAT;
    }
    if (column->id >= block->schema->n_columns) return 0; // of a later version
    const struct ggs_column * known = &block->schema->columns[column->id];
    if (bytes != (known->type == GGS_COLUMN_BYTES) || column->encoding < GGS_ENCODING_PLAIN ||
        column->encoding > GGS_ENCODING_BYTES ||
        (column->encoding == GGS_ENCODING_FOLLOW && known->encoding != GGS_ENCODING_FOLLOW)) {
        *why = "a column in an encoding that does not fit it";
        return GGS_FORMAT;
    }
    uint64_t * values = block->words[bytes ? column->id + 1 : column->id];
    untranspose(values, data, block->rows, column->width);
    if (column->encoding != GGS_ENCODING_FOLLOW) restore(values, block->rows, column);
    return bytes ? restore_bytes(block, column->id, data + planes, column->bytes - planes, why) : 0;
}

int ggs_block_decode(struct ggs_block * block, const struct ggs_schema * schema, uint32_t rows, const uint8_t * data,
                     uint64_t size, const char ** why) {
    uint32_t counts[2];
    *why        = "too few bytes";
    block->rows = 0;
    if (size < sizeof(counts)) return GGS_FORMAT;
    memcpy(counts, data, sizeof(counts));
    uint64_t position = sizeof(counts) + counts[0] * (uint64_t) sizeof(struct ggs_column_header);
    if (counts[1] != rows || rows == 0 || rows > GGS_CHUNK_ROWS_MAX || position > size) return GGS_FORMAT;
    if (reserve(block, schema, rows) != 0) return GGS_MEMORY;
    block->rows = rows;

    uint64_t seen = 0, follow_base = 0;
    int      follow = -1;
    for (uint32_t i = 0; i < counts[0]; i++) {
        struct ggs_column_header column;
        memcpy(&column, data + sizeof(counts) + i * sizeof(column), sizeof(column));
        if (!ggs_inside(position, column.bytes, size)) return GGS_FORMAT;
        int status = decode_column(block, &column, data + position, why);
        if (status != 0) return status;
        position += column.bytes;
        if (column.id >= schema->n_columns) continue;
        seen |= 1ull << column.id;
        if (column.encoding == GGS_ENCODING_FOLLOW)
            follow = column.id, follow_base = column.base;
        else if (follow == column.id)
            follow = -1;
    }
    for (uint32_t i = 0; i < schema->n_columns; i++) {
        if (seen & 1ull << i) continue;
        if (schema->columns[i].type == GGS_COLUMN_BYTES) {
            memset(block->words[i + 1], 0, sizeof(uint64_t) * rows);
            int status = restore_bytes(block, i, data, 0, why);
            if (status != 0) return status;
        } else {
            memset(block->words[i], 0, sizeof(uint64_t) * rows);
        }
    }
    if (follow >= 0) restore_follow(block, (uint32_t) follow, follow_base);
    return 0;
}
