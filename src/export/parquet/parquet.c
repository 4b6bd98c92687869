// Tables as Parquet files: flat columns, one row group at a time in memory.
//
//     file         = "PAR1" | row group ... | footer | length of the footer | "PAR1"
//     row group    = column chunk ...
//     column chunk = dictionary page (texts) | data page; each a header, then zstd
//
// Integers and timestamps are DELTA_BINARY_PACKED, texts RLE_DICTIONARY, reals and booleans PLAIN.
// Nullable columns have definition levels.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/array.h"
#include "base/error.h"
#include "export/formats.h"
#include "export/parquet/parquet-encode.h"
#include "export/tables/tables.h"

enum { GROUP_ROWS = 1 << 17, GROUP_TEXT = 8 << 20 }; // either limit closes a group

enum { TYPE_BOOLEAN = 0, TYPE_INT64 = 2, TYPE_DOUBLE = 5, TYPE_BYTE_ARRAY = 6 };
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_DELTA = 5, ENCODING_RLE_DICTIONARY = 8 };
enum { CODEC_ZSTD = 6, PAGE_DATA = 0, PAGE_DICTIONARY = 2 };

static const struct {
    int32_t type, encoding;
} kinds[GGS_CELL_TYPES] = {[GGS_CELL_INTEGER] = {TYPE_INT64, ENCODING_DELTA},
                           [GGS_CELL_BOOLEAN] = {TYPE_BOOLEAN, ENCODING_PLAIN},
                           [GGS_CELL_REAL]    = {TYPE_DOUBLE, ENCODING_PLAIN},
                           [GGS_CELL_TEXT]    = {TYPE_BYTE_ARRAY, ENCODING_RLE_DICTIONARY},
                           [GGS_CELL_TIME]    = {TYPE_INT64, ENCODING_DELTA}};

struct column {
    union {
        int64_t *  integers; // also booleans and timestamps
        double *   reals;
        uint32_t * indices; // into the dictionary
        void *     values;
    };
    uint64_t   n;       // number of values other than null
    uint32_t * defined; // 1 for each row with a value; NULL if the column is not nullable
    // texts
    struct ggs_text dictionary; // in the layout of its page: u32 length, bytes
    uint32_t        n_words;
    uint32_t *      slots; // open addressing: word + 1
    uint32_t        n_slots;
    uint32_t *      word_at; // offset of each word in the dictionary
};

struct parquet {
    const struct ggs_flat_table * table;
    struct ggs_target             target;
    struct column                 columns[GGS_FIELDS_MOST];
    uint64_t                      rows, total_rows, position; // position: bytes written so far
    struct ggs_text               groups;                     // their metadata in the footer
    uint64_t                      n_groups;
    struct ggs_text               page, header;
    uint8_t *                     packed;
    size_t                        packed_capacity;
    ZSTD_CCtx *                   zstd;
};

// ---- memory ----

static void release(struct parquet * p) {
    for (unsigned i = 0; i < GGS_FIELDS_MOST; i++) {
        struct column * c = &p->columns[i];
        free(c->values);
        free(c->defined);
        free(c->slots);
        free(c->word_at);
        ggs_text_release(&c->dictionary);
    }
    ggs_text_release(&p->groups);
    ggs_text_release(&p->page);
    ggs_text_release(&p->header);
    free(p->packed);
    ZSTD_freeCCtx(p->zstd);
}

static int prepare(struct parquet * p, struct ggs_error * error) {
    p->zstd = ZSTD_createCCtx();
    if (p->zstd == NULL) return ggs_fail_memory(error);
    ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, 1);
    for (unsigned i = 0; i < p->table->n_fields; i++) {
        struct column *                c     = &p->columns[i];
        const struct ggs_table_field * field = &p->table->fields[i];
        c->values                            = malloc(GROUP_ROWS * (field->type == GGS_CELL_TEXT ? 4 : 8));
        bool nullable                        = ggs_table_field_nullable(field);
        if (nullable) c->defined = malloc(GROUP_ROWS * sizeof(*c->defined));
        if (c->values == NULL || (nullable && c->defined == NULL)) return ggs_fail_memory(error);
    }
    return 0;
}

// ---- dictionaries ----

static uint32_t hash_of(const char * text, size_t length) {
    uint64_t hash = 0xcbf29ce484222325u ^ length;
    while (length >= 8) {
        uint64_t word;
        memcpy(&word, text, 8);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
        text += 8, length -= 8;
    }
    for (size_t i = 0; i < length; i++) hash = (hash ^ (uint8_t) text[i]) * 0x100000001b3u;
    return (uint32_t) (hash ^ hash >> 29);
}

static const char * word_of(const struct column * c, uint32_t word, uint32_t * length) {
    memcpy(length, c->dictionary.data + c->word_at[word], 4);
    return c->dictionary.data + c->word_at[word] + 4;
}

static void enter(struct column * c, uint32_t word, uint32_t hash) {
    uint32_t slot = hash & (c->n_slots - 1);
    while (c->slots[slot] != 0) slot = (slot + 1) & (c->n_slots - 1);
    c->slots[slot] = word + 1;
}

static bool grow(struct column * c) {
    uint32_t   n       = c->n_slots == 0 ? 256 : 2 * c->n_slots;
    uint32_t * slots   = calloc(n, sizeof(*slots));
    uint32_t * word_at = realloc(c->word_at, n * sizeof(*word_at));
    if (word_at != NULL) c->word_at = word_at;
    if (slots == NULL || word_at == NULL) {
        free(slots);
        return false;
    }
    free(c->slots);
    c->slots   = slots;
    c->n_slots = n;
    for (uint32_t w = 0; w < c->n_words; w++) {
        uint32_t     length;
        const char * text = word_of(c, w, &length);
        enter(c, w, hash_of(text, length));
    }
    return true;
}

static bool add_text(struct column * c, const char * text, size_t length) {
    uint32_t hash = hash_of(text, length);
    if (2 * (c->n_words + 1) > c->n_slots && !grow(c)) return false;
    for (uint32_t slot = hash & (c->n_slots - 1); c->slots[slot] != 0; slot = (slot + 1) & (c->n_slots - 1)) {
        uint32_t     here;
        const char * word = word_of(c, c->slots[slot] - 1, &here);
        if (here != length || memcmp(word, text, length) != 0) continue;
        c->indices[c->n++] = c->slots[slot] - 1;
        return true;
    }
    uint32_t size          = (uint32_t) length;
    c->word_at[c->n_words] = (uint32_t) c->dictionary.length;
    ggs_text_append(&c->dictionary, (const char *) &size, 4);
    ggs_text_append(&c->dictionary, text, length);
    if (c->dictionary.failed) return false;
    enter(c, c->n_words, hash);
    c->indices[c->n++] = c->n_words++;
    return true;
}

// ---- pages ----

static void put(struct parquet * p, const void * data, size_t length) {
    ggs_target_write(&p->target, data, length);
    p->position += length;
}

// Writes p->page with its header. Returns the size of both without compression.
static int put_page(struct parquet * p, int kind, uint64_t values, int encoding, uint64_t * raw,
                    struct ggs_error * error) {
    size_t bound = ZSTD_compressBound(p->page.length);
    if (!ggs_array_reserve(p->packed, p->packed_capacity, bound)) return ggs_fail_memory(error);
    size_t size = ZSTD_compress2(p->zstd, p->packed, p->packed_capacity, ggs_text_string(&p->page), p->page.length);
    if (ZSTD_isError(size) || p->page.failed) return ggs_fail_memory(error);
    struct ggs_thrift t = {.out = &p->header};
    ggs_text_clear(&p->header);
    ggs_thrift_begin(&t, 0);
    ggs_thrift_i32(&t, 1, kind);
    ggs_thrift_i32(&t, 2, (int32_t) p->page.length);
    ggs_thrift_i32(&t, 3, (int32_t) size);
    ggs_thrift_begin(&t, kind == PAGE_DATA ? 5 : 7);
    ggs_thrift_i32(&t, 1, (int32_t) values);
    ggs_thrift_i32(&t, 2, encoding);
    if (kind == PAGE_DATA) {
        ggs_thrift_i32(&t, 3, ENCODING_RLE);
        ggs_thrift_i32(&t, 4, ENCODING_RLE);
    }
    ggs_thrift_end(&t);
    ggs_thrift_end(&t);
    if (p->header.failed) return ggs_fail_memory(error);
    put(p, p->header.data, p->header.length);
    put(p, p->packed, size);
    *raw += p->header.length + p->page.length;
    return 0;
}

static void fill_page(struct parquet * p, const struct column * c, enum ggs_cell_type type) {
    ggs_text_clear(&p->page);
    if (c->defined != NULL) { // definition levels, with their length in front
        uint32_t length = 0;
        ggs_text_append(&p->page, (const char *) &length, 4);
        ggs_put_hybrid(&p->page, c->defined, p->rows, 1);
        length = (uint32_t) p->page.length - 4;
        if (!p->page.failed) memcpy(p->page.data, &length, 4);
    }
    if (kinds[type].encoding == ENCODING_DELTA) {
        ggs_put_delta(&p->page, c->integers, c->n);
    } else if (type == GGS_CELL_BOOLEAN) {
        ggs_put_bits(&p->page, c->integers, c->n);
    } else if (type == GGS_CELL_REAL) {
        ggs_text_append(&p->page, (const char *) c->reals, c->n * sizeof(*c->reals));
    } else {
        unsigned width = ggs_bits_of(c->n_words == 0 ? 0 : c->n_words - 1);
        ggs_text_putc(&p->page, (char) width);
        ggs_put_hybrid(&p->page, c->indices, c->n, width);
    }
}

// ---- column chunks and the footer ----

static void put_statistics(struct ggs_thrift * t, const struct parquet * p, const struct column * c,
                           enum ggs_cell_type type) {
    ggs_thrift_begin(t, 12);
    ggs_thrift_i64(t, 3, (int64_t) (p->rows - c->n));
    if (kinds[type].type == TYPE_INT64 && c->n > 0) {
        int64_t least = c->integers[0], most = c->integers[0];
        for (uint64_t i = 1; i < c->n; i++) {
            if (c->integers[i] < least) least = c->integers[i];
            if (c->integers[i] > most) most = c->integers[i];
        }
        ggs_thrift_binary(t, 5, &most, sizeof(most));
        ggs_thrift_binary(t, 6, &least, sizeof(least));
    }
    ggs_thrift_end(t);
}

static int put_column(struct parquet * p, unsigned i, struct ggs_thrift * t, uint64_t * raw, struct ggs_error * error) {
    struct column *                c     = &p->columns[i];
    const struct ggs_table_field * field = &p->table->fields[i];
    uint64_t                       begin = p->position, dictionary = 0, bytes = 0;
    int                            status = 0;
    if (field->type == GGS_CELL_TEXT) {
        dictionary = p->position;
        ggs_text_clear(&p->page);
        ggs_text_append(&p->page, ggs_text_string(&c->dictionary), c->dictionary.length);
        status = put_page(p, PAGE_DICTIONARY, c->n_words, ENCODING_PLAIN, &bytes, error);
    }
    uint64_t data = p->position;
    fill_page(p, c, field->type);
    if (status == 0) status = put_page(p, PAGE_DATA, p->rows, kinds[field->type].encoding, &bytes, error);
    if (status < 0) return status;
    *raw += bytes;

    ggs_thrift_begin(t, 0); // ColumnChunk
    ggs_thrift_i64(t, 2, (int64_t) begin);
    ggs_thrift_begin(t, 3); // ColumnMetaData
    ggs_thrift_i32(t, 1, kinds[field->type].type);
    ggs_thrift_list(t, 2, GGS_THRIFT_I32, field->type == GGS_CELL_TEXT ? 3 : 2);
    ggs_thrift_i32(t, 0, ENCODING_RLE);
    ggs_thrift_i32(t, 0, kinds[field->type].encoding);
    if (field->type == GGS_CELL_TEXT) ggs_thrift_i32(t, 0, ENCODING_PLAIN);
    ggs_thrift_list(t, 3, GGS_THRIFT_BINARY, 1);
    ggs_thrift_binary(t, 0, field->name, strlen(field->name));
    ggs_thrift_i32(t, 4, CODEC_ZSTD);
    ggs_thrift_i64(t, 5, (int64_t) p->rows);
    ggs_thrift_i64(t, 6, (int64_t) bytes);
    ggs_thrift_i64(t, 7, (int64_t) (p->position - begin));
    ggs_thrift_i64(t, 9, (int64_t) data);
    if (field->type == GGS_CELL_TEXT) ggs_thrift_i64(t, 11, (int64_t) dictionary);
    put_statistics(t, p, c, field->type);
    ggs_thrift_end(t);
    ggs_thrift_end(t);
    return 0;
}

static int put_group(struct parquet * p, struct ggs_error * error) {
    if (p->rows == 0) return 0;
    struct ggs_thrift t      = {.out = &p->groups};
    uint64_t          raw    = 0;
    int               status = 0;
    ggs_thrift_begin(&t, 0);
    ggs_thrift_list(&t, 1, GGS_THRIFT_STRUCT, p->table->n_fields);
    for (unsigned i = 0; status == 0 && i < p->table->n_fields; i++) status = put_column(p, i, &t, &raw, error);
    ggs_thrift_i64(&t, 2, (int64_t) raw);
    ggs_thrift_i64(&t, 3, (int64_t) p->rows);
    ggs_thrift_end(&t);
    if (status == 0 && p->groups.failed) status = ggs_fail_memory(error);
    for (unsigned i = 0; i < p->table->n_fields; i++) {
        struct column * c = &p->columns[i];
        c->n = 0, c->n_words = 0;
        ggs_text_clear(&c->dictionary);
        if (c->slots != NULL) memset(c->slots, 0, c->n_slots * sizeof(*c->slots));
    }
    p->total_rows += p->rows;
    p->rows = 0;
    p->n_groups++;
    return status;
}

static void put_schema(struct ggs_thrift * t, const struct ggs_flat_table * table) {
    ggs_thrift_list(t, 2, GGS_THRIFT_STRUCT, table->n_fields + 1);
    ggs_thrift_begin(t, 0);
    ggs_thrift_binary(t, 4, table->name, strlen(table->name));
    ggs_thrift_i32(t, 5, (int32_t) table->n_fields);
    ggs_thrift_end(t);
    for (unsigned i = 0; i < table->n_fields; i++) {
        const struct ggs_table_field * field = &table->fields[i];
        ggs_thrift_begin(t, 0);
        ggs_thrift_i32(t, 1, kinds[field->type].type);
        ggs_thrift_i32(t, 3, ggs_table_field_nullable(field)); // REQUIRED or OPTIONAL
        ggs_thrift_binary(t, 4, field->name, strlen(field->name));
        if (field->type == GGS_CELL_TEXT) {
            ggs_thrift_i32(t, 6, 0); // UTF8
            ggs_thrift_begin(t, 10); // LogicalType: STRING
            ggs_thrift_begin(t, 1);
            ggs_thrift_end(t);
            ggs_thrift_end(t);
        } else if (field->type == GGS_CELL_TIME) {
            ggs_thrift_begin(t, 10); // LogicalType: TIMESTAMP, adjusted to UTC, nanoseconds
            ggs_thrift_begin(t, 8);
            ggs_thrift_true(t, 1);
            ggs_thrift_begin(t, 2);
            ggs_thrift_begin(t, 3);
            ggs_thrift_end(t);
            ggs_thrift_end(t);
            ggs_thrift_end(t);
            ggs_thrift_end(t);
        }
        ggs_thrift_end(t);
    }
}

static int put_footer(struct parquet * p, const char * id, struct ggs_error * error) {
    static const char creator[] = "ggscope version " GGSCOPE_VERSION;
    struct ggs_thrift t         = {.out = &p->page};
    ggs_text_clear(&p->page);
    ggs_thrift_begin(&t, 0);
    ggs_thrift_i32(&t, 1, 2);
    put_schema(&t, p->table);
    ggs_thrift_i64(&t, 3, (int64_t) p->total_rows);
    ggs_thrift_list(&t, 4, GGS_THRIFT_STRUCT, p->n_groups);
    ggs_text_append(&p->page, ggs_text_string(&p->groups), p->groups.length);
    ggs_thrift_list(&t, 5, GGS_THRIFT_STRUCT, 1); // key-value metadata
    ggs_thrift_begin(&t, 0);
    ggs_thrift_binary(&t, 1, "experiment_id", 13);
    ggs_thrift_binary(&t, 2, id, strlen(id));
    ggs_thrift_end(&t);
    ggs_thrift_binary(&t, 6, creator, sizeof(creator) - 1);
    // Readers may not trust the statistics of a column without an order.
    ggs_thrift_list(&t, 7, GGS_THRIFT_STRUCT, p->table->n_fields);
    for (unsigned i = 0; i < p->table->n_fields; i++) {
        ggs_thrift_begin(&t, 0);
        ggs_thrift_begin(&t, 1);
        ggs_thrift_end(&t);
        ggs_thrift_end(&t);
    }
    ggs_thrift_end(&t);
    if (p->page.failed) return ggs_fail_memory(error);
    uint32_t length = (uint32_t) p->page.length;
    put(p, p->page.data, p->page.length);
    put(p, &length, 4);
    put(p, "PAR1", 4);
    return 0;
}

// ---- rows ----

static int put_row(void * context, const struct ggs_cell * cells, struct ggs_error * error) {
    struct parquet * p    = context;
    bool             full = false;
    for (unsigned i = 0; i < p->table->n_fields; i++) {
        struct column * c = &p->columns[i];
        if (c->defined != NULL) {
            c->defined[p->rows] = !cells[i].null;
            if (cells[i].null) continue;
        }
        switch (p->table->fields[i].type) {
            case GGS_CELL_REAL:
                c->reals[c->n++] = cells[i].real;
                break;
            case GGS_CELL_TEXT:
                if (!add_text(c, cells[i].text, cells[i].length)) return ggs_fail_memory(error);
                full |= c->dictionary.length >= GROUP_TEXT;
                break;
            default:
                c->integers[c->n++] = cells[i].integer;
        }
    }
    p->rows++;
    int status = ggs_target_result(&p->target, error);
    if (status < 0) return status;
    return full || p->rows == GROUP_ROWS ? put_group(p, error) : 0;
}

static int write_table(struct ggs_export * export, const struct ggs_flat_table * table, struct ggs_error * error) {
    struct parquet p = {.table = table};
    char           name[64];
    bool           lake = export->options->lake, alone = export->options->n_tables == 1 && !lake;
    int            status = 0;
    snprintf(name, sizeof(name), lake ? "table=%s" : "%s.parquet", table->name);
    if (lake) status = ggs_export_mkdir(export, name, error);
    if (lake) snprintf(name, sizeof(name), "table=%s/data.parquet", table->name);
    if (status == 0) status = ggs_export_open(export, &p.target, alone ? NULL : name, error);
    if (status < 0) return status;
    struct ggs_sink sink = {put_row, &p, export, table, 0};
    status               = prepare(&p, error);
    put(&p, "PAR1", 4);
    if (status == 0) status = ggs_sink_fill(&sink, error);
    if (status == 0) status = put_group(&p, error);
    if (status == 0) status = put_footer(&p, export->id, error);
    release(&p);
    return ggs_export_close(export, &p.target, status, error);
}

int ggs_export_parquet(struct ggs_export * export, struct ggs_error * error) {
    return ggs_tables_write(export, write_table, error);
}

int ggs_parquet_write(const struct ggs_flat_table * table, const char * path, uint64_t n_rows,
                      void (*row)(const void * context, uint64_t i, struct ggs_cell * cells), const void * context,
                      struct ggs_error * error) {
    struct parquet  p = {.table = table};
    struct ggs_cell cells[GGS_FIELDS_MOST];
    int             status = ggs_target_open(&p.target, path, false, error);
    if (status < 0) return status;
    status = prepare(&p, error);
    put(&p, "PAR1", 4);
    for (uint64_t i = 0; i < n_rows && status == 0; i++) {
        for (unsigned k = 0; k < table->n_fields; k++) cells[k] = (struct ggs_cell){.null = true};
        row(context, i, cells);
        status = put_row(&p, cells, error);
    }
    if (status == 0) status = put_group(&p, error);
    if (status == 0) status = put_footer(&p, "", error);
    release(&p);
    if (status == 0) return ggs_target_commit(&p.target, error);
    ggs_target_discard(&p.target);
    return status;
}
