#include "trace-fixture.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

char * scratch_make(void) {
    const char * base = getenv("TMPDIR");
    char *       folder;
    assert_true(asprintf(&folder, "%s/ggscope-test-XXXXXX", base == NULL ? P_tmpdir : base) > 0);
    assert_non_null(mkdtemp(folder));
    return folder;
}

static int remove_one(const char * path, const struct stat * info, int kind, struct FTW * ftw) {
    (void) info, (void) kind, (void) ftw;
    return remove(path);
}

void scratch_remove(char * folder) {
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(folder);
}

char * scratch_path(const char * folder, const char * name) {
    char * path;
    assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
    return path;
}

// ---- a tiny model ----

enum { EMBD = 7, TOKENS = 8, POS = 9, OUT_IDS = 10, WEIGHT = 11 };
const char * const tiny_names[TINY_TENSORS] = {"embd",
                                               "norm-0",
                                               "attn_norm-0",
                                               "Qcur-0",
                                               "Qcur-0 (reshaped)",
                                               "Qrope-0",
                                               "result",
                                               "token_embd.weight",
                                               "inp_tokens",
                                               "inp_pos",
                                               "out_ids",
                                               "blk.0.attn_q.weight"};

static void add_tiny_graph(struct spool_fixture * f, uint64_t id, const char * const * names) {
    static const int32_t      ops[TINY_NODES]        = {OP_GET_ROWS, OP_RMS_NORM, OP_MUL,     OP_MUL_MAT,
                                                        OP_RESHAPE,  OP_ROPE,     OP_GET_ROWS};
    static const int32_t      sources[TINY_NODES][2] = {{EMBD, TOKENS}, {0, -1},  {1, -1},     {WEIGHT, 2},
                                                        {3, -1},        {4, POS}, {5, OUT_IDS}};
    struct ggs_journal_tensor list[TINY_TENSORS];
    for (int i = 0; i < TINY_TENSORS; i++) {
        list[i]         = fixture_tensor(i < TINY_NODES ? ops[i] : OP_NONE, 64, 1 + (int64_t) id);
        list[i].address = 0x10000 + 0x1000 * (uint64_t) i;
        for (int s = 0; i < TINY_NODES && s < 2; s++) list[i].source[s] = sources[i][s];
    }
    list[4].view           = 3;
    list[4].address        = list[3].address;
    list[5].parameters[0]  = 1;
    list[5].parameters[15] = -7;
    for (int i = TOKENS; i <= OUT_IDS; i++) list[i].type = 26, list[i].flags = 1;
    fixture_graph(f, id, TINY_NODES, TINY_TENSORS, list, names);
}

void tiny_graph(struct spool_fixture * f, uint64_t id) {
    add_tiny_graph(f, id, tiny_names);
}

void tiny_graph_unnamed(struct spool_fixture * f, uint64_t id) {
    const char * names[TINY_TENSORS];
    memcpy(names, tiny_names, sizeof(names));
    names[POS]     = "leaf_6";
    names[OUT_IDS] = "leaf_9";
    add_tiny_graph(f, id, names);
}

void tiny_ops(struct spool_fixture * f, uint32_t run, uint32_t threads, uint32_t slot, uint32_t n_tokens,
              const int32_t * tokens, int32_t position, uint32_t nodes) {
    static const uint32_t computed[] = {0, 1, 3, 5, 6};
    for (uint32_t i = 0; i < sizeof(computed) / sizeof(computed[0]) && computed[i] < nodes; i++) {
        uint32_t node = computed[i];
        for (uint32_t thread = 0; thread < threads; thread++) {
            struct ggs_unit op = {.flags      = GGS_OP_RUN_ENDED,
                                  .run        = run,
                                  .node       = node,
                                  .duration   = 300 + 3 * thread,
                                  .begin      = f->ticks + 3 * thread,
                                  .wait       = 30,
                                  .inner_wait = node == 3 ? 60 : 0};
            if (node == 1) op.flags |= GGS_OP_RUN_FUSED;
            fixture_op(f, slot * 4 + thread, &op);
        }
        struct ggs_spool_index index = {
            .source = 1, .width = 4, .run = run, .node = node, .bytes = 4 * n_tokens, .ne = {n_tokens, 1, 1, 1}};
        int32_t positions[64], last = (int32_t) n_tokens - 1;
        for (uint32_t k = 0; k < n_tokens; k++) positions[k] = position + (int32_t) k;
        if (n_tokens > 0 && node == 0) fixture_index(f, slot * 4, &index, tokens);
        if (n_tokens > 0 && node == 5) fixture_index(f, slot * 4, &index, positions);
        index.bytes = 4;
        index.ne[0] = 1;
        if (n_tokens > 0 && node == 6) fixture_index(f, slot * 4, &index, &last);
        fixture_advance(f, 200);
    }
}

void tiny_run(struct spool_fixture * f, uint64_t run, uint64_t graph, uint64_t decode, uint32_t threads, uint32_t slot,
              uint32_t n_tokens, const int32_t * tokens, int32_t position) {
    fixture_run(f, run, graph, decode, threads, slot);
    for (uint32_t i = 0; i < threads; i++) fixture_lane(f, slot * 4 + i, slot, i);
    fixture_advance(f, 100);
    tiny_ops(f, (uint32_t) run, threads, slot, n_tokens, tokens, position, TINY_NODES);
    fixture_run_end(f, run);
    fixture_advance(f, 1000);
}

// ---- sealing ----

struct ggs_reader * seal_and_open(struct spool_fixture * f, const char * folder,
                                  const struct ggs_seal_options * options, struct ggs_seal_result * result) {
    struct ggs_error    error = {0};
    struct ggs_reader * reader;
    fixture_close(f);
    if (ggs_seal(folder, options, result, &error) != 0) fail_msg("seal: %s", error.text);
    if (ggs_reader_open(&reader, folder, &error) != 0) fail_msg("open: %s", error.text);
    if (ggs_reader_verify(reader, NULL, NULL, &error) != 0) fail_msg("verify: %s", error.text);
    return reader;
}

void * read_all(struct ggs_reader * reader, enum ggs_trace_table table, size_t element, size_t * n) {
    struct ggs_error    error;
    struct ggs_cursor * cursor;
    int                 more;
    char *              rows = calloc(ggs_reader_rows(reader, table) + 1, element);
    assert_non_null(rows);
    *n = 0;
    assert_int_equal(ggs_cursor_open(&cursor, reader, table, &error), 0);
    while ((more = ggs_cursor_next(cursor, rows + *n * element, &error)) > 0) {
        assert_int_equal(ggs_cursor_row(cursor), *n);
        ++*n;
    }
    if (more < 0) fail_msg("%s", error.text);
    ggs_cursor_close(cursor);
    assert_int_equal(*n, ggs_reader_rows(reader, table));
    return rows;
}
