#include "trace/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

void ggs_writer_fail_memory(struct ggs_writer * writer) {
    if (writer->status == 0) writer->status = ggs_fail_memory(&writer->error);
}

// Writes to the file. The caller holds the lock, or there is no helper.
static int put(struct ggs_writer * writer, const void * data, uint64_t length, struct ggs_error * error) {
    const uint8_t * p = data;
    while (length > 0) {
        ssize_t n = write(writer->fd, p, length);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            if (n == 0) errno = EIO;
            return ggs_fail_errno(error, "cannot write %s", writer->path);
        }
        p += n;
        length -= (uint64_t) n;
        writer->offset += (uint64_t) n;
    }
    return 0;
}

// ---- chunks ----

// Describes a chunk for the index: the extent of its keys, times and threads.
static void describe(const struct ggs_block * block, struct ggs_chunk_header * header) {
    const struct ggs_schema * schema = block->schema;
    if (schema->key >= 0) {
        const int64_t * key = (const int64_t *) block->words[schema->key];
        header->first_key = header->last_key = key[0];
        for (uint32_t i = 1; i < block->rows; i++) {
            if (key[i] < header->first_key) header->first_key = key[i];
            if (key[i] > header->last_key) header->last_key = key[i];
        }
    }
    int begin = ggs_schema_role(schema, GGS_ROLE_BEGIN), end = ggs_schema_role(schema, GGS_ROLE_END);
    int duration = ggs_schema_role(schema, GGS_ROLE_DURATION), wait = ggs_schema_role(schema, GGS_ROLE_WAIT);
    int thread = ggs_schema_role(schema, GGS_ROLE_THREAD);
    for (uint32_t i = 0; begin >= 0 && i < block->rows; i++) {
        int64_t first = (int64_t) block->words[begin][i], last = first;
        if (end >= 0) last = (int64_t) block->words[end][i] < first ? INT64_MAX : (int64_t) block->words[end][i];
        if (duration >= 0) last += (int64_t) block->words[duration][i];
        if (wait >= 0) last += (int64_t) block->words[wait][i];
        if (i == 0 || first < header->begin_ns) header->begin_ns = first;
        if (i == 0 || last > header->end_ns) header->end_ns = last;
    }
    for (uint32_t i = 0; thread >= 0 && i < block->rows; i++)
        header->threads |= 1ull << (block->words[thread][i] < 63 ? block->words[thread][i] : 63);
}

static int remember(struct ggs_writer * writer, const struct ggs_chunk_header * header) {
    struct ggs_index_entry entry = {.offset = writer->offset, .header = *header};
    return ggs_array_push(writer->entries, writer->n_entries, writer->entries_capacity, entry) ? 0 : GGS_MEMORY;
}

// Compresses the block into packer->stored, after room for the chunk header; returns the frame's
// length, 0 on failure.
static uint64_t compress(struct ggs_packer * packer, struct ggs_block * block, uint64_t * raw) {
    *raw = ggs_block_encode(block, &packer->raw, &packer->raw_capacity);
    if (*raw == 0) return 0;
    uint64_t needed = sizeof(struct ggs_chunk_header) + ZSTD_compressBound(*raw) + GGS_CHUNK_ALIGNMENT;
    if (!ggs_array_reserve(packer->stored, packer->stored_capacity, needed)) return 0;
    size_t stored =
        ZSTD_compressCCtx(packer->zstd, packer->stored + sizeof(struct ggs_chunk_header),
                          packer->stored_capacity - sizeof(struct ggs_chunk_header), packer->raw, *raw, GGS_ZSTD_LEVEL);
    return ZSTD_isError(stored) ? 0 : stored;
}

// Makes a chunk of the block and writes it.
static void pack(struct ggs_writer * writer, struct ggs_packer * packer, struct ggs_block * block,
                 enum ggs_trace_table table, uint64_t first_row) {
    struct ggs_chunk_header header = {.table = table, .first_row = first_row, .rows = block->rows};
    memcpy(header.id, GGS_CHUNK_ROWS_ID, sizeof(header.id));
    header.stored = compress(packer, block, &header.raw);
    if (header.stored == 0) {
        packer->status = ggs_fail_memory(&packer->error);
        return;
    }
    describe(block, &header);
    header.checksum        = XXH3_64bits(packer->stored + sizeof(header), header.stored);
    header.header_checksum = XXH3_64bits(&header, offsetof(struct ggs_chunk_header, header_checksum));
    memcpy(packer->stored, &header, sizeof(header));
    uint64_t length = sizeof(header) + header.stored, padding = -length % GGS_CHUNK_ALIGNMENT;
    memset(packer->stored + length, 0, padding);
    pthread_mutex_lock(&writer->helper.lock);
    packer->status = remember(writer, &header);
    if (packer->status != 0)
        packer->status = ggs_fail_memory(&packer->error);
    else
        packer->status = put(writer, packer->stored, length + padding, &packer->error);
    pthread_mutex_unlock(&writer->helper.lock);
}

// ---- the helper ----

static void * help(void * argument) {
    struct ggs_writer * writer = argument;
    struct ggs_helper * helper = &writer->helper;
    pthread_mutex_lock(&helper->lock);
    while (!helper->stop) {
        if (!helper->busy) {
            pthread_cond_wait(&helper->changed, &helper->lock);
            continue;
        }
        pthread_mutex_unlock(&helper->lock);
        pack(writer, &helper->packer, &helper->block, GGS_TABLE_OP_RUNS, helper->first_row);
        pthread_mutex_lock(&helper->lock);
        helper->busy = false;
        pthread_cond_broadcast(&helper->changed);
    }
    pthread_mutex_unlock(&helper->lock);
    return NULL;
}

static void keep_failure(struct ggs_writer * writer, const struct ggs_packer * packer) {
    if (packer->status == 0 || writer->status != 0) return;
    writer->status = packer->status;
    writer->error  = packer->error;
}

// Waits until the helper is idle.
static void await_helper(struct ggs_writer * writer) {
    struct ggs_helper * helper = &writer->helper;
    if (!helper->started) return;
    pthread_mutex_lock(&helper->lock);
    while (helper->busy) pthread_cond_wait(&helper->changed, &helper->lock);
    pthread_mutex_unlock(&helper->lock);
    keep_failure(writer, &helper->packer);
}

static void hand_over(struct ggs_writer * writer, struct ggs_block * block) {
    struct ggs_helper * helper = &writer->helper;
    await_helper(writer);
    struct ggs_block empty = helper->block;
    empty.schema           = block->schema;
    helper->block          = *block;
    helper->first_row      = writer->rows[GGS_TABLE_OP_RUNS];
    *block                 = empty;
    pthread_mutex_lock(&helper->lock);
    helper->busy = true;
    pthread_cond_broadcast(&helper->changed);
    pthread_mutex_unlock(&helper->lock);
}

void ggs_writer_flush(struct ggs_writer * writer, enum ggs_trace_table table) {
    struct ggs_block * block = &writer->blocks[table];
    uint32_t           rows  = block->rows;
    if (writer->status != 0 || rows == 0) return;
    if (table == GGS_TABLE_OP_RUNS && writer->helper.started) {
        hand_over(writer, block);
    } else if (table == GGS_TABLE_OP_RUNS || !writer->op_runs_only) {
        pack(writer, &writer->packer, block, table, writer->rows[table]);
        keep_failure(writer, &writer->packer);
    }
    writer->rows[table] += rows;
    block->rows    = 0;
    block->n_bytes = 0;
}

// ---- creation ----

static void start(struct ggs_writer * writer, int fd, const char * path) {
    *writer                    = (struct ggs_writer){.fd = fd, .path = path, .process = 1};
    writer->packer.zstd        = ZSTD_createCCtx();
    writer->helper.packer.zstd = ZSTD_createCCtx();
    pthread_mutex_init(&writer->helper.lock, NULL);
    pthread_cond_init(&writer->helper.changed, NULL);
    writer->opened = true;
    if (writer->packer.zstd == NULL || writer->helper.packer.zstd == NULL) ggs_writer_fail_memory(writer);
    for (unsigned i = 1; i < GGS_TABLE_COUNT; i++) {
        writer->blocks[i].schema  = ggs_trace_schema(i);
        writer->process_column[i] = ggs_schema_role(writer->blocks[i].schema, GGS_ROLE_PROCESS);
    }
}

static int begin(struct ggs_writer * writer) {
    // Without a helper thread the caller's thread does all the work.
    writer->helper.started = writer->status == 0 && pthread_create(&writer->helper.thread, NULL, help, writer) == 0;
    ggs_writer_append(writer, GGS_TABLE_STRINGS, &(struct ggs_string){"", 0});
    writer->n_strings = 1;
    return writer->status;
}

int ggs_writer_init(struct ggs_writer * writer, int fd, const char * path, const uint8_t uuid[16]) {
    struct ggs_trace_header header = {.version = GGS_TRACE_VERSION, .byte_order = GGS_TRACE_BYTE_ORDER};
    memcpy(header.magic, GGS_TRACE_MAGIC, sizeof(header.magic));
    memcpy(header.uuid, uuid, sizeof(header.uuid));
    start(writer, fd, path);
    if (writer->status == 0) writer->status = put(writer, &header, sizeof(header), &writer->error);
    return begin(writer);
}

int ggs_writer_init_op_runs(struct ggs_writer * writer, int fd, const char * path) {
    start(writer, fd, path);
    writer->op_runs_only = true;
    return begin(writer);
}

static void release_packer(struct ggs_packer * packer) {
    ZSTD_freeCCtx(packer->zstd);
    free(packer->raw);
    free(packer->stored);
}

void ggs_writer_release(struct ggs_writer * writer) {
    if (!writer->opened) return;
    if (writer->helper.started) {
        pthread_mutex_lock(&writer->helper.lock);
        writer->helper.stop = true;
        pthread_cond_broadcast(&writer->helper.changed);
        pthread_mutex_unlock(&writer->helper.lock);
        pthread_join(writer->helper.thread, NULL);
    }
    pthread_mutex_destroy(&writer->helper.lock);
    pthread_cond_destroy(&writer->helper.changed);
    for (unsigned i = 0; i < GGS_TABLE_COUNT; i++) ggs_block_release(&writer->blocks[i]);
    ggs_block_release(&writer->helper.block);
    release_packer(&writer->packer);
    release_packer(&writer->helper.packer);
    ggs_map_release(&writer->strings);
    free(writer->entries);
    writer->opened = false;
}

// ---- rows ----

void ggs_writer_append(struct ggs_writer * writer, enum ggs_trace_table table, const void * row) {
    struct ggs_block * block = &writer->blocks[table];
    if (writer->status != 0) return;
    if (writer->counts && table == GGS_TABLE_OP_RUNS) {
        writer->rows[table]++;
        return;
    }
    if (block->rows >= GGS_CHUNK_ROWS && (table != GGS_TABLE_OP_RUNS || block->rows == GGS_CHUNK_ROWS_MAX))
        ggs_writer_flush(writer, table);
    if (block->n_bytes >= GGS_CHUNK_BYTES) ggs_writer_flush(writer, table);
    if (ggs_block_append(block, row) != 0) {
        ggs_writer_fail_memory(writer);
        return;
    }
    int process = writer->process_column[table];
    if (process >= 0) block->words[process][block->rows - 1] = writer->process;
}

uint64_t ggs_writer_next_row(const struct ggs_writer * writer, enum ggs_trace_table table) {
    return writer->rows[table] + writer->blocks[table].rows;
}

uint64_t ggs_writer_string(struct ggs_writer * writer, const void * text, uint64_t length) {
    if (length == 0 || writer->status != 0) return 0;
    if (length > GGS_BYTES_MAX) length = GGS_BYTES_MAX;
    uint64_t * number = ggs_map_put(&writer->strings, ggs_map_key_of(text, length));
    if (number == NULL) {
        ggs_writer_fail_memory(writer);
        return 0;
    }
    if (*number == 0) {
        *number = writer->n_strings++;
        ggs_writer_append(writer, GGS_TABLE_STRINGS, &(struct ggs_string){text, length});
    }
    return *number;
}

void ggs_writer_close_others(struct ggs_writer * writer) {
    // Levels of detail refer to no other chunks, and compress better in larger chunks.
    for (unsigned table = 1; table < GGS_TABLE_LOD; table++)
        if (table != GGS_TABLE_OP_RUNS) ggs_writer_flush(writer, table);
    ggs_writer_flush(writer, GGS_TABLE_DEVICES);
    ggs_writer_flush(writer, GGS_TABLE_LANES);
}

bool ggs_writer_checkpoint(struct ggs_writer * writer) {
    if (writer->blocks[GGS_TABLE_OP_RUNS].rows < GGS_CHUNK_ROWS) return false;
    ggs_writer_close_others(writer);
    ggs_writer_flush(writer, GGS_TABLE_OP_RUNS);
    return true;
}

void ggs_writer_settle(struct ggs_writer * writer) {
    await_helper(writer);
}

// ---- existing chunks ----

void ggs_writer_count(struct ggs_writer * writer, bool on) {
    writer->counts = on;
}

void ggs_writer_skip(struct ggs_writer * writer, uint64_t op_runs) {
    writer->rows[GGS_TABLE_OP_RUNS] += op_runs;
}

void ggs_writer_copy(struct ggs_writer * writer, const void * chunk, uint64_t length) {
    struct ggs_chunk_header header;
    if (writer->status != 0) return;
    memcpy(&header, chunk, sizeof(header));
    await_helper(writer);
    if (remember(writer, &header) != 0)
        ggs_writer_fail_memory(writer);
    else
        writer->status = put(writer, chunk, length, &writer->error);
}

// ---- completion ----

// Chunks of a table stay in the order of their rows.
static int by_table(const void * a, const void * b) {
    const struct ggs_index_entry *x = a, *y = b;
    if (x->header.table != y->header.table) return x->header.table < y->header.table ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

int ggs_writer_finish(struct ggs_writer * writer, struct ggs_error * error) {
    struct ggs_directory     directory[GGS_TABLE_COUNT];
    struct ggs_trace_trailer trailer = {0};
    for (unsigned table = 1; table < GGS_TABLE_COUNT; table++) ggs_writer_flush(writer, table);
    await_helper(writer);
    if (writer->status != 0) goto done;
    if (writer->n_entries > 0) qsort(writer->entries, writer->n_entries, sizeof(*writer->entries), by_table);

    trailer.index   = writer->offset;
    trailer.entries = writer->n_entries;
    for (uint64_t i = 0; i < writer->n_entries; i++) {
        uint32_t table = writer->entries[i].header.table;
        if (i == 0 || directory[trailer.directories - 1].table != table)
            directory[trailer.directories++] =
                (struct ggs_directory){.table = table, .first = i, .rows = writer->rows[table]};
        directory[trailer.directories - 1].entries++;
    }
    uint64_t directory_size = trailer.directories * sizeof(*directory);
    writer->status    = put(writer, writer->entries, writer->n_entries * sizeof(*writer->entries), &writer->error);
    trailer.directory = writer->offset;
    trailer.directory_checksum = XXH3_64bits(directory, directory_size);
    if (writer->status == 0) writer->status = put(writer, directory, directory_size, &writer->error);
    trailer.size     = writer->offset + sizeof(trailer);
    trailer.checksum = XXH3_64bits(&trailer, offsetof(struct ggs_trace_trailer, checksum));
    memcpy(trailer.magic, GGS_TRAILER_MAGIC, sizeof(trailer.magic));
    if (writer->status == 0) writer->status = put(writer, &trailer, sizeof(trailer), &writer->error);
done:
    if (writer->status != 0 && error != NULL) *error = writer->error;
    return writer->status;
}
