// The trace file itself: columns, clock, cursors, levels of detail, and what the reader makes of
// files that are cut or wrong.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include <cmocka.h>

#include "base/system/file.h"
#include "sealing-fixture.h"
#include "trace/block.h"
#include "trace/seal/tick-clock.h"

// ---- columns ----

static uint64_t random_value(unsigned * seed, int kind) {
    uint64_t wide = (uint64_t) rand_r(seed) << 33 ^ (uint64_t) rand_r(seed) << 11 ^ (uint64_t) rand_r(seed);
    switch (kind) {
        case 0:
            return 7;
        case 1:
            return wide & 0xff;
        case 2:
            return (uint64_t) - (int64_t) (wide & 0xffff);
        case 3:
            return wide & 0xffffffff;
        case 4:
            return wide << (wide & 31);
        default:
            return wide & 1 ? UINT64_MAX : (wide & 2 ? (uint64_t) INT64_MIN : 0);
    }
}

// Every table takes any values and gives them back.
static void test_columns_round_trip(void ** state) {
    (void) state;
    unsigned  seed     = 1;
    uint8_t * data     = NULL;
    uint64_t  capacity = 0;
    for (unsigned table = 1; table < GGS_TABLE_COUNT; table++) {
        for (uint32_t rows = 1; rows < 3000; rows = rows * 5 + 2) {
            const struct ggs_schema * schema = ggs_trace_schema(table);
            struct ggs_block          in = {.schema = schema}, out = {0};
            char                      bytes[64];
            for (uint32_t r = 0; r < rows; r++) {
                uint64_t row[GGS_COLUMNS_MAX];
                for (uint32_t w = 0; w < schema->n_words; w++) row[w] = random_value(&seed, (int) ((w + rows) % 6));
                if (schema->n_words > schema->n_columns) {
                    memset(bytes, (int) r, sizeof(bytes));
                    row[schema->n_columns - 1] = (uint64_t) (uintptr_t) bytes;
                    row[schema->n_columns]     = r % sizeof(bytes);
                }
                assert_int_equal(ggs_block_append(&in, row), 0);
            }
            const char * why;
            uint64_t     size = ggs_block_encode(&in, &data, &capacity);
            assert_true(size > 0);
            assert_int_equal(ggs_block_decode(&out, schema, rows, data, size, &why), 0);
            for (uint32_t w = 0; w < schema->n_words; w++) {
                bool pointer = schema->n_words > schema->n_columns && w == schema->n_columns - 1;
                for (uint32_t r = 0; r < rows; r++) {
                    if (!pointer)
                        assert_int_equal(out.words[w][r], in.words[w][r]);
                    else
                        assert_string_equal((char *) (uintptr_t) out.words[w][r], in.bytes + in.words[w][r]);
                }
            }
            // No prefix of it decodes, and none is read beyond its end (the sanitizers watch).
            for (uint64_t cut = 0; cut < size && cut < 600; cut++) {
                uint8_t * exact = malloc(cut + 1);
                memcpy(exact, data, cut);
                assert_int_not_equal(ggs_block_decode(&out, schema, rows, exact, cut, &why), 0);
                free(exact);
            }
            ggs_block_release(&in);
            ggs_block_release(&out);
        }
    }
    free(data);
}

// A later version may add columns; an earlier one has fewer.
static void test_other_columns(void ** state) {
    (void) state;
    const struct ggs_schema * schema = ggs_trace_schema(GGS_TABLE_OPS);
    struct {
        uint32_t                 counts[2];
        struct ggs_column_header columns[2];
        uint8_t                  values[6];
    } data = {{2, 3}, {{1, GGS_ENCODING_PLAIN, 1, 0, 10, 3}, {77, 200, 1, 0, 0, 3}}, {1, 2, 3, 9, 9, 9}};
    struct ggs_block block = {0};
    const char *     why;
    uint64_t         size = offsetof(__typeof__(data), values) + sizeof(data.values);
    assert_int_equal(ggs_block_decode(&block, schema, 3, (const uint8_t *) &data, size, &why), 0);
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(block.words[0][i], 0);
        assert_int_equal(block.words[1][i], 11 + i);
    }
    ggs_block_release(&block);
}

static void test_schemas(void ** state) {
    (void) state;
    assert_null(ggs_trace_schema(0));
    assert_null(ggs_trace_schema(GGS_TABLE_COUNT));
    for (unsigned table = 1; table < GGS_TABLE_COUNT; table++) {
        const struct ggs_schema * schema = ggs_trace_schema(table);
        assert_non_null(schema);
        for (uint32_t i = 0; i < schema->n_columns; i++)
            assert_true(schema->columns[i].type != GGS_COLUMN_BYTES || i + 1 == schema->n_columns);
    }
    // columns stand where the structs have them: the compiler checks that, and this that it does
    const struct ggs_column * runs = ggs_trace_schema(GGS_TABLE_RUNS)->columns;
    assert_string_equal(runs[offsetof(struct ggs_run, step) / 8].name, "step");
    assert_string_equal(runs[offsetof(struct ggs_run, end_ns) / 8].name, "end_ns");
    assert_string_equal(runs[offsetof(struct ggs_run, lost) / 8].name, "lost");
    const struct ggs_column * tensors = ggs_trace_schema(GGS_TABLE_TENSORS)->columns;
    assert_string_equal(tensors[offsetof(struct ggs_tensor, nb[3]) / 8].name, "nb3");
    assert_string_equal(tensors[offsetof(struct ggs_tensor, origin_offset) / 8].name, "origin_offset");
    assert_string_equal(ggs_trace_schema(GGS_TABLE_DECODES)->columns[offsetof(struct ggs_decode, step) / 8].name,
                        "step");
}

// ---- the clock ----

static void test_clock(void ** state) {
    (void) state;
    static struct ggs_clock clock;
    ggs_clock_init(&clock);
    // 3 ticks per ns, then 2: anchors every second
    uint64_t ticks = 1000000, ns = 77000000000ull;
    for (int i = 0; i < 10; i++) {
        ggs_clock_anchor(&clock, ticks, ns);
        ns += 1000000000;
        ticks += i < 5 ? 3000000000ull : 2000000000ull;
    }
    ggs_clock_anchor(&clock, 5, 5); // backwards: ignored
    ggs_clock_finish(&clock, 77000000000ull - 500);
    assert_int_equal(ggs_clock_ns(&clock, 1000000), 500);
    assert_int_equal(ggs_clock_ns(&clock, 1000000 + 300), 600);
    assert_int_equal(ggs_clock_ns(&clock, 1000000 - 300), 400);
    assert_int_equal(ggs_clock_ns(&clock, 0), 0); // never negative
    assert_int_equal(ggs_clock_ns(&clock, 1000000 + 15000000000ull), 5000000500ll);
    assert_int_equal(ggs_clock_ns(&clock, 1000000 + 15000000000ull + 200), 5000000600ll);
    int64_t before = -1;
    for (uint64_t t = 0; t < 40000000000ull; t += 9999991) {
        int64_t now = ggs_clock_ns(&clock, t);
        assert_true(now >= before);
        before = now;
    }
}

// However many anchors there are, with whatever jitter, time goes forward and stays near them.
static void test_clock_with_many_anchors(void ** state) {
    (void) state;
    static struct ggs_clock clock;
    unsigned                seed = 3;
    ggs_clock_init(&clock);
    for (uint64_t i = 0; i < 300000; i++)
        ggs_clock_anchor(&clock, 1 + i * 30000000, 1000 + i * 10000000 + (uint64_t) rand_r(&seed) % 200);
    ggs_clock_finish(&clock, 1);
    int64_t before = -1;
    for (uint64_t i = 0; i < 300000; i++) {
        int64_t now = ggs_clock_ns(&clock, 1 + i * 30000000);
        assert_true(now > before);
        assert_in_range(now, i * 10000000 + 999, i * 10000000 + 1300);
        before = now;
    }
}

// ---- cursors ----

enum { RUNS = 40 };

// 40 tokens of two contexts in turn, on two slots.
static struct ggs_reader * many_runs(uint64_t repeat) {
    fixture_process(&f);
    tiny_graph(&f, 1);
    uint64_t run = 0;
    for (uint64_t i = 0; i < RUNS * repeat; i++) {
        int32_t  token   = (int32_t) i;
        uint64_t context = i % 2;
        fixture_decode(&f, i + 1, 100 + context, 1, &token, (int32_t) (i / 2), 0, 1);
        tiny_run(&f, ++run, 1, i + 1, 2, (uint32_t) context, 1, &token, (int32_t) (i / 2));
        fixture_decode_end(&f, i + 1, 0);
    }
    return seal_and_open(&f, folder, NULL, NULL);
}

static uint64_t count(struct ggs_cursor * cursor, void * row) {
    struct ggs_error error;
    uint64_t         n = 0;
    int              more;
    while ((more = ggs_cursor_next(cursor, row, &error)) > 0) n++;
    if (more < 0) fail_msg("%s", error.text);
    return n;
}

static void test_cursors(void ** state) {
    (void) state;
    struct ggs_error    error;
    struct ggs_cursor * cursor;
    struct ggs_op_run   op;
    struct ggs_run      run;
    struct ggs_reader * reader = many_runs(1);
    assert_int_equal(ggs_cursor_open(&cursor, reader, GGS_TABLE_OP_RUNS, &error), 0);
    assert_int_equal(count(cursor, &op), RUNS * 10);
    assert_int_equal(count(cursor, &op), 0);
    ggs_cursor_range(cursor, 17, 5);
    assert_int_equal(count(cursor, &op), 5);
    ggs_cursor_range(cursor, RUNS * 10 - 3, 100);
    assert_int_equal(count(cursor, &op), 3);
    ggs_cursor_range(cursor, 0, UINT64_MAX);
    ggs_cursor_keys(cursor, 3, 4);
    assert_int_equal(count(cursor, &op), 20);
    ggs_cursor_keys(cursor, 0, 100000);
    assert_int_equal(ggs_cursor_steps(cursor, 5, 6, &error), 0);
    assert_int_equal(ggs_cursor_next(cursor, &op, &error), 1);
    assert_int_equal(op.run, 6);
    assert_int_equal(1 + count(cursor, &op), 20);
    assert_int_equal(ggs_cursor_steps(cursor, 1000, 2000, &error), 0);
    assert_int_equal(count(cursor, &op), 0);
    ggs_cursor_close(cursor);

    assert_int_equal(ggs_reader_row(reader, GGS_TABLE_RUNS, 9, &run, &error), 0);
    assert_int_equal(run.run, 10);
    assert_int_equal(ggs_reader_row(reader, GGS_TABLE_RUNS, RUNS, &run, &error), GGS_ABSENT);
    assert_int_equal(ggs_reader_row(reader, GGS_TABLE_STRINGS, 0, &run, &error), GGS_USAGE);
    assert_int_equal(ggs_cursor_open(&cursor, reader, GGS_TABLE_OP_RUNS, &error), 0);
    ggs_cursor_times(cursor, run.begin_ns, run.end_ns);
    assert_int_equal(count(cursor, &op), 10);
    assert_int_equal(op.run, 10);
    ggs_cursor_times(cursor, INT64_MAX - 1, INT64_MAX);
    assert_int_equal(count(cursor, &op), 0);
    ggs_cursor_close(cursor);

    struct ggs_index index;
    assert_int_equal(ggs_cursor_open(&cursor, reader, GGS_TABLE_INDEX, &error), 0);
    ggs_cursor_keys(cursor, 8, 8);
    assert_int_equal(ggs_cursor_next(cursor, &index, &error), 1);
    assert_int_equal(index.node, 0);
    assert_int_equal(index.length, 4);
    assert_memory_equal(index.data, &(int32_t){7}, 4);
    ggs_cursor_close(cursor);
    assert_int_equal(ggs_cursor_open(&cursor, reader, GGS_TABLE_FILES, &error), 0);
    assert_int_equal(ggs_cursor_steps(cursor, 0, 1, &error), GGS_USAGE);
    ggs_cursor_close(cursor);
    ggs_reader_close(reader);
}

// Column by column gives what row by row gives, over several chunks.
static void test_chunks(void ** state) {
    (void) state;
    struct ggs_error         error;
    struct ggs_cursor *      rows, *chunks;
    const uint64_t * const * words;
    struct ggs_op_run        op;
    uint64_t                 n, seen = 0;
    f.segment                  = 1 << 20;
    struct ggs_reader * reader = many_runs(200);
    assert_int_equal(ggs_cursor_open(&rows, reader, GGS_TABLE_OP_RUNS, &error), 0);
    assert_int_equal(ggs_cursor_open(&chunks, reader, GGS_TABLE_OP_RUNS, &error), 0);
    assert_int_equal(ggs_cursor_next(rows, &op, &error), 1);
    assert_int_equal(ggs_cursor_next(chunks, &op, &error), 1); // and the rest of the first chunk comes as columns
    while (ggs_cursor_next_chunk(chunks, &words, &n, &error) > 0) {
        assert_int_equal(ggs_cursor_row(chunks), seen + 1);
        for (uint64_t i = 0; i < n; i++) {
            assert_int_equal(ggs_cursor_next(rows, &op, &error), 1);
            for (unsigned w = 0; w < sizeof(op) / 8; w++) assert_int_equal(words[w][i], ((uint64_t *) &op)[w]);
        }
        seen += n;
    }
    assert_int_equal(seen + 1, RUNS * 200 * 10);
    // a run's rows are in one chunk, found without reading the others
    ggs_cursor_keys(chunks, 7000, 7000);
    assert_int_equal(count(chunks, &op), 10);
    assert_int_equal(ggs_cursor_steps(chunks, 3999, 4000, &error), 0);
    assert_int_equal(count(chunks, &op), 20);
    ggs_cursor_close(rows);
    ggs_cursor_close(chunks);
    ggs_reader_close(reader);
}

// ---- levels of detail ----

static void test_levels_of_detail(void ** state) {
    (void) state;
    size_t              n, n_ops;
    struct ggs_reader * reader = many_runs(100);
    struct ggs_op_run * ops    = read_all(reader, GGS_TABLE_OP_RUNS, sizeof(*ops), &n_ops);
    struct ggs_lod *    bins   = read_all(reader, GGS_TABLE_LOD, sizeof(*bins), &n);
    uint64_t            busy = 0, wait = 0, levels = 0;
    uint64_t            inner = 0; // waits inside ops are waits at every level, as they are in single op runs
    for (size_t i = 0; i < n_ops; i++) {
        busy += ops[i].duration_ns - ops[i].inner_wait_ns;
        wait += ops[i].wait_ns + ops[i].inner_wait_ns;
        inner += ops[i].inner_wait_ns;
    }
    assert_true(inner > 0);
    for (uint64_t level = 0; level < 64; level++) {
        uint64_t level_busy = 0, level_wait = 0, level_count = 0, rows = 0;
        for (size_t i = 0; i < n; i++) {
            if (bins[i].level != level) continue;
            assert_int_equal(bins[i].begin_ns % (1ll << level), 0);
            assert_true(bins[i].busy_ns + bins[i].wait_ns <= 1ull << level);
            level_busy += bins[i].busy_ns;
            level_wait += bins[i].wait_ns;
            level_count += bins[i].count;
            rows++;
        }
        if (rows == 0) continue;
        levels++;
        assert_int_equal(level_busy, busy);
        assert_int_equal(level_wait, wait);
        assert_int_equal(level_count, n_ops);
        assert_true(rows * 20 < n_ops);
    }
    assert_true(levels >= 2);
    free(ops);
    free(bins);
    ggs_reader_close(reader);
}

// ---- size ----

// Like a real engine: some 380 ops per run and thread, times that vary. (A real trace:
// tests/engine.)
static void realistic_run(uint32_t run, unsigned * seed) {
    fixture_run(&f, run, 1, 0, 2, 0);
    for (uint32_t lane = 0; lane < 2; lane++) {
        uint64_t begin = f.ticks + 300;
        for (uint32_t i = 0; i < 380; i++) {
            uint32_t        typical = 600 + 3000 * (i % 7) + (i % 17 == 0 ? 60000 : 0);
            struct ggs_unit op      = {.flags      = GGS_OP_RUN_ENDED,
                                       .run        = run,
                                       .node       = i + i / 2,
                                       .begin      = begin,
                                       .duration   = typical + (uint32_t) rand_r(seed) % (typical / 8),
                                       .wait       = 300 + (uint32_t) rand_r(seed) % 3000,
                                       .inner_wait = i % 7 == 3 ? 100 + (uint32_t) rand_r(seed) % 300 : 0};
            fixture_op(&f, lane, &op);
            begin += op.duration + op.wait + 150 + (uint32_t) rand_r(seed) % 90;
        }
    }
    fixture_advance(&f, 8000000);
    fixture_run_end(&f, run);
    fixture_advance(&f, 500000);
}

static uint64_t realistic_size(uint32_t runs) {
    static struct ggs_journal_tensor list[600];
    static const char *              names[600];
    unsigned                         seed = 5;
    struct ggs_seal_result           result;
    for (int i = 0; i < 600; i++) list[i] = fixture_tensor(OP_ADD, 64, 1), names[i] = "t";
    f.segment = 1 << 20;
    fixture_process(&f);
    fixture_graph(&f, 1, 600, 600, list, names);
    fixture_lane(&f, 0, 0, 0);
    fixture_lane(&f, 1, 0, 1);
    for (uint32_t run = 1; run <= runs; run++) realistic_run(run, &seed);
    ggs_reader_close(seal_and_open(&f, folder, NULL, &result));
    assert_int_equal(result.op_runs, runs * 760);
    assert_int_equal(result.unseen, runs * (600 - 380));
    return result.bytes;
}

static void test_size_per_op_run(void ** state) {
    uint64_t small = realistic_size(200);
    sealing_teardown(state);
    sealing_setup(state);
    uint64_t large = realistic_size(400);
    double   bytes = (double) (large - small) / (200 * 760);
    if (bytes > 8) fail_msg("a further op run costs %.2f bytes", bytes);
}

// ---- files that are cut or wrong ----

// Reads all there is; returns the rows of op_runs, or fails in a way that has a sentence.
static int64_t walk_all(struct ggs_reader * reader, struct ggs_error * error) {
    int64_t  op_runs = 0;
    uint64_t row[GGS_COLUMNS_MAX];
    for (unsigned table = 1; table < GGS_TABLE_COUNT; table++) {
        struct ggs_cursor * cursor;
        int                 more;
        if (ggs_cursor_open(&cursor, reader, table, error) != 0) return -1;
        while ((more = ggs_cursor_next(cursor, row, error)) > 0) {
            if (table == GGS_TABLE_OP_RUNS) op_runs++;
            if (table == GGS_TABLE_RUNS) ggs_reader_string(reader, ((struct ggs_run *) row)->backend);
        }
        ggs_cursor_close(cursor);
        if (more < 0) return -1;
    }
    ggs_reader_experiment(reader);
    struct ggs_graph * graph;
    if (ggs_reader_graph(reader, 1, &graph, NULL) == 0) ggs_graph_free(graph);
    return op_runs;
}

static struct ggs_mapping sealed_trace(void) {
    struct ggs_mapping mapping;
    struct ggs_error   error;
    char *             path = scratch_path(folder, "trace.ggs");
    f.segment               = 1 << 20;
    ggs_reader_close(many_runs(100));
    assert_int_equal(ggs_mapping_open(&mapping, path, &error), 0);
    free(path);
    return mapping;
}

static void test_cut_files(void ** state) {
    (void) state;
    struct ggs_mapping  whole = sealed_trace();
    struct ggs_error    error;
    struct ggs_reader * reader;
    int64_t             before = 0;
    for (uint64_t size = 0; size < whole.size; size += 64) {
        uint8_t * exact = malloc(size + 1); // so that the sanitizers see what lies behind
        memcpy(exact, whole.data, size);
        int status = ggs_reader_open_memory(&reader, exact, size, &error);
        if (size < 64) {
            assert_int_equal(status, GGS_FORMAT);
        } else {
            assert_int_equal(status, 0);
            assert_non_null(strstr(ggs_reader_warning(reader), "cut off"));
            int64_t op_runs = walk_all(reader, &error);
            if (op_runs < 0) fail_msg("%lu bytes: %s", (unsigned long) size, error.text);
            assert_true(op_runs >= before); // what was there stays there
            before = op_runs;
            ggs_reader_close(reader);
        }
        free(exact);
    }
    assert_int_equal(before, RUNS * 100 * 10);
    ggs_mapping_close(&whole);
}

// A byte that changed is an error, a warning, or of no consequence, but never a wrong value and
// never a crash.
static void test_wrong_bytes(void ** state) {
    (void) state;
    struct ggs_mapping  whole = sealed_trace();
    struct ggs_error    error;
    struct ggs_reader * reader;
    uint8_t *           copy    = malloc(whole.size);
    uint64_t            noticed = 0, tried = 0;
    unsigned            seed = 9;
    memcpy(copy, whole.data, whole.size);
    for (uint64_t at = 0; at < whole.size; at += 1 + (uint64_t) rand_r(&seed) % 400) {
        copy[at] ^= (uint8_t) (1 << rand_r(&seed) % 8);
        tried++;
        if (ggs_reader_open_memory(&reader, copy, whole.size, &error) != 0) {
            noticed++;
        } else {
            bool    warned  = ggs_reader_warning(reader) != NULL;
            int64_t op_runs = walk_all(reader, &error);
            if (op_runs < 0 || warned)
                noticed++;
            else
                assert_int_equal(op_runs, RUNS * 100 * 10);
            if (op_runs < 0) assert_true(strlen(error.text) > 20);
            ggs_reader_close(reader);
        }
        copy[at] = whole.data[at];
    }
    // Unnoticed are only the UUID, reserved bytes and padding.
    assert_true(noticed > tried * 95 / 100);
    free(copy);
    ggs_mapping_close(&whole);
}

static void test_refusals(void ** state) {
    (void) state;
    struct ggs_mapping      whole = sealed_trace();
    struct ggs_error        error;
    struct ggs_reader *     reader;
    uint8_t *               copy = malloc(whole.size + 8);
    struct ggs_trace_header header;
    memcpy(&header, whole.data, sizeof(header));
    memcpy(copy, whole.data, whole.size);

    for (header.version = GGS_TRACE_VERSION_MIN - 1; header.version <= GGS_TRACE_VERSION + 1; header.version++) {
        bool known = header.version >= GGS_TRACE_VERSION_MIN && header.version <= GGS_TRACE_VERSION;
        char name[32];
        memcpy(copy, &header, sizeof(header));
        if (known) {
            assert_int_equal(ggs_reader_open_memory(&reader, copy, whole.size, &error), 0);
            assert_int_equal(ggs_reader_version(reader), header.version);
            ggs_reader_close(reader);
            continue;
        }
        snprintf(name, sizeof(name), "version %u", header.version);
        assert_int_equal(ggs_reader_open_memory(&reader, copy, whole.size, &error), GGS_UNSUPPORTED);
        assert_non_null(strstr(error.text, name));
    }
    header.version  = GGS_TRACE_VERSION;
    header.features = 4;
    memcpy(copy, &header, sizeof(header));
    assert_int_equal(ggs_reader_open_memory(&reader, copy, whole.size, &error), GGS_UNSUPPORTED);
    header.features = 1ull << 40; // may be ignored
    memcpy(copy, &header, sizeof(header));
    assert_int_equal(ggs_reader_open_memory(&reader, copy, whole.size, &error), 0);
    ggs_reader_close(reader);
    header.byte_order = 0x04030201;
    memcpy(copy, &header, sizeof(header));
    assert_int_equal(ggs_reader_open_memory(&reader, copy, whole.size, &error), GGS_UNSUPPORTED);
    memset(copy, 0, 8);
    assert_int_equal(ggs_reader_open_memory(&reader, copy, whole.size, &error), GGS_FORMAT);
    assert_null(reader);
    assert_int_equal(ggs_reader_open(&reader, "/nonexistent/trace.ggs", &error), GGS_IO);

    // memory at any address will do
    memcpy(copy + 3, whole.data, whole.size);
    assert_int_equal(ggs_reader_open_memory(&reader, copy + 3, whole.size, &error), 0);
    assert_int_equal(walk_all(reader, &error), RUNS * 100 * 10);
    ggs_reader_close(reader);
    free(copy);
    ggs_mapping_close(&whole);
}

// A directory that promises other rows than the index has, with valid checksums: whoever reserves
// memory for them would exhaust it.
static void test_promised_rows(void ** state) {
    (void) state;
    struct ggs_mapping       whole = sealed_trace();
    struct ggs_error         error;
    struct ggs_reader *      reader;
    struct ggs_trace_trailer trailer;
    uint8_t *                copy = malloc(whole.size);
    uint8_t *                end  = copy + whole.size - sizeof(trailer);
    memcpy(copy, whole.data, whole.size);
    memcpy(&trailer, end, sizeof(trailer));
    for (uint64_t i = 0; i < trailer.directories; i++) {
        struct ggs_directory right, wrong;
        uint8_t *            at = copy + trailer.directory + i * sizeof(right);
        memcpy(&right, at, sizeof(right));
        for (unsigned k = 0; k < 4; k++) {
            wrong = right;
            wrong.rows += (const uint64_t[]){1ull << 38, 1, UINT64_MAX, 0}[k];
            memcpy(at, &wrong, sizeof(wrong));
            trailer.directory_checksum =
                XXH3_64bits(copy + trailer.directory, trailer.directories * sizeof(struct ggs_directory));
            trailer.checksum = XXH3_64bits(&trailer, offsetof(struct ggs_trace_trailer, checksum));
            memcpy(end, &trailer, sizeof(trailer));
            assert_int_equal(ggs_reader_open_memory(&reader, copy, whole.size, &error), k == 3 ? 0 : GGS_FORMAT);
            if (k == 3) ggs_reader_close(reader);
        }
    }
    free(copy);
    ggs_mapping_close(&whole);
}

// A chunk of a kind that a later version may have is skipped.
static void test_unknown_chunk(void ** state) {
    (void) state;
    struct ggs_mapping      whole = sealed_trace();
    struct ggs_error        error;
    struct ggs_reader *     reader;
    struct ggs_chunk_header header = {.id = "NEWS", .table = 3, .stored = 13};
    uint64_t                at = sizeof(struct ggs_trace_header), extra = sizeof(header) + 16;
    uint8_t *               copy = calloc(1, whole.size + extra);
    header.header_checksum       = XXH3_64bits(&header, offsetof(struct ggs_chunk_header, header_checksum));
    memcpy(copy, whole.data, at);
    memcpy(copy + at, &header, sizeof(header));
    memcpy(copy + at + extra, whole.data + at, whole.size - at);
    // its end is wrong now, so the chunks are walked
    assert_int_equal(ggs_reader_open_memory(&reader, copy, whole.size + extra, &error), 0);
    assert_int_equal(walk_all(reader, &error), RUNS * 100 * 10);
    ggs_reader_close(reader);
    free(copy);
    ggs_mapping_close(&whole);
}

// ---- the manual ----

// ggscope-trace(5) names every table and every column.
static void test_manual(void ** state) {
    (void) state;
    struct ggs_mapping page;
    struct ggs_error   error;
    if (ggs_mapping_open(&page, GGSCOPE_DOCS "/man/ggscope-trace.5", &error) != 0) fail_msg("%s", error.text);
    char * text = strndup((const char *) page.data, page.size);
    for (unsigned table = 1; table < GGS_TABLE_COUNT; table++) {
        const struct ggs_schema * schema = ggs_trace_schema(table);
        char                      wanted[128];
        snprintf(wanted, sizeof(wanted), "\n.Ss %u %s\n", table, schema->name);
        const char * section = strstr(text, wanted);
        if (section == NULL) fail_msg("the manual has no section \".Ss %u %s\"", table, schema->name);
        const char * end = strstr(section + 4, "\n.S");
        for (uint32_t i = 0; i < schema->n_columns; i++) {
            snprintf(wanted, sizeof(wanted), "\n.It Va %s", schema->columns[i].name);
            const char * found = strstr(section, wanted);
            char         after = found == NULL ? 0 : found[strlen(wanted)];
            while (found != NULL && after != '\n' && after != ' ') {
                found = strstr(found + 1, wanted);
                after = found == NULL ? 0 : found[strlen(wanted)];
            }
            if (found == NULL || (end != NULL && found > end))
                fail_msg("the manual's section on %s does not name %s", schema->name, schema->columns[i].name);
        }
    }
    free(text);
    ggs_mapping_close(&page);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, sealing_setup, sealing_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns_round_trip),
        cmocka_unit_test(test_other_columns),
        cmocka_unit_test(test_schemas),
        cmocka_unit_test(test_clock),
        cmocka_unit_test(test_clock_with_many_anchors),
        TEST(cursors),
        TEST(chunks),
        TEST(levels_of_detail),
        TEST(size_per_op_run),
        TEST(cut_files),
        TEST(wrong_bytes),
        TEST(refusals),
        TEST(promised_rows),
        TEST(unknown_chunk),
        cmocka_unit_test(test_manual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
