// Every export format on a recording made by hand (recording-fixture.h), whose answers can be
// worked out on paper; and on recordings whose rows carry wrong numbers.
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/system/file.h"
#include "base/text.h"
#include "export/export.h"
#include "export/parquet/parquet-encode.h"
#include "export/tables/tables.h"
#include "recording-fixture.h"
#include "trace-fixture.h"

static struct recording recording;

static int make(void ** state) {
    (void) state;
    small_recording(&recording);
    recording_buffer(&recording, 100, GGS_CLASS_KV, 20, 900);
    recording_write(&recording);
    return 0;
}

static int destroy(void ** state) {
    (void) state;
    recording_close(&recording, NULL);
    return 0;
}

// The file OUT/name of an export, or OUT itself; the caller frees.
static char * contents(const char * out, const char * name, size_t * size) {
    char *             path = name == NULL ? strdup(out) : scratch_path(out, name);
    struct ggs_mapping file;
    struct ggs_error   error;
    if (ggs_mapping_open(&file, path, &error) != 0) fail_msg("%s", error.text);
    char * text = calloc(file.size + 1, 1);
    assert_non_null(text);
    memcpy(text, file.data, file.size);
    if (size != NULL) *size = file.size;
    ggs_mapping_close(&file);
    free(path);
    return text;
}

// Exports, and gives where to; the caller frees.
static char * export_to(const char * format, const char * table) {
    char *                    out     = scratch_path(recording.folder, format);
    struct ggs_export_options options = {
        .format = format, .output = out, .last_step = INT64_MAX, .tables = &table, .n_tables = table != NULL};
    struct ggs_export_result result;
    struct ggs_error         error = {0};
    if (ggs_export(&options, recording.folder, &result, &error) != 0) fail_msg("%s: %s", format, error.text);
    return out;
}

static char * exported(const char * format, const char * name, size_t * size) {
    char * out  = export_to(format, NULL);
    char * text = contents(out, name, size);
    free(out);
    return text;
}

static void assert_has(const char * text, const char * part) {
    if (strstr(text, part) == NULL) fail_msg("missing: %s\nin: %.3000s", part, text);
}

static unsigned count(const char * text, const char * part) {
    unsigned n = 0;
    for (const char * at = text; (at = strstr(at, part)) != NULL; at += strlen(part)) n++;
    return n;
}

// ---- tables ----

// Bytes of run 1: GET_ROWS reads the row of token 3 once (32) and two ids (8) and writes 64;
// RMS_NORM reads 64; MUL, fused into it, reads its weight (32) and writes 64; MUL_MAT reads 256 and
// 64 and writes 64; ADD reads half of two rows (32) and writes 32.
static void test_csv(void ** state) {
    (void) state;
    char * ops = exported("csv", "ops.csv", NULL);
    assert_string_equal(
        ops,
        "run,node,graph,token,phase,op,name,tensor,layer,fused_into,absorbed,threads,begin_ns,duration_ns,busy_ns,wait_ns,"
        "bytes_read,bytes_written,bytes_disk,cut\n"
        "1,0,1,0,PROMPT,GET_ROWS,embd,3,,,0,2,1100,65,110,10,40,64,32,0\n"
        "1,1,1,0,PROMPT,RMS_NORM,norm-0,5,0,,1,2,1200,65,110,10,64,0,0,0\n"
        "1,2,1,0,PROMPT,MUL,attn_norm-0,6,0,1,0,0,1200,,,,32,64,32,0\n"
        "1,3,1,0,PROMPT,MUL_MAT,Qcur-0,8,0,,0,2,1300,65,90,30,320,64,256,0\n"
        "1,5,1,0,PROMPT,ADD,out-0,10,0,,0,2,1400,65,110,10,32,32,0,0\n"
        "2,0,1,1,GENERATE,GET_ROWS,embd,3,,,0,2,2100,65,110,10,40,64,32,0\n"
        "2,1,1,1,GENERATE,RMS_NORM,norm-0,5,0,,1,2,2200,65,110,10,64,0,0,0\n"
        "2,2,1,1,GENERATE,MUL,attn_norm-0,6,0,1,0,0,2200,,,,32,64,32,0\n"
        "2,3,1,1,GENERATE,MUL_MAT,Qcur-0,8,0,,0,2,2300,65,90,30,320,64,256,0\n"
        "2,5,1,1,GENERATE,ADD,out-0,10,0,,0,2,2400,65,110,10,32,32,0,0\n");
    free(ops);
    char * tokens = exported("csv", "tokens.csv", NULL);
    assert_string_equal(tokens, "token,phase,context,begin_ns,end_ns,begin_utc,runs,inputs,decodes,text\n"
                                "0,PROMPT,0,1000,1500,,1,2,0,\n"
                                "1,GENERATE,0,2000,2500,,1,1,0,\n");
    free(tokens);
    char * schema = exported("csv", "schema.sql", NULL);
    assert_has(schema,
               "CREATE TABLE \"edges\" (\"graph\" BIGINT NOT NULL, \"node\" BIGINT NOT NULL, \"slot\" BIGINT NOT NULL, "
               "\"tensor\" BIGINT NOT NULL, \"source_node\" BIGINT);");
    free(schema);
}

static int take_number(void * context, int n, char ** values, char ** names) {
    (void) n, (void) names;
    *(long long *) context = values[0] == NULL ? -1 : atoll(values[0]);
    return 0;
}

static long long ask(sqlite3 * db, const char * sql) {
    long long answer = -2;
    assert_int_equal(sqlite3_exec(db, sql, take_number, &answer, NULL), SQLITE_OK);
    return answer;
}

static void test_sqlite(void ** state) {
    (void) state;
    char *    out = export_to("sqlite", NULL);
    sqlite3 * db;
    assert_int_equal(sqlite3_open_v2(out, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(ask(db, "SELECT sum(duration_ns) FROM op_runs"), 2 * 4 * (50 + 60));
    assert_int_equal(ask(db, "SELECT sum(bytes) FROM accesses WHERE source = 'DISK'"), 2 * (32 + 32 + 256));
    assert_int_equal(ask(db, "SELECT file_offset FROM accesses WHERE run = 2 AND node = 0 AND slot = 0"),
                     1000 + 5 * 32);
    assert_int_equal(ask(db, "SELECT bytes_read FROM op_totals WHERE op = 'MUL_MAT'"), 640);
    assert_int_equal(ask(db, "SELECT busy_ns FROM token_totals WHERE token = 1"), 110 + 110 + 90 + 110);
    assert_int_equal(ask(db, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    sqlite3_close(db);
    free(out);
}

static void test_parquet(void ** state) {
    (void) state;
    size_t size;
    char * file = exported("parquet", "edges.parquet", &size);
    assert_memory_equal(file, "PAR1", 4);
    assert_memory_equal(file + size - 4, "PAR1", 4);
    uint32_t footer;
    memcpy(&footer, file + size - 8, 4);
    assert_true(footer < size);
    free(file);
    // The encodings against examples of the format's own description.
    struct ggs_text text = {0};
    ggs_put_bits(&text, (const int64_t[]){1, 0, 1, 1, 0, 0, 0, 0, 1}, 9);
    assert_int_equal(text.length, 2);
    assert_memory_equal(text.data, "\x0d\x01", 2);
    ggs_text_clear(&text);
    ggs_put_delta(&text, (const int64_t[]){7, 5, 3, 1, 2, 3, 4, 5},
                  8); // 128 in a block of 4, 8 values, first 7 (14 zigzag), least -2
    assert_memory_equal(text.data, "\x80\x01\x04\x08\x0e\x03\x02\x00\x00\x00\xc0\x3f", 12);
    ggs_text_release(&text);
}

// ---- the JSON directory ----

static void test_json(void ** state) {
    (void) state;
    char * trace = exported("json", "traces/token-00001.json", NULL);
    assert_int_equal(count(trace, "\"entry_id\""), 5);
    assert_has(
        trace,
        "{\"entry_id\": 0, \"timestamp_ns\": 2100, \"timestamp_relative_ms\": 0, \"token_id\": 1, \"layer_id\": null, "
        "\"thread_id\": 0, \"phase\": \"GENERATE\", \"operation_type\": \"GET_ROWS\", \"dst_name\": \"embd\", \"num_sources\": 2");
    assert_has(
        trace,
        "\"memory_source\": \"DISK\", \"disk_offset\": 1000, \"tensor_idx\": 0, \"origin_offset\": 1000, \"file\": \"small.gguf\", "
        "\"ranges\": [[160, 32]]");
    assert_has(
        trace,
        "\"node_id\": \"node_2\", \"fused_into\": \"node_1\", \"graph_id\": 1, \"backend\": \"CPU\", \"duration_ns\": null, "
        "\"wait_ns\": null, \"bytes_read\": 32, \"bytes_written\": 64");
    assert_int_equal(count(trace, "fused_into"), 1);
    free(trace);
    char * graph = exported("json", "graphs/token-00000.json", NULL);
    assert_has(graph, "\"total_nodes\": 10,");
    assert_has(graph, "\"timestamp_generated\": \"1100 ns\"");
    assert_has(graph, "{\"source\": \"node_2\", \"target\": \"node_3\", \"label\": \"src 1\"}");
    free(graph);
    char * map = exported("json", "memory-map.json", NULL);
    assert_has(map, "\"source\": \"trace\"");
    assert_has(map,
               "\"name\": \"blk.0.attn_q.weight\", \"offset_start\": 3000, \"offset_end\": 3256, \"size_bytes\": 256");
    assert_null(strstr(map, "expert_id"));
    free(map);
    char * buffers = exported("json", "buffer-timeline.json", NULL);
    assert_has(buffers, "\"total_events\": 3,");
    assert_has(buffers, "\"peak_occupancy_bytes\": 65636,");
    assert_has(buffers, "\"name\": \"KVCache_");
    assert_has(buffers, "\"event\": \"dealloc\", \"buffer_id\": 2,");
    free(buffers);
    char * lines = exported("buffers", NULL, NULL);
    assert_int_equal(count(lines, "\n"), 3);
    assert_has(lines, "\"event\":\"dealloc\",\"buffer_id\":2}");
    free(lines);
}

// A buffer is named after the layer that all of its tensors belong to.
static void test_buffers_of_a_layer(void ** state) {
    (void) state;
    struct recording r;
    char *           lines;
    recording_open(&r);
    for (int i = 0; i < 2; i++) recording_buffer(&r, 100, GGS_CLASS_KV, 20, 900);
    recording_tensor(&r, "cache_k_l7", F32, 8, 1, 1, in_buffer(1));
    recording_tensor(&r, "cache_v_l7", F32, 8, 1, 1, in_buffer(1));
    recording_tensor(&r, "cache_k_l7 (view)", F32, 8, 1, 1, in_buffer(2));
    recording_tensor(&r, "cache_k_l8", F32, 8, 1, 1, in_buffer(2));
    recording_write(&r);
    struct recording shared = recording;
    recording               = r; // what exported() exports
    lines                   = exported("buffers", NULL, NULL);
    recording               = shared;
    assert_has(lines, "_L7\",");
    assert_has(lines, "\"layer\":7}");
    assert_int_equal(count(lines, "\"name\":\"KVCache_"), 2);
    assert_int_equal(count(lines, "\"layer\":65535}"), 1);
    assert_int_equal(count(lines, "_L"), 1);
    free(lines);
    recording_close(&r, NULL);
}

// ---- timelines ----

static void test_chrome(void ** state) {
    (void) state;
    char * text = exported("chrome", NULL, NULL);
    assert_int_equal(count(text, "\"cat\": \"op\""), 16);
    assert_int_equal(count(text, "\"cat\": \"wait\""), 8);
    assert_int_equal(count(text, "\"ph\": \"B\""), count(text, "\"ph\": \"E\""));
    // 1300 and 1350 ns in steps of 1/1024 us, rounded up: 1332 and 1383.
    assert_has(
        text,
        "{\"ph\": \"X\", \"name\": \"MUL_MAT\", \"pid\": 1, \"tid\": 5, \"ts\": 1.30078125, \"dur\": 0.0498046875, \"cat\": \"op\"");
    free(text);
}

// Readers take an op without a length, which its wait follows at once, for one that does not end.
static void test_op_without_length(void ** state) {
    (void) state;
    struct recording r;
    struct ggs_run   run = {.run      = 1,
                            .graph    = 1,
                            .phase    = GGS_PHASE_GENERATE,
                            .begin_ns = 1000,
                            .end_ns   = 1500,
                            .threads  = 1,
                            .nodes    = SMALL_NODES,
                            .executed = 1,
                            .op_runs  = 1};
    recording_open(&r);
    small_graph(&r, 1);
    recording_run(&r, &run);
    recording_op_run(&r, 1, 0, 0, 1100, 0, 10, 0, 0);
    recording_step(&r, 0, GGS_PHASE_GENERATE, 1, 1000, 1500, 1);
    recording_write(&r);
    struct recording shared = recording;
    recording               = r; // what exported() exports
    char * text             = exported("chrome", NULL, NULL);
    recording               = shared;
    // 1100 to 1101 to 1111 ns in steps of 1/1024 us, rounded up: 1127, 1128, 1138.
    assert_has(text, "\"ts\": 1.1005859375, \"dur\": 0.0009765625, \"cat\": \"op\"");
    assert_has(text, "\"ts\": 1.1015625, \"dur\": 0.009765625, \"cat\": \"wait\"");
    free(text);
    recording_close(&r, NULL);
}

static void test_perfetto(void ** state) {
    (void) state;
    size_t size, at = 0, packets = 0;
    char * bytes = exported("perfetto", NULL, &size);
    while (at < size) { // Trace.packet, one after the other
        assert_int_equal(bytes[at++], 1 << 3 | 2);
        size_t length = 0;
        for (unsigned shift = 0;; shift += 7) {
            length |= (size_t) (bytes[at] & 127) << shift;
            if ((bytes[at++] & 128) == 0) break;
        }
        at += length;
        packets++;
    }
    assert_int_equal(at, size);
    // A start, the process, 6 tracks; two events for each of 2 tokens, 2 runs, 16 ops, 8 waits, and
    // on 2 threads 2 tokens with 2 runs; counters: 3 of buffers, and 3 ops of each run read the
    // file.
    assert_int_equal(packets, 2 + 6 + 2 * (2 + 2 + 16 + 8 + 2 * (2 + 2)) + 3 + 6);
    free(bytes);
}

// ---- streams ----

static void test_ggmlviz(void ** state) {
    (void) state;
    size_t  size;
    char *  bytes = exported("ggmlviz", NULL, &size);
    int64_t begin = 0, sum = 0;
    int     n[9] = {0};
    assert_memory_equal(bytes, "GGMLVIZ1\1\0\0\0", 12);
    for (size_t at = 12; at < size;) {
        uint64_t ns, backend;
        uint32_t length = 0;
        unsigned type   = (uint8_t) bytes[at];
        assert_true(type < 9);
        n[type]++;
        memcpy(&ns, bytes + at + 1, 8);
        memcpy(&backend, bytes + at + 13 + 24, 8);
        if (type == 2) begin = (int64_t) ns;
        if (type == 3) sum += (int64_t) ns - begin;
        if (type == 2 || type == 3) assert_int_equal(backend, 0);
        at += 1 + 8 + 4 + 32;
        if (bytes[at++] == 1) {
            memcpy(&length, bytes + at, 4);
            at += 4 + length;
        }
    }
    assert_int_equal(n[0], 2);
    assert_int_equal(n[2], 8); // one pair for an op, whatever threads it ran on
    assert_int_equal(n[3], 8);
    assert_int_equal(n[4], 2);
    assert_int_equal(n[5], 1);
    assert_int_equal(sum, 8 * 65);
    free(bytes);
}

static void test_fio(void ** state) {
    (void) state;
    char * text = exported("fio", NULL, NULL);
    assert_string_equal(
        text, "fio version 3 iolog\n0 /gone/small.gguf add\n0 /gone/small.gguf open\n"
              "0 /gone/small.gguf read 1096 32\n0 /gone/small.gguf read 2000 32\n0 /gone/small.gguf read 3000 256\n"
              "1 /gone/small.gguf read 1160 32\n1 /gone/small.gguf read 2000 32\n1 /gone/small.gguf read 3000 256\n"
              "1 /gone/small.gguf close\n");
    free(text);
}

static void test_dot(void ** state) {
    (void) state;
    char * text = exported("dot", "token-00001.dot", NULL);
    assert_int_equal(count(text, "fillcolor=\"#"), 6 + 1);
    assert_int_equal(count(text, " -> "), 9);
    assert_has(text, "subgraph cluster_1_0 {");
    assert_has(text, "  \"node_2\" -> \"node_3\" [label=\"src 1\"]\n");
    free(text);
}

// ---- wrong numbers ----

// Tensors, nodes and edges that name rows which are not there: an error or an export, but no read
// beyond an array.
static void test_wrong_numbers(void ** state) {
    (void) state;
    static const char * const formats[] = {"json",     "csv", "sqlite", "parquet", "chrome",
                                           "perfetto", "dot", "fio",    "ggmlviz", "buffers"};
    static const uint64_t     wrong[]   = {0, 1000000, UINT64_MAX};
    for (size_t w = 0; w < sizeof(wrong) / sizeof(wrong[0]); w++) {
        struct recording r;
        recording_open(&r);
        small_graph(&r, 1);
        // The same graph again, of tensors whose rows carry a wrong number, file, buffer and view.
        for (int i = 0; i < 3; i++) {
            struct ggs_tensor row = {.tensor      = wrong[w],
                                     .name        = recording_string(&r, "blk.7.x"),
                                     .ne          = {8, 1, 1, 1},
                                     .nb          = {4, 32, 32, 32},
                                     .source      = i == 0 ? GGS_SOURCE_DISK : GGS_SOURCE_BUFFER,
                                     .file        = wrong[w],
                                     .buffer      = wrong[w],
                                     .origin_file = wrong[w],
                                     .view        = wrong[w]};
            recording_row(&r, GGS_TABLE_TENSORS, &row);
        }
        recording_node(&r, 2, OP_MUL, 11, 12, 13, 0);
        recording_node(&r, 2, OP_ADD, wrong[w], wrong[w], 11, 0);
        const int32_t tokens[] = {3};
        small_run(&r, 1, 1, 0, GGS_PHASE_PROMPT, SMALL_BEGIN, tokens, 1);
        struct ggs_run run = {.run          = 2,
                              .graph        = 2,
                              .step         = 1,
                              .phase        = GGS_PHASE_GENERATE,
                              .begin_ns     = 2000,
                              .end_ns       = 3000,
                              .threads      = 1,
                              .nodes        = 2,
                              .executed     = 2,
                              .op_runs      = 2,
                              .first_op_run = ggs_writer_next_row(&r.writer, GGS_TABLE_OP_RUNS)};
        recording_run(&r, &run);
        recording_op_run(&r, 2, 0, 0, 2100, 50, 0, 0, 0);
        recording_op_run(&r, 2, 1, 0, 2200, 50, 0, 0, 0);
        recording_step(&r, 0, GGS_PHASE_PROMPT, 1, SMALL_BEGIN, 1500, 1);
        recording_step(&r, 1, GGS_PHASE_GENERATE, 2, 2000, 3000, 1);
        recording_write(&r);
        for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
            char *                    out     = scratch_path(r.folder, formats[i]);
            struct ggs_export_options options = {.format = formats[i], .output = out, .last_step = INT64_MAX};
            struct ggs_export_result  result;
            struct ggs_error          error  = {0};
            int                       status = ggs_export(&options, r.folder, &result, &error);
            assert_true(status == 0 || (status < 0 && error.text[0] != '\0'));
            free(out);
        }
        recording_close(&r, NULL);
    }
}

// ---- the schema ----

// Every column has a name of its own and says what it is; every key names columns that are there.
static void test_schema(void ** state) {
    (void) state;
    const struct ggs_flat_table * table;
    for (unsigned i = 0; (table = ggs_flat_table_at(i)) != NULL; i++) {
        assert_true(table->n_fields > 0 && table->n_fields <= GGS_FIELDS_MOST && table->keys <= table->n_fields);
        for (unsigned f = 0; f < table->n_fields; f++) {
            assert_true(strlen(table->fields[f].description) > 0);
            for (unsigned g = 0; g < f; g++) assert_string_not_equal(table->fields[f].name, table->fields[g].name);
        }
        for (const struct ggs_foreign_key * key = table->foreign; key->table != NULL; key++) {
            const struct ggs_flat_table * other = ggs_table_find(key->table);
            assert_non_null(other);
            char *   columns = strdup(key->theirs != NULL ? key->theirs : key->columns), *rest = NULL;
            unsigned n = 0;
            for (char * word = strtok_r(columns, ", ", &rest); word != NULL; word = strtok_r(NULL, ", ", &rest), n++)
                assert_string_equal(word, other->fields[n].name); // they are the first of its key
            assert_int_equal(n, other->keys);
            free(columns);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_sqlite),
        cmocka_unit_test(test_parquet),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_op_without_length),
        cmocka_unit_test(test_chrome),
        cmocka_unit_test(test_perfetto),
        cmocka_unit_test(test_ggmlviz),
        cmocka_unit_test(test_buffers_of_a_layer),
        cmocka_unit_test(test_fio),
        cmocka_unit_test(test_dot),
        cmocka_unit_test(test_schema),
        cmocka_unit_test(test_wrong_numbers),
    };
    return cmocka_run_group_tests(tests, make, destroy);
}
