#include "spool-fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void check(int good, const char * what) {
    if (good) return;
    perror(what);
    exit(1);
}

uint64_t fixture_ns(const struct spool_fixture * f) {
    return FIXTURE_FIRST_NS + (f->ticks - FIXTURE_FIRST_TICK) / FIXTURE_TICKS_PER_NS;
}

void fixture_advance(struct spool_fixture * f, uint64_t ns) {
    f->ticks += ns * FIXTURE_TICKS_PER_NS;
}

// ---- segments ----

static void leave(struct fixture_stream * stream) {
    if (stream->data != NULL) munmap(stream->data, stream->size);
    stream->data = NULL;
}

// Room for `bytes` in the stream's segment, or a new one.
static uint8_t * room(struct spool_fixture * f, struct fixture_stream * stream, uint32_t lane, uint64_t bytes) {
    if (stream->data != NULL && stream->used + bytes <= stream->size) return stream->data + stream->used;
    struct ggs_spool_header header = {
        .version = GGS_SPOOL_VERSION, .lane = lane, .sequence = stream->sequence, .pid = 1};
    char path[4200];
    if (lane == GGS_SPOOL_JOURNAL)
        snprintf(path, sizeof(path), "%s/journal-%04u.seg", f->directory, stream->sequence);
    else
        snprintf(path, sizeof(path), "%s/lane-%03u-%04u.seg", f->directory, lane, stream->sequence);
    leave(stream);
    stream->sequence++;
    stream->size = f->segment;
    while (stream->size < sizeof(header) + bytes) stream->size *= 2;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    check(fd >= 0 && ftruncate(fd, (off_t) stream->size) == 0, path);
    stream->data = mmap(NULL, stream->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    check(stream->data != MAP_FAILED, path);
    close(fd);
    memcpy(header.magic, GGS_SPOOL_MAGIC, sizeof(header.magic));
    header.size = stream->size;
    if (lane != GGS_SPOOL_JOURNAL) header.slot = f->slots[lane], header.thread = f->threads[lane];
    memcpy(stream->data, &header, sizeof(header));
    stream->used = sizeof(header);
    return stream->data + stream->used;
}

void fixture_open(struct spool_fixture * f, const char * directory) {
    *f = (struct spool_fixture){.ticks = FIXTURE_FIRST_TICK, .segment = FIXTURE_SEGMENT};
    snprintf(f->directory, sizeof(f->directory), "%s", directory);
    check(mkdir(directory, 0700) == 0, directory);
}

void fixture_close(struct spool_fixture * f) {
    leave(&f->journal);
    for (unsigned i = 0; i < FIXTURE_LANES; i++) leave(&f->lanes[i]);
}

// ---- the journal ----

void fixture_record(struct spool_fixture * f, uint32_t type, const void * body, uint64_t bytes, const char * text) {
    uint64_t                  length = text == NULL ? 0 : strlen(text);
    struct ggs_journal_record header = {.type = type, .ticks = f->ticks};
    header.bytes                     = (uint32_t) ((sizeof(header) + bytes + length + 7) / 8 * 8);
    uint8_t * target                 = room(f, &f->journal, GGS_SPOOL_JOURNAL, header.bytes);
    memcpy(target, &header, sizeof(header));
    if (bytes > 0) memcpy(target + sizeof(header), body, bytes);
    if (length > 0) memcpy(target + sizeof(header) + bytes, text, length);
    f->journal.used += header.bytes;
}

void fixture_numbers(struct spool_fixture * f, uint32_t type, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                     const char * text) {
    struct ggs_journal_number number = {{a, b, c, d}};
    fixture_record(f, type, &number, sizeof(number), text);
}

void fixture_process(struct spool_fixture * f) {
    struct ggs_journal_process process = {.pid          = 4711,
                                          .ticks        = f->ticks,
                                          .monotonic_ns = fixture_ns(f),
                                          .realtime_ns  = 1700000000000000000ull,
                                          .page_size    = 4096};
    fixture_record(f, GGS_JOURNAL_PROCESS, &process, sizeof(process), "/usr/bin/program");
    fixture_record(f, GGS_JOURNAL_ENGINE, NULL, 0, "version=1\nlibrary=libggml-base.so\n");
    fixture_record(f, GGS_JOURNAL_OPS, NULL, 0,
                   "NONE\nADD\nMUL_MAT\nGET_ROWS\nROPE\nVIEW\nRESHAPE\nRMS_NORM\nMUL\nSET_ROWS");
    fixture_record(f, GGS_JOURNAL_TYPES, NULL, 0, "f32 1 4\nf16 1 2\nq4_0 32 18\n\nq4_1 32 20\n");
}

void fixture_graph(struct spool_fixture * f, uint64_t id, uint32_t nodes, uint32_t tensors,
                   const struct ggs_journal_tensor * list, const char * const * names) {
    struct ggs_journal_graph graph = {.id = id, .nodes = nodes, .tensors = tensors, .hash = id * 1000003};
    for (uint32_t i = 0; i < tensors; i++) graph.text_bytes += strlen(names[i]) + 1;
    uint64_t  bytes = sizeof(graph) + tensors * sizeof(*list) + graph.text_bytes;
    uint8_t * body  = malloc(bytes);
    check(body != NULL, "malloc");
    memcpy(body, &graph, sizeof(graph));
    memcpy(body + sizeof(graph), list, tensors * sizeof(*list));
    uint8_t * text = body + sizeof(graph) + tensors * sizeof(*list);
    for (uint32_t i = 0; i < tensors; i++) {
        memcpy(text, names[i], strlen(names[i]) + 1);
        text += strlen(names[i]) + 1;
    }
    fixture_record(f, GGS_JOURNAL_GRAPH, body, bytes, NULL);
    free(body);
}

void fixture_run(struct spool_fixture * f, uint64_t run, uint64_t graph, uint64_t decode, uint32_t threads,
                 uint32_t slot) {
    struct ggs_journal_run record = {.run          = run,
                                     .graph        = graph,
                                     .decode       = decode,
                                     .ticks        = f->ticks,
                                     .monotonic_ns = fixture_ns(f),
                                     .os_thread    = 100 + slot,
                                     .host         = threads > 0};
    fixture_record(f, GGS_JOURNAL_RUN, &record, sizeof(record), threads > 0 ? "CPU" : "CUDA0");
    if (threads > 0) fixture_numbers(f, GGS_JOURNAL_RUN_THREADS, run, threads, slot, 0, NULL);
}

void fixture_run_end(struct spool_fixture * f, uint64_t run) {
    struct ggs_journal_run_end record = {.run = run, .ticks = f->ticks, .monotonic_ns = fixture_ns(f)};
    fixture_record(f, GGS_JOURNAL_RUN_END, &record, sizeof(record), NULL);
}

void fixture_decode(struct spool_fixture * f, uint64_t decode, uint64_t context, uint32_t n, const int32_t * tokens,
                    int32_t position, int32_t sequence, int output) {
    struct ggs_journal_decode record = {.decode = decode, .context = context, .tokens = n, .has = 15};
    uint8_t *                 body   = calloc(1, sizeof(record) + 13ull * n);
    check(body != NULL, "malloc");
    memcpy(body, &record, sizeof(record));
    int32_t * arrays = (int32_t *) (void *) (body + sizeof(record));
    for (uint32_t i = 0; i < n; i++) {
        arrays[i]         = tokens[i];
        arrays[n + i]     = position + (int32_t) i;
        arrays[2 * n + i] = sequence;
    }
    if (n > 0) body[sizeof(record) + 13ull * n - 1] = output != 0;
    fixture_record(f, GGS_JOURNAL_DECODE, body, sizeof(record) + 13ull * n, NULL);
    free(body);
}

void fixture_decode_end(struct spool_fixture * f, uint64_t decode, int32_t status) {
    fixture_numbers(f, GGS_JOURNAL_DECODE_END, decode, (uint64_t) (int64_t) status, 0, 0, NULL);
}

// ---- lanes ----

void fixture_lane(struct spool_fixture * f, uint32_t lane, uint32_t slot, uint32_t thread) {
    f->slots[lane]   = slot;
    f->threads[lane] = thread;
}

// With room for so many bytes behind it.
static void put(struct spool_fixture * f, uint32_t lane, const void * unit, uint64_t more) {
    memcpy(room(f, &f->lanes[lane], lane, GGS_SPOOL_UNIT + more), unit, GGS_SPOOL_UNIT);
    f->lanes[lane].used += GGS_SPOOL_UNIT;
}

void fixture_op(struct spool_fixture * f, uint32_t lane, const struct ggs_unit * op) {
    struct ggs_spool_at at  = {.type = GGS_UNIT_AT, .node = op->node, .run = op->run, .begin = op->begin};
    struct ggs_spool_op raw = {.type       = GGS_UNIT_OP,
                               .flags      = op->flags,
                               .duration   = (uint32_t) op->duration,
                               .wait       = (uint32_t) op->wait,
                               .inner_wait = (uint32_t) op->inner_wait};
    put(f, lane, &at, sizeof(raw));
    put(f, lane, &raw, 0);
}

void fixture_thread(struct spool_fixture * f, uint32_t lane, uint32_t os_thread) {
    struct ggs_spool_at at = {.type = GGS_UNIT_THREAD, .begin = os_thread};
    put(f, lane, &at, 0);
}

static void write_payload(struct spool_fixture * f, uint32_t lane, uint8_t type, const struct ggs_spool_index * index,
                          const void * payload) {
    struct ggs_spool_index unit = *index;
    uint64_t  bytes  = sizeof(unit) + (index->bytes + GGS_SPOOL_UNIT - 1ull) / GGS_SPOOL_UNIT * GGS_SPOOL_UNIT;
    uint8_t * target = room(f, &f->lanes[lane], lane, bytes);
    unit.type        = type;
    memcpy(target, &unit, sizeof(unit));
    if (index->bytes > 0) memcpy(target + sizeof(unit), payload, index->bytes);
    f->lanes[lane].used += bytes;
}

void fixture_index(struct spool_fixture * f, uint32_t lane, const struct ggs_spool_index * index,
                   const void * payload) {
    write_payload(f, lane, GGS_UNIT_INDEX, index, payload);
}

void fixture_values(struct spool_fixture * f, uint32_t lane, uint32_t run, uint32_t node, uint64_t elements,
                    const struct ggs_spool_value * rows, uint32_t n_rows) {
    struct ggs_spool_values unit = {
        .run = run, .node = node, .bytes = n_rows * (uint32_t) sizeof(*rows), .elements = elements, .rows = n_rows};
    struct ggs_spool_index same;
    memcpy(&same, &unit, sizeof(same));
    write_payload(f, lane, GGS_UNIT_VALUES, &same, rows);
}

struct ggs_journal_tensor fixture_tensor(int32_t op, int64_t ne0, int64_t ne1) {
    struct ggs_journal_tensor tensor = {.op = op, .ne = {ne0, ne1, 1, 1}, .view = -1, .flags = op == OP_NONE ? 0 : 16};
    tensor.nb[0]                     = 4;
    tensor.nb[1]                     = 4 * (uint64_t) ne0;
    tensor.nb[2] = tensor.nb[3] = tensor.nb[1] * (uint64_t) ne1;
    for (unsigned i = 0; i < GGS_GRAPH_SOURCES; i++) tensor.source[i] = -1;
    return tensor;
}
