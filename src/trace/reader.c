#include "trace/reader.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/backend-traits.h"
#include "base/checked.h"
#include "base/search.h"
#include "trace/reader-private.h"

// ---- opening ----

static int check_header(struct ggs_reader * reader, struct ggs_error * error) {
    struct ggs_trace_header header;
    if (reader->size < sizeof(header))
        return ggs_fail(error, GGS_FORMAT, "%s is no trace: it has only %llu bytes", reader->name,
                        (unsigned long long) reader->size);
    memcpy(&header, reader->data, sizeof(header));
    if (memcmp(header.magic, GGS_TRACE_MAGIC, sizeof(header.magic)) != 0)
        return ggs_fail(error, GGS_FORMAT, "%s is no trace: it does not begin with \"" GGS_TRACE_MAGIC "\"",
                        reader->name);
    if (header.byte_order != GGS_TRACE_BYTE_ORDER)
        return ggs_fail(error, GGS_UNSUPPORTED,
                        "%s was written by a machine of the other byte order, which is not supported", reader->name);
    if (header.version < GGS_TRACE_VERSION_MIN || header.version > GGS_TRACE_VERSION)
        return ggs_fail(error, GGS_UNSUPPORTED, "%s has format version %u; this ggscope reads %d to %d", reader->name,
                        header.version, GGS_TRACE_VERSION_MIN, GGS_TRACE_VERSION);
    uint64_t unknown = header.features & GGS_FEATURES_REQUIRED & ~GGS_FEATURES_KNOWN;
    if (unknown != 0)
        return ggs_fail(error, GGS_UNSUPPORTED,
                        "%s uses features 0x%llx that this ggscope does not know; use a newer one", reader->name,
                        (unsigned long long) unknown);
    reader->version = header.version;
    memcpy(reader->uuid, header.uuid, sizeof(reader->uuid));
    return 0;
}

// True if the trailer is intact. Without one the file was truncated.
static bool read_trailer(const struct ggs_reader * reader, struct ggs_trace_trailer * trailer) {
    if (reader->size < sizeof(struct ggs_trace_header) + sizeof(*trailer)) return false;
    memcpy(trailer, reader->data + reader->size - sizeof(*trailer), sizeof(*trailer));
    return memcmp(trailer->magic, GGS_TRAILER_MAGIC, sizeof(trailer->magic)) == 0 &&
           trailer->checksum == XXH3_64bits(trailer, offsetof(struct ggs_trace_trailer, checksum)) &&
           trailer->size == reader->size;
}

// True if the index has the rows of the table one after the other, as many as the directory says.
static bool rows_agree(const struct ggs_reader * reader, const struct ggs_directory * directory) {
    uint64_t rows = 0;
    for (uint64_t i = 0; i < directory->entries; i++) {
        const struct ggs_chunk_header * header = &reader->entries[directory->first + i].header;
        if (header->table != directory->table || header->first_row != rows || header->rows > GGS_CHUNK_ROWS_MAX)
            return false;
        rows += header->rows;
    }
    return rows == directory->rows;
}

// Reads the directory into `tables`. False if its checksum does not match the trailer.
static bool read_directory(struct ggs_reader * reader, const struct ggs_trace_trailer * trailer) {
    uint64_t directory_end = reader->size - sizeof(*trailer), index_size, directory_size;
    if (!ggs_mul(trailer->entries, sizeof(struct ggs_index_entry), &index_size) ||
        !ggs_mul(trailer->directories, sizeof(struct ggs_directory), &directory_size) || trailer->index % 8 != 0 ||
        trailer->index < sizeof(struct ggs_trace_header) || trailer->directory > directory_end ||
        directory_end - trailer->directory != directory_size || trailer->index > trailer->directory ||
        trailer->directory - trailer->index != index_size || trailer->directories > 4096 ||
        trailer->directory_checksum != XXH3_64bits(reader->data + trailer->directory, directory_size))
        return false;
    for (uint64_t i = 0; i < trailer->directories; i++) {
        struct ggs_directory directory;
        memcpy(&directory, reader->data + trailer->directory + i * sizeof(directory), sizeof(directory));
        if (!ggs_inside(directory.first, directory.entries, trailer->entries)) return false;
        if (ggs_trace_schema(directory.table) != NULL) reader->tables[directory.table] = directory;
    }
    reader->entries  = (const void *) (reader->data + trailer->index);
    reader->data_end = trailer->index;
    // Validates the index before any chunk is read. An entry's offset is compared with its chunk
    // when that is read.
    for (uint64_t i = 0; i < trailer->entries; i++) {
        const struct ggs_chunk_header * header = &reader->entries[i].header;
        if (header->header_checksum != XXH3_64bits(header, offsetof(struct ggs_chunk_header, header_checksum)))
            return false;
    }
    for (uint32_t table = 0; table < sizeof(reader->tables) / sizeof(reader->tables[0]); table++) {
        if (!rows_agree(reader, &reader->tables[table])) return false;
    }
    return true;
}

static int open_data(struct ggs_reader * reader, struct ggs_error * error) {
    struct ggs_trace_trailer trailer;
    int                      status = check_header(reader, error);
    if (status != 0) return status;
    if (read_trailer(reader, &trailer)) {
        if (read_directory(reader, &trailer)) return 0;
        if (!reader->skip_damaged)
            return ggs_fail(error, GGS_FORMAT, "%s is damaged: its index is not as it was written", reader->name);
    }
    memset(reader->tables, 0, sizeof(reader->tables));
    reader->data_end = reader->size;
    return ggs_reader_walk(reader, error);
}

static struct ggs_reader * new_reader(const char * name) {
    struct ggs_reader * reader = calloc(1, sizeof(*reader));
    if (reader == NULL) return NULL;
    pthread_mutex_init(&reader->lock, NULL);
    reader->name = strdup(name);
    if (reader->name != NULL) return reader;
    ggs_reader_close(reader);
    return NULL;
}

static int finish_open(struct ggs_reader ** out, struct ggs_reader * reader, int status) {
    if (status == 0)
        *out = reader;
    else
        ggs_reader_close(reader);
    return status;
}

int ggs_reader_open_memory(struct ggs_reader ** out, const void * data, size_t size, struct ggs_error * error) {
    *out                       = NULL;
    struct ggs_reader * reader = new_reader("the trace in memory");
    if (reader == NULL) return ggs_fail_memory(error);
    reader->data = data;
    reader->size = size;
    if ((uintptr_t) data % 8 != 0) { // the index is read in place
        reader->copy = malloc(size);
        if (reader->copy == NULL) return finish_open(out, reader, ggs_fail_memory(error));
        reader->data = memcpy(reader->copy, data, size);
    }
    return finish_open(out, reader, open_data(reader, error));
}

static int open_path(struct ggs_reader ** out, const char * path, bool skip_damaged, struct ggs_error * error) {
    struct stat info;
    char *      inside = NULL;
    *out               = NULL;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode) && asprintf(&inside, "%s/trace.ggs", path) < 0)
        return ggs_fail_memory(error);
    struct ggs_reader * reader = new_reader(inside != NULL ? inside : path);
    free(inside);
    if (reader == NULL) return ggs_fail_memory(error);
    reader->skip_damaged = skip_damaged;
    int status           = ggs_mapping_open(&reader->mapping, reader->name, error);
    reader->data         = reader->mapping.data;
    reader->size         = reader->mapping.size;
    if (status == 0) status = open_data(reader, error);
    return finish_open(out, reader, status);
}

static uint64_t count_damaged(const struct ggs_reader * reader) {
    struct ggs_scratch scratch = {0};
    struct ggs_block   block   = {0};
    uint64_t           n       = 0;
    for (unsigned table = 1; table < GGS_TABLE_COUNT; table++) {
        for (uint64_t i = 0; i < reader->tables[table].entries; i++) {
            struct ggs_index_entry entry;
            int                    status = ggs_reader_entry(reader, table, i, &entry, NULL);
            if (status == 0) status = ggs_reader_chunk(reader, &entry, &block, &scratch, NULL);
            n += status == GGS_FORMAT;
        }
        ggs_block_release(&block);
    }
    free(scratch.data);
    return n;
}

int ggs_reader_open(struct ggs_reader ** out, const char * path, struct ggs_error * error) {
    return open_path(out, path, false, error);
}

// Appends to the text of what is missing: this many chunks.
static bool warn_of_damage(struct ggs_reader * reader, uint64_t damaged) {
    char * cut = reader->warning;
    int    n   = asprintf(&reader->warning, "%s%s%llu damaged chunk%s left out: every figure is of what is intact",
                     cut == NULL ? reader->name : cut, cut == NULL ? ": " : "; ", (unsigned long long) damaged,
                     damaged == 1 ? " is" : "s are");
    if (n < 0) reader->warning = NULL;
    free(cut);
    return n >= 0;
}

int ggs_reader_open_damaged(struct ggs_reader ** out, const char * path, uint64_t * damaged, struct ggs_error * error) {
    int status = open_path(out, path, true, error);
    if (status != 0) return status;
    *damaged = count_damaged(*out);
    if (*damaged == 0 || warn_of_damage(*out, *damaged)) return 0;
    ggs_reader_close(*out);
    *out = NULL;
    return ggs_fail_memory(error);
}

void ggs_reader_close(struct ggs_reader * reader) {
    if (reader == NULL) return;
    for (uint64_t i = 0; reader->strings != NULL && i < reader->tables[GGS_TABLE_STRINGS].entries; i++) {
        if (reader->strings[i] != NULL) ggs_block_release(reader->strings[i]);
        free(reader->strings[i]);
    }
    free(reader->strings);
    ggs_graph_cursors_release(&reader->graph_cursors);
    ggs_block_release(&reader->experiment);
    ggs_mapping_close(&reader->mapping);
    pthread_mutex_destroy(&reader->lock);
    free(reader->walked);
    free(reader->copy);
    free(reader->warning);
    free(reader->name);
    free(reader);
}

const char * ggs_reader_warning(const struct ggs_reader * reader) {
    return reader->warning;
}

uint32_t ggs_reader_version(const struct ggs_reader * reader) {
    return reader->version;
}

const uint8_t * ggs_reader_uuid(const struct ggs_reader * reader) {
    return reader->uuid;
}

uint64_t ggs_reader_size(const struct ggs_reader * reader) {
    return reader->size;
}

uint64_t ggs_reader_rows(const struct ggs_reader * reader, enum ggs_trace_table table) {
    return ggs_trace_schema(table) == NULL ? 0 : reader->tables[table].rows;
}

// ---- chunks ----

bool ggs_reader_header_ok(const struct ggs_reader * reader, uint64_t offset, const struct ggs_chunk_header * header) {
    return header->header_checksum == XXH3_64bits(header, offsetof(struct ggs_chunk_header, header_checksum)) &&
           offset % GGS_CHUNK_ALIGNMENT == 0 && offset >= sizeof(struct ggs_trace_header) &&
           ggs_inside(offset, sizeof(*header), reader->data_end) &&
           header->stored <= reader->data_end - offset - sizeof(*header);
}

static int corrupt(const struct ggs_reader * reader, const struct ggs_index_entry * entry, const char * why,
                   struct ggs_error * error) {
    const struct ggs_schema * schema = ggs_trace_schema(entry->header.table);
    return ggs_fail(error, GGS_FORMAT, "%s is damaged: the chunk of %s at offset %llu has %s", reader->name,
                    schema == NULL ? "an unknown table" : schema->name, (unsigned long long) entry->offset, why);
}

int ggs_reader_entry(const struct ggs_reader * reader, enum ggs_trace_table table, uint64_t i,
                     struct ggs_index_entry * entry, struct ggs_error * error) {
    unsigned long long number = reader->tables[table].first + i;
    memcpy(entry, &reader->entries[number], sizeof(*entry));
    struct ggs_chunk_header * header = &entry->header;
    if (!ggs_reader_header_ok(reader, entry->offset, header) || header->table != (uint32_t) table)
        return ggs_fail(error, GGS_FORMAT, "%s is damaged: entry %llu of its index is wrong", reader->name, number);
    if (memcmp(reader->data + entry->offset, header, sizeof(*header)) != 0)
        return corrupt(reader, entry, "another header than the index says", error);
    uint64_t end;
    if (header->rows == 0 || header->rows > GGS_CHUNK_ROWS_MAX || header->raw > GGS_CHUNK_RAW_MAX ||
        !ggs_add(header->first_row, header->rows, &end) || end > reader->tables[table].rows)
        return corrupt(reader, entry, "impossible numbers of rows or bytes", error);
    return 0;
}

// Releases a chunk's pages, so that a walk over a long trace holds one chunk at a time. The pages
// are clean: another thread that still reads them gets them back from the page cache.
static void let_go(const struct ggs_reader * reader, const uint8_t * frame, uint64_t length) {
    if (reader->mapping.data == NULL) return;
    uintptr_t begin = ((uintptr_t) frame + 4095) & ~(uintptr_t) 4095,
              end   = ((uintptr_t) frame + length) & ~(uintptr_t) 4095;
    if (begin < end) madvise((void *) begin, end - begin, MADV_DONTNEED); // a failure is harmless
}

int ggs_reader_chunk(const struct ggs_reader * reader, const struct ggs_index_entry * entry, struct ggs_block * block,
                     struct ggs_scratch * scratch, struct ggs_error * error) {
    const struct ggs_chunk_header * header = &entry->header;
    const uint8_t *                 frame  = reader->data + entry->offset + sizeof(*header);
    if (XXH3_64bits(frame, header->stored) != header->checksum)
        return corrupt(reader, entry, "a wrong checksum", error);
    if (ZSTD_getFrameContentSize(frame, header->stored) != header->raw)
        return corrupt(reader, entry, "a zstd frame of the wrong size", error);
    if (header->raw > scratch->capacity) {
        uint8_t * bigger = realloc(scratch->data, header->raw);
        if (bigger == NULL) return ggs_fail_memory(error);
        scratch->data     = bigger;
        scratch->capacity = header->raw;
    }
    size_t raw = ZSTD_decompress(scratch->data, header->raw, frame, header->stored);
    if (ZSTD_isError(raw) || raw != header->raw) return corrupt(reader, entry, "a broken zstd frame", error);
    let_go(reader, frame, header->stored);
    const char * why;
    int status = ggs_block_decode(block, ggs_trace_schema(header->table), header->rows, scratch->data, raw, &why);
    if (status == GGS_MEMORY) return ggs_fail_memory(error);
    return status == 0 ? 0 : corrupt(reader, entry, why, error);
}

uint64_t ggs_reader_find_row(const struct ggs_reader * reader, enum ggs_trace_table table, uint64_t row) {
    const struct ggs_directory * directory = &reader->tables[table];
    if (row >= directory->rows || directory->entries == 0) return directory->entries;
    const struct ggs_index_entry * entries = reader->entries + directory->first;
    uint64_t                       behind  = ggs_search(directory->entries, at, entries[at].header.first_row <= row);
    if (behind == 0 || row - entries[behind - 1].header.first_row >= entries[behind - 1].header.rows)
        return directory->entries;
    return behind - 1;
}

int ggs_reader_row(struct ggs_reader * reader, enum ggs_trace_table table, uint64_t number, void * row,
                   struct ggs_error * error) {
    const struct ggs_schema * schema = ggs_trace_schema(table);
    if (schema == NULL || schema->n_words != schema->n_columns)
        return ggs_fail(error, GGS_USAGE, "rows of table %d cannot be read one by one", (int) table);
    struct ggs_index_entry entry;
    struct ggs_block       block   = {0};
    struct ggs_scratch     scratch = {0};
    uint64_t               i       = ggs_reader_find_row(reader, table, number);
    if (i == reader->tables[table].entries)
        return ggs_fail(error, GGS_ABSENT, "%s has no row %llu in its table %s", reader->name,
                        (unsigned long long) number, schema->name);
    int status = ggs_reader_entry(reader, table, i, &entry, error);
    if (status == 0) status = ggs_reader_chunk(reader, &entry, &block, &scratch, error);
    for (uint32_t w = 0; status == 0 && w < schema->n_words; w++)
        ((uint64_t *) row)[w] = block.words[w][number - entry.header.first_row];
    ggs_block_release(&block);
    free(scratch.data);
    return status;
}

// True if the padding after a chunk is zero.
static bool padding_ok(const struct ggs_reader * reader, const struct ggs_index_entry * entry) {
    uint64_t at = entry->offset + sizeof(entry->header) + entry->header.stored;
    while (at % GGS_CHUNK_ALIGNMENT != 0 && at < reader->data_end) {
        if (reader->data[at++] != 0) return false;
    }
    return true;
}

int ggs_reader_verify(struct ggs_reader * reader, void (*progress)(void * context, uint64_t done, uint64_t total),
                      void * context, struct ggs_error * error) {
    struct ggs_scratch scratch = {0};
    uint64_t           done    = 0;
    int                status  = 0;
    for (unsigned table = 1; status == 0 && table < GGS_TABLE_COUNT; table++) {
        struct ggs_block block = {0};
        uint64_t         rows  = 0;
        for (uint64_t i = 0; status == 0 && i < reader->tables[table].entries; i++) {
            struct ggs_index_entry entry;
            status = ggs_reader_entry(reader, table, i, &entry, error);
            if (status == 0) status = ggs_reader_chunk(reader, &entry, &block, &scratch, error);
            if (status == 0 && !padding_ok(reader, &entry))
                status = corrupt(reader, &entry, "something else than zeros behind it", error);
            if (status == 0 && entry.header.first_row != rows && reader->walked == NULL)
                status = corrupt(reader, &entry, "rows that do not follow those of the chunk before", error);
            rows += block.rows;
            done += sizeof(entry.header) + entry.header.stored;
            if (progress != NULL) progress(context, done, reader->size);
        }
        ggs_block_release(&block);
    }
    free(scratch.data);
    return status;
}

// ---- strings ----

// Returns the decoded chunk i of the strings table, which is kept until the reader is closed. The
// caller holds the lock.
static const struct ggs_block * string_chunk(struct ggs_reader * reader, uint64_t i, uint64_t * first_row) {
    struct ggs_index_entry entry;
    struct ggs_scratch     scratch = {0};
    if (ggs_reader_entry(reader, GGS_TABLE_STRINGS, i, &entry, NULL) != 0) return NULL;
    *first_row = entry.header.first_row;
    if (reader->strings == NULL)
        reader->strings = calloc(reader->tables[GGS_TABLE_STRINGS].entries, sizeof(struct ggs_block *));
    if (reader->strings == NULL) return NULL;
    if (reader->strings[i] != NULL) return reader->strings[i];
    struct ggs_block * block = calloc(1, sizeof(*block));
    if (block != NULL && ggs_reader_chunk(reader, &entry, block, &scratch, NULL) != 0)
        ggs_block_release(block); // stays empty: a damaged chunk is tried once
    reader->strings[i] = block;
    free(scratch.data);
    return reader->strings[i];
}

const void * ggs_reader_bytes(struct ggs_reader * reader, uint64_t string, uint64_t * length) {
    const void * text = NULL;
    uint64_t     i    = ggs_reader_find_row(reader, GGS_TABLE_STRINGS, string), first;
    *length           = 0;
    if (i == reader->tables[GGS_TABLE_STRINGS].entries) return NULL;
    pthread_mutex_lock(&reader->lock);
    const struct ggs_block * block = string_chunk(reader, i, &first);
    if (block != NULL && block->words[0] != NULL && string - first < block->rows) {
        text    = (const void *) (uintptr_t) block->words[0][string - first];
        *length = block->words[1][string - first];
    }
    pthread_mutex_unlock(&reader->lock);
    return text;
}

const char * ggs_reader_string(struct ggs_reader * reader, uint64_t string) {
    uint64_t     length;
    const char * text = ggs_reader_bytes(reader, string, &length);
    return text == NULL ? "" : text;
}

const char * ggs_reader_experiment(struct ggs_reader * reader) {
    struct ggs_index_entry entry;
    struct ggs_scratch     scratch = {0};
    const char *           text    = "";
    pthread_mutex_lock(&reader->lock);
    if (reader->tables[GGS_TABLE_EXPERIMENT].entries > 0 && reader->experiment.rows == 0 &&
        (ggs_reader_entry(reader, GGS_TABLE_EXPERIMENT, 0, &entry, NULL) != 0 ||
         ggs_reader_chunk(reader, &entry, &reader->experiment, &scratch, NULL) != 0))
        reader->experiment.rows = 0;
    if (reader->experiment.rows > 0) text = (const char *) (uintptr_t) reader->experiment.words[0][0];
    pthread_mutex_unlock(&reader->lock);
    free(scratch.data);
    return text;
}

bool ggs_reader_run_is_remote(struct ggs_reader * reader, const struct ggs_run * run) {
    return ggs_backend_is_remote(ggs_reader_string(reader, run->backend));
}
