#include "trace/seal/part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/array.h"
#include "base/checked.h"
#include "base/error.h"

static uint64_t padded(uint64_t bytes, uint64_t to) {
    return (bytes + to - 1) / to * to;
}

// ---- writing ----

void ggs_part_keep_release(struct ggs_part_keep * keep) {
    free(keep->runs);
    free(keep->index);
    free(keep->placements);
    *keep = (struct ggs_part_keep){0};
}

// Adds bytes, padded with zeros to a multiple of `to`.
static void add(struct ggs_part_keep * keep, uint8_t ** list, size_t * n, size_t * capacity, const void * data,
                size_t bytes, size_t to) {
    size_t whole = padded(bytes, to);
    if (keep->failed || !ggs_array_reserve(*list, *capacity, *n + whole)) {
        keep->failed = true;
        return;
    }
    if (bytes > 0) memcpy(*list + *n, data, bytes);
    memset(*list + *n + bytes, 0, whole - bytes);
    *n += whole;
}

void ggs_part_keep_index(struct ggs_part_keep * keep, const struct ggs_spool_index * unit, const void * payload) {
    add(keep, &keep->index, &keep->n_index_bytes, &keep->index_capacity, unit, sizeof(*unit), 8);
    add(keep, &keep->index, &keep->n_index_bytes, &keep->index_capacity, payload, unit->bytes, 8);
    keep->n_index++;
}

void ggs_part_keep_run(struct ggs_part_keep * keep, struct ggs_part_run run, const uint8_t * nodes) {
    run.index = keep->n_index;
    add(keep, &keep->runs, &keep->n_run_bytes, &keep->run_capacity, &run, sizeof(run), 8);
    add(keep, &keep->runs, &keep->n_run_bytes, &keep->run_capacity, nodes, run.nodes, 8);
    add(keep, &keep->runs, &keep->n_run_bytes, &keep->run_capacity, keep->index, keep->n_index_bytes, 8);
    keep->n_runs++;
    keep->n_index       = 0;
    keep->n_index_bytes = 0;
}

void ggs_part_keep_placement(struct ggs_part_keep * keep, struct ggs_part_place placement) {
    if (!ggs_array_push(keep->placements, keep->n_placements, keep->placements_capacity, placement))
        keep->failed = true;
}

static int put(int fd, const void * data, uint64_t length) {
    const uint8_t * p = data;
    while (length > 0) {
        ssize_t n = write(fd, p, length);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return -1;
        p += n;
        length -= (uint64_t) n;
    }
    return 0;
}

int ggs_part_write_header(int fd, uint64_t start_ns) {
    struct ggs_part_header header = {.version = GGS_SPOOL_VERSION, .start_ns = start_ns};
    memcpy(header.magic, GGS_PART_MAGIC, sizeof(header.magic));
    return put(fd, &header, sizeof(header));
}

static uint8_t * join(uint8_t * at, const void * data, uint64_t bytes) {
    if (bytes > 0) memcpy(at, data, bytes);
    return at + bytes;
}

int ggs_part_write_block(int fd, struct ggs_part_keep * keep, const struct ggs_lods * lods, uint64_t chunks,
                         uint64_t op_runs, const struct ggs_part_lane * lanes, size_t n_lanes) {
    struct ggs_part_counts counts = {.level      = lods->level,
                                     .credit     = lods->credit,
                                     .run_bytes  = keep->n_run_bytes,
                                     .runs       = keep->n_runs,
                                     .placements = keep->n_placements,
                                     .left       = lods->n_left,
                                     .lod_lanes  = lods->n_lanes,
                                     .lanes      = n_lanes};
    uint64_t               bytes = sizeof(counts) + keep->n_run_bytes + keep->n_placements * sizeof(*keep->placements) +
                     lods->n_left * sizeof(*lods->left) + lods->n_lanes * sizeof(struct ggs_part_lod_lane) +
                     n_lanes * sizeof(*lanes);
    uint64_t most = ZSTD_compressBound(bytes);
    uint8_t *raw = malloc(bytes), *stored = malloc(sizeof(struct ggs_part_block) + most + 8);
    int      status = -1;
    errno           = ENOMEM;
    if (keep->failed || raw == NULL || stored == NULL) goto done;
    uint8_t * at = join(raw, &counts, sizeof(counts));
    at           = join(at, keep->runs, keep->n_run_bytes);
    at           = join(at, keep->placements, keep->n_placements * sizeof(*keep->placements));
    at           = join(at, lods->left, lods->n_left * sizeof(*lods->left));
    for (size_t i = 0; i < lods->n_lanes; i++) {
        const struct ggs_lod_lane * lane = &lods->lanes[i];
        struct ggs_part_lod_lane    row  = {lane->device, lane->slot, lane->thread, lane->covered_ns, lane->bins[0]};
        at                               = join(at, &row, sizeof(row));
    }
    join(at, lanes, n_lanes * sizeof(*lanes));
    size_t frame = ZSTD_compress(stored + sizeof(struct ggs_part_block), most, raw, bytes, GGS_ZSTD_LEVEL);
    if (ZSTD_isError(frame)) goto done;
    struct ggs_part_block block = {.chunks = (uint32_t) chunks, .stored = frame, .raw = bytes, .op_runs = op_runs};
    memcpy(block.id, GGS_PART_BLOCK, sizeof(block.id));
    block.checksum        = XXH3_64bits(stored + sizeof(block), frame);
    block.header_checksum = XXH3_64bits(&block, offsetof(struct ggs_part_block, header_checksum));
    memcpy(stored, &block, sizeof(block));
    uint64_t whole = padded(sizeof(block) + frame, 8);
    memset(stored + sizeof(block) + frame, 0, whole - sizeof(block) - frame);
    status             = put(fd, stored, whole);
    keep->n_run_bytes  = 0;
    keep->n_runs       = 0;
    keep->n_placements = 0;
done:
    free(raw);
    free(stored);
    return status;
}

// ---- reading ----

// Length of the chunk at an offset, 0 if there is no intact one.
static uint64_t chunk_length(const struct ggs_part * part, uint64_t at, struct ggs_chunk_header * header) {
    if (!ggs_inside(at, sizeof(*header), part->mapping.size)) return 0;
    memcpy(header, part->mapping.data + at, sizeof(*header));
    if (memcmp(header->id, GGS_CHUNK_ROWS_ID, sizeof(header->id)) != 0 || header->table != GGS_TABLE_OP_RUNS ||
        header->header_checksum != XXH3_64bits(header, offsetof(struct ggs_chunk_header, header_checksum)) ||
        !ggs_inside(at + sizeof(*header), header->stored, part->mapping.size))
        return 0;
    uint64_t whole = padded(sizeof(*header) + header->stored, GGS_CHUNK_ALIGNMENT);
    return ggs_inside(at, whole, part->mapping.size) ? whole : 0;
}

static bool read_block(const struct ggs_part * part, uint64_t at, struct ggs_part_block * block) {
    if (!ggs_inside(at, sizeof(*block), part->mapping.size)) return false;
    memcpy(block, part->mapping.data + at, sizeof(*block));
    return memcmp(block->id, GGS_PART_BLOCK, sizeof(block->id)) == 0 &&
           block->header_checksum == XXH3_64bits(block, offsetof(struct ggs_part_block, header_checksum)) &&
           ggs_inside(at + sizeof(*block), block->stored, part->mapping.size);
}

// Finds the block whose chunks begin at *at, if it is intact; moves *at after it.
static bool find_block(const struct ggs_part * part, uint64_t * at, uint64_t op_runs, struct ggs_part_block * block,
                       const uint8_t ** frame) {
    struct ggs_chunk_header header;
    uint64_t                chunks = 0, length;
    while ((length = chunk_length(part, *at, &header)) > 0) {
        if (header.first_row != op_runs ||
            header.checksum != XXH3_64bits(part->mapping.data + *at + sizeof(header), header.stored))
            return false;
        op_runs += header.rows;
        chunks++;
        *at += length;
    }
    if (!read_block(part, *at, block) || block->chunks != chunks || block->op_runs != op_runs) return false;
    *frame = part->mapping.data + *at + sizeof(*block);
    if (block->checksum != XXH3_64bits(*frame, block->stored)) return false;
    *at += padded(sizeof(*block) + block->stored, 8);
    return true;
}

static bool claim(uint64_t * left, uint64_t n, uint64_t size) {
    if (n > *left / size) return false;
    *left -= n * size;
    return true;
}

// Unpacks a frame and finds the arrays in it.
static bool unpack(struct ggs_part * part, const struct ggs_part_block * block, const uint8_t * frame,
                   const struct ggs_part_lane ** lanes) {
    enum { MOST = 1 << 30 };
    struct ggs_part_counts * counts = &part->counts;
    free(part->raw);
    part->raw = block->raw < sizeof(*counts) || block->raw > MOST ? NULL : malloc(block->raw);
    if (part->raw == NULL || ZSTD_decompress(part->raw, block->raw, frame, block->stored) != block->raw) return false;
    memcpy(counts, part->raw, sizeof(*counts));
    uint64_t left = block->raw - sizeof(*counts);
    if (counts->level > 60 || counts->run_bytes % 8 != 0 || !claim(&left, counts->run_bytes, 1) ||
        !claim(&left, counts->placements, sizeof(struct ggs_part_place)) ||
        !claim(&left, counts->left, sizeof(struct ggs_lod_bin)) ||
        !claim(&left, counts->lod_lanes, sizeof(struct ggs_part_lod_lane)) ||
        !claim(&left, counts->lanes, sizeof(struct ggs_part_lane)) || left != 0)
        return false;
    part->run             = part->raw + sizeof(*counts);
    part->run_end         = part->run + counts->run_bytes;
    part->runs_left       = counts->runs;
    part->placement       = (const void *) part->run_end;
    part->placements_left = counts->placements;
    part->left            = (const void *) (part->placement + counts->placements);
    part->lod_lanes       = (const void *) (part->left + counts->left);
    *lanes                = (const void *) (part->lod_lanes + counts->lod_lanes);
    return true;
}

static bool keep_lanes(struct ggs_part * part, const struct ggs_part_lane * lanes) {
    free(part->lanes);
    part->n_lanes = part->counts.lanes;
    part->lanes   = calloc(part->n_lanes + 1, sizeof(*part->lanes));
    if (part->lanes != NULL && part->n_lanes > 0) memcpy(part->lanes, lanes, part->n_lanes * sizeof(*lanes));
    return part->lanes != NULL;
}

// Counts the intact blocks, and keeps the lanes of the last one.
static int survey(struct ggs_part * part, struct ggs_error * error) {
    struct ggs_part_block        block, last        = {0};
    const uint8_t *              frame, *last_frame = NULL;
    const struct ggs_part_lane * lanes;
    uint64_t                     at = part->at;
    while (find_block(part, &at, last.op_runs, &block, &frame)) {
        part->n_blocks++;
        last       = block;
        last_frame = frame;
    }
    if (part->n_blocks == 0) return 0;
    if (!unpack(part, &last, last_frame, &lanes)) return ggs_fail(error, GGS_FORMAT, "%s is damaged", GGS_PART_NAME);
    return keep_lanes(part, lanes) ? 0 : ggs_fail_memory(error);
}

int ggs_part_open(struct ggs_part * part, const char * path, uint64_t start_ns, struct ggs_error * error) {
    struct ggs_part_header header;
    *part = (struct ggs_part){.fd = -1};
    if (path == NULL) return 0;
    part->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (part->fd < 0 && errno == ENOENT) return 0;
    if (part->fd < 0 || flock(part->fd, LOCK_SH) != 0) return ggs_fail_errno(error, "cannot open %s", path);
    int status = ggs_mapping_open(&part->mapping, path, error);
    if (status != 0) return status;
    if (part->mapping.size < sizeof(header)) return 0;
    memcpy(&header, part->mapping.data, sizeof(header));
    if (memcmp(header.magic, GGS_PART_MAGIC, sizeof(header.magic)) != 0 || header.version != GGS_SPOOL_VERSION ||
        (start_ns != 0 && header.start_ns != start_ns))
        return 0;
    part->at = sizeof(header);
    status   = survey(part, error);
    if (part->n_blocks > 0) part->start_ns = header.start_ns;
    return status;
}

void ggs_part_release(struct ggs_part * part) {
    ggs_mapping_close(&part->mapping);
    if (part->fd >= 0) close(part->fd);
    free(part->lanes);
    free(part->raw);
    *part = (struct ggs_part){.fd = -1};
}

bool ggs_part_next_block(struct ggs_part * part) {
    struct ggs_part_block        block;
    const struct ggs_part_lane * lanes;
    const uint8_t *              frame;
    part->open = false;
    if (part->next == part->n_blocks) return false;
    part->chunks_at = part->at;
    if (!find_block(part, &part->at, part->op_runs, &block, &frame) || !unpack(part, &block, frame, &lanes))
        return false;
    part->n_chunks = block.chunks;
    part->op_runs  = block.op_runs;
    part->next++;
    part->open = true;
    return true;
}

// Reads the next run of the block and advances.
static bool read_run(struct ggs_part * part, struct ggs_part_run * out, const uint8_t ** nodes,
                     const uint8_t ** index) {
    uint64_t left = (uint64_t) (part->run_end - part->run);
    if (part->runs_left == 0 || left < sizeof(*out)) return false;
    memcpy(out, part->run, sizeof(*out));
    left -= sizeof(*out);
    if (out->nodes > left || padded(out->nodes, 8) > left) return false;
    *nodes = part->run + sizeof(*out);
    *index = *nodes + padded(out->nodes, 8);
    left -= padded(out->nodes, 8);
    const uint8_t * at = *index;
    for (uint64_t i = 0; i < out->index; i++) {
        struct ggs_spool_index unit;
        if (left < sizeof(unit)) return false;
        memcpy(&unit, at, sizeof(unit));
        uint64_t whole = sizeof(unit) + padded(unit.bytes, 8);
        if (whole > left) return false;
        left -= whole;
        at += whole;
    }
    part->run = at;
    part->runs_left--;
    return true;
}

bool ggs_part_next_run(struct ggs_part * part, uint64_t run, struct ggs_part_run * out, const uint8_t ** nodes,
                       const uint8_t ** index) {
    for (;;) {
        const uint8_t * before = part->run;
        uint64_t        left   = part->runs_left;
        if (!read_run(part, out, nodes, index)) {
            part->runs_left = 0; // damage
            return false;
        }
        if (out->run == run) return true;
        if (out->run < run) continue; // not in the journal
        part->run       = before;
        part->runs_left = left;
        return false;
    }
}

struct ggs_part_place ggs_part_next_placement(struct ggs_part * part) {
    if (part->placements_left == 0) return (struct ggs_part_place){0};
    part->placements_left--;
    return *part->placement++;
}

const void * ggs_part_chunk(const struct ggs_part * part, uint64_t * at, uint64_t * n, uint64_t * length) {
    struct ggs_chunk_header header;
    if (*n == part->n_chunks) return NULL;
    if (*n == 0) *at = part->chunks_at;
    *length = chunk_length(part, *at, &header);
    if (*length == 0) return NULL;
    const void * chunk = part->mapping.data + *at;
    *at += *length;
    (*n)++;
    return chunk;
}
